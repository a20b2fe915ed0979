package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/measure"
	"github.com/skillet-run/skillet/bench/report"
)

// crowds are the numbers of concurrent callers that are tried.
func crowds() []int {
	list := []int{1, 2, runtime.NumCPU(), 4 * runtime.NumCPU()}
	slices.Sort(list)
	return slices.Compact(list)
}

func callers(n int) string { return fmt.Sprintf("%d callers", n) }

// throughput lets ever more goroutines call one module of ours.
func (b *bench) throughput(ctx context.Context) error {
	table := report.Table{Head: []string{"module", "input"}}
	for _, n := range crowds() {
		table.Head = append(table.Head, callers(n))
	}
	for _, g := range guests.Text() {
		wasm, err := b.module(g)
		if err != nil {
			return err
		}
		if wasm == nil || g.ABI != guests.Bulk {
			continue
		}
		lines, err := b.crowd(ctx, g, wasm)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
		table.Rows = append(table.Rows, lines...)
	}
	b.say("%s", table)
	return nil
}

func (b *bench) crowd(ctx context.Context, g guests.Guest, wasm []byte) (lines [][]string, err error) {
	list, err := b.contestants(ctx, g, wasm, b.shop.Only(engine.Ours))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll(ctx, list)) }()
	for _, t := range guests.Counts()[:2] {
		one := list[0].job(ctx, t)
		var jobs []measure.Job
		for _, n := range crowds() {
			jobs = append(jobs, measure.Job{Name: callers(n), Run: together(n, one.Run), Check: one.Check})
		}
		times, err := b.plan.Jobs(jobs)
		if err != nil {
			return nil, err
		}
		line := []string{g.Name, t.Name}
		for i, ns := range times {
			b.report.Add(report.Record{Section: "throughput", Module: g.Name, Input: t.Name, Row: jobs[i].Name, NS: ns})
			cell := fmt.Sprintf("%.0f/s", 1e9/ns)
			if i > 0 {
				cell = report.Number(times[0]/ns) + "x"
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// together spreads n runs over some goroutines; n is how many all do together.
func together(goroutines int, run func(n int) error) func(n int) error {
	return func(n int) error {
		errs := make([]error, goroutines)
		var wg sync.WaitGroup
		for i := range goroutines {
			share := n / goroutines
			if i < n%goroutines {
				share++
			}
			wg.Go(func() { errs[i] = run(share) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}
