package hashing_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/agents/memory/hashing"
)

func embed(t testing.TB, e hashing.Embedder, texts ...string) [][]float32 {
	t.Helper()
	all, err := e.Embed(t.Context(), texts)
	if err != nil || len(all) != len(texts) {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	return all
}

func cosine(a, b []float32) (dot float64) {
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
	}
	return dot
}

// Texts with words in common are nearer than others; texts that only mean the same
// are not, and nobody is told they were.
func TestNearness(t *testing.T) {
	e := hashing.New(0)
	v := embed(t, e,
		"Parse the CSV file and sum the amounts",
		"parsing CSV files: sum of all amounts",
		"The weather in Lisbon is mild in winter",
		"PARSE the csv file, and sum the amounts!",
		"car", "automobile")
	near, far, same, meaning := cosine(v[0], v[1]), cosine(v[0], v[2]), cosine(v[0], v[3]), cosine(v[4], v[5])
	if !(near > 0.25 && far < 0.2 && same > 0.999 && meaning < 0.2) {
		t.Errorf("near %.2f, far %.2f, same %.2f, the same meaning %.2f", near, far, same, meaning)
	}
}

// The same text has the same vector in every process and on every machine: records
// are compared with vectors that were made long ago.
func TestStable(t *testing.T) {
	e := hashing.New(8)
	got := embed(t, e, "remember this")[0]
	want := []float32{0.47140452, 0.55777335, 0, 0, 0.39440534, -0.39440534, -0.39440534, 0}
	if e.Name() != "hashing-1/8" || e.Dimensions() != 8 || len(got) != 8 {
		t.Fatal(e.Name(), len(got))
	}
	if !slices.EqualFunc(got, want, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-6 }) {
		t.Errorf("%v: a change of the vectors needs another name", got)
	}
}

func TestEnds(t *testing.T) {
	e := hashing.New(64)
	for i, v := range embed(t, e, "", "!!!", "???", "\xff", strings.Repeat("word ", 100_000), "東京") {
		if l := cosine(v, v); math.Abs(l-1) > 1e-5 {
			t.Errorf("text %d: a vector of length² %v", i, l)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzEmbed(f *testing.F) {
	f.Add("one two three")
	f.Add("\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v := embed(t, hashing.New(32), s, s)
		if l := cosine(v[0], v[1]); math.Abs(l-1) > 1e-5 {
			t.Errorf("%q: %v", s, l)
		}
	})
}

func BenchmarkEmbed(b *testing.B) {
	e, texts := hashing.New(0), []string{strings.Repeat("some words of a short note ", 10)}
	for b.Loop() {
		if _, err := e.Embed(b.Context(), texts); err != nil {
			b.Fatal(err)
		}
	}
}
