package settings_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/settings"
)

var ada = approval.NewHuman("ada")

type parts struct {
	*settings.Settings
	approvals *approval.Store
	ledger    *ledger.Ledger
	file      string
}

func assemble(t *testing.T, text string) parts {
	t.Helper()
	home := t.TempDir()
	j, err := journal.Open(filepath.Join(home, "journal"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	l := ledger.New(j, s.KV(), registry.Projection(), approval.Projection())
	d := approval.NewStore(l, s.KV(), nil, approval.Settings{Home: home})
	p := parts{settings.New(l, d, home), d, l, filepath.Join(home, config.FileName)}
	if text != "" {
		p.write(t, text)
	}
	return p
}

func (p parts) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p parts) text(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(p.file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

func (p parts) propose(t *testing.T, pairs ...string) approval.Proposal {
	t.Helper()
	r := settings.Request{ProposedBy: "model:m", Rationale: "because"}
	for i := 0; i < len(pairs); i += 2 {
		r.Settings = append(r.Settings, settings.Setting{Key: pairs[i], Value: pairs[i+1]})
	}
	got, err := p.Propose(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantKind(t *testing.T, what string, err error, want fault.Kind) {
	t.Helper()
	if err == nil || fault.AsError(err).Kind != want {
		t.Errorf("%s: %v, want an error of the kind %s", what, err, want)
	}
}

// A change is proposed, shown, approved, applied and put back, byte for byte.
func TestChange(t *testing.T) {
	const before = "# mine\nmin_free_mb: 5\n"
	p := assemble(t, before)
	prop := p.propose(t, "min_free_mb", "7", "log_level", "debug")
	if again := p.propose(t, "min_free_mb", "7", "log_level", "debug"); again.ID != prop.ID {
		t.Error("the same change waits twice")
	}
	if p.text(t) != before || prop.Status != approval.StatusPending || prop.Config.Settings[0].Old != "5" {
		t.Errorf("proposed: %+v, %q", prop, p.text(t))
	}
	var nobody approval.Human
	_, err := p.Approve(t.Context(), nobody, prop, "", nil)
	wantKind(t, "nobody approves", err, fault.KindDenied)
	prop, err = p.Approve(t.Context(), ada, prop, "fine", nil)
	if err != nil || prop.Status != approval.StatusApplied || p.text(t) != "# mine\nmin_free_mb: 7\nlog_level: \"debug\"\n" {
		t.Fatalf("approved: %+v, %v, %q", prop, err, p.text(t))
	}
	if !bytes.Equal(prop.Config.Before, []byte(before)) || len(prop.Steps) != 2 || prop.DecidedBy != "human:ada" {
		t.Errorf("what is kept: %+v", prop)
	}
	_, err = p.Approve(t.Context(), ada, prop, "", nil)
	wantKind(t, "approve twice", err, fault.KindConflict)
	_, err = p.Revert(t.Context(), nobody, prop, "")
	wantKind(t, "nobody reverts", err, fault.KindDenied)
	prop, err = p.Revert(t.Context(), ada, prop, "not so")
	if err != nil || prop.Status != approval.StatusStale || p.text(t) != before {
		t.Errorf("reverted: %+v, %v, %q", prop, err, p.text(t))
	}
	_, err = p.Revert(t.Context(), ada, prop, "")
	wantKind(t, "revert twice", err, fault.KindConflict)
}

func TestTheFirstSetting(t *testing.T) {
	p := assemble(t, "")
	prop, err := p.Approve(t.Context(), ada, p.propose(t, "min_free_mb", "7"), "", nil)
	if err != nil || p.text(t) != "min_free_mb: 7\n" {
		t.Fatalf("%v, %q", err, p.text(t))
	}
	if _, err := p.Revert(t.Context(), ada, prop, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.file); !os.IsNotExist(err) {
		t.Errorf("a file that was not there stays: %v", err)
	}
}

func TestRefused(t *testing.T) {
	p := assemble(t, "min_free_mb: 5\n")
	for _, set := range []settings.Setting{{Key: "min_free_mb", Value: "-1"}, {Key: "secret_key", Value: "file"}} {
		_, err := p.Propose(t.Context(), settings.Request{Settings: []settings.Setting{set}, ProposedBy: "x"})
		wantKind(t, set.Key, err, fault.KindUsage)
	}
	_, err := p.Propose(t.Context(), settings.Request{Settings: []settings.Setting{{Key: "min_free", Value: "1"}}, ProposedBy: "x"})
	wantKind(t, "a setting that does not exist", err, fault.KindNotFound)
	_, err = p.Propose(t.Context(), settings.Request{Settings: []settings.Setting{{Key: "min_free_mb", Value: "5"}}, ProposedBy: "x"})
	wantKind(t, "nothing new", err, fault.KindConflict)
	_, err = p.Propose(t.Context(), settings.Request{Rationale: strings.Repeat("x", 5000)})
	wantKind(t, "too much", err, fault.KindUsage)
}

// A file that somebody changed since makes a proposal stale, and is not written.
func TestChangedSince(t *testing.T) {
	p := assemble(t, "min_free_mb: 5\n")
	prop := p.propose(t, "min_free_mb", "7")
	p.write(t, "min_free_mb: 6\n")
	got, err := p.Approve(t.Context(), ada, prop, "", nil)
	wantKind(t, "approve", err, fault.KindConflict)
	if got.Status != approval.StatusStale || p.text(t) != "min_free_mb: 6\n" {
		t.Errorf("%+v, %q", got, p.text(t))
	}
	prop, err = p.Approve(t.Context(), ada, p.propose(t, "min_free_mb", "8"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, "min_free_mb: 9\n")
	_, err = p.Revert(t.Context(), ada, prop, "")
	wantKind(t, "revert", err, fault.KindConflict)
	if p.text(t) != "min_free_mb: 9\n" {
		t.Errorf("reverting lost a change: %q", p.text(t))
	}
}

// A command that died between the decision and the file, or between the file and
// the record of it, is finished by the next.
func TestFinish(t *testing.T) {
	for name, written := range map[string]bool{"before the file": false, "after the file": true} {
		p := assemble(t, "min_free_mb: 5\n")
		prop := p.propose(t, "min_free_mb", "7")
		err := p.ledger.Commit(t.Context(), func(context.Context) (ledger.Decision, error) {
			c, err := ada.Approved(prop, "")
			return ledger.Decision{Kind: "approve", Actor: ada.Actor(), Changes: c}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if written {
			p.write(t, string(prop.Config.After))
		}
		done, err := p.Finish(t.Context())
		if err != nil || len(done) != 1 || done[0].Status != approval.StatusApplied || p.text(t) != "min_free_mb: 7\n" {
			t.Errorf("%s: %+v, %v, %q", name, done, err, p.text(t))
		}
		if done, err := p.Finish(t.Context()); err != nil || len(done) != 0 {
			t.Errorf("%s: finished twice: %v, %v", name, done, err)
		}
	}
}
