// Package strictjson reads JSON that people write and rules depend on. Where
// encoding/json is lenient, it refuses: a member given twice, of which the last
// would count; null, which would leave a field as if it were not there; a name in
// other case than the field's; a name that no field has; text behind the value; more
// than 64 levels; and bytes that are not UTF-8.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Unmarshal reads one JSON value into a pointer to a struct, whose fields have tags
// that name them. Types that read themselves ([json.Unmarshaler]) see their part
// once it holds neither null nor a member twice. Errors name the member and its line.
func Unmarshal(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("it is not valid UTF-8")
	}
	r := &reader{text: text, tokens: json.NewDecoder(bytes.NewReader(text))}
	r.tokens.UseNumber()
	if err := r.value(reflect.TypeOf(into), ""); err != nil {
		return r.located(err)
	}
	if _, err := r.tokens.Token(); !errors.Is(err, io.EOF) {
		return r.located(errors.New("something follows the value"))
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// maxDepth is how deep values may be nested.
const maxDepth = 64

// A reader goes through a text beside the type it is read into.
type reader struct {
	text   []byte
	tokens *json.Decoder
	depth  int
}

// located says on which line the reader stands.
func (r *reader) located(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends before the value does")
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(r.text[:r.tokens.InputOffset()], []byte{'\n'}), err)
}

// value checks the next value, which is for a t, or for what nobody knows when t is
// nil. at says where it stands.
func (r *reader) value(t reflect.Type, at string) error {
	token, err := r.tokens.Token()
	if err != nil {
		return err
	}
	if r.depth++; r.depth > maxDepth {
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	defer func() { r.depth-- }()
	switch token {
	case nil:
		return fmt.Errorf("%s is null; leave it out, or give it a value", orValue(at))
	case json.Delim('{'):
		return r.object(known(t), at)
	case json.Delim('['):
		return r.list(known(t), at)
	}
	return nil
}

func orValue(at string) string {
	if at == "" {
		return "the value"
	}
	return at
}

// known is the type whose fields or elements are looked at; nil for one that reads
// itself.
func known(t reflect.Type) reflect.Type {
	for t != nil {
		if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			return nil
		}
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

func (r *reader) object(t reflect.Type, at string) error {
	seen := map[string]bool{}
	for r.tokens.More() {
		token, err := r.tokens.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // the decoder refuses any other
		if seen[name] {
			return fmt.Errorf("%s is given twice", join(at, name))
		}
		seen[name] = true
		member, err := memberType(t, name)
		if err != nil {
			return err
		}
		if err := r.value(member, join(at, name)); err != nil {
			return err
		}
	}
	_, err := r.tokens.Token()
	return err
}

func (r *reader) list(t reflect.Type, at string) error {
	for i := 0; r.tokens.More(); i++ {
		if err := r.value(elementType(t), at+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	_, err := r.tokens.Token()
	return err
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// memberType is the type of an object's member, nil when the object's own type does
// not say it.
func memberType(t reflect.Type, name string) (reflect.Type, error) {
	switch {
	case t == nil:
		return nil, nil
	case t.Kind() == reflect.Map:
		return t.Elem(), nil
	case t.Kind() != reflect.Struct:
		return nil, nil
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == name && tag != "" && tag != "-":
			return f.Type, nil
		case tag != "" && tag != "-" && strings.EqualFold(tag, name):
			return nil, fmt.Errorf("unknown field %q; write %q", name, tag)
		}
	}
	return nil, fmt.Errorf("unknown field %q", name)
}

func elementType(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
		return nil
	}
	return t.Elem()
}
