package main

import (
	"fmt"
	"math"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
)

// bars sets what was measured against what was asked for.
func (b *bench) bars() {
	for _, g := range guests.Text() {
		for _, t := range guests.Counts() {
			b.callBars(g, t.Name)
		}
	}
	b.fuelBars()
	for _, g := range guests.Text() {
		b.copyBars(g)
	}
	for _, g := range guests.Text() {
		b.throughputBars(g)
		b.readyBars(g)
	}
}

// callBars are those of one guest and input.
func (b *bench) callBars(g guests.Guest, input string) {
	ours, ok := b.report.Find("call", g.Name, input, engine.Ours)
	if !ok {
		return
	}
	over := func(row string) (float64, bool) {
		ns, ok := b.report.Find("call", g.Name, input, row)
		return ns / ours, ok
	}
	if ratio, ok := over(engine.BareWarm); ok {
		most := map[string]float64{"c": 1.5, "as": 1.5, "rust": 2.5, "js": 2.5, "go": 4}[g.Language]
		bar, met := fmt.Sprintf("<= %gx", most), 1/ratio <= most
		if most == 1.5 {
			bar, met = bar+" or 2 us", met || ours*(1-ratio) <= 2000
		}
		b.report.AddBar("ours / wazero warm", g.Name, input, 1/ratio, bar, met)
	}
	least := map[string]float64{"c": 100, "rust": 100, "go": 30}[g.Language]
	if ratio, ok := over(engine.SDKFresh); ok && least > 0 {
		b.report.AddBar("go-sdk fresh / ours", g.Name, input, ratio, fmt.Sprintf(">= %gx", least), ratio >= least)
	}
	if ratio, ok := over(engine.WasmtimeFresh); ok {
		b.report.AddBar("wasmtime fresh / ours", g.Name, input, ratio, ">= 10x", ratio >= 10)
	}
	if ns, ok := b.report.Find("call", g.Name, input, engine.RunProcess); ok && input == "100 B" {
		b.report.AddBar("skillet run, ms", g.Name, input, ns/1e6, "< 50", ns < 50e6)
	}
}

// fuelBars are about instrumentation by itself, which is the same module on
// the same engine with and without it.
func (b *bench) fuelBars() {
	product, n := 1.0, 0.0
	for _, g := range guests.Compute() {
		for _, t := range guests.Work() {
			base, _ := b.report.Find("fuel", g.Name, t.Name, engine.BareWarm)
			ns, ok := b.report.Find("fuel", g.Name, t.Name, engine.Metered)
			if !ok {
				continue
			}
			over := 100 * (ns/base - 1)
			b.report.AddBar("fuel and deadline, %", g.Name, t.Name, over, "<= 10", over <= 10)
			product, n = product*ns/base, n+1
		}
	}
	if n > 0 {
		over := 100 * (math.Pow(product, 1/n) - 1)
		b.report.AddBar("fuel and deadline, %", "all", "geometric mean", over, "<= 6", over <= 6)
	}
}

func (b *bench) copyBars(g guests.Guest) {
	ours, ok := b.report.Find("copy", g.Name, "1 MB", engine.Ours)
	if !ok {
		return
	}
	if g.ABI == guests.Bulk {
		base, _ := b.report.Find("copy", g.Name, "1 MB", memcpyRow)
		b.report.AddBar("1 MB in and out / memcpy", g.Name, "1 MB", ours/base, "<= 3x", ours/base <= 3)
		return
	}
	for _, row := range []string{engine.SDKWarm, engine.SDKFresh} {
		if ns, ok := b.report.Find("copy", g.Name, "1 MB", row); ok {
			b.report.AddBar("1 MB in and out: "+row+" / ours", g.Name, "1 MB", ns/ours, ">= 3x", ns/ours >= 3)
		}
	}
}

func (b *bench) throughputBars(g guests.Guest) {
	for _, t := range guests.Counts() {
		one, _ := b.report.Find("throughput", g.Name, t.Name, callers(1))
		if two, ok := b.report.Find("throughput", g.Name, t.Name, callers(2)); ok {
			b.report.AddBar("two callers / one", g.Name, t.Name, one/two, ">= 1.8x", one/two >= 1.8)
		}
	}
}

func (b *bench) readyBars(g guests.Guest) {
	most, ok := map[string]float64{"c": 5, "go": 50}[g.Language]
	if ns, found := b.report.Find("ready", g.Name, "100 B", answeredRow); ok && found {
		b.report.AddBar("ready and answered, ms", g.Name, "100 B", ns/1e6, fmt.Sprintf("< %g", most), ns < most*1e6)
	}
}
