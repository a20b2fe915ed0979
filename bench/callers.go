package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

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

// race times one call in every way, in turn.
func (b *bench) race(ctx context.Context, list []contestant, t guests.Task) ([]float64, error) {
	var jobs []measure.Job
	for _, c := range list {
		jobs = append(jobs, c.job(ctx, t))
	}
	return b.plan.Jobs(jobs)
}
