package main

import (
	"context"
	"errors"
	"fmt"

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
	ways := b.shop.Only(engine.BareWarm, engine.Ours, engine.SDKWarm, engine.SDKFresh)
	table := report.Table{Head: []string{"module", memcpyRow, ways[0].Name, ways[1].Name, ways[2].Name, ways[3].Name}}
	for _, g := range guests.Text() {
		wasm, err := b.module(g)
		if err != nil {
			return err
		}
		if wasm == nil {
			continue
		}
		if err := b.guestCopies(ctx, g, wasm, ways); err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
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
	}
	b.say("%s", table)
	return nil
}

func (b *bench) guestCopies(ctx context.Context, g guests.Guest, wasm []byte, ways []engine.Way) (err error) {
	list, err := b.contestants(ctx, g, wasm, ways)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(ctx, list)) }()
	t := guests.Echo()
	var jobs []measure.Job
	for _, c := range list {
		jobs = append(jobs, c.job(ctx, t))
	}
	times, err := b.plan.Jobs(append(jobs, memcpy(t.Input)))
	if err != nil {
		return err
	}
	b.record("copy", g.Name, t.Name, append(list, contestant{name: memcpyRow}), times)
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
