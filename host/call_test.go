package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/install"
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
		d, err := host.Diagnose(t.Context(), ada, options(home, &log))
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
	s, err := h.Registry.Lookup(t.Context(), manifests.Ref{Name: "calm"})
	if err != nil {
		t.Fatal(err)
	}
	call := approval.NewToolCall("calm", s.Digest, "run", []byte(`{}`))
	p, err := h.Desk.ProposeCall(t.Context(), approval.Proposal{ID: approval.NewID(), Type: approval.TypeCall, Skill: "calm", Version: "1.0.0", Call: &call, ProposedBy: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ada := approval.NewHuman("ada")
	for kind, c := range map[fault.Kind]install.Consent{
		fault.KindVerification: {Digest: strings.Repeat("0", 64)}, fault.KindUsage: {Terms: approval.Terms{MaxUses: 1}},
	} {
		if _, err := h.Approve(t.Context(), ada, p.ID, c); err == nil || fault.AsError(err).Kind != kind {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := h.Approve(t.Context(), approval.Human{}, p.ID, install.Consent{}); err == nil || fault.AsError(err).Kind != fault.KindDenied {
		t.Errorf("nobody approves: %v", err)
	}
	out, err := h.Approve(t.Context(), ada, p.ID, install.Consent{Digest: string(p.Digest)})
	if err != nil || out.Skill != nil || out.Proposal.Status != approval.StatusApplied {
		t.Errorf("%+v, %v", out, err)
	}
	if p, err = h.Revert(t.Context(), ada, p.ID, ""); err != nil || p.Status != approval.StatusStale {
		t.Errorf("%+v, %v", p, err)
	}
	if err := h.Settle(t.Context()); err != nil {
		t.Error(err)
	}
}
