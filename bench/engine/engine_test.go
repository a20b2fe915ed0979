package engine_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/skillet-run/skillet/bench/engine"
	"github.com/skillet-run/skillet/bench/guests"
)

// Every way gives the right answer for every guest, also the second time.
func TestAnswers(t *testing.T) {
	w, err := engine.NewWorkshop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for _, g := range guests.Text() {
		run(t, g, w.Ways(), append(guests.Counts()[:2], guests.Echo()))
	}
	for _, g := range guests.Compute() {
		run(t, g, w.Only(engine.BareWarm, engine.Metered, engine.Ours), guests.Work())
	}
}

func run(t *testing.T, g guests.Guest, ways []engine.Way, tasks []guests.Task) {
	t.Run(g.Name, func(t *testing.T) {
		wasm, err := g.Module("../guests", t.TempDir())
		if errors.Is(err, guests.ErrAbsent) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ways {
			t.Run(w.Name, func(t *testing.T) { answers(t, w, g, wasm, tasks) })
		}
	})
}

func answers(t *testing.T, w engine.Way, g guests.Guest, wasm []byte, tasks []guests.Task) {
	c, err := w.Open(t.Context(), g, wasm)
	if errors.Is(err, engine.ErrSkipped) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, task := range tasks {
			got, err := c.Call(t.Context(), task.Export, task.Input)
			if err != nil || !bytes.Equal(got, task.Want) {
				t.Errorf("%s of %s: %.100q, %v; want %.100q", task.Export, task.Name, got, err, task.Want)
			}
		}
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A guest in C writes its stack and its heap, and a longer input takes more.
func TestDirty(t *testing.T) {
	w, err := engine.NewWorkshop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(t.Context())
	g := guests.Text()[0]
	wasm, err := g.Module("../guests", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	short, err := w.Dirty(t.Context(), g, wasm, guests.Counts()[0])
	if err != nil || short < 4<<10 || short >= 64<<10 {
		t.Errorf("100 B: %d bytes, %v", short, err)
	}
	long, err := w.Dirty(t.Context(), g, wasm, guests.Counts()[2])
	if err != nil || long < 1_000_000 {
		t.Errorf("1 MB: %d bytes, %v", long, err)
	}
}
