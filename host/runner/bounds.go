package runner

import (
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/policies/capability"
)

// Bounds are what a call and the calls it makes keep to, whatever was granted.
// They only take away: nothing is allowed by them.
type Bounds struct {
	// Roots are absolute directories, outside of which no file is opened.
	Roots []string
	// Offline has no request be sent.
	Offline bool
}

// cut is what is left of a set within the bounds; a nil b takes nothing away.
func (b *Bounds) cut(s capability.Set) capability.Set {
	if b == nil {
		return s
	}
	var files, rest []capability.Capability
	for _, c := range s.All() {
		switch c.Action() {
		case capability.FSRead, capability.FSWrite:
			files = append(files, c)
		case capability.HTTP:
			if !b.Offline {
				rest = append(rest, c)
			}
		default:
			rest = append(rest, c)
		}
	}
	return capability.NewSet(files...).Intersect(b.files()).Union(capability.NewSet(rest...))
}

// files are the roots as capabilities. One whose name would be a pattern is left out.
func (b *Bounds) files() capability.Set {
	var all []capability.Capability
	for _, root := range b.Roots {
		if strings.ContainsAny(root, "*?[") {
			continue
		}
		for _, action := range []capability.Action{capability.FSRead, capability.FSWrite} {
			c, err := capability.Parse(string(action) + ":" + strings.TrimSuffix(filepath.ToSlash(filepath.Clean(root)), "/") + "/**")
			if err == nil {
				all = append(all, c)
			}
		}
	}
	return capability.NewSet(all...)
}

// beyond says why no grant helps with a request; empty for one within the bounds.
func (b *Bounds) beyond(r capability.Request) string {
	switch {
	case b == nil:
	case r.Action == capability.HTTP && b.Offline:
		return "this call sends no requests, whatever was granted: its task is offline"
	case r.Action == capability.FSRead || r.Action == capability.FSWrite:
		if _, within := b.files().Allows(r); !within {
			return "this call touches no file outside of " + b.places() + ", whatever was granted"
		}
	}
	return ""
}

func (b *Bounds) places() string {
	if len(b.Roots) == 0 {
		return "its task, which has no directory"
	}
	return strings.Join(b.Roots, ", ")
}
