package runner_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests/bundle"
)

var wasmDrop = wasmtest.Drop()

// keeper is a skill whose tools keep "v1" or "v2" under "k", look for it, and
// bring it from the one to the other.
func keeper(t *testing.T, schema, migrate string) *bundle.Package {
	g := newGuest()
	found := func(text string) []byte { // whether the body of kv_get begins with text's second letter is told by its length
		return g.ask("kv_get", `{"key":"`+text+`"}`, "")
	}
	g.tool("keep", g.ask("kv_put", `{"key":"old"}`, "v1"), wasmDrop, g.answer("kept"))
	g.tool("old", found("old"), when(g.answer("yes"), g.answer("no")))
	g.tool("new", found("new"), when(g.answer("yes"), g.answer("no")))
	g.tool("migrate", found("old"), when(
		wasmtest.Code(g.ask("kv_put", `{"key":"new"}`, "v2"), wasmDrop, g.ask("kv_put", `{"key":"old"}`, ""), wasmDrop, g.answer("done")),
		g.fail("", "nothing there")))
	g.tool("half", g.ask("kv_put", `{"key":"new"}`, "v2"), wasmDrop, g.fail("", "half way"))
	if migrate != "" {
		migrate = `,"migrate":"` + migrate + `"`
	}
	return skill(t, "keeper", g, `{"name":"keep"},{"name":"old"},{"name":"new"},{"name":"migrate","input_schema":{"type":"object","required":["from","to"]}},{"name":"half"}`,
		`,"security":{"permissions":{"kv":{"reason":"keeps","schema_version":`+schema+migrate+`}}}`)
}

// says runs a tool with kv granted, and returns its answer or its error.
func says(t *testing.T, p parts, pkg *bundle.Package, tool string) string {
	t.Helper()
	r := p.Run(t.Context(), on(pkg, tool, "kv"))
	if !r.OK {
		return r.Error.Error()
	}
	return string(r.Raw)
}

func TestMigrationRunsOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	one, two := m.process(), m.process()
	v1, v2 := keeper(t, "1", ""), keeper(t, "2", "migrate")
	if got := says(t, one, v1, "keep"); got != "kept" {
		t.Fatal(got)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			if got := says(t, []parts{one, two}[i%2], v2, "new"); got != "yes" {
				t.Errorf("got %q", got)
			}
		})
	}
	wg.Wait()
	migrations := 0
	for _, rec := range one.records(t) {
		if rec.Part == "migration" {
			migrations++
			if !rec.OK || rec.Tool != "migrate" || rec.Of == "" {
				t.Errorf("recorded %+v", rec)
			}
		}
	}
	if migrations != 1 {
		t.Errorf("%d migrations", migrations)
	}
	if got := says(t, one, v2, "old"); got != "no" {
		t.Errorf("the old value is still there: %q", got)
	}
	if got := says(t, one, v1, "old"); !strings.Contains(got, "schema version 2, and version 1.0.0 of it knows 1") {
		t.Errorf("the old version reads on: %q", got)
	}
	r := one.Run(t.Context(), on(v2, "migrate", "kv"))
	if r.OK || r.Error.Kind != fault.KindUsage || !strings.Contains(r.Error.Message, "by the host alone") {
		t.Errorf("called by hand: %+v", r.Error)
	}
}

func TestMigrationIsRefusedOrWhole(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	v1, none, half := keeper(t, "1", ""), keeper(t, "2", ""), keeper(t, "2", "half")
	if got := says(t, p, none, "new"); got != "no" { // nothing kept yet: any version will do
		t.Errorf("got %q", got)
	}
	if err := p.Purge(t.Context(), "keeper"); err != nil {
		t.Fatal(err)
	}
	says(t, p, v1, "keep")
	if err := p.Check(t.Context(), none); err != nil {
		t.Errorf("nothing of that name is installed: %v", err)
	}
	m.install(v1)
	for _, err := range []error{p.Check(t.Context(), none), p.Run(t.Context(), on(none, "new", "kv")).Error} {
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindConflict || !strings.Contains(e.Message, "no tool that migrates") || e.Way().String() == "" {
			t.Errorf("without a tool: %v", err)
		}
	}
	if err := p.Check(t.Context(), half); err != nil {
		t.Errorf("with a tool: %v", err)
	}
	r := p.Run(t.Context(), on(half, "new", "kv"))
	if r.OK || r.Error.Kind != fault.KindSkill || !strings.Contains(r.Error.Message, "half way") || !strings.Contains(r.Error.Message, "nothing was changed") {
		t.Errorf("got %+v", r.Error)
	}
	if got := says(t, p, v1, "old") + says(t, p, v1, "new"); got != "yesno" {
		t.Errorf("half migrated: %q", got)
	}
	if r := p.Run(t.Context(), on(none, "new")); !r.OK || len(r.Denials) == 0 {
		t.Errorf("without a grant there is nothing to migrate: %+v", r.Error)
	}
}

// install has a package be in the registry.
func (m *machine) install(p *bundle.Package) {
	m.t.Helper()
	c, err := registry.Installed(p, "test", registry.OriginUser)
	if err == nil {
		err = registry.Projection().Apply(m.t.Context(), m.store.KV(), ledger.Stamp{}, c)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func TestKeptAndPurged(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	v1 := keeper(t, "1", "")
	says(t, p, v1, "keep")
	path := on(v1, "keep", "kv")
	path.Target.Origin = registry.OriginPath
	p.Run(t.Context(), path)
	g := newGuest()
	g.tool("run", g.answer("ok"))
	says(t, p, skill(t, "other", g, `{"name":"run","read_only":true,"idempotent":true}`, cached), "run")
	all, err := p.Kept(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("got %+v, %v", all, err)
	}
	for _, k := range all {
		switch {
		case k.Digest == string(v1.Digest()) && k.Skill == "" && k.Bytes > 0:
		case k.Skill == "keeper" && k.Bytes == int64(len("old")+len("v1")+9) && k.Schema == 1:
		case k.Skill == "other" && k.CacheBytes > 0 && k.Bytes == 0:
		default:
			t.Errorf("got %+v", k)
		}
	}
	for name, purge := range map[string]func() error{
		"keeper": func() error { return p.Forget(t.Context(), "keeper") },
		"other":  func() error { return p.Purge(t.Context(), "other") },
		"paths":  func() error { return p.PurgeUninstalled(t.Context()) },
	} {
		if err := purge(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := m.store.KV().List(t.Context(), ""); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// at is a call of the version as it stands beside the others of its skill.
func at(place runner.Place, pkg *bundle.Package, tool string) runner.Call {
	c := on(pkg, tool, "kv")
	c.Target.Place = place
	return c
}

// The version that is active again finds what it kept; one beside it, or one whose
// person wished that the data stays, changes nothing.
func TestActiveVersionTakesItsStateBack(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	v1, v2 := keeper(t, "1", ""), keeper(t, "2", "migrate")
	run := func(place runner.Place, pkg *bundle.Package, tool, want string) {
		t.Helper()
		r := p.Run(t.Context(), at(place, pkg, tool))
		got := string(r.Raw)
		if !r.OK {
			got = r.Error.Message
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", tool, got, want)
		}
	}
	run(runner.PlaceActive, v1, "keep", "kept")
	run(runner.PlaceBeside, v2, "new", "another version of it is active, with data of version 1")
	run(runner.PlaceActive, v1, "old", "yes")
	run(runner.PlaceActive, v2, "new", "yes") // updated
	run(runner.PlaceBeside, v1, "old", "another version of it is active, with data of version 2")
	run(runner.PlaceKept, v1, "old", "schema version 2, and version 1.0.0 of it knows 1")
	run(runner.PlaceActive, v1, "old", "yes") // rolled back
	run(runner.PlaceActive, v1, "new", "no")
	run(runner.PlaceActive, v2, "old", "no") // and forward again
	if err := p.FitsState(t.Context(), v1.Manifest()); err != nil {
		t.Errorf("it could be taken back: %v", err)
	}
	if err := p.TakeBack(t.Context(), v1.Manifest()); err != nil {
		t.Fatal(err)
	}
	run(runner.PlaceAlone, v1, "old", "yes")
	if keeps, err := p.Keeps(t.Context(), "keeper"); err != nil || !keeps {
		t.Errorf("keeps: %v, %v", keeps, err)
	}
}

// What a later version wrote at first is nothing that an earlier one could have
// kept.
func TestStateThatCannotBeTakenBack(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process()
	v1, v2 := keeper(t, "1", ""), keeper(t, "2", "migrate")
	if r := p.Run(t.Context(), at(runner.PlaceActive, v2, "keep")); !r.OK {
		t.Fatal(r.Error)
	}
	r := p.Run(t.Context(), at(runner.PlaceActive, v1, "old"))
	if r.OK || r.Error.Kind != fault.KindConflict {
		t.Errorf("got %+v", r.Error)
	}
	if e := fault.AsError(p.FitsState(t.Context(), v1.Manifest())); e == nil || e.Kind != fault.KindConflict {
		t.Errorf("got %v", e)
	}
}
