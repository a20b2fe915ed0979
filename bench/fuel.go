package main

import (
	"context"

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
	err := b.eachModule(guests.Compute(), func(g guests.Guest, wasm []byte) error {
		if err := b.timed(ctx, "fuel", g, wasm, ways, guests.Work()); err != nil {
			return err
		}
		for _, t := range guests.Work() {
			line := []string{g.Name, t.Name}
			base, _ := b.report.Find("fuel", g.Name, t.Name, engine.BareWarm)
			for _, w := range ways {
				line = append(line, b.cell("fuel", g.Name, t.Name, w.Name, base))
			}
			table.Rows = append(table.Rows, line)
		}
		return nil
	})
	if err == nil {
		b.say("%s", table)
	}
	return err
}
