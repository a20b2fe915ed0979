package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/guestapi"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Finding is a difference between what a package's module calls and what its
// manifest asks for.
type Finding struct {
	// Refused is true for a module that calls what the manifest does not ask for;
	// what is asked for and not called is only flagged.
	Refused bool `json:"refused"`
	// Permission is the field under security.permissions.
	Permission string `json:"permission"`
	// Imports are the functions of the host that are called; empty when none is.
	Imports []string `json:"imports,omitempty"`
	Words   string   `json:"words"`
	WayOut  string   `json:"way_out,omitempty"`
}

// An importRule pairs an action with the functions of the host that have no use
// without it.
type importRule struct {
	// asked is what the manifest asks for, see [manifests.Permissions.AsksFor].
	asked capability.Action
	// needs are the beginnings of the names of functions, behind their module and a
	// colon, that may only be imported when it is asked for.
	needs []string
	// serves are functions that may use what is asked for, and that a module may
	// import without: every program of some toolchains does.
	serves []string
}

// importRules is the table. The functions of [guestapi.Module] are added by the
// action each takes a grant for. Files are one row: a module that can write can be
// made to read by nothing else than a grant.
func importRules() []importRule {
	rules := []importRule{
		{asked: capability.HTTP, needs: []string{"extism:host/env:http_request"}},
		{asked: capability.KV},
		{asked: capability.FSRead, serves: []string{"wasi_snapshot_preview1:path_"}},
		// A secret that is injected is used by the host, for requests.
		{asked: capability.Secret, serves: []string{guestapi.Module + ":http_", "extism:host/env:http_request"}},
		{asked: capability.Notify},
		// Also the fallback command of a skill that calls none itself is asked for there.
		{asked: capability.Skill, serves: []string{guestapi.Module + ":", "extism:host/env:", "wasi_snapshot_preview1:"}},
		{asked: capability.Model},
		{asked: capability.Clock, serves: []string{"wasi_snapshot_preview1:clock_", "wasi_snapshot_preview1:poll_"}},
		{asked: capability.Random, serves: []string{"wasi_snapshot_preview1:random_"}},
	}
	for _, f := range guestapi.Functions() {
		k, needsGrant := f.Action.Kind()
		if !needsGrant {
			continue
		}
		i := slices.IndexFunc(rules, func(r importRule) bool { return slices.Contains(r.fields(), k.Field) })
		if i < 0 {
			i, rules = len(rules), append(rules, importRule{asked: f.Action})
		}
		rules[i].needs = append(rules[i].needs, guestapi.Module+":"+f.Name)
	}
	return rules
}

// fields are those under security.permissions in which the action can be asked for.
func (r importRule) fields() []string {
	k, _ := r.asked.Kind()
	return append([]string{k.Field}, k.AlsoIn...)
}

// permission names the fields in words.
func (r importRule) permission() string { return strings.Join(r.fields(), " or ") }

// Imports compares what a package's module imports with what its manifest asks
// for. It finds nothing for a package without a module. The error is that of a
// module that cannot be read.
func Imports(p *bundle.Package) ([]Finding, error) {
	path, wasm := moduleOf(p)
	if wasm == nil {
		return nil, nil
	}
	m, err := inspect(wasm)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if isInterpreter(p.Manifest(), m) {
		return nil, nil
	}
	return checkImports(path, m.Imports, p.Manifest().Security.Permissions), nil
}

// Interprets are the interfaces for which a package can be the interpreter of
// scripts, in order; nil for a package that can be none. The error is that of a
// module that cannot be read.
func Interprets(p *bundle.Package) ([]string, error) {
	path, wasm := moduleOf(p)
	if wasm == nil || len(p.Manifest().Provides) == 0 {
		return nil, nil
	}
	m, err := inspect(wasm)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if _, starts := m.Export("preinit"); !starts {
		return nil, nil
	}
	return slices.Sorted(maps.Keys(p.Manifest().Provides)), nil
}

// InterpreterWords says what it means that a package can run scripts that need one
// of names.
func InterpreterWords(names []string) string {
	return fmt.Sprintf("scripts that need %s run in it, with what they were granted", strings.Join(names, " or "))
}

// isInterpreter reports whether a module is one that scripts are made of: it can
// call whatever any script may call, and does so with what the script was granted.
// It gets nothing itself that its manifest does not ask for.
func isInterpreter(man *manifests.Manifest, m *wasmbin.Module) bool {
	_, starts := m.Export("preinit")
	_, loads := m.Export("load")
	return len(man.Provides) > 0 && starts && loads
}

// Lacks returns the field of the manifest without which a module whose manifest asks
// for p may not import a function of skillet:host/v1; "" for one that it may.
func Lacks(p manifests.Permissions, name string) string {
	for _, r := range importRules() {
		for _, prefix := range r.needs {
			if strings.HasPrefix(guestapi.Module+":"+name, prefix) && !p.AsksFor(r.asked) {
				return r.permission()
			}
		}
	}
	return ""
}

// checkImports applies the table.
func checkImports(path string, imports []wasmbin.Import, asked manifests.Permissions) []Finding {
	var all []Finding
	for _, r := range importRules() {
		needs, serves, permission := imported(imports, r.needs), imported(imports, r.serves), r.permission()
		switch {
		case len(needs) > 0 && !asked.AsksFor(r.asked):
			all = append(all, Finding{
				Refused: true, Permission: permission, Imports: needs,
				Words:  fmt.Sprintf("%s calls %s, and the manifest does not ask for %s", path, strings.Join(needs, ", "), permission),
				WayOut: r.wayOut(),
			})
		case len(needs)+len(serves) == 0 && asked.AsksFor(r.asked):
			all = append(all, Finding{
				Permission: permission,
				Words:      fmt.Sprintf("the manifest asks for %s, and %s has no code that could use it", permission, path),
			})
		}
	}
	return all
}

// Useless are those of cs for which a package has no code: nothing that its module
// calls could use them. What a prompt or a plugin may use is not known, nor what a
// script of an interpreter does.
func Useless(p *bundle.Package, cs []capability.Capability) ([]capability.Capability, error) {
	path, wasm := moduleOf(p)
	if wasm == nil {
		return nil, nil
	}
	m, err := inspect(wasm)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if isInterpreter(p.Manifest(), m) {
		return nil, nil
	}
	var useless []capability.Capability
	for _, c := range cs {
		i := slices.IndexFunc(importRules(), func(r importRule) bool {
			return r.asked == c.Action() || r.asked == capability.FSRead && c.Action() == capability.FSWrite
		})
		if i < 0 {
			continue
		}
		r := importRules()[i]
		if len(imported(m.Imports, r.needs))+len(imported(m.Imports, r.serves)) == 0 {
			useless = append(useless, c)
		}
	}
	return useless, nil
}

// imported are the names of the imports that begin with one of prefixes.
func imported(imports []wasmbin.Import, prefixes []string) []string {
	var names []string
	for _, i := range imports {
		if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(i.Module+":"+i.Name, p) }) {
			names = append(names, i.Name)
		}
	}
	return names
}

func (r importRule) wayOut() string {
	where := "ask for it under security.permissions in the manifest"
	if r.asked.Shape() != capability.ShapeNone {
		where += ", with an empty list when only a person can say what for"
	}
	return where + "; or build the module without that call"
}
