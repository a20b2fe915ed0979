package install_test

import (
	"errors"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// Whoever leaves out what a decision was planned from decides nothing.
func TestNothingWithoutAState(t *testing.T) {
	p := assemble(t)
	plan := p.plan(t, pack(t, "fetcher", "1.0.0"), registry.OriginUser)
	out, err := p.Accept(t.Context(), ada, p.plan(t, pack(t, "net", "1.0.0"), registry.OriginUser))
	if err != nil {
		t.Fatal(err)
	}
	net := manifests.Ref{Name: "net"}
	for what, do := range map[string]func() error{
		"accept": func() error {
			_, err := p.AcceptGroup(t.Context(), ada, install.Group{Kind: "install", Subject: "fetcher", Plans: []install.Plan{plan}})
			return err
		},
		"accept what is asked for": func() error {
			_, err := p.AcceptGroup(t.Context(), ada, install.Group{Kind: "sync", Subject: "net", Asked: map[string]*registry.Asked{"net": nil}})
			return err
		},
		"submit": func() error {
			_, err := p.SubmitGroup(t.Context(), install.Group{Kind: "install", Subject: "fetcher", Plans: []install.Plan{plan}})
			return err
		},
		"remove": func() error {
			_, err := p.RemoveAll(t.Context(), ada.Actor(), install.Removing{Refs: []manifests.Ref{net}, Force: true})
			return err
		},
		"try": func() error {
			_, err := p.TryInstalled(t.Context(), ada, *out.Skill, install.Share{Percent: 10})
			return err
		},
		"look whether anything changed": func() error { return p.Unmoved(t.Context(), nil) },
	} {
		wantKind(t, do(), fault.KindInternal)
		if all, err := p.registry.List(t.Context()); err != nil || len(all) != 1 || all[0].Canary != nil {
			t.Errorf("%s: installed are %+v, %v", what, all, err)
		}
	}
	if ps, err := p.approvals.Proposals(t.Context()); err != nil || len(ps) != 0 {
		t.Errorf("proposed are %+v, %v", ps, err)
	}
}

// A plan that names no state is made from the one that there is when it is made.
func TestAPlanTakesItsState(t *testing.T) {
	for what, meanwhile := range map[string]func(p *parts, has registry.Skill) error{
		"disabled": func(p *parts, _ registry.Skill) error {
			_, err := p.Disable(t.Context(), ada.Actor(), manifests.Ref{Name: "net"}, "a test")
			return err
		},
		"granted less": func(p *parts, has registry.Skill) error {
			grants, err := p.approvals.Grants(t.Context(), has.Digest)
			if err == nil {
				_, err = p.approvals.Revoke(t.Context(), ada.Actor(), has, []capability.Capability{grants[0].Capability})
			}
			return err
		},
		"under other policies": func(p *parts, _ registry.Skill) (err error) {
			p.rules, err = policies.Default()
			return err
		},
	} {
		p := assemble(t)
		out, err := p.Accept(t.Context(), ada, p.plan(t, pack(t, "net", "1.0.0", "https://x.example/*"), registry.OriginUser))
		if err != nil {
			t.Fatal(err)
		}
		req := request(pack(t, "net", "2.0.0", "https://x.example/*"), registry.OriginUser)
		req.Since = nil
		plan, err := p.Plan(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if err := meanwhile(p, *out.Skill); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		_, err = p.Accept(t.Context(), ada, plan)
		if wantKind(t, err, fault.KindConflict); !errors.Is(err, install.ErrMoved) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
