package recording

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/redact"
)

// A Secret is a value that a recording must not hold.
type Secret struct {
	Name  string
	Value []byte
}

// placeholder stands where a value was, cut or filled up to its length: what a
// guest does with a text of the same length is as like as can be.
const placeholder = "[secret]"

// Strike takes the values of secrets out of everything the recording holds, in
// each spelling that package redact knows, and notes where they were. A value that
// came to the guest in several parts of a file is found too. It returns the names
// of secrets that are too short to be looked for.
//
// Recordings made from this one before share its parts and must not be used any
// more.
func (r *Recording) Strike(secrets []Secret) (tooShort []string) {
	for _, s := range secrets {
		k := striker{name: s.Name, found: map[string]bool{}}
		if !k.value.Add(string(s.Value)) {
			tooShort = append(tooShort, s.Name)
			continue
		}
		k.files(r.Events)
		k.walk(reflect.ValueOf(r).Elem(), "", false)
		r.Struck = append(r.Struck, k.struck...)
	}
	r.noteSeen()
	return tooShort
}

// noteSeen says that a replay shows the guest something else.
func (r *Recording) noteSeen() {
	i := slices.IndexFunc(r.Struck, func(s Struck) bool { return s.Seen })
	if i >= 0 && r.Inexact == "" {
		r.Inexact = fmt.Sprintf("the guest saw the value of the secret %s (%s), and a replay shows it a placeholder", r.Struck[i].Secret, r.Struck[i].Where)
	}
}

// fillOf is what stands for n bytes.
func fillOf(n int) string {
	if n < len(placeholder) {
		return strings.Repeat("*", n)
	}
	return placeholder + strings.Repeat("*", n-len(placeholder))
}

// striker takes out one secret.
type striker struct {
	name   string
	value  redact.Values
	found  map[string]bool
	struck []Struck
}

// clean returns a text without the value.
func (k *striker) clean(text, where string, seen bool) string {
	out := k.value.Replace(text, fillOf)
	if out != text {
		k.note(where, seen)
	}
	return out
}

func (k *striker) note(where string, seen bool) {
	if !k.found[where] {
		k.found[where] = true
		k.struck = append(k.struck, Struck{k.name, where, seen})
	}
}

// unredacted are the fields that hold nothing of a guest's or a person's.
var unredacted = []string{"Digest", "Module", "Skill", "Version", "Tool", "Export", "Op", "Errno", "ID", "Level", "Struck", "Inexact", "RecordedAt"}

// shown are the fields that a guest sees.
var shown = []string{"Input", "Args", "Config", "Files", "Answer", "AnswerBody", "Result"}

// walk cleans every text and all bytes in a value.
func (k *striker) walk(v reflect.Value, where string, seen bool) {
	switch v.Kind() {
	case reflect.Struct:
		k.fields(v, where, seen)
	case reflect.Pointer:
		if !v.IsNil() {
			k.walk(v.Elem(), where, seen)
		}
	case reflect.String:
		v.SetString(k.clean(v.String(), where, seen))
	case reflect.Map:
		k.texts(v, where, seen)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(k.clean(string(v.Bytes()), where, seen)))
			return
		}
		for i := range v.Len() {
			at := where
			if v.Type() == reflect.TypeFor[[]Event]() {
				at = fmt.Sprintf("event %d", i+1)
			}
			k.walk(v.Index(i), at, seen)
		}
	}
}

// fields walks through a struct. Random bytes are the guest's alone.
func (k *striker) fields(v reflect.Value, where string, seen bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || slices.Contains(unredacted, f.Name) || v.Type() == reflect.TypeFor[Event]() && f.Name == "Random" {
			continue
		}
		at, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case at == "":
			at = where
		case where != "":
			at = where + " " + strings.ReplaceAll(at, "_", " ")
		}
		k.walk(v.Field(i), at, seen || slices.Contains(shown, f.Name))
	}
}

// texts cleans a map of texts.
func (k *striker) texts(v reflect.Value, where string, seen bool) {
	all, ok := v.Interface().(map[string]string)
	if !ok || len(all) == 0 {
		return
	}
	clean := make(map[string]string, len(all))
	for name, value := range all {
		clean[k.clean(name, where, seen)] = k.clean(value, where, seen)
	}
	v.Set(reflect.ValueOf(clean))
}

// files cleans what goes to or from each file one part after the other: the value
// may be in two of them.
func (k *striker) files(events []Event) {
	var moves []placed
	for i, e := range events {
		if e.File != nil && slices.Contains([]string{opRead, opWrite, opAppend}, e.File.Op) {
			moves = append(moves, placed{e.File, i + 1})
		}
	}
	slices.SortStableFunc(moves, func(a, b placed) int { return cmp.Compare(a.Handle, b.Handle) })
	for len(moves) > 0 {
		n := 1
		for n < len(moves) && continues(moves[n-1].File, moves[n].File) {
			n++
		}
		if n > 1 {
			k.together(moves[:n])
		}
		moves = moves[n:]
	}
}

// placed is an operation on a file and the number of its event.
type placed struct {
	*File
	event int
}

// continues reports whether b moves the bytes behind those that a moves.
func continues(a, b *File) bool {
	if a.Op != b.Op || a.Handle != b.Handle {
		return false
	}
	switch a.Op {
	case opRead:
		return b.Offset == a.Offset+int64(len(a.Result.Data))
	case opWrite:
		return b.Offset == a.Offset+int64(len(a.Data))
	}
	return a.Op == opAppend
}

// together cleans several parts as one. Nothing changes its length.
func (k *striker) together(moves []placed) {
	var all bytes.Buffer
	for _, m := range moves {
		all.Write(*m.moved())
	}
	clean := k.value.Replace(all.String(), fillOf)
	if clean == all.String() {
		return
	}
	k.note(fmt.Sprintf("event %d file %s", moves[0].event, moves[0].Op), moves[0].Op == opRead)
	for _, m := range moves {
		part := m.moved()
		n := len(*part)
		*part, clean = Bytes(clean[:n]), clean[n:]
	}
}

// moved are the bytes that an operation moves.
func (f *File) moved() *Bytes {
	if f.Op == opRead {
		return &f.Result.Data
	}
	return &f.Data
}
