package history_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/history"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// parts are a home's record of decisions and what follows from it.
type parts struct {
	*history.History
	home     string
	ledger   *ledger.Ledger
	registry *registry.Registry
	// read is what the history reads the state through.
	read *countedKV
}

// countedKV counts how often a store is read.
type countedKV struct {
	store.KV
	reads int
}

func (c *countedKV) Get(ctx context.Context, key string) (store.Entry, error) {
	c.reads++
	return c.KV.Get(ctx, key)
}

func (c *countedKV) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	c.reads++
	return c.KV.List(ctx, prefix)
}

func assemble(t testing.TB) parts {
	t.Helper()
	home := t.TempDir()
	j, err := journal.Open(filepath.Join(home, "journal"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	l := ledger.New(j, s.KV(), registry.Projection(), approval.Projection())
	read := &countedKV{KV: s.KV()}
	h := history.New(l, read, s.Blobs(), history.Settings{Home: home, Head: j.Head, LockWait: time.Minute})
	return parts{h, home, l, registry.New(s.KV(), s.Blobs()), read}
}

// install installs a version of a skill with one text and one binary file, and
// grants it something.
func (p parts) install(t testing.TB, version string) {
	t.Helper()
	p.installAs(t, "calm", version)
}

func (p parts) installAs(t testing.TB, name, version string) {
	t.Helper()
	pkg, err := bundle.FromFiles(map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":%q,"description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"run"}]}`, name, version),
		"main.wasm":  []byte("\x00asm\x01\x00\x00\x00"), "assets/main.js": []byte("// " + version + "\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.commit(t, "install", "human:ada", name+"@"+version, string(pkg.Digest()), func(ctx context.Context) []ledger.Change {
		if err := p.registry.Keep(ctx, pkg); err != nil {
			t.Fatal(err)
		}
		installed, err := registry.Installed(pkg, "/src", registry.OriginUser)
		if err != nil {
			t.Fatal(err)
		}
		granted, err := approval.NewHuman("ada").Grant(name, pkg.Digest(), capability.MustParse("kv"), approval.Terms{})
		if err != nil {
			t.Fatal(err)
		}
		return []ledger.Change{installed, granted}
	})
}

func (p parts) commit(t testing.TB, kind, actor, subject, note string, changes func(context.Context) []ledger.Change) {
	t.Helper()
	err := p.ledger.Commit(t.Context(), func(ctx context.Context) (ledger.Decision, error) {
		return ledger.Decision{Kind: kind, Actor: actor, Subject: subject, Note: note, Changes: changes(ctx)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (p parts) remove(t testing.TB) {
	t.Helper()
	p.commit(t, "remove", "human:eve\nwho <else>", "calm", "", func(ctx context.Context) []ledger.Change {
		all, err := p.registry.Versions(ctx, "calm")
		if err != nil {
			t.Fatal(err)
		}
		var cs []ledger.Change
		for i, s := range all {
			c, err := registry.Removed(s, all[i+1:])
			if err != nil {
				t.Fatal(err)
			}
			cs = append(cs, c)
		}
		return cs
	})
}

func (p parts) sync(t testing.TB) {
	t.Helper()
	if err := p.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if detail, err := p.Check(t.Context()); err != nil {
		t.Fatalf("%s, %v", detail, err)
	}
}

// git runs git itself in the repository.
func (p parts) git(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", p.Dir()}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Each decision that changes something is one commit, with who decided it, and
// history is read with git itself.
func TestEachDecisionIsACommit(t *testing.T) {
	p := assemble(t)
	p.sync(t)
	if _, err := os.Stat(p.Dir()); err == nil {
		t.Error("a repository of nothing")
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		p.install(t, version)
		p.sync(t)
	}
	p.commit(t, "note", "human:ada", "nothing", "", func(context.Context) []ledger.Change { return nil })
	p.sync(t)
	if got, want := p.git(t, "log", "--format=%an: %s"), "human:ada: install calm@1.1.0\nhuman:ada: install calm@1.0.0"; got != want {
		t.Errorf("log: %s", got)
	}
	if got := p.git(t, "show", "--format=%(trailers:key=Decision,valueonly)", "--stat", "HEAD"); !strings.HasPrefix(got, "2") || !strings.Contains(got, "assets/main.js") {
		t.Errorf("last commit: %s", got)
	}
	if got := p.git(t, "show", "HEAD~1:skills/calm/package/assets/main.js"); got != "// 1.0.0" {
		t.Errorf("the source before: %s", got)
	}
	if got := p.git(t, "ls-files"); strings.Contains(got, "wasm") {
		t.Errorf("files: %s", got)
	}
	var grants []struct{ Capability, Version string }
	if err := json.Unmarshal([]byte(p.git(t, "show", "HEAD:skills/calm/grants.json")), &grants); err != nil || len(grants) != 2 || grants[0].Version != "1.1.0" {
		t.Errorf("grants: %+v, %v", grants, err)
	}
	if got := p.git(t, "fsck", "--strict"); got != "" {
		t.Errorf("fsck: %s", got)
	}
}

func TestSettingsAndPoliciesAreKept(t *testing.T) {
	p := assemble(t)
	if err := os.Mkdir(filepath.Join(p.home, "policies"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config.yaml", "max_fuel: 1\n")
	write("policies/mine.cedar", "// mine\n")
	p.install(t, "1.0.0")
	p.sync(t)
	write("config.yaml", "max_fuel: 2\n")
	if err := os.Remove(filepath.Join(p.home, "policies/mine.cedar")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Check(t.Context()); err == nil {
		t.Error("a change by hand is not seen")
	}
	p.install(t, "1.1.0")
	p.sync(t)
	want := "unknown: settings, policies or agents changed without a decision\n\nM\tconfig.yaml\nD\tpolicies/mine.cedar"
	if got := p.git(t, "show", "--format=%an: %s", "--name-status", "HEAD~1"); got != want {
		t.Errorf("got %s", got)
	}
	write("config.yaml", "max_fuel: 3\n")
	p.commit(t, "apply", "host:settings", "config.yaml", "", func(context.Context) []ledger.Change { return nil })
	p.sync(t)
	if got := p.git(t, "show", "--format=%an: %s", "--name-status", "HEAD"); got != "host:settings: apply config.yaml\n\nM\tconfig.yaml" {
		t.Errorf("got %s", got)
	}
	write("history/config.yaml", "forged\n")
	write("history/planted", "forged\n")
	if err := p.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.sync(t)
}

// What was missed, whatever happened to the repository, is made up for: a commit
// for each decision, with the sources of versions that are still there.
func TestRebuilt(t *testing.T) {
	p := assemble(t)
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		p.install(t, version)
	}
	if n, err := p.Behind(); n != 3 || err != nil {
		t.Errorf("behind by %d, %v", n, err)
	}
	p.sync(t)
	log := p.git(t, "log", "--format=%H %s")
	if strings.Count(log, "\n") != 2 {
		t.Errorf("log: %s", log)
	}
	for name, harm := range map[string]func() error{
		"gone":       func() error { return os.RemoveAll(p.Dir()) },
		"no head":    func() error { return os.Remove(filepath.Join(p.Dir(), ".git", "HEAD")) },
		"no objects": func() error { return os.RemoveAll(filepath.Join(p.Dir(), ".git", "objects")) },
		"torn cursor": func() error {
			return os.WriteFile(filepath.Join(p.Dir(), ".git", "skillet-decision"), []byte("9"), 0o600)
		},
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		if err := p.Repair(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.sync(t)
		if again := p.git(t, "log", "--format=%H %s"); again != log {
			t.Errorf("%s: made again, it is another history: %s, was %s", name, again, log)
		}
	}
}

func TestRemovedSkillsAreGone(t *testing.T) {
	p := assemble(t)
	p.install(t, "1.0.0")
	p.sync(t)
	p.remove(t)
	p.sync(t)
	if got := p.git(t, "ls-files"); got != "" {
		t.Errorf("files: %s", got)
	}
	if got := p.git(t, "log", "-1", "--format=%an"); got != "human:eve who else" {
		t.Errorf("author: %q", got)
	}
	if _, err := p.registry.Sweep(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.Dir()); err != nil {
		t.Fatal(err)
	}
	p.sync(t)
	if got := p.git(t, "show", "HEAD~1:skills/calm/files.txt"); !strings.Contains(got, "not kept any more") {
		t.Errorf("made again without the bytes: %s", got)
	}
}

// The history of a decision reads the state as often, however many skills there are.
func TestManySkillsCostNoMoreReads(t *testing.T) {
	var reads []int
	for _, n := range []int{2, 40} {
		p := assemble(t)
		for i := range n {
			p.installAs(t, fmt.Sprintf("skill-%d", i), "1.0.0")
		}
		p.sync(t)
		p.installAs(t, "skill-0", "1.1.0")
		p.read.reads = 0
		if err := p.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		reads = append(reads, p.read.reads)
	}
	if reads[0] != reads[1] || reads[0] == 0 {
		t.Errorf("the store was read %v times", reads)
	}
}

// Two commands at the end of which the history is written do not get in each
// other's way.
func TestSyncAtOnce(t *testing.T) {
	p := assemble(t)
	for i := range 4 {
		p.install(t, fmt.Sprintf("1.%d.0", i))
	}
	errs := make(chan error)
	for range 4 {
		go func() { errs <- p.Sync(context.Background()) }()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	p.sync(t)
	if got := p.git(t, "rev-list", "--count", "HEAD"); got != "4" {
		t.Errorf("%s commits", got)
	}
}

// What one decision costs in a home that has had many.
func BenchmarkSync(b *testing.B) {
	p := assemble(b)
	p.install(b, "0.0.1")
	p.sync(b)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		p.install(b, fmt.Sprintf("1.0.%d", i))
		b.StartTimer()
		if err := p.Sync(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
