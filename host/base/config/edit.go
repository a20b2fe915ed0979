package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
)

// fixed are settings that must not change in the life of a home.
var fixed = []string{"secret_key", "store_key_file"}

// MaxFile bounds a configuration file that is edited, in bytes.
const MaxFile = 64 << 10

// A Change is a setting and the value it is to have, as text; with Unset, it is taken
// out of the file, so that its default holds.
type Change struct {
	Key, Value string
	Unset      bool
}

// Edit sets settings in the text of a configuration file, and leaves the other
// lines as they are. It returns the new text, and the value that each of them had
// in the file, as text; empty for none. Nothing but those settings is different in
// what the new text means, and it is valid. Errors are [fault.Error]s of
// [fault.KindNotFound] for a setting that does not exist, and [fault.KindUsage].
func Edit(file []byte, changes ...Change) (after []byte, old []string, err error) {
	after = file
	for _, c := range changes {
		was, err := c.apply(&after)
		if err != nil {
			return nil, nil, err
		}
		old = append(old, was)
	}
	if _, err := Parse(FileName, after, nil); err != nil {
		e := fault.AsError(err)
		return nil, nil, fault.Errorf(fault.KindUsage, "set %s: %w", describe(changes), err).Hinted(e.Way())
	}
	return after, old, nil
}

func describe(changes []Change) string {
	var all []string
	for _, c := range changes {
		if c.Unset {
			all = append(all, c.Key+" to its default")
			continue
		}
		all = append(all, fmt.Sprintf("%s to %q", c.Key, c.Value))
	}
	return strings.Join(all, ", ")
}

// apply makes one change in a text, which need not be valid yet.
func (c Change) apply(text *[]byte) (old string, err error) {
	l, ok := findLeaf(c.Key)
	switch {
	case !ok && isGroup(c.Key):
		return "", notOne(fault.KindUsage, c.Key, "%s is a group of settings", c.Key)
	case !ok:
		return "", unknown(fault.KindNotFound, c.Key, "setting %s does not exist", c.Key)
	case l.of.Kind() == reflect.Slice || l.of.Kind() == reflect.Map:
		return "", fault.Errorf(fault.KindUsage, "setting %s is a list", c.Key).WithHint("edit %s by hand", FileName)
	case slices.Contains(fixed, c.Key):
		return "", fault.Errorf(fault.KindUsage, "setting %s cannot be changed any more", c.Key).
			WithHint("it is set before the first use of a home: make a new home, and install there what you need")
	}
	before, err := members(*text)
	if err != nil {
		return "", err
	}
	if was, ok := before[c.Key]; ok {
		old = fmt.Sprint(was)
	}
	if _, there := before[c.Key]; c.Unset && !there {
		return "", fault.Errorf(fault.KindNotFound, "setting %s is not set in %s", c.Key, FileName).
			WithHint("%s shows where each setting comes from", fault.List(fault.Settings))
	}
	after := c.in(*text, l.of.Kind())
	if err := onlyChanged(before, after, c.Key, !c.Unset); err != nil {
		return "", err
	}
	*text = after
	return old, nil
}

// members are the settings of a file, as its text says, by their keys.
func members(file []byte) (map[string]any, error) {
	k := koanf.New(".")
	if err := k.Load(rawbytes.Provider(file), yaml.Parser()); err != nil {
		return nil, fault.Errorf(fault.KindUsage, "read %s: %w", FileName, err).WithHint("correct it by hand first")
	}
	return k.All(), nil
}

// written is a value as it stands in the file.
func written(k reflect.Kind, value string) string {
	if k != reflect.String {
		return value
	}
	b, err := json.Marshal(value) // a JSON string is a YAML one
	if err != nil {
		return value
	}
	return string(b)
}

// in is a file with another line for the setting, or one more; or without it.
func (c Change) in(file []byte, kind reflect.Kind) []byte {
	lines := slices.Collect(strings.Lines(string(file)))
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n"
	}
	path := strings.Split(c.Key, ".")
	if c.Unset {
		return []byte(strings.Join(withoutLine(lines, "", path), ""))
	}
	return []byte(strings.Join(withLine(lines, "", path, written(kind, c.Value)), ""))
}

// withoutLine is lines of one indentation without the one that has the value of a path.
func withoutLine(lines []string, indent string, path []string) []string {
	i := lineOf(lines, indent, path[0])
	if i < 0 {
		return lines
	}
	if len(path) == 1 {
		return slices.Delete(slices.Clone(lines), i, i+1)
	}
	inside, below := block(lines[i+1:], indent)
	return slices.Replace(slices.Clone(lines), i+1, i+1+len(inside), withoutLine(inside, below, path[1:])...)
}

// lineOf is the index of the line of an indentation that begins with a name; -1 for none.
func lineOf(lines []string, indent, name string) int {
	return slices.IndexFunc(lines, func(l string) bool {
		rest, ok := strings.CutPrefix(l, indent+name)
		return ok && strings.HasPrefix(strings.TrimLeft(rest, " \t"), ":")
	})
}

// withLine is lines of one indentation in which a path has a value. What is not
// there is added at the end.
func withLine(lines []string, indent string, path []string, value string) []string {
	i := lineOf(lines, indent, path[0])
	line := indent + path[0] + ": " + value + "\n"
	if len(path) > 1 {
		line = indent + path[0] + ":\n"
	}
	switch {
	case i < 0 && len(path) == 1:
		return append(lines, line)
	case i < 0:
		return append(append(lines, line), withLine(nil, indent+"  ", path[1:], value)...)
	case len(path) == 1:
		return slices.Replace(lines, i, i+1, line)
	}
	inside, below := block(lines[i+1:], indent)
	return slices.Replace(lines, i+1, i+1+len(inside), withLine(slices.Clone(inside), below, path[1:], value)...)
}

// block are the lines at the beginning that belong to a group of an indentation,
// and their own.
func block(lines []string, indent string) (inside []string, own string) {
	end := 0
	for i, l := range lines {
		text := strings.TrimLeft(l, " ")
		if strings.TrimSpace(l) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if len(l)-len(text) <= len(indent) {
			break
		}
		if end = i + 1; own == "" {
			own = l[:len(l)-len(text)]
		}
	}
	return lines[:end], cmp.Or(own, indent+"  ")
}

// onlyChanged makes sure that a text is different in one setting, which is there or not.
func onlyChanged(before map[string]any, after []byte, key string, stays bool) error {
	if len(after) > MaxFile {
		return fault.Errorf(fault.KindUsage, "%s would be larger than %d KB", FileName, MaxFile>>10).WithHint("edit it by hand")
	}
	now, err := members(after)
	if err != nil {
		return changedAlone(key)
	}
	_, there := now[key]
	if there != stays || !reflect.DeepEqual(others(now, key), others(before, key)) {
		return changedAlone(key)
	}
	return nil
}

// others are the settings of a file without one, and without empty groups.
func others(all map[string]any, key string) map[string]any {
	rest := map[string]any{}
	for k, v := range all {
		if k != key && !(isGroup(k) && empty(v)) {
			rest[k] = v
		}
	}
	return rest
}

func changedAlone(key string) error {
	return fault.Errorf(fault.KindUsage, "%s is written in a way in which %s cannot be changed alone", FileName, key).
		WithHint("edit it by hand")
}
