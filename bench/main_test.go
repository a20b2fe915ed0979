package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/measure"
	"github.com/skillet-run/skillet/bench/report"
)

// Only a whole run writes the report without being asked.
func TestWhatIsWritten(t *testing.T) {
	for args, want := range map[string]string{
		"":                            "report.json",
		"--rounds 3 --cpu":            "report.json",
		"--quick":                     "",
		"--module c/":                 "",
		"--row ours":                  "",
		"--section ready":             "",
		"--quick --json r.json":       "r.json",
		"--module c/ --json x/r.json": "x/r.json",
	} {
		s, err := parse(strings.Fields(args))
		if err != nil || s.path != want {
			t.Errorf("bench %s writes %q, %v; want %q", args, s.path, err, want)
		}
	}
	if _, err := parse([]string{"quick"}); err == nil {
		t.Error("an argument that is no option is taken")
	}
}

// figures is a report with one time for each row of a guest.
func figures(section, module, input string, rows map[string]float64) *bench {
	b := &bench{}
	for row, ns := range rows {
		b.report.Add(report.Record{Section: section, Module: module, Input: input, Row: row, NS: ns, Ratio: ns / rows[engine.BareWarm]})
	}
	return b
}

func TestBars(t *testing.T) {
	for _, c := range []struct {
		b    *bench
		want map[string]bool // by name of the bar
	}{
		{figures("call", "c/extism", "100 B", map[string]float64{engine.BareWarm: 1000, engine.Ours: 3000, engine.SDKFresh: 299_000, engine.WasmtimeFresh: 30_000}),
			map[string]bool{"ours / wazero warm": true, "go-sdk fresh / ours": false, "wasmtime fresh / ours": true}},
		{figures("call", "c/bulk", "100 B", map[string]float64{engine.BareWarm: 1000, engine.Ours: 3001, engine.RunProcess: 51e6}),
			map[string]bool{"ours / wazero warm": false, "skillet run, ms": false}},
		{figures("call", "js/bulk", "100 B", map[string]float64{engine.BareWarm: 1000, engine.Ours: 2500, engine.RunProcess: 51e6}),
			map[string]bool{"ours / wazero warm": true}},
		{figures("call", "go/bulk", "1 MB", map[string]float64{engine.BareWarm: 1000, engine.Ours: 3999}),
			map[string]bool{"ours / wazero warm": true}},
		{figures("copy", "rust/bulk", "1 MB", map[string]float64{memcpyRow: 100, engine.OursRoomy: 301}),
			map[string]bool{"1 MB in and out / memcpy": false}},
		{figures("fuel", "go/compute", "sort", map[string]float64{engine.BareWarm: 100, engine.Metered: 107}),
			map[string]bool{"fuel and deadline, %": false}}, // one alone is its own mean
		{figures("throughput", "as/bulk", "10 kB", map[string]float64{callers(1): 190, callers(2): 100}),
			map[string]bool{"two callers / one": true}},
		{figures("ready", "go/bulk", "100 B", map[string]float64{answeredRow: 49e6}),
			map[string]bool{"ready and answered, ms": true}},
	} {
		before := len(c.b.report.Records)
		c.b.bars()
		got := map[string]bool{}
		for _, r := range c.b.report.Records[before:] {
			got[r.Row] = *r.Met
		}
		for name, met := range c.want {
			if is, ok := got[name]; !ok || is != met || len(got) != len(c.want) {
				t.Errorf("%s: met %v, judged %v; all: %v", name, is, ok, got)
			}
		}
	}
}

// What writes little has a bar in nanoseconds, besides that of its language.
func TestBarsByWhatIsWritten(t *testing.T) {
	for _, c := range []struct {
		module string
		dirty  int64
		want   []string
	}{
		{"rust/bulk", 12 << 10, []string{"<= 1.5x or 2 us: true", "<= 2.5x: false"}},
		{"rust/bulk", 64 << 10, []string{"<= 2.5x: false"}},
		{"c/bulk", 64 << 10, []string{"<= 1.5x or 2 us: true"}},
		{"go/bulk", 4 << 10, []string{"<= 1.5x or 2 us: true", "<= 4x: true"}},
	} {
		b := figures("call", c.module, "100 B", map[string]float64{engine.BareWarm: 600, engine.Ours: 2100})
		b.report.Add(report.Record{Section: "call", Module: c.module, Input: "100 B", Row: dirtyRow, Bytes: c.dirty})
		before := len(b.report.Records)
		b.bars()
		var got []string
		for _, r := range b.report.Records[before:] {
			got = append(got, fmt.Sprintf("%s: %v", r.Bar, *r.Met))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %d bytes: got %q, want %q", c.module, c.dirty, got, c.want)
		}
	}
}

// Many skills of the memory section are different modules with one behaviour,
// and the process that holds them tells what they take.
func TestHold(t *testing.T) {
	if _, err := residentBytes(); err != nil {
		t.Skip(err)
	}
	g := guests.Text()[0]
	wasm, err := g.Module("guests", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(tagged(wasm, 1), tagged(wasm, 2)) {
		t.Error("two numbers give one module")
	}
	file := t.TempDir() + "/m.wasm"
	if err := os.WriteFile(file, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--hold-module", file, "--hold-skills", strconv.Itoa(50)}, &out); err != nil {
		t.Fatal(err)
	}
	var h holding
	if err := json.Unmarshal(out.Bytes(), &h); err != nil || h.Idle > 10<<20 || h.Pooled > 10<<20 {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestTogether(t *testing.T) {
	var runs atomic.Int64
	if err := together(3, measure.Job{Run: func(n int) error { runs.Add(int64(n)); return nil }})(1000); err != nil || runs.Load() != 1000 {
		t.Errorf("%d runs, %v", runs.Load(), err)
	}
	var here sync.WaitGroup // until three run at once
	here.Add(3)
	if err := together(3, measure.Job{Run: func(int) error { here.Done(); here.Wait(); return nil }})(3); err != nil {
		t.Error(err)
	}
	wrong := errors.New("wrong")
	if err := together(2, measure.Job{Run: func(int) error { return wrong }})(2); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
}
