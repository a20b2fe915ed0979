package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/adopt"
	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/host/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
)

func TestRefusalSaysHowToAllowIt(t *testing.T) {
	refused := []task.Denial{{Request: "http:GET:http://example.com/", Reason: "not granted", Hint: "add --allow http:example.com"}}
	for name, err := range map[string]error{
		"the guest was ended by it": errors.Join(sandbox.ErrTrap, &hostfn.Failure{Kind: hostfn.KindDenied}),
		"the guest then gave up":    &sandbox.GuestError{Kind: "failed", Message: "no page"},
		"the guest then crashed":    sandbox.ErrTrap,
	} {
		t.Run(name, func(t *testing.T) {
			a := &run{result: task.Result{Skill: "tester"}}
			e := explain(a, refused, err)
			if e.Kind != task.KindDenied || !strings.Contains(e.Message, "tester was denied http:GET:http://example.com/: not granted") {
				t.Errorf("%s: %s, want what was denied", e.Kind, e.Message)
			}
			if e.Hint != "to allow it: add --allow http:example.com" {
				t.Errorf("hint %q, want the way to allow it", e.Hint)
			}
		})
	}
}

func TestLimitSaysHowToRaiseIt(t *testing.T) {
	written, bare := &manifests.Manifest{Name: "tester"}, bareModule(t)
	for _, row := range []struct {
		err      error
		manifest *manifests.Manifest
		want     string
	}{
		{sandbox.ErrMemory, written, "raise it for one run with --max-memory-mb, or in the skill's manifest; the host's own ceiling is in `skillet config list`"},
		{sandbox.ErrMemory, bare, "raise it for one run with --max-memory-mb; the host's own ceiling is in `skillet config list`"},
		{sandbox.ErrTime, bare, "raise it for one run with --timeout; the host's own ceiling is in `skillet config list`"},
		{sandbox.ErrOutput, written, "raise it for one run with --max-output-kb, or in the skill's manifest"},
		{sandbox.ErrOutput, bare, "raise it for one run with --max-output-kb"},
		{sandbox.ErrHostCalls, bare, "raise it for one run with --max-host-calls"},
		{sandbox.ErrInput, bare, "give less at once, or let the skill read a file by itself"},
	} {
		e := explain(&run{manifest: row.manifest}, nil, row.err)
		if e.Kind != task.KindLimit || e.Hint != row.want {
			t.Errorf("%v: %s, hint %q, want %q", row.err, e.Kind, e.Hint, row.want)
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

func TestCallersLimits(t *testing.T) {
	r := &Runner{}
	a := &run{manifest: &manifests.Manifest{}}
	a.call.Limits = Limits{OutputBytes: 5, HostCalls: 7}
	if l := r.limits(a); l.OutputBytes != 5 || l.HostCalls != 7 {
		t.Errorf("output %d, host calls %d; want 5 and 7", l.OutputBytes, l.HostCalls)
	}
	a.call.Limits = Limits{OutputBytes: 1 << 40, HostCalls: 1 << 30}
	if l := r.limits(a); l.OutputBytes != manifests.CeilingOutputKB<<10 || l.HostCalls != manifests.CeilingHostCalls {
		t.Errorf("output %d, host calls %d; want the ceilings", l.OutputBytes, l.HostCalls)
	}
}
