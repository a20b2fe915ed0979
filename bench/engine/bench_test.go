package engine_test

import (
	"errors"
	"testing"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
)

// BenchmarkCall is the table's section of calls for profiles and comparisons of
// one way with itself: go test -bench 'Call/rust/extism/100_B/ours' -cpuprofile.
func BenchmarkCall(b *testing.B) {
	w, err := engine.NewWorkshop(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close(b.Context())
	for _, g := range guests.Text() {
		for _, task := range append(guests.Counts(), guests.Echo()) {
			name := task.Name
			if task.Export == "echo" {
				name += " echo"
			}
			for _, way := range w.Ways() {
				b.Run(g.Name+"/"+name+"/"+way.Name, func(b *testing.B) { call(b, way, g, task) })
			}
		}
	}
}

func call(b *testing.B, way engine.Way, g guests.Guest, task guests.Task) {
	wasm, err := g.Module("../guests", b.TempDir())
	if errors.Is(err, guests.ErrAbsent) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	c, err := way.Open(b.Context(), g, wasm)
	if errors.Is(err, engine.ErrSkipped) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		out, err := c.Call(b.Context(), task.Export, task.Input)
		if err != nil || len(out) != len(task.Want) {
			b.Fatalf("%.100q, %v", out, err)
		}
	}
}
