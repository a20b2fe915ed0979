package admit

import (
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
)

// Outcome is what became of one package.
type Outcome = install.Outcome

// Installed is what became of one package that was to be installed.
type Installed struct {
	OK bool `json:"ok"`
	// Path is how it was named.
	Path string `json:"path"`
	install.Outcome
	Plan *Package `json:"plan,omitempty"`
	// Needs are the packages that come with it, because it needs them.
	Needs []Needed     `json:"needs,omitempty"`
	Error *fault.Error `json:"error,omitempty"`
}

// Needed is a package that another one needs.
type Needed struct {
	Skill   string `json:"skill"`
	Version string `json:"version"`
	For     string `json:"for,omitempty"`
	install.Outcome
	Plan *Package `json:"plan,omitempty"`
}

// Installation is what became of a package that was to be installed, by its plan, its
// result and what went wrong; the plan is nil when it could not be made.
func Installation(path string, p *Plan, r Result, e *fault.Error) Installed {
	v := Installed{OK: e == nil, Path: path, Outcome: r.Outcome, Error: e}
	if p != nil {
		v.Plan, v.Needs = needs(p, r)
	}
	return v
}

// needs are the package that was named and those that come with it. Their plans are told
// of where evidence was gathered and nothing became of them.
func needs(p *Plan, r Result) (main *Package, all []Needed) {
	name := p.Main()
	became := map[*Package]install.Outcome{}
	for _, b := range r.Became {
		became[b.Package] = b.Outcome
	}
	for i := range p.Packages {
		pkg := &p.Packages[i]
		out, done := became[pkg]
		n := Needed{Skill: pkg.Skill, Version: pkg.Version, For: pkg.For, Outcome: out}
		if pkg.Looked && !done {
			n.Plan = pkg
		}
		switch {
		case pkg == name:
			main = n.Plan
		case done || pkg.Looked:
			all = append(all, n)
		}
	}
	return main, all
}
