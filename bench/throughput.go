package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// bareInstances is a row of warm instances of wazero that share nothing, a caller
// for each: what the machine allows for the same guest.
func bareInstances(n int) string { return fmt.Sprintf("%d bare instances", n) }

// throughput lets ever more goroutines call one module of ours, and two call a
// bare instance each.
func (b *bench) throughput(ctx context.Context) error {
	table := report.Table{Head: []string{"module", "input"}}
	for _, n := range crowds() {
		table.Head = append(table.Head, callers(n))
	}
	table.Head = append(table.Head, bareInstances(1), bareInstances(2))
	control, err := b.line(nothingShared, "", crowds(), callers, arithmetic())
	if err != nil {
		return err
	}
	table.Rows = append(table.Rows, control)
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
	ours, err := b.contestants(ctx, g, wasm, b.shop.Only(engine.Ours))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll(ctx, ours)) }()
	each, err := b.contestants(ctx, g, wasm, b.shop.Only(engine.BareWarm, engine.BareWarm))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll(ctx, each)) }()
	for _, t := range guests.Counts()[:2] {
		line, err := b.line(g.Name, t.Name, crowds(), callers, ours[0].job(ctx, t))
		if err != nil {
			return nil, err
		}
		alone, err := b.line(g.Name, t.Name, []int{1, 2}, bareInstances, each[0].job(ctx, t), each[1].job(ctx, t))
		if err != nil {
			return nil, err
		}
		lines = append(lines, append(line, alone[2:]...))
	}
	return lines, nil
}

// line has so many goroutines do a job, each its own of several or all the same.
func (b *bench) line(module, input string, crowds []int, name func(int) string, each ...measure.Job) ([]string, error) {
	var jobs []measure.Job
	for _, n := range crowds {
		jobs = append(jobs, measure.Job{Name: name(n), Run: together(n, each...), Check: each[0].Check})
	}
	times, err := b.sustained().Jobs(jobs)
	if err != nil {
		return nil, err
	}
	line := []string{module, input}
	for i, ns := range times {
		b.report.Add(report.Record{Section: "throughput", Module: module, Input: input, Row: jobs[i].Name, NS: ns})
		cell := fmt.Sprintf("%.0f/s", 1e9/ns)
		if i > 0 {
			cell = report.Number(times[0]/ns) + "x"
		}
		line = append(line, cell)
	}
	return line, nil
}

// nothingShared is what the machine allows: arithmetic in Go, on numbers that each
// goroutine has for itself. Processors that share a core do not reach twice as much.
const nothingShared = "arithmetic in Go"

func arithmetic() measure.Job {
	return measure.Job{Name: nothingShared, Run: func(n int) error {
		x := uint64(n) | 1
		for range n {
			for range 10_000 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
		}
		if x == 0 { // it never is, which the compiler does not know
			return errors.New("the state of a xorshift generator became zero")
		}
		return nil
	}}
}

// sustained measures for longer at a time: in two milliseconds a second caller has hardly
// been woken, on a processor that was idle before.
func (b *bench) sustained() measure.Plan {
	p := b.plan
	if p.Rounds > 0 {
		p.Rounds, p.Slot = (p.Rounds+2)/3, 100*time.Millisecond
	}
	return p
}

// together spreads n runs over some goroutines; n is how many all do together.
// Each takes the next few when it is done with some, so that none waits for a
// slower one. The jobs are dealt to them in turn.
func together(goroutines int, jobs ...measure.Job) func(n int) error {
	return func(n int) error {
		few := int64(max(1, n/(16*goroutines)))
		var done atomic.Int64
		errs := make([]error, goroutines)
		var wg sync.WaitGroup
		for i := range goroutines {
			wg.Go(func() {
				for errs[i] == nil {
					from := done.Add(few) - few
					if from >= int64(n) {
						return
					}
					errs[i] = jobs[i%len(jobs)].Run(int(min(few, int64(n)-from)))
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}
