package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/nearest"
)

// A leaf is a setting that has a value of its own: a field of [Settings], or of
// a group in it.
type leaf struct {
	key   string // with dots: "models.default"
	doc   string
	index []int // of the field in the struct it was looked for in
	of    reflect.Type
}

// leaves are the settings in a struct, in order. Fields that are structs are
// groups of settings.
func leaves(t reflect.Type, prefix string, index []int) []leaf {
	var all []leaf
	for i := range t.NumField() {
		f := t.Field(i)
		key, at := prefix+f.Tag.Get("koanf"), append(slices.Clone(index), i)
		if f.Anonymous {
			all = append(all, leaves(f.Type, prefix, at)...)
			continue
		}
		if f.Type.Kind() == reflect.Struct {
			all = append(all, leaves(f.Type, key+".", at)...)
			continue
		}
		all = append(all, leaf{key, f.Tag.Get("doc"), at, f.Type})
	}
	return all
}

// allLeaves are those of Settings; the providers are one of them.
func allLeaves() []leaf { return leaves(reflect.TypeFor[Settings](), "", nil) }

// providerLeaves are the settings of one provider.
func providerLeaves(name string) []leaf {
	return leaves(reflect.TypeFor[Provider](), providersKey+"."+name+".", nil)
}

// findLeaf finds a setting by its key. ok is false when there is none of it.
func findLeaf(key string) (l leaf, ok bool) {
	all := allLeaves()
	if rest, is := strings.CutPrefix(key, providersKey+"."); is {
		name, _, _ := strings.Cut(rest, ".")
		all = providerLeaves(name)
	}
	i := slices.IndexFunc(all, func(l leaf) bool { return l.key == key })
	if i < 0 {
		return leaf{}, false
	}
	return all[i], true
}

// providerKey reports whether key is a setting that every provider has.
func providerKey(key string) bool {
	_, ok := findLeaf(key)
	return ok && strings.HasPrefix(key, providersKey+".")
}

// keys are those of all settings that a key may have been meant for.
func keys(meant string) []string {
	var ks []string
	for _, l := range allLeaves() {
		ks = append(ks, l.key)
	}
	if rest, is := strings.CutPrefix(meant, providersKey+"."); is {
		name, _, _ := strings.Cut(rest, ".")
		for _, l := range providerLeaves(name) {
			ks = append(ks, l.key)
		}
	}
	return ks
}

// isGroup reports whether a key names a group of settings.
func isGroup(key string) bool {
	return slices.ContainsFunc(keys(key), func(k string) bool { return strings.HasPrefix(k, key+".") })
}

// unknown is the error of a key that does not exist, with the one that is nearest.
func unknown(k fault.Kind, key, format string, args ...any) error {
	e := fault.Errorf(k, format, args...)
	if best, ok := nearest.Name(key, keys(key)); ok {
		return e.WithHint("did you mean %s? %s shows every setting", fault.Choose(best), fault.List(fault.Settings))
	}
	return e.WithHint("%s shows every setting", fault.List(fault.Settings))
}

// notOne is the error of a key that stands for several settings.
func notOne(k fault.Kind, key, format string, args ...any) error {
	var in []string
	for _, l := range keys(key) {
		if strings.HasPrefix(l, key+".") {
			in = append(in, l)
		}
	}
	return fault.Errorf(k, format, args...).WithHint("it has %s", strings.Join(in, ", "))
}

// values are the settings as people see them.
func values(s Settings, sources map[string]string) []Value {
	var vs []Value
	add := func(of reflect.Value, ls []leaf, all bool) {
		for _, l := range ls {
			v, source := of.FieldByIndex(l.index), cmp.Or(sources[l.key], "default")
			if l.key == providersKey {
				source = sourceOfProviders(sources)
			}
			if all || sources[l.key] != "" || !v.IsZero() {
				vs = append(vs, Value{l.key, v.Interface(), source, l.doc})
			}
		}
	}
	for _, l := range allLeaves() {
		add(reflect.ValueOf(s), []leaf{l}, true)
		if l.key != providersKey {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(s.Providers)) {
			add(reflect.ValueOf(s.Providers[name]), providerLeaves(name), false)
		}
	}
	return vs
}

// Default is the value of a setting that nothing sets, as text; empty for one that
// does not exist or has none.
func Default(key string) string {
	vs := values(Defaults(), nil)
	if i := slices.IndexFunc(vs, func(v Value) bool { return v.Key == key }); i >= 0 {
		return fmt.Sprint(vs[i].Value)
	}
	return ""
}

// sourceOfProviders is where any of their settings came from.
func sourceOfProviders(sources map[string]string) string {
	var from []string
	for key, source := range sources {
		if strings.HasPrefix(key, providersKey+".") {
			from = append(from, source)
		}
	}
	slices.Sort(from)
	return cmp.Or(strings.Join(slices.Compact(from), ", "), "default")
}
