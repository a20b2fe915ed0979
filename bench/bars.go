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
	if base, ok := find(engine.BareWarm); ok {
		most := map[string]float64{"c": 1.5, "as": 1.5, "rust": 2.5, "js": 2.5, "go": 4}[language]
		bar, met := fmt.Sprintf("<= %gx", most), ours.NS/base <= most
		if most == 1.5 {
			bar, met = bar+" or 2 us", met || ours.NS-base <= 2000
		}
		b.report.AddBar("ours / wazero warm", ours.Module, ours.Input, ours.NS/base, bar, met)
	}
	least := map[string]float64{"c": 100, "rust": 100, "go": 30}[language]
	if ns, ok := find(engine.SDKFresh); ok && least > 0 {
		b.report.AddBar("go-sdk fresh / ours", ours.Module, ours.Input, ns/ours.NS, fmt.Sprintf(">= %gx", least), ns/ours.NS >= least)
	}
	if ns, ok := find(engine.WasmtimeFresh); ok {
		b.report.AddBar("wasmtime fresh / ours", ours.Module, ours.Input, ns/ours.NS, ">= 10x", ns/ours.NS >= 10)
	}
	if ns, ok := find(engine.RunProcess); ok && ours.Input == "100 B" {
		b.report.AddBar("skillet run, ms", ours.Module, ours.Input, ns/1e6, "< 50", ns < 50e6)
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
