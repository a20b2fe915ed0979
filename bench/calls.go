package main

import (
	"context"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/report"
)

// calls times count in every way, for every text guest and size of input.
func (b *bench) calls(ctx context.Context) error {
	ways := b.shop.Ways()
	if b.cpu {
		b.leaveOut("processes and concurrent callers: not with --cpu")
	} else {
		native, err := guests.Native("guests", b.tmp)
		if err != nil {
			return err
		}
		ways = append(ways, engine.Run(b.skillet), engine.Native(native))
	}
	tasks := guests.Counts()
	if b.quick {
		tasks = tasks[:2]
	}
	err := b.eachModule(guests.Text(), func(g guests.Guest, wasm []byte) error {
		if err := b.timed(ctx, "call", g, wasm, ways, tasks); err != nil {
			return err
		}
		return b.dirty(ctx, g, wasm, tasks)
	})
	if err == nil {
		b.say("%s", b.callTable(ways))
	}
	return err
}

// dirtyRow is how much memory had to be restored after a call of ours.
const dirtyRow = "restored"

// dirty measures that for each task.
func (b *bench) dirty(ctx context.Context, g guests.Guest, wasm []byte, tasks []guests.Task) error {
	for _, t := range tasks {
		n, err := b.shop.Dirty(ctx, g, wasm, t)
		if err != nil {
			return err
		}
		b.report.Add(report.Record{Section: "call", Module: g.Name, Input: t.Name, Row: dirtyRow, Bytes: n})
	}
	return nil
}

// record adds times and their ratios to that of the bare warm instance.
func (b *bench) record(section, module, input string, rows []string, times []float64) {
	base := 0.0
	for i, row := range rows {
		if row == engine.BareWarm {
			base = times[i]
		}
	}
	for i, row := range rows {
		rec := report.Record{Section: section, Module: module, Input: input, Row: row, NS: times[i]}
		if base > 0 {
			rec.Ratio = times[i] / base
		}
		b.report.Add(rec)
	}
}

// callTable has a line for each guest and input and a column for each way.
func (b *bench) callTable(ways []engine.Way) report.Table {
	t := report.Table{Head: []string{"module", "input"}}
	for _, w := range ways {
		t.Head = append(t.Head, w.Name)
	}
	for _, g := range guests.Text() {
		for _, task := range guests.Counts() {
			line := []string{g.Name, task.Name}
			base, ok := b.report.Find("call", g.Name, task.Name, engine.BareWarm)
			if !ok {
				continue
			}
			for _, w := range ways {
				line = append(line, b.cell("call", g.Name, task.Name, w.Name, base))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return t
}

// cell is a time as a multiple of base, or itself for the bare warm instance.
func (b *bench) cell(section, module, input, row string, base float64) string {
	ns, ok := b.report.Find(section, module, input, row)
	switch {
	case !ok:
		return "-"
	case row == engine.BareWarm:
		return report.Time(ns)
	}
	return report.Number(ns/base) + "x"
}
