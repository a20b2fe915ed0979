package wasmbin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
)

// script is a test script of the specification as wast2json writes it.
type script struct {
	Commands []command `json:"commands"`
}

type command struct {
	Type       string `json:"type"`
	Line       int    `json:"line"`
	Name       string `json:"name"`
	As         string `json:"as"`
	Filename   string `json:"filename"`
	ModuleType string `json:"module_type"`
	Action     struct {
		Type   string      `json:"type"`
		Module string      `json:"module"`
		Field  string      `json:"field"`
		Args   []specValue `json:"args"`
	} `json:"action"`
	Expected []specValue `json:"expected"`
}

// The forms a module is run in.
const (
	asItIs   = iota // the others are compared with this one
	withFuel        // as options say
	snapshot        // as snapshotOptions say
	exactly         // with a charge in front of every instruction
	forms
)

// specModule is a module of a script in all its forms.
type specModule [forms]api.Module

// specRun runs one script.
type specRun struct {
	t        *testing.T
	path     string
	runtimes [forms]wazero.Runtime
	meters   [forms]map[api.Module]*meter
	exports  map[int]string // names other modules import from, by the command that makes the module
	current  *specModule    // nil when it is left out
	named    map[string]*specModule
	all      []*specModule
	count    map[string]int
	apart    bool // a module was left out that would have changed another
}

// TestSpecification runs the specification's suite in the original and in the
// instrumented modules. What wazero does right with the original it does with
// the others: the expected results and traps, also for exhausted stacks; and
// modules that are to be refused are refused by the gate, by the compiler or
// when they are linked. Left out are modules that import tables, memories and
// globals, which the gate refuses, those that import from them, and texts,
// which are no modules. What the meter charges is never below the sum over the
// instructions that ran.
func TestSpecification(t *testing.T) {
	t.Parallel()
	for suite, want := range map[string]int{"v1": 15_000, "v2": 45_000, "tail-call": 70, "extended-const": 3, "exception-handling": 45} {
		if suite == "v1" && !prove() {
			continue // nearly all of it is in v2 too
		}
		t.Run(suite, func(t *testing.T) {
			t.Parallel()
			count := map[string]int{}
			for i, path := range scripts(t, suite) {
				runScript(t, path, count, prove() || i%4 == 0)
			}
			for _, k := range slices.Sorted(maps.Keys(count)) {
				t.Logf("%6d %s", count[k], k)
			}
			if count["assert_return"] < want {
				t.Errorf("only %d results were compared", count["assert_return"])
			}
		})
	}
}

// scripts lists the scripts of a suite.
func scripts(t *testing.T, suite string) []string {
	t.Helper()
	dir, err := corpusDir()
	if err != nil {
		t.Skipf("no corpus: wazero's sources with their test data are not in the module cache: %v", err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "spectest", suite, "testdata", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return paths
}

func readScript(t *testing.T, path string) script {
	t.Helper()
	var s script
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func runScript(t *testing.T, path string, count map[string]int, exact bool) {
	s := readScript(t, path)
	r := &specRun{t: t, path: path, exports: registered(s), named: map[string]*specModule{}, count: count}
	for k := range r.runtimes {
		if k != exactly || exact {
			r.runtimes[k] = r.runtime(k)
			defer r.runtimes[k].Close(context.Background())
		}
	}
	for i, c := range s.Commands {
		r.command(i, c)
	}
}

// registered finds the names that modules are imported by.
func registered(s script) map[int]string {
	names, byName, last := map[int]string{}, map[string]int{}, 0
	for i, c := range s.Commands {
		switch c.Type {
		case "module":
			last = i
			byName[c.Name] = i
		case "register":
			at := last
			if c.Name != "" {
				at = byName[c.Name]
			}
			names[at] = c.As
		}
	}
	return names
}

// runtime makes a runtime with the modules that the suite's modules import.
func (r *specRun) runtime(form int) wazero.Runtime {
	r.t.Helper()
	ctx := context.Background()
	config := runtimeConfig()
	if form == asItIs {
		config = config.WithCoreFeatures(coreFeatures() | experimental.CoreFeaturesExceptionHandling)
	}
	rt := wazero.NewRuntimeWithConfig(ctx, config)
	wasm, err := os.ReadFile(filepath.Join(filepath.Dir(r.path), "..", "..", "testdata", "spectest.wasm"))
	if err == nil {
		_, err = rt.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithName("spectest"))
	}
	r.meters[form] = map[api.Module]*meter{}
	if err == nil {
		_, err = rt.NewHostModuleBuilder(wasmbin.TickModule).NewFunctionBuilder().
			WithFunc(func(ctx context.Context, m api.Module) { r.meter(form, m).tick(ctx, m) }).
			Export(wasmbin.TickName).Instantiate(ctx)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return rt
}

// meter is the meter of an instance.
func (r *specRun) meter(form int, m api.Module) *meter {
	if r.meters[form][m] == nil {
		r.meters[form][m] = newMeter(1_000_000, plenty)
	}
	return r.meters[form][m]
}

// used is the fuel that all modules of the script have used in a form.
func (r *specRun) used(form int) (sum int64) {
	for _, m := range r.all {
		if g := m[form]; g != nil {
			sum += (&guest{g, r.meter(form, g)}).used()
		}
	}
	return sum
}

func (r *specRun) command(i int, c command) {
	switch c.Type {
	case "module":
		r.current = r.module(c, r.exports[i], "module")
		r.named[c.Name] = r.current
	case "register":
		r.count["register"]++
	case "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
		r.refused(c)
	default:
		r.act(c)
	}
}

func (r *specRun) name(c command) string {
	return fmt.Sprintf("%s:%d %s", filepath.Base(r.path), c.Line, c.Type)
}

func (r *specRun) read(c command) []byte {
	r.t.Helper()
	wasm, err := os.ReadFile(filepath.Join(filepath.Dir(r.path), c.Filename))
	if err != nil {
		r.t.Fatal(err)
	}
	if filepath.Base(c.Filename) == importsTags {
		r.apart = true // the function it imports throws the tag that it does not import now
		return withOwnTags(wasm)
	}
	return wasm
}

// acrossModules is how the exports begin that catch what another module throws.
const acrossModules = "imported-"

// importsTags is the one module of many assertions that imports tags.
const importsTags = "try_table.1.wasm"

// module brings a module to life in all forms. It returns nil for one that is
// left out, or does not come to life, in the same way in all forms.
func (r *specRun) module(c command, as, what string) *specModule {
	wasm := r.read(c)
	form, err := r.instrument(wasm)
	if err != nil {
		r.leaveOut(c, wasm, err, what)
		return nil
	}
	m := &specModule{}
	var errs [forms]error
	for k := range r.runtimes {
		if r.runtimes[k] != nil {
			m[k], errs[k] = r.instantiate(k, form[k], as)
		}
		if cause(errs[k]) != cause(errs[asItIs]) && r.runtimes[k] != nil {
			r.t.Errorf("%s: form %d: instantiation: %v, as it is: %v", r.name(c), k, errs[k], errs[asItIs])
			return nil
		}
	}
	if errs[asItIs] != nil {
		if what == "module" {
			r.count["module left out, because it imports from one that was"]++
		}
		return nil
	}
	r.count[what]++
	r.all = append(r.all, m)
	return m
}

// instrumentedForm is a form of a module and the export to call in place of its
// start section.
type instrumentedForm struct {
	wasm  []byte
	start string
	i     *wasmbin.Instrumented
}

func (r *specRun) instrument(wasm []byte) (all [forms]instrumentedForm, err error) {
	all[asItIs] = instrumentedForm{wasm: wasm}
	l := wasmbin.DefaultLimits()
	l.BranchTargets, l.FunctionWork = 1<<15, 10*l.FunctionWork // br_table.wast has that many
	for k, o := range map[int]wasmbin.Options{withFuel: options, snapshot: snapshotOptions} {
		i, err := wasmbin.Instrument(wasm, l, o)
		if err != nil {
			return all, err
		}
		all[k] = instrumentedForm{i.Wasm, i.Start, i}
	}
	exact, err := wasmbin.InstrumentExactly(wasm, l, options)
	all[exactly] = instrumentedForm{wasm: exact}
	return all, err
}

func (r *specRun) instantiate(k int, f instrumentedForm, as string) (api.Module, error) {
	ctx := context.Background()
	if f.i != nil {
		ctx, _ = withMaxPages(ctx, f.i)
	}
	m, err := r.runtimes[k].InstantiateWithConfig(ctx, f.wasm, wazero.NewModuleConfig().WithName(as))
	if err != nil || f.start == "" {
		return m, startError(err)
	}
	_, err = m.ExportedFunction(f.start).Call(ctx)
	return m, startError(err)
}

// startError is an error without the number of the start function in front.
func startError(err error) error {
	if err == nil {
		return nil
	}
	text := cause(err)
	if _, rest, ok := strings.Cut(text, "] failed: "); ok && strings.HasPrefix(text, "start function[") {
		text = rest
	}
	return errors.New(text)
}

// leaveOut counts a module that the gate refuses. It must say why, and it must
// not be for the bytes, because wazero takes them.
func (r *specRun) leaveOut(c command, wasm []byte, err error, what string) {
	if !errors.Is(err, wasmbin.ErrUnsupported) {
		r.t.Errorf("%s: %v", r.name(c), err)
	}
	reason := "for another reason"
	for _, kind := range []string{"table", "memory", "global", "tag"} {
		if strings.Contains(err.Error(), "is a "+kind+":") {
			reason = "because it imports a " + kind
		}
	}
	for _, proposal := range []string{"typed-function-references", "gc"} {
		if strings.HasSuffix(filepath.Dir(filepath.Dir(r.path)), "exception-handling") && strings.Contains(err.Error(), "needs "+proposal) {
			reason = "because it needs " + proposal
		}
	}
	r.count[what+" left out, "+reason]++
	r.apart = true
	if reason == "for another reason" {
		r.t.Errorf("%s: left out: %v", r.name(c), err)
	}
}

// refused runs an assertion on a module that must not come to life.
func (r *specRun) refused(c command) {
	if c.ModuleType == "text" {
		r.count[c.Type+" left out, because it is a text"]++
		return
	}
	wasm := r.read(c)
	form, err := r.instrument(wasm)
	if err != nil {
		r.count[c.Type+" by the gate"]++
		r.apart = r.apart || strings.Contains(err.Error(), "only functions may be imported")
		return
	}
	where := ""
	for k := asItIs; k <= snapshot; k++ {
		if err := compiles(r.runtimes[k], form[k].wasm); err != nil {
			where += "compiler "
		} else if _, err := r.instantiate(k, form[k], ""); err != nil {
			where += "link "
		} else {
			where += "not "
		}
	}
	switch where {
	case "compiler compiler compiler ":
		r.count[c.Type+" by the compiler"]++
	case "link link link ":
		r.count[c.Type+" when linked or started"]++
	case "not not not ":
		r.count[c.Type+" by nobody: wazero accepts it"]++
	default:
		r.t.Errorf("%s: refused as it is, with fuel and for a snapshot: %s", r.name(c), where)
	}
}

// act runs an action and compares what comes of it.
func (r *specRun) act(c command) {
	m := r.current
	if c.Action.Module != "" {
		m = r.named[c.Action.Module]
	}
	if m == nil {
		r.count[c.Type+" left out with its module"]++
		return
	}
	r.count[c.Type]++
	before := [2]int64{r.used(withFuel), 0}
	if m[exactly] != nil {
		before[1] = r.used(exactly)
	}
	want := do(r.t, m[asItIs], c)
	r.expect(c, want)
	for k := withFuel; k < forms; k++ {
		if m[k] == nil || strings.HasPrefix(c.Action.Field, acrossModules) {
			continue
		}
		if got := do(r.t, m[k], c); !got.same(want) {
			r.t.Errorf("%s: %s: form %d: %v, %q; as it is: %v, %q", r.name(c), c.Action.Field, k, got.values, got.trap, want.values, want.trap)
		}
	}
	if m[exactly] == nil || want.trap != "" {
		return
	}
	if used, exact := r.used(withFuel)-before[0], r.used(exactly)-before[1]; used < exact {
		r.t.Errorf("%s: %s: charged %d for %d units of work", r.name(c), c.Action.Field, used, exact)
	}
}

// expect checks that the original does what the suite says, if nothing that
// was left out may be the reason that it does not.
func (r *specRun) expect(c command, got acted) {
	switch {
	case r.apart:
		r.count[c.Type+" compared with the original alone, because a module was left out"]++
	case c.Type == "assert_trap" || c.Type == "assert_exhaustion" || c.Type == "assert_exception":
		if got.trap == "" {
			r.t.Errorf("%s: %s: no trap", r.name(c), c.Action.Field)
		}
		if c.Type == "assert_exhaustion" && !strings.Contains(got.trap, "stack overflow") {
			r.t.Errorf("%s: %s: %s", r.name(c), c.Action.Field, got.trap)
		}
	case got.trap != "":
		r.t.Errorf("%s: %s: %s", r.name(c), c.Action.Field, got.trap)
	case c.Type == "assert_return":
		r.expectValues(c, got.values)
	}
}

func (r *specRun) expectValues(c command, got []uint64) {
	for _, v := range c.Expected {
		n := min(v.words(), len(got))
		if n < v.words() || !v.matches(got[:n]) {
			r.t.Errorf("%s: %s: %v, want %s %s", r.name(c), c.Action.Field, got, v.Type, v.Value)
			return
		}
		got = got[n:]
	}
}

// The modules of proposals that are not supported are accepted where they do
// without, or refused by the name of what they need.
func TestOtherProposalsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for suite, names := range map[string][]string{
		"threads":                   {"needs threads"},
		"typed-function-references": {"typed-function-references", "gc"},
	} {
		refused := 0
		for _, path := range scripts(t, suite) {
			for _, c := range readScript(t, path).Commands {
				if c.Type != "module" {
					continue
				}
				wasm, err := os.ReadFile(filepath.Join(filepath.Dir(path), c.Filename))
				if err != nil {
					t.Fatal(err)
				}
				_, err = wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
				refused += refusedBy(t, fmt.Sprint(filepath.Base(path), ":", c.Line), err, names)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no module was refused", suite)
		}
	}
}

func refusedBy(t *testing.T, name string, err error, names []string) int {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), "only functions may be imported") {
		return 0
	}
	named := slices.ContainsFunc(names, func(n string) bool { return strings.Contains(err.Error(), n) })
	if !named || !errors.Is(err, wasmbin.ErrUnsupported) {
		t.Errorf("%s: %v", name, err)
	}
	return 1
}
