package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/bench/guests"
	"github.com/skillet-run/skillet/bench/measure"
	"github.com/skillet-run/skillet/bench/report"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// The rows of a module whose machine code is in the cache on disk, in a
// runtime that has not seen it.
const (
	compiledRow = "compiled"
	loadedRow   = "cached, loaded"
	answeredRow = "cached, first answer"
)

// ready times the way from bytes to an answer.
func (b *bench) ready(ctx context.Context) error {
	table := report.Table{Head: []string{"module", "size", compiledRow, loadedRow, answeredRow}}
	for _, g := range guests.Text() {
		wasm, err := b.module(g)
		if err != nil {
			return err
		}
		if wasm == nil || g.ABI != guests.Bulk {
			continue
		}
		times, err := b.readyTimes(ctx, g, wasm)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Name, err)
		}
		line := []string{g.Name, report.Size(int64(len(wasm)))}
		for i, row := range table.Head[2:] {
			b.report.Add(report.Record{Section: "ready", Module: g.Name, Input: "100 B", Row: row, NS: times[i]})
			line = append(line, report.Time(times[i]))
		}
		table.Rows = append(table.Rows, line)
	}
	b.say("%s", table)
	return nil
}

// readyTimes are the medians for the three rows; the first is one sample.
func (b *bench) readyTimes(ctx context.Context, g guests.Guest, wasm []byte) ([3]float64, error) {
	var samples [3][]float64
	dir := filepath.Join(b.tmp, "cache-"+g.Language)
	small := guests.Counts()[0]
	for round := range max(b.plan.Rounds, 1) + 1 {
		s, err := start(ctx, dir, wasm, small)
		if err != nil {
			return [3]float64{}, err
		}
		if s.cached == (round == 0) {
			return [3]float64{}, fmt.Errorf("in round %d the cache was used: %t", round, s.cached)
		}
		if round == 0 {
			samples[0] = append(samples[0], s.loaded)
			continue
		}
		samples[1] = append(samples[1], s.loaded)
		samples[2] = append(samples[2], s.answered)
	}
	return [3]float64{measure.Median(samples[0]), measure.Median(samples[1]), measure.Median(samples[2])}, nil
}

// A beginning is how long a module took in a new runtime, in nanoseconds.
type beginning struct {
	loaded, answered float64
	cached           bool
}

func start(ctx context.Context, cacheDir string, wasm []byte, t guests.Task) (s beginning, err error) {
	r, err := sandbox.New(ctx, hclog.NewNullLogger(), sandbox.Options{CacheDir: cacheDir})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.Close(ctx)) }()
	begin := time.Now()
	m, err := r.Load(ctx, wasm)
	if err != nil {
		return s, err
	}
	s.loaded, s.cached = since(begin), m.Info().FromCache
	result, err := m.Call(ctx, sandbox.Call{Export: t.Export, Input: t.Input})
	s.answered = since(begin)
	if err != nil || !bytes.Equal(result.Output, t.Want) {
		return s, wrong(t, result.Output, err)
	}
	return s, nil
}

func since(begin time.Time) float64 { return float64(time.Since(begin).Nanoseconds()) }
