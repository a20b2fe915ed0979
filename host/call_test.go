package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// A history that somebody harmed is no reason for a command to fail; the doctor
// says so, and mends it.
func TestDoctorMendsTheHistory(t *testing.T) {
	home := t.TempDir()
	var log bytes.Buffer
	h := open(t, home, &log)
	add(t, h, "calm", "", 0)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		t.Helper()
		d, err := host.Diagnose(t.Context(), ada, options(home, &log), upkeep.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range d.Checks {
			if c.Name == "history" && c.Error != nil {
				return c.Error.Message
			}
		}
		return ""
	}
	if got := look(); got != "" {
		t.Errorf("after an installation: %s", got)
	}
	for name, harm := range map[string]string{"objects": "objects", "head": "HEAD"} {
		if err := os.RemoveAll(filepath.Join(home, "history", ".git", harm)); err != nil {
			t.Fatal(err)
		}
		if got := look(); got == "" {
			t.Errorf("%s: the doctor sees nothing", name)
		}
		if got := look(); got != "" {
			t.Errorf("%s: not mended: %s", name, got)
		}
	}
	if err := os.RemoveAll(filepath.Join(home, "history")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "history"), []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	h = open(t, home, &log)
	add(t, h, "calmer", "", 0)
	if err := h.Close(t.Context()); err != nil {
		t.Errorf("a decision failed for the history: %v", err)
	}
	if got := look(); got != "" {
		t.Errorf("a file in its place: %s", got)
	}
}

// Every type of proposal is carried out by its own part, and nothing is ignored.
func TestApproveByType(t *testing.T) {
	var log bytes.Buffer
	h := open(t, t.TempDir(), &log)
	defer h.Close(t.Context())
	add(t, h, "calm", "", 0)
	s, err := h.Parts().Registry.Lookup(t.Context(), manifests.Ref{Name: "calm"})
	if err != nil {
		t.Fatal(err)
	}
	call := approval.NewToolCall("calm", s.Digest, "run", []byte(`{}`))
	p, err := h.Parts().Approvals.ProposeCall(t.Context(), approval.Proposal{ID: approval.NewID(), Type: approval.TypeCall, Skill: "calm", Version: "1.0.0", Call: &call, ProposedBy: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ada := approval.NewHuman("ada")
	proposals := h.Govern().Proposals
	for want, c := range map[string]govern.Approval{
		"the digest that was shown is missing": {ID: p.ID},
		"its digest is":                        {ID: p.ID, Digest: strings.Repeat("0", 64)},
		"and can be made once":                 {ID: p.ID, Digest: string(p.Digest), Terms: govern.Terms{Uses: 1}},
		"no call is ever in quarantine":        {ID: p.ID, Digest: string(p.Digest), Despite: []string{"SK101"}},
	} {
		if _, err := proposals.Approve(t.Context(), ada, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	out, err := proposals.Approve(t.Context(), ada, govern.Approval{ID: p.ID, Digest: string(p.Digest)})
	if err != nil || out.Skill != nil || out.Proposal.Status != approval.StatusApplied {
		t.Errorf("%+v, %v", out, err)
	}
	if p, err = proposals.Revert(t.Context(), ada, govern.Decision{ID: p.ID}); err != nil || p.Status != approval.StatusStale {
		t.Errorf("%+v, %v", p, err)
	}
	if err := proposals.Reconcile(t.Context(), ada); err != nil {
		t.Error(err)
	}
}
