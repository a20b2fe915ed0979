package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/report"
)

// fuel times long computations in guests, where nothing but fuel and ticks can
// cost anything.
func (b *bench) fuel(ctx context.Context) error {
	ways := b.shop.Only(engine.BareWarm, engine.Metered, engine.Ours, engine.BareTimeout)
	table := report.Table{Head: []string{"module", "work"}}
	for _, w := range ways {
		table.Head = append(table.Head, w.Name)
	}
	for _, g := range guests.Compute() {
		wasm, err := b.module(g)
		if err != nil {
			return err
		}
		if wasm == nil {
			continue
		}
		if err := b.guestFuel(ctx, g, wasm, ways); err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
		for _, t := range guests.Work() {
			line := []string{g.Name, t.Name}
			base, _ := b.report.Find("fuel", g.Name, t.Name, engine.BareWarm)
			for _, w := range ways {
				line = append(line, b.cell("fuel", g.Name, t.Name, w.Name, base))
			}
			table.Rows = append(table.Rows, line)
		}
	}
	b.say("%s", table)
	return nil
}

func (b *bench) guestFuel(ctx context.Context, g guests.Guest, wasm []byte, ways []engine.Way) (err error) {
	list, err := b.contestants(ctx, g, wasm, ways)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll(ctx, list)) }()
	for _, t := range guests.Work() {
		times, err := b.race(ctx, list, t)
		if err != nil {
			return err
		}
		b.record("fuel", g.Name, t.Name, list, times)
	}
	return nil
}
