package evidence

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/record/ledger"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/reexec"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies"
)

// TestMain runs the tests, or is one of their workers.
func TestMain(m *testing.M) {
	if reexec.Worker.Is(os.Args) {
		os.Exit(worker.Main())
	}
	os.Exit(m.Run())
}

type parts struct {
	*Collector
	registry *registry.Registry
	ledger   *ledger.Ledger
}

func assemble(t *testing.T) parts {
	t.Helper()
	log := hclog.NewNullLogger()
	open := func() *journal.Journal {
		j, err := journal.Open(t.TempDir(), journal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	s := store.Memory()
	t.Cleanup(func() { s.Close() })
	pool, err := worker.NewPool(log, worker.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	rt, err := sandbox.New(t.Context(), log, sandbox.Options{Functions: hostfn.Functions()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close(context.Background()) })
	apart := worker.NewRuntime(log, pool, rt, hostfn.Functions(), 0)
	t.Cleanup(func() { apart.Close(context.Background()) })
	ps, err := policies.Default()
	if err != nil {
		t.Fatal(err)
	}
	run := runner.New(log, s.KV(), rt, ps, nil, nil, open(), runner.Settings{Home: "/home/x/.skillet", Workers: apart})
	r := registry.New(s.KV(), s.Blobs())
	return parts{New(r, casetest.New(run)), r, ledger.New(open(), s.KV(), registry.Projection(), approval.Projection())}
}

func (p parts) install(t *testing.T, pkg *bundle.Package) {
	t.Helper()
	err := p.ledger.Commit(t.Context(), func(ctx context.Context) (ledger.Decision, error) {
		if err := p.registry.Keep(ctx, pkg); err != nil {
			return ledger.Decision{}, err
		}
		c, err := registry.Installed(pkg, "/src", registry.OriginUser)
		return ledger.Decision{Kind: "install", Changes: []ledger.Change{c}}, err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// answering is a module whose tool good answers {"n":1,"list":[1,2]}, whose tool
// bad traps, and whose tool endless never ends.
func answering() []byte {
	m := wasmtest.New()
	write := m.ImportFunc("skillet:host/v1", "output_write", wasmtest.Signature{Params: []byte{0x7f, 0x7f}})
	m.Memory(1, 1)
	text := []byte(`{"n":1,"list":[1,2]}`)
	m.Data(0, text)
	m.ExportFunc("good", m.Func(wasmtest.Signature{}, "", wasmtest.I32Const(0), wasmtest.I32Const(int32(len(text))), wasmtest.Call(write)))
	m.ExportFunc("bad", m.Func(wasmtest.Signature{}, "", wasmtest.Unreachable()))
	m.ExportFunc("endless", m.Func(wasmtest.Signature{}, "", wasmtest.Loop(wasmtest.Empty, wasmtest.Br(0))))
	return m.Bytes()
}

// pack makes a package with the given test cases.
func pack(t *testing.T, name, version, description, tests string) *bundle.Package {
	t.Helper()
	files := map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":%q,"description":%q,"type":"code_inline","command":"main.wasm",
			"tools":[{"name":"good","description":"answers"},{"name":"bad"},{"name":"endless"}],
			"security":{"resource_limits":{"max_fuel":5000000}}}`, name, version, description),
		"main.wasm": answering(), "README.md": []byte("version " + version + "\n"),
	}
	if tests != "" {
		files["tests/a.json"] = []byte(tests)
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTests(t *testing.T) {
	p := assemble(t)
	e, err := p.Collect(t.Context(), pack(t, "calm", "1.0.0", "d", `[
		{"name":"fits","tool":"good","input":{},"expect":{"n":1}},
		{"name":"all of it","tool":"good","input":{},"expect":{"n":1,"list":[1,2]}},
		{"name":"another value","tool":"good","input":{},"expect":{"n":2}},
		{"name":"a longer list","tool":"good","input":{},"expect":{"list":[1]}},
		{"name":"crashes","tool":"bad","input":{},"expect":{}},
		{"name":"should crash","tool":"bad","input":{},"error_kind":"skill"},
		{"name":"another error","tool":"bad","input":{},"error_kind":"denied"},
		{"name":"should fail","tool":"good","input":{},"error_kind":"skill"},
		{"name":"never ends","tool":"endless","input":{},"error_kind":"limit"},
		{"name":"no such tool","tool":"other","input":{},"error_kind":"not_found"},
		{"name":"wants more","tool":"good","input":{},"grants":["kv"],"kv":{"a":"b"},"expect":{},"kv_after":{"a":"b"}},
		{"name":"later","tool":"good","input":{},"skip":"not today","expect":{}}]`), Options{Limits: review.Brief(), Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range e.Tests.Results {
		got = append(got, r.Name+": "+string(r.Outcome))
		if (r.Detail == "") != (r.Outcome == casetest.Passed) {
			t.Errorf("%s: %q", r.Name, r.Detail)
		}
	}
	want := "fits: passed, all of it: passed, another value: failed, a longer list: failed, crashes: failed, should crash: passed, another error: failed, " +
		"should fail: failed, never ends: passed, no such tool: passed, wants more: passed, later: skipped"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if s := e.Tests; s.Passed != 6 || s.Failed != 5 || s.Skipped != 1 || s.Fuel < 4_000_000 || s.PeakMemoryBytes < 1<<16 {
		t.Errorf("figures: %+v", s)
	}
}

func TestTestsAreBounded(t *testing.T) {
	p := assemble(t)
	most := casetest.Strangers().MaxCases
	cases := strings.Repeat(`{"name":"x","tool":"good","input":{},"expect":{}},`, most+5)
	e, err := p.Collect(t.Context(), pack(t, "calm", "1.0.0", "d", "["+strings.TrimSuffix(cases, ",")+"]"), Options{Tests: true})
	if err != nil || len(e.Tests.Results) != most || !strings.Contains(e.Tests.Note, "5 of 69 cases were not run") {
		t.Errorf("%d, %q, %v", len(e.Tests.Results), e.Tests.Note, err)
	}
	for _, broken := range []string{"{", "[1]", `[{"name":"x","unknown":1}]`, `[] []`, `null x`} {
		e, err := p.Collect(t.Context(), pack(t, "calm", "1.0.0", "d", broken), Options{Tests: true})
		if err != nil || len(e.Tests.Results) != 0 || len(e.Tests.Problems) != 1 || !strings.Contains(e.Tests.Problems[0], "tests/a.json") {
			t.Errorf("%s: %+v, %v", broken, e.Tests, err)
		}
	}
	if e, err := p.Collect(t.Context(), pack(t, "calm", "1.0.0", "d", `{"name":"one","tool":"good","input":{},"expect":{}}`), Options{Tests: true}); err != nil || e.Tests.Passed != 1 {
		t.Errorf("a case alone: %+v, %v", e.Tests, err)
	}
}

func TestDifferenceAndFindings(t *testing.T) {
	p := assemble(t)
	p.install(t, pack(t, "calm", "1.0.0", "d", ""))
	e, err := p.Collect(t.Context(), pack(t, "calm", "1.1.0", "d\u200bx", ""), Options{Limits: review.Brief()})
	if err != nil || e.With != "1.0.0" || e.Tests != nil {
		t.Fatalf("%+v, %v", e, err)
	}
	changed := 0
	for _, f := range e.Files {
		if f.Change == review.Changed && len(f.Diff) > 0 {
			changed++
		}
	}
	if changed != 2 || len(e.Findings.Findings) == 0 {
		t.Errorf("%d texts changed, findings %+v", changed, e.Findings)
	}
	b, err := json.Marshal(e)
	if err != nil || !strings.Contains(string(b), `"compared_with":"1.0.0"`) || !strings.Contains(string(b), `"findings":{`) {
		t.Errorf("%s, %v", b, err)
	}
}

func TestSimilar(t *testing.T) {
	p := assemble(t)
	p.install(t, pack(t, "csv-reader", "1.0.0", "Reads rows and columns of comma separated tables", ""))
	p.install(t, pack(t, "weather", "1.0.0", "Forecasts rain", ""))
	e, err := p.Collect(t.Context(), pack(t, "csv-tables", "1.0.0", "Parses comma separated tables into rows", ""), Options{})
	if err != nil || len(e.Similar) == 0 || e.Similar[0].Skill != "csv-reader@1.0.0" || e.Similar[0].Shared[0] != "csv" {
		t.Fatalf("%+v, %v", e.Similar, err)
	}
	for _, s := range e.Similar {
		if s.Skill == "weather@1.0.0" && s.Score >= e.Similar[0].Score {
			t.Errorf("the weather is as similar: %+v", e.Similar)
		}
	}
	e, err = p.Collect(t.Context(), pack(t, "csv-reader", "2.0.0", "Reads rows", ""), Options{})
	for _, s := range e.Similar {
		if strings.HasPrefix(s.Skill, "csv-reader") || err != nil {
			t.Errorf("a skill is like itself: %+v, %v", s, err)
		}
	}
}
