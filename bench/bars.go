package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/report"
)

// bars sets what was measured against what was asked for.
func (b *bench) bars() {
	b.judge("call", engine.Ours, b.callBars)
	b.fuelBars()
	b.judge("copy", engine.Ours, b.copyBars)
	b.judge("copy", engine.OursRoomy, b.memcpyBars)
	b.judge("throughput", callers(2), b.throughputBars)
	b.judge("ready", answeredRow, b.readyBars)
}

// judge calls f for every time that a section has for a row.
func (b *bench) judge(section, row string, f func(r report.Record, language string)) {
	for _, r := range b.report.Records {
		if r.Section == section && r.Row == row {
			language, _, _ := strings.Cut(r.Module, "/")
			f(r, language)
		}
	}
}

// callBars are those of one guest and input.
func (b *bench) callBars(ours report.Record, language string) {
	find := func(row string) (float64, bool) { return b.report.Find("call", ours.Module, ours.Input, row) }
	base, ok := find(engine.BareWarm)
	if ok {
		b.warmBars(ours, language, base)
	}
	for _, bar := range []struct {
		row   string
		least float64
	}{
		{engine.SDKFresh, map[string]float64{"c": 100, "rust": 100, "go": 30}[language]},
		{engine.WasmtimeFresh, 10},
	} {
		ns, ok := find(bar.row)
		if !ok || bar.least == 0 {
			continue
		}
		warm := 0.0
		if base > 0 {
			warm = ns / base
		}
		b.report.AddAtLeast(bar.row+" / ours", ours.Module, ours.Input, ns/ours.NS, bar.least, warm)
	}
	small := language == "c" || language == "rust" || language == "as"
	if ns, ok := find(engine.RunProcess); ok && small && ours.Input == "100 B" {
		b.report.AddBar("skillet run, ms", ours.Module, ours.Input, ns/1e6, "< 50", ns < 50e6)
	}
}

// warmBars set a call beside one in a warm instance: by the language, and in
// nanoseconds where little is to be restored.
func (b *bench) warmBars(ours report.Record, language string, base float64) {
	add := func(bar string, met bool) {
		b.report.AddBar("ours / wazero warm", ours.Module, ours.Input, ours.NS/base, bar, met)
	}
	dirty, ok := b.report.FindBytes("call", ours.Module, ours.Input, dirtyRow)
	if language == "c" || language == "as" || ok && dirty < 64<<10 {
		add("<= 1.5x or 2 us", ours.NS/base <= 1.5 || ours.NS-base <= 2000)
	}
	if most := map[string]float64{"rust": 2.5, "js": 2.5, "go": 4}[language]; most > 0 {
		add(fmt.Sprintf("<= %gx", most), ours.NS/base <= most)
	}
}

// fuelBars are about instrumentation by itself, which is the same module on
// the same engine with and without it.
func (b *bench) fuelBars() {
	product, n := 1.0, 0.0
	b.judge("fuel", engine.Metered, func(r report.Record, _ string) {
		over := 100 * (r.Ratio - 1)
		b.report.AddBar("fuel and deadline, %", r.Module, r.Input, over, "<= 10", over <= 10)
		product, n = product*r.Ratio, n+1
	})
	if n > 0 {
		over := 100 * (math.Pow(product, 1/n) - 1)
		b.report.AddBar("fuel and deadline, %", "all", "geometric mean", over, "<= 6", over <= 6)
	}
}

func (b *bench) copyBars(ours report.Record, _ string) {
	find := func(row string) (float64, bool) { return b.report.Find("copy", ours.Module, ours.Input, row) }
	for _, row := range []string{engine.SDKWarm, engine.SDKFresh} {
		if ns, ok := find(row); ok {
			b.report.AddBar("1 MB in and out: "+row+" / ours", ours.Module, ours.Input, ns/ours.NS, ">= 3x", ns/ours.NS >= 3)
		}
	}
}

// memcpyBars are for a caller that has room for the output, as memcpy has.
func (b *bench) memcpyBars(ours report.Record, _ string) {
	base, ok := b.report.Find("copy", ours.Module, ours.Input, memcpyRow)
	if ok && strings.HasSuffix(ours.Module, string(guests.Bulk)) {
		b.report.AddBar("1 MB in and out / memcpy", ours.Module, ours.Input, ours.NS/base, "<= 3x", ours.NS/base <= 3)
	}
}

func (b *bench) throughputBars(two report.Record, _ string) {
	if two.Module == nothingShared {
		return
	}
	if one, ok := b.report.Find("throughput", two.Module, two.Input, callers(1)); ok {
		b.report.AddBar("two callers / one", two.Module, two.Input, one/two.NS, ">= 1.8x", one/two.NS >= 1.8)
	}
}

func (b *bench) readyBars(r report.Record, language string) {
	if most, ok := map[string]float64{"c": 5, "go": 50}[language]; ok {
		b.report.AddBar("ready and answered, ms", r.Module, r.Input, r.NS/1e6, fmt.Sprintf("< %g", most), r.NS < most*1e6)
	}
}
