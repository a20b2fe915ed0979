package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/fetch/adopt"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
)

func TestRefusalSaysHowToAllowIt(t *testing.T) {
	refused := []task.Denial{{Request: "http:GET:http://example.com/", Reason: "not granted", Hint: "add {0}", Remedies: []fault.Remedy{fault.SetField(fault.FieldAllow, "http:example.com")}}}
	for name, err := range map[string]error{
		"the guest was ended by it": errors.Join(sandbox.ErrTrap, &hostfn.Failure{Kind: hostfn.KindDenied}),
		"the guest then gave up":    &sandbox.GuestError{Kind: "failed", Message: "no page"},
		"the guest then crashed":    sandbox.ErrTrap,
	} {
		t.Run(name, func(t *testing.T) {
			a := &run{result: task.Result{Skill: "tester"}}
			e := explain(a, refused, err)
			if e.Kind != fault.KindDenied || !strings.Contains(e.Message, "tester was denied http:GET:http://example.com/: not granted") {
				t.Errorf("%s: %s, want what was denied", e.Kind, e.Message)
			}
			if e.Way().String() != "to allow it: add [set_field allow=http:example.com]" {
				t.Errorf("hint %q, want the way to allow it", e.Way().String())
			}
		})
	}
}

// A refusal by a policy names the policy, and the command that says more.
func TestPolicyThatRefusesIsNamed(t *testing.T) {
	refused := []task.Denial{{Request: "fs.read:/etc/shadow", Reason: "never", Policies: []string{"no-system-secrets"}}}
	for origin, want := range map[registry.Origin]string{
		registry.OriginPath:      "decided by policy no-system-secrets; [list_policies] shows what is in force",
		registry.OriginGenerated: "decided by policy no-system-secrets; [show_decision tester fs.read:/etc/shadow] says more",
	} {
		a := &run{manifest: &manifests.Manifest{Name: "tester"}, result: task.Result{Skill: "tester"}}
		a.call.Target.Origin = origin
		if e := explain(a, refused, &sandbox.GuestError{Kind: "denied", Message: "denied"}); e.Way().String() != want {
			t.Errorf("%s: hint %q, want %q", origin, e.Way().String(), want)
		}
	}
}

// A guest that says that it was refused something, to which the host refused nothing,
// uses what its manifest does not ask for: no grant helps.
func TestRefusalWithinTheModule(t *testing.T) {
	a := &run{manifest: &manifests.Manifest{Name: "tester"}}
	e := explain(a, nil, &sandbox.GuestError{Kind: "denied", Message: "may not read /a"})
	if e.Kind != fault.KindSkill || !strings.Contains(e.Way().String(), "under security.permissions of its manifest") || strings.Contains(e.Way().String(), "permission grant") {
		t.Errorf("%s: %s", e.Kind, e.Way().String())
	}
	if e := explain(a, nil, &sandbox.GuestError{Kind: "failed", Message: "no"}); !strings.Contains(e.Way().String(), "the skill's own answer") {
		t.Errorf("another failure: %s", e.Way().String())
	}
}

func TestLimitSaysHowToRaiseIt(t *testing.T) {
	written, bare := &manifests.Manifest{Name: "tester"}, bareModule(t)
	for _, row := range []struct {
		err      error
		manifest *manifests.Manifest
		want     string
	}{
		{sandbox.ErrMemory, written, "raise it for one run with [set_field max_memory_mb], or in the skill's manifest; the host's own ceiling is in [list_settings]"},
		{sandbox.ErrMemory, bare, "raise it for one run with [set_field max_memory_mb]; the host's own ceiling is in [list_settings]"},
		{sandbox.ErrTime, bare, "raise it for one run with [set_field timeout]; the host's own ceiling is in [list_settings]"},
		{sandbox.ErrOutput, written, "raise it for one run with [set_field max_output_kb], or in the skill's manifest"},
		{sandbox.ErrOutput, bare, "raise it for one run with [set_field max_output_kb]"},
		{sandbox.ErrHostCalls, bare, "raise it for one run with [set_field max_host_calls]"},
		{sandbox.ErrInput, bare, "give less at once, or let the skill read a file by itself"},
	} {
		e := explain(&run{manifest: row.manifest}, nil, row.err)
		if e.Kind != fault.KindLimit || e.Way().String() != row.want {
			t.Errorf("%v: %s, hint %q, want %q", row.err, e.Kind, e.Way().String(), row.want)
		}
	}
}

// bareModule is the manifest that a module gets which has none.
func bareModule(t *testing.T) *manifests.Manifest {
	t.Helper()
	m := wasmtest.New()
	m.ExportFunc("run", m.Func(wasmtest.Sig("", ""), ""))
	path := filepath.Join(t.TempDir(), "bare.wasm")
	if err := os.WriteFile(path, m.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := adopt.Module(path)
	if err != nil {
		t.Fatal(err)
	}
	return p.Manifest()
}
