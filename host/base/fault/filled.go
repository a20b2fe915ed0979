package fault

import (
	"reflect"
	"sync"
)

// A Filler is told when the hints in it are filled, to make again what is made of them.
type Filler interface{ HintsFilled() }

// Filled is a copy of what is to be shown in which each hint is what say makes of it and its
// remedies. What has no hints is not copied, and nothing that v leads to is changed. A hint
// is a field Hint of a struct with a field Remedies.
func Filled(v any, say func(hint string, remedies []Remedy) string) any {
	if v == nil || !hasHints(reflect.TypeOf(v)) {
		return v
	}
	c := reflect.New(reflect.TypeOf(v)).Elem()
	c.Set(reflect.ValueOf(v))
	filling(say).fill(c)
	return c.Interface()
}

// A filling fills hints.
type filling func(hint string, remedies []Remedy) string

// fill fills the hints in v, which may be set; what it leads to is copied before.
func (f filling) fill(v reflect.Value) {
	switch {
	case !hasHints(v.Type()):
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(v.Elem())
		f.fill(c.Elem())
		v.Set(c)
	case v.Kind() == reflect.Interface && !v.IsNil():
		v.Set(reflect.ValueOf(Filled(v.Interface(), f)))
	case v.Kind() == reflect.Slice && !v.IsNil():
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(c, v)
		v.Set(c)
		f.fillEach(c)
	case v.Kind() == reflect.Array:
		f.fillEach(v)
	case v.Kind() == reflect.Map && !v.IsNil():
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for k, e := range v.Seq2() {
			to := reflect.New(e.Type()).Elem()
			to.Set(e)
			f.fill(to)
			c.SetMapIndex(k, to)
		}
		v.Set(c)
	case v.Kind() == reflect.Struct:
		f.fillStruct(v)
	}
}

func (f filling) fillEach(list reflect.Value) {
	for i := range list.Len() {
		f.fill(list.Index(i))
	}
}

func (f filling) fillStruct(v reflect.Value) {
	if isHint(v.Type()) {
		hint, remedies := v.FieldByName("Hint"), v.FieldByName("Remedies")
		hint.SetString(f(hint.String(), remedies.Interface().([]Remedy)))
	}
	for of, field := range v.Fields() {
		if of.IsExported() || of.Anonymous && of.Type.Kind() == reflect.Struct {
			f.fill(field)
		}
	}
	if !v.CanInterface() { // an embedded struct
		return
	}
	if whole, ok := v.Addr().Interface().(Filler); ok {
		whole.HintsFilled()
	}
}

// isHint reports whether a struct has a hint with its remedies.
func isHint(of reflect.Type) bool {
	hint, has := of.FieldByName("Hint")
	remedies, knows := of.FieldByName("Remedies")
	return has && knows && hint.Type.Kind() == reflect.String && remedies.Type == reflect.TypeFor[[]Remedy]()
}

// hintTypes keeps what [hasHints] found.
var hintTypes sync.Map

// hasHints reports whether values of a type may lead to hints.
func hasHints(of reflect.Type) bool {
	if known, ok := hintTypes.Load(of); ok {
		return known.(bool)
	}
	has := leadsToHints(of, map[reflect.Type]bool{})
	hintTypes.Store(of, has)
	return has
}

func leadsToHints(of reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[of] {
		return false
	}
	seen[of] = true
	switch of.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return leadsToHints(of.Elem(), seen)
	case reflect.Struct:
		if isHint(of) {
			return true
		}
		for f := range of.Fields() {
			if (f.IsExported() || f.Anonymous) && leadsToHints(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
