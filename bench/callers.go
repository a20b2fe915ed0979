package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/measure"
)

// A contestant is a way that is open for one guest.
type contestant struct {
	name   string
	caller engine.Caller
}

// contestants opens every way that --row lets through for a guest. Close them.
func (b *bench) contestants(ctx context.Context, g guests.Guest, wasm []byte, ways []engine.Way) ([]contestant, error) {
	var list []contestant
	for _, w := range ways {
		if !strings.Contains(w.Name, b.row) && w.Name != engine.BareWarm && w.Name != engine.Ours {
			continue
		}
		c, err := w.Open(ctx, g, wasm)
		if errors.Is(err, engine.ErrSkipped) {
			b.leaveOut("%s: %v", w.Name, err)
			continue
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s: open %s: %w", g.Name, w.Name, err), closeAll(ctx, list))
		}
		list = append(list, contestant{w.Name, c})
	}
	return list, nil
}

func closeAll(ctx context.Context, list []contestant) (err error) {
	for _, c := range list {
		err = errors.Join(err, c.caller.Close(ctx))
	}
	return err
}

// job is a call to be timed. Each answer's length is looked at, and before
// each round the whole of one.
func (c contestant) job(ctx context.Context, t guests.Task) measure.Job {
	return measure.Job{
		Name: c.name,
		Run: func(n int) error {
			for range n {
				out, err := c.caller.Call(ctx, t.Export, t.Input)
				if err != nil || len(out) != len(t.Want) {
					return wrong(t, out, err)
				}
			}
			return nil
		},
		Check: func() error {
			out, err := c.caller.Call(ctx, t.Export, t.Input)
			if err != nil || !bytes.Equal(out, t.Want) {
				return wrong(t, out, err)
			}
			return nil
		},
	}
}

func wrong(t guests.Task, out []byte, err error) error {
	if err == nil {
		err = fmt.Errorf("wrong answer %.100q, want %.100q", out, t.Want)
	}
	return fmt.Errorf("%s of %s: %w", t.Export, t.Name, err)
}

// timed times tasks of a guest in every way, in turn, and records the medians. It
// opens all of them anew several times: where in memory an instance happens to
// lie makes a difference of up to a third, for as long as the instance lives.
func (b *bench) timed(ctx context.Context, section string, g guests.Guest, wasm []byte, ways []engine.Way, tasks []guests.Task) error {
	times := make([][][]float64, len(tasks)) // of a task, a contestant, a place
	var names []string
	for place := range b.places() {
		if err := b.shop.Forget(ctx, g); err != nil {
			return err
		}
		err := b.among(ctx, g, wasm, ways, func(list []contestant) error {
			names = namesOf(list)
			for i, t := range tasks {
				if place > 0 && sum(times[i][0]) > longRound {
					continue
				}
				ns, err := b.race(ctx, list, t)
				if err != nil {
					return err
				}
				times[i] = append(times[i], ns)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i, t := range tasks {
		b.record(section, g.Name, t.Name, names, medians(times[i], len(names)))
	}
	return nil
}

// places is how often contestants are opened.
func (b *bench) places() int { return max(1, min(5, b.plan.Rounds/3)) }

// longRound is how long a round of all contestants may take, in nanoseconds, to
// be measured in more places than one: beyond, it takes them minutes.
const longRound = 500e6

func sum(times []float64) (ns float64) {
	for _, t := range times {
		ns += t
	}
	return ns
}

// medians returns that of each contestant over all places.
func medians(places [][]float64, contestants int) []float64 {
	all := make([]float64, contestants)
	for i := range all {
		var samples []float64
		for _, times := range places {
			samples = append(samples, times[i])
		}
		all[i] = measure.Median(samples)
	}
	return all
}

func namesOf(list []contestant) (names []string) {
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}

// race times one call in every way, in turn, for one place.
func (b *bench) race(ctx context.Context, list []contestant, t guests.Task) ([]float64, error) {
	var jobs []measure.Job
	for _, c := range list {
		jobs = append(jobs, c.job(ctx, t))
	}
	p := b.plan
	p.Rounds = (p.Rounds + b.places() - 1) / b.places()
	p.Longest /= time.Duration(b.places())
	return p.Jobs(jobs)
}
