package host_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// working makes a version of a skill that counts to turns and ends with result.
func working(t *testing.T, version string, turns, result int32) *bundle.Package {
	t.Helper()
	m := wasmtest.New()
	m.ExportFunc("run", m.Func(wasmtest.Sig("", "i32"), "i32 i32",
		wasmtest.Loop(wasmtest.Empty,
			wasmtest.LocalGet(0), wasmtest.I32Const(1), wasmtest.Op(0x6a), wasmtest.LocalTee(0), // i32.add
			wasmtest.I32Const(turns), wasmtest.Op(0x48), wasmtest.BrIf(0)), // i32.lt_s
		wasmtest.I32Const(result)))
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":"worker","version":%q,"description":"for tests","type":"code_inline","command":"m.wasm","tools":[{"name":"run"}]}`, version),
		"m.wasm":     m.Bytes(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// planned plans the installation of a package for ada.
func planned(t *testing.T, h *host.Host, p *bundle.Package) install.Plan {
	t.Helper()
	plan, err := h.Parts().Installer.Plan(t.Context(), install.Request{
		Package: p, Source: "/src", Directory: true, Origin: registry.OriginUser, ProposedBy: "human:ada", Person: approval.NewHuman("ada"), Workspace: "/ws",
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// find finds an installed skill as a call does.
func find(t *testing.T, h *host.Host, ref manifests.Ref) (invoke.Target, error) {
	t.Helper()
	return h.Invoke().Find(t.Context(), ada, invoke.Address{Ref: ref}, nil)
}

// called calls the skill n times, as any caller does who names no version.
func called(t *testing.T, h *host.Host, n int) (versions map[string]int) {
	t.Helper()
	versions = map[string]int{}
	for range n {
		target, err := find(t, h, manifests.Ref{Name: "worker"})
		if err != nil {
			t.Fatal(err)
		}
		versions[target.Manifest().Version]++
		if _, err := h.Invoke().Invoke(t.Context(), invoke.Invocation{Target: target, By: ada}); err != nil {
			t.Fatal(err)
		}
	}
	return versions
}

func TestCanary(t *testing.T) {
	ada := approval.NewHuman("ada")
	for name, c := range map[string]struct {
		turns, result int32
		calls         int
		verdict       registry.Verdict
		reason        string
	}{
		"it fails":              {1000, 1, 200, registry.VerdictRolledBack, "of its 5 calls failed (before: 0 of"},
		"it burns fuel":         {3000, 0, 300, registry.VerdictRolledBack, "times the fuel"},
		"it works":              {1000, 0, 300, registry.VerdictPromoted, "0 of its 25 calls failed"},
		"it is on trial longer": {1000, 0, 100, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			h := open(t, t.TempDir(), &log)
			defer h.Close(t.Context())
			if _, err := h.Parts().Installer.Submit(t.Context(), planned(t, h, working(t, "1.0.0", 1000, 0))); err != nil {
				t.Fatal(err)
			}
			next := planned(t, h, working(t, "1.1.0", c.turns, c.result))
			if _, err := h.Parts().Installer.AcceptCanary(t.Context(), ada, next, install.Share{Percent: 10, Calls: 25}); err != nil {
				t.Fatal(err)
			}
			got := called(t, h, c.calls)
			s, err := h.Parts().Registry.Lookup(t.Context(), manifests.Ref{Name: "worker"})
			if err != nil {
				t.Fatal(err)
			}
			if c.verdict == "" {
				onTrial(t, h, s, got, c.calls/10)
				return
			}
			if s.Canary != nil || s.Trial == nil || s.Trial.Verdict != c.verdict || !strings.Contains(s.Trial.Reason, c.reason) {
				t.Fatalf("got %+v, %+v after %v\n%s", s.Canary, s.Trial, got, log.String())
			}
			if active := map[registry.Verdict]string{registry.VerdictPromoted: "1.1.0", registry.VerdictRolledBack: "1.0.0"}[c.verdict]; s.Version != active {
				t.Errorf("%s is active", s.Version)
			}
			var report runner.Report
			if err := json.Unmarshal(s.Trial.Report, &report); err != nil || report.Figures.Candidate.Calls == 0 || report.Figures.Stable.Calls == 0 {
				t.Errorf("the report: %s, %v", s.Trial.Report, err)
			}
			decidedBy(t, h, "host:canary", string(c.verdict))
		})
	}
}

// onTrial demands that a trial goes on, and that its share is what it should be.
func onTrial(t *testing.T, h *host.Host, s registry.Skill, got map[string]int, want int) {
	t.Helper()
	if s.Canary == nil || got["1.1.0"] != want {
		t.Fatalf("got %+v after %v", s.Canary, got)
	}
	report, err := h.Parts().Runner.Canary(t.Context(), "worker", *s.Canary)
	if err != nil || report.Figures.Candidate.Calls != want || report.Figures.Candidate.Failed != 0 {
		t.Errorf("got %+v, %v", report, err)
	}
	for version, runs := range map[string]string{"1.0.0": "worker@1.0.0", "1.1.0": "worker@1.1.0"} { // named, they are no part of the trial
		target, err := find(t, h, manifests.Ref{Name: "worker", Version: version})
		if err != nil || target.Label() != runs || target.Bare().Canary != nil {
			t.Errorf("%s: %+v, %v", version, target.Label(), err)
		}
	}
}

// decidedBy demands that the audit log has one decision of an actor.
func decidedBy(t *testing.T, h *host.Host, actor, note string) {
	t.Helper()
	n := 0
	err := h.Parts().Ledger.History(t.Context(), 0, func(r ledger.Record) error {
		if r.Actor == actor && strings.HasPrefix(r.Note, note) {
			n++
		}
		return nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d decisions of %s: %v", n, actor, err)
	}
}

func TestDisabledSkillIsNoTarget(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := open(t, t.TempDir(), &log)
	defer h.Close(t.Context())
	if _, err := h.Parts().Installer.Submit(t.Context(), planned(t, h, working(t, "1.0.0", 1, 0))); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Parts().Installer.Disable(t.Context(), "human:ada", manifests.Ref{Name: "worker"}, "slow"); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"", "1.0.0"} {
		_, err := find(t, h, manifests.Ref{Name: "worker", Version: version})
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindDenied || len(e.Remedies) != 1 || !reflect.DeepEqual(e.Remedies[0], fault.Enable("worker")) {
			t.Errorf("%q: %+v", version, e)
		}
	}
}
