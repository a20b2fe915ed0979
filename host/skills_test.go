package host_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
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
		add(t, h, name, members, result)
		return runner.Call{Target: target(t, h, name), Caller: "human:ada"}
	}
	first := installed("first", `,"security":{"permissions":{"skills":["second"]}},"resilience":{"fallback_command":"second:run"}`, 1)
	if !first.Target.Granted.Set().Covers(capability.MustParse("skill:second")) {
		t.Fatalf("granted %v", first.Target.Granted.Set().Strings())
	}
	if r := h.Parts().Runner.Run(t.Context(), first); r.OK || r.Fallback == nil || r.Fallback.Error == nil {
		t.Errorf("nobody there: %+v, %+v", r.Error, r.Fallback)
	}
	installed("second", "", 0)
	if r := h.Parts().Runner.Run(t.Context(), first); !r.OK || r.Fallback.Skill != "second@1.0.0" {
		t.Errorf("got %+v, %+v, log %s", r.Error, r.Fallback, log.String())
	}
}

// The doctor asks skills that say how they are checked, and those alone.
func TestDoctorChecksHealth(t *testing.T) {
	home := t.TempDir()
	for i, want := range []string{"0 of the", "1 of the", "ill@1.0.0 does not work", ""} {
		var log bytes.Buffer
		h := open(t, home, &log)
		switch i {
		case 1:
			add(t, h, "well", `,"resilience":{"health_check":{"enabled":true,"tool":"run"}}`, 0)
		case 2:
			add(t, h, "ill", `,"resilience":{"health_check":{"enabled":true,"tool":"run"}}`, 1)
		case 3:
			add(t, h, "undeclared", "", 1)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		d, err := host.Diagnose(t.Context(), ada, options(home, &log), upkeep.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Checks {
			text := c.Detail
			if c.Error != nil {
				text = c.Error.Message
			}
			if c.Name == "health" && !strings.Contains(text, want) {
				t.Errorf("got %q, want %q", text, want)
			}
		}
	}
}

func options(home string, log *bytes.Buffer) host.Options {
	return host.Options{Home: home, Environ: []string{"SKILLET_SECRET_KEY=file"}, LogOutput: log}
}

// add installs a skill whose one tool returns result.
func add(t *testing.T, h *host.Host, name, members string, result int32) {
	t.Helper()
	m := wasmtest.New()
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "", wasmtest.I32Const(result)))
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":"1.0.0","description":"d","type":"code_inline","command":"m.wasm","tools":[{"name":"run","read_only":true}]%s}`, name, members),
		"m.wasm":     m.Bytes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	accept(t, h, p)
}

// accept installs a package, with all that it asks for.
func accept(t testing.TB, h *host.Host, p *bundle.Package) {
	t.Helper()
	plan, err := h.Parts().Installer.Plan(t.Context(), install.Request{Package: p, Source: "test", Directory: true, Origin: registry.OriginUser, ProposedBy: "human:ada"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Parts().Installer.Accept(t.Context(), approval.NewHuman("ada"), plan); err != nil {
		t.Fatal(err)
	}
}

// target is an installed skill with what it was granted.
func target(t testing.TB, h *host.Host, name string) runner.Target {
	t.Helper()
	s, err := h.Parts().Registry.Lookup(t.Context(), manifests.Ref{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	p, err := h.Parts().Registry.Package(t.Context(), s.Digest)
	if err != nil {
		t.Fatal(err)
	}
	granted, err := h.Parts().Approvals.ConsumeGrants(t.Context(), s, approval.Use{})
	if err != nil {
		t.Fatal(err)
	}
	return runner.Target{Label: s.Ref(), Package: p, Origin: s.Origin, Granted: granted}
}

// A call has what people granted to the bytes that run, and nothing else: neither
// what a caller makes up, nor what was granted to another package.
func TestCallsHaveWhatWasGrantedToTheirBytes(t *testing.T) {
	var log bytes.Buffer
	h := open(t, t.TempDir(), &log)
	defer h.Close(t.Context())
	add(t, h, "first", `,"security":{"permissions":{"kv":{}}}`, 0)
	add(t, h, "second", `,"security":{"permissions":{"kv":{}}}`, 0)
	first, second := target(t, h, "first"), target(t, h, "second")
	if !first.Granted.Set().Covers(capability.MustParse("kv")) {
		t.Fatalf("granted %v", first.Granted.Set().Strings())
	}
	if r := h.Parts().Runner.Run(t.Context(), runner.Call{Target: first, Caller: "agent:general"}); !r.OK {
		t.Fatalf("as it was granted: %v", r.Error)
	}
	second.Granted = first.Granted
	r := h.Parts().Runner.Run(t.Context(), runner.Call{Target: second, Caller: "agent:general"})
	if r.OK || r.Error.Kind != fault.KindDenied || !strings.Contains(r.Error.Message, "was granted is for the package") {
		t.Errorf("with what was granted to another package: ok %v, %v", r.OK, r.Error)
	}
}
