package install_test

import (
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

func TestDevelopGrantsWhatTheAuthorGivesAndNoMore(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "net", "1.0.0", api)
	give := func(texts ...string) {
		t.Helper()
		set, err := capability.ParseSet(texts...)
		if err != nil {
			t.Fatal(err)
		}
		out, err := p.Develop(t.Context(), ada, p.plan(t, pkg, registry.OriginDevelopment), set.All())
		if err != nil || out.Skill == nil || out.Skill.Digest != pkg.Digest() {
			t.Fatalf("%+v, %v", out, err)
		}
		want(t, "granted", p.granted(t, pkg), texts)
	}
	give()
	give("clock", "kv")
	give("kv", "random")
	pkg = pack(t, "net", "1.0.0", api, "https://other.example/*") // the same version, with other bytes
	give("kv")
	s, err := p.registry.Lookup(t.Context(), manifests.Ref{Name: "net"})
	if err != nil || s.Digest != pkg.Digest() || s.Origin != registry.OriginDevelopment {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestDevelopIsForDevelopment(t *testing.T) {
	p := assemble(t)
	pkg := pack(t, "net", "1.0.0", api)
	_, err := p.Develop(t.Context(), ada, p.plan(t, pkg, registry.OriginUser), nil)
	wantKind(t, err, fault.KindInternal)
	set, err := capability.ParseSet("fs.read:/proc/**")
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Develop(t.Context(), ada, p.plan(t, pkg, registry.OriginDevelopment), set.All())
	wantKind(t, err, fault.KindDenied)
	want(t, "active", p.active(t, "net"), "")
}
