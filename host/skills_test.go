package host_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// A skill that fails is answered for by another that is installed, once a person
// said that it may.
func TestFallbackFindsInstalledSkills(t *testing.T) {
	var log bytes.Buffer
	h := open(t, t.TempDir(), &log)
	defer h.Close(t.Context())
	installed := func(name, members string, result int32) runner.Call {
		m := wasmtest.New()
		m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "", wasmtest.I32Const(result)))
		p, err := bundle.FromFiles(map[string][]byte{
			"skill.json": fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"d","type":"code_inline","command":"m.wasm","tools":[{"name":"run"}]%s}`, name, members),
			"m.wasm":     m.Bytes(),
		})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := h.Installer.Plan(t.Context(), install.Request{Package: p, Source: "test", Origin: registry.OriginUser, ProposedBy: "human:ada"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Installer.Accept(t.Context(), approval.NewHuman("ada"), plan); err != nil {
			t.Fatal(err)
		}
		return runner.Call{Target: target(t, h, name), Caller: "human:ada"}
	}
	first := installed("first", `,"security":{"permissions":{"skills":["second"]}},"resilience":{"fallback_command":"second:run"}`, 1)
	if !first.Target.Granted.Covers(capability.MustParse("skill:second")) {
		t.Fatalf("granted %v", first.Target.Granted.Strings())
	}
	if r := h.Runner.Run(t.Context(), first); r.OK || r.Fallback == nil || r.Fallback.Error == nil {
		t.Errorf("nobody there: %+v, %+v", r.Error, r.Fallback)
	}
	installed("second", "", 0)
	if r := h.Runner.Run(t.Context(), first); !r.OK || r.Fallback.Skill != "second@1.0.0" {
		t.Errorf("got %+v, %+v, log %s", r.Error, r.Fallback, log.String())
	}
}

// target is an installed skill with what it was granted.
func target(t *testing.T, h *host.Host, name string) runner.Target {
	t.Helper()
	s, err := h.Registry.Lookup(t.Context(), manifests.Ref{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Registry.Package(t.Context(), s.Digest)
	if err != nil {
		t.Fatal(err)
	}
	granted, err := h.Desk.Spend(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return runner.Target{Label: s.Ref(), Package: p, Origin: s.Origin, Granted: granted}
}
