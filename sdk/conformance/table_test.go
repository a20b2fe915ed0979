package conformance

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

var update = flag.Bool("update", false, "measure, and write the table of docs/languages.md")

const (
	page       = top + "/docs/languages.md"
	beginTable = "<!-- measured by make languages: begin -->\n"
	endTable   = "<!-- measured by make languages: end -->"
)

// small is the input of a measured call, and large one of 1 MB.
const small = `{"text":"hello","int":7,"float":0.5,"flag":true,"list":[1,2,3],"map":{"k":"v"},"inner":{"depth":1}}`

func large() string { return `{"text":"` + Long(1<<20) + `"}` }

// TestTable keeps a row for each language in the table; with -update it measures them. It asserts nothing about time.
func TestTable(t *testing.T) {
	b, err := os.ReadFile(page)
	must(t, err)
	before, rest, ok := bytes.Cut(b, []byte(beginTable))
	table, after, okEnd := bytes.Cut(rest, []byte(endTable))
	if !ok || !okEnd {
		t.Fatalf("%s lacks the lines %q and %q", page, beginTable, endTable)
	}
	if *update {
		table = []byte(measured(t))
		if t.Failed() {
			return
		}
		t.Logf("\n%s", table)
		must(t, os.WriteFile(page, slices.Concat(before, []byte(beginTable), table, []byte(endTable), after), 0o644))
	}
	for _, l := range languages() {
		if !bytes.Contains(table, []byte("| "+l.title+" |")) {
			t.Errorf("%s has no row for %s: make languages", page, l.title)
		}
	}
}

// measured is the whole table.
func measured(t *testing.T) string {
	var out strings.Builder
	out.WriteString("| | size | build | load | load, cached | fresh call | call | call with 1 MB |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) { out.WriteString(l.row(t)) })
	}
	fmt.Fprintf(&out, "\nThe best of several, measured on %s/%s with %d processors, %s.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	return out.String()
}

// row measures one language.
func (l language) row(t *testing.T) string {
	l.have(t)
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	l.project(t, dir)
	wasm := l.compile(t, dir) // what does not change is built, too
	edit := 0
	build := best(3, func() {
		edit++
		source := filepath.Join(dir, l.main)
		b, err := os.ReadFile(source)
		must(t, err)
		must(t, os.WriteFile(source, fmt.Appendf(b, l.edit+"\n", edit, edit), 0o644))
		wasm = l.compile(t, dir)
	})
	cold := best(3, func() { loadIn(t, sandbox.Options{Functions: hostfn.Functions()}, wasm) })
	options := sandbox.Options{Functions: hostfn.Functions(), CacheDir: cache}
	loadIn(t, options, wasm)
	cached := best(5, func() { loadIn(t, options, wasm) })
	m := loaded(t, wasm)
	fresh := best(21, func() { callOnce(t, m, sandbox.Call{Export: "values", Input: []byte(small), Restart: true}) })
	warm := best(301, func() { callOnce(t, m, sandbox.Call{Export: "values", Input: []byte(small)}) })
	much := best(9, func() { callOnce(t, m, sandbox.Call{Export: "values", Input: []byte(large())}) })
	return fmt.Sprintf("| %s | %d KB | %s | %s | %s | %s | %s | %s |\n", l.title, (len(wasm)+512)/1024, ms(build), ms(cold), ms(cached), us(fresh), us(warm), ms(much))
}

// best runs something n times and returns the shortest it took, which others on the machine disturb least.
func best(n int, run func()) time.Duration {
	shortest := time.Duration(1<<63 - 1)
	for range n {
		began := time.Now()
		run()
		shortest = min(shortest, time.Since(began))
	}
	return shortest
}

func ms(d time.Duration) string {
	return fmt.Sprintf("%.*f ms", map[bool]int{true: 1}[d < 10*time.Millisecond], float64(d)/1e6)
}
func us(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d)/1e3) }

// loadIn loads a module in a new sandbox.
func loadIn(t testing.TB, o sandbox.Options, wasm []byte) {
	t.Helper()
	ctx := context.Background()
	rt, err := sandbox.New(ctx, hclog.NewNullLogger(), o)
	must(t, err)
	_, err = rt.Load(ctx, wasm)
	must(t, err)
	must(t, rt.Close(ctx))
}

// loaded is a module in a sandbox of its own, with a few calls behind it.
func loaded(t testing.TB, wasm []byte) *sandbox.Module {
	t.Helper()
	m, err := newSandbox(t).Load(t.Context(), wasm)
	must(t, err)
	for range 10 {
		callOnce(t, m, sandbox.Call{Export: "values", Input: []byte(small)})
	}
	return m
}

func callOnce(t testing.TB, m *sandbox.Module, c sandbox.Call) {
	t.Helper()
	c.Limits.OutputBytes = 16 << 20
	if _, err := m.Call(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkLanguages is a call of the same tool in each language: from its snapshot, and in a new instance.
func BenchmarkLanguages(b *testing.B) {
	for _, l := range languages() {
		b.Run(l.name, func(b *testing.B) {
			wasm := l.module(b)
			m := loaded(b, wasm)
			for name, c := range map[string]sandbox.Call{
				"call": {Export: "values", Input: []byte(small)}, "fresh": {Export: "values", Input: []byte(small), Restart: true},
				"1MB": {Export: "values", Input: []byte(large())},
			} {
				b.Run(name, func(b *testing.B) {
					b.ReportAllocs()
					b.SetBytes(int64(len(c.Input)))
					for b.Loop() {
						callOnce(b, m, c)
					}
					b.ReportMetric(float64(len(wasm)), "module-bytes")
				})
			}
		})
	}
}
