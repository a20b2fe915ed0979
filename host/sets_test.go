package host_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
)

// given is a home with a skill that was granted something, a set of it and a lock.
func given(t *testing.T, by approval.Human) (set, lock string) {
	t.Helper()
	h := opened(t)
	if err := installed(t.Context(), h, by, skillDir(t, "fetcher", "1.0.0", anAddress)); err != nil {
		t.Fatal(err)
	}
	set, lock = filepath.Join(t.TempDir(), "a.set"), filepath.Join(t.TempDir(), "a.lock")
	if e, err := h.Admit().Export(t.Context(), by, admit.ExportRequest{Path: set}); err != nil || len(e.Skills) != 1 || len(e.Skills[0].Grants) != 1 {
		t.Fatalf("export: %+v, %v", e, err)
	}
	if l, err := h.Admit().Lock(t.Context(), by, admit.LockRequest{Path: lock}); err != nil || l.Packages != 1 {
		t.Fatalf("lock: %+v, %v", l, err)
	}
	if _, err := h.Admit().CheckLock(t.Context(), by, lock); err != nil {
		t.Errorf("check the lock at home: %v", err)
	}
	return set, lock
}

// Whoever leaves out what a set or a lock has to be accepted with, or says nothing to it,
// gets nothing installed that asks for something.
func TestSetsAreAskedAbout(t *testing.T) {
	ada := approval.NewHuman("ada")
	set, lock := given(t, ada)
	h := opened(t)
	_, err := h.Admit().Plan(t.Context(), ada, admit.Import{Set: set})
	wantFault(t, "a set that is not signed", err, fault.KindVerification)
	unsigned := admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}
	robot := approval.NewAgent("general")
	for _, c := range []struct {
		what    string
		by      approval.Principal
		change  admit.Change
		consent admit.Consent
		want    fault.Kind
	}{
		{"a set, and nothing said", ada, admit.Import{Set: set, Terms: unsigned}, admit.NotAsked, fault.KindApproval},
		{"an agent's set", robot, admit.Import{Set: set, Terms: unsigned}, admit.NotAsked, fault.KindApproval},
		{"an agent's set, with a yes", robot, admit.Import{Set: set, Terms: unsigned}, admit.Beforehand, fault.KindDenied},
		{"a lock, and nothing said", ada, admit.Sync{Lock: lock}, admit.NotAsked, fault.KindApproval},
		{"an agent's lock", robot, admit.Sync{Lock: lock}, admit.NotAsked, fault.KindApproval},
		{"an agent's lock, with a yes", robot, admit.Sync{Lock: lock}, admit.Shown, fault.KindDenied},
	} {
		_, err := h.Admit().Commit(t.Context(), c.by, planOf(t, h, c.by, c.change), c.consent)
		wantFault(t, c.what, err, c.want)
	}
	if all, err := h.Admit().List(t.Context(), ada, admit.Listing{All: true}); err != nil || len(all) != 0 {
		t.Errorf("installed are %v, %v", all, err)
	}
}

// A set and a lock make another home what the first one was; grants do not come along but
// those that a person agrees to.
func TestSetsAndLocksElsewhere(t *testing.T) {
	ada := approval.NewHuman("ada")
	set, lock := given(t, ada)
	for what, change := range map[string]admit.Change{
		"import": admit.Import{Set: set, Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}},
		"sync":   admit.Sync{Lock: lock},
	} {
		h := opened(t)
		p := planOf(t, h, ada, change)
		if !p.Asks() || len(p.Packages) != 1 || !p.Packages[0].Looked || p.Packages[0].Read == nil {
			t.Errorf("%s: the plan shows %+v", what, p.Packages)
		}
		if r, err := h.Admit().Commit(t.Context(), ada, p, admit.Shown); err != nil || len(r.Imports) != 1 && r.Sync == nil {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
		if all, err := h.Admit().List(t.Context(), ada, admit.Listing{}); err != nil || len(all) != 1 || all[0].Ref() != "fetcher@1.0.0" {
			t.Errorf("after %s: %+v, %v", what, all, err)
		}
		again := planOf(t, h, ada, change)
		if again.Asks() || len(again.Packages) != 0 {
			t.Errorf("%s again: %+v", what, again)
		}
		_, err := h.Admit().Commit(t.Context(), ada, planOf(t, h, ada, admit.Sync{Lock: lock, Prune: true}), admit.NotAsked)
		if err != nil {
			t.Errorf("prune nothing after %s: %v", what, err)
		}
	}
}

// A plan for a set or a lock is good for the home, and the set, that it was made from.
func TestSetsThatAreOvertaken(t *testing.T) {
	ada := approval.NewHuman("ada")
	set, lock := given(t, ada)
	other, _ := given(t, approval.NewHuman("eve"))
	unsigned := admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}
	more := func(ctx context.Context, h *host.Host) error {
		return installed(ctx, h, ada, skillDir(t, "more", "1.0.0"))
	}
	for _, c := range []struct {
		what      string
		change    admit.Change
		meanwhile func(context.Context, *host.Host) error
	}{
		{"a set, and a skill was installed", admit.Import{Set: set, Terms: unsigned}, more},
		{"a lock, and a skill was installed", admit.Sync{Lock: lock, Prune: true}, more},
		{"a set that is another one", admit.Import{Set: set, Terms: unsigned}, func(context.Context, *host.Host) error {
			b, err := os.ReadFile(other)
			return errors.Join(err, os.WriteFile(set, b, 0o600))
		}},
	} {
		h := opened(t)
		p := planOf(t, h, ada, c.change)
		if err := c.meanwhile(t.Context(), h); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		_, err := h.Admit().Commit(t.Context(), ada, p, admit.Shown)
		if wantFault(t, c.what, err, fault.KindConflict); !errors.Is(err, admit.ErrMoved) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// needing is a directory with a skill that needs another one, of a version 1.
func needing(t *testing.T, name, needs string) string {
	t.Helper()
	dir := skillDir(t, name, "1.0.0")
	path := filepath.Join(dir, "skill.json")
	b, err := os.ReadFile(path)
	b = bytes.Replace(b, []byte("{"), []byte(`{"dependencies":{"`+needs+`":"^1"},`), 1)
	if err := errors.Join(err, os.WriteFile(path, b, 0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// What the packages of a set need of each other is found in it, also for who looks at them
// before anything is installed.
func TestSetsOfSkillsThatNeedEachOther(t *testing.T) {
	ada := approval.NewHuman("ada")
	one, set := opened(t), filepath.Join(t.TempDir(), "a.set")
	for _, dir := range []string{skillDir(t, "fetcher", "1.0.0", anAddress), needing(t, "app", "fetcher")} {
		if err := installed(t.Context(), one, ada, dir); err != nil {
			t.Fatal(err)
		}
	}
	if e, err := one.Admit().Export(t.Context(), ada, admit.ExportRequest{Path: set}); err != nil || len(e.Skills) != 2 || e.Skills[0].Name != "fetcher" {
		t.Fatalf("export: %+v, %v", e, err)
	}
	two := opened(t)
	p := planOf(t, two, ada, admit.Import{Set: set, Terms: admit.Terms{Accepted: []admit.Flag{admit.AllowUnsigned}}})
	if len(p.Imports) != 2 || p.Imports[0].Error != nil || p.Imports[1].Error != nil || len(p.Packages) == 0 || p.Packages[0].Skill != "fetcher" {
		t.Fatalf("the plan has %+v", p.Imports)
	}
	r, err := two.Admit().Commit(t.Context(), ada, p, admit.Shown)
	if err != nil || len(r.Imports) != 2 || !r.Imports[1].OK {
		t.Errorf("%+v, %v", r.Imports, err)
	}
	tree, err := two.Admit().Tree(t.Context(), ada, admit.TreeRequest{Skill: "app"})
	if err != nil || len(tree.Branches) != 1 || len(tree.Branches[0].Branches) != 1 || tree.Branches[0].Branches[0].Skill != "fetcher" {
		t.Errorf("%+v, %v", tree, err)
	}
}
