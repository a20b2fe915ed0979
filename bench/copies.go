package main

import (
	"context"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/measure"
	"github.com/skillet-run/skillet/bench/report"
)

// memcpyRow is the least that moving bytes in and out again can cost: two
// copies between buffers that are there.
const memcpyRow = "memcpy in, memcpy out"

// copies times echo of 1 MB.
func (b *bench) copies(ctx context.Context) error {
	ways := b.shop.Only(engine.BareWarm, engine.Ours, engine.OursRoomy, engine.SDKWarm, engine.SDKFresh)
	table := report.Table{Head: []string{"module", memcpyRow}}
	for _, w := range ways {
		table.Head = append(table.Head, w.Name)
	}
	err := b.eachModule(guests.Text(), func(g guests.Guest, wasm []byte) error {
		err := b.among(ctx, g, wasm, ways, func(list []contestant) error { return b.guestCopies(ctx, g, list) })
		if err != nil {
			return err
		}
		line := []string{g.Name}
		for _, row := range table.Head[1:] {
			cell := "-"
			if ns, ok := b.report.Find("copy", g.Name, "1 MB", row); ok {
				cell = report.Time(ns)
			}
			line = append(line, cell)
		}
		table.Rows = append(table.Rows, line)
		return nil
	})
	if err == nil {
		b.say("%s", table)
	}
	return err
}

func (b *bench) guestCopies(ctx context.Context, g guests.Guest, list []contestant) error {
	t := guests.Echo()
	var jobs []measure.Job
	for _, c := range list {
		jobs = append(jobs, c.job(ctx, t))
	}
	times, err := b.plan.Jobs(append(jobs, memcpy(t.Input)))
	if err != nil {
		return err
	}
	b.record("copy", g.Name, t.Name, append(namesOf(list), memcpyRow), times)
	return nil
}

func memcpy(from []byte) measure.Job {
	inside, out := make([]byte, len(from)), make([]byte, len(from))
	return measure.Job{Name: memcpyRow, Run: func(n int) error {
		for range n {
			copy(inside, from)
			copy(out, inside)
		}
		return nil
	}}
}
