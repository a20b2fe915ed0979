package catalog

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
)

func table() []provider.Model {
	return []provider.Model{
		{Name: "big", ContextTokens: 1000, Text: true, Tools: true, Thinking: true, InputUSD: 2, OutputUSD: 8},
		{Name: "big-mini", ContextTokens: 500, Text: true, InputUSD: 1},
		{Name: "letters", Embeddings: true, Dimensions: 8},
	}
}

func TestModelsMerge(t *testing.T) {
	configured := []provider.Model{
		{Name: "big", InputUSD: 5},                      // only the price
		{Name: "own", Text: true, ContextTokens: 77},    // one nobody else knows
		{Name: "unmeasured", Embeddings: true},          // vectors of unknown length
		{Name: "big-mini", Text: true, Streaming: true}, // can less, and more
	}
	list := func(context.Context) ([]provider.Model, error) {
		return []provider.Model{{Name: "big-2026-01-01"}, {Name: "big"}, {Name: "else", ContextTokens: 9}}, nil
	}
	assumed := provider.Model{Text: true, Streaming: true}
	models, err := New(table(), configured, assumed, list).Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Model{
		{Name: "big", ContextTokens: 1000, Text: true, Tools: true, Thinking: true, InputUSD: 5},
		{Name: "big-2026-01-01", ContextTokens: 1000, Text: true, Tools: true, Thinking: true, InputUSD: 2, OutputUSD: 8},
		{Name: "big-mini", ContextTokens: 500, Text: true, Streaming: true, InputUSD: 1},
		{Name: "else", ContextTokens: 9, Text: true, Streaming: true},
		{Name: "own", ContextTokens: 77, Text: true},
	}
	if !slices.EqualFunc(models, want, func(a, b provider.Model) bool {
		return a.Name == b.Name && a.ContextTokens == b.ContextTokens && a.Text == b.Text && a.Tools == b.Tools && a.Thinking == b.Thinking &&
			a.Streaming == b.Streaming && a.InputUSD == b.InputUSD && a.OutputUSD == b.OutputUSD && a.Embeddings == b.Embeddings
	}) {
		t.Errorf("%+v", models)
	}
}

func TestKnown(t *testing.T) {
	c := New(table(), nil, provider.Model{Text: true}, nil)
	for name, context := range map[string]int{
		"big": 1000, "maker/big": 1000, "big-2026-01-01": 1000, "big-latest": 1000, "big-mini": 500, "big-mini-0601": 500,
		"big-audio": 0, "bigger": 0, "big-2": 0, "": 0,
	} {
		if got := c.Model(name).ContextTokens; got != context {
			t.Errorf("%q: %d, want %d", name, got, context)
		}
	}
}

func TestListIsKept(t *testing.T) {
	asked, fails := 0, true
	c := New(nil, nil, provider.Model{Text: true}, func(context.Context) ([]provider.Model, error) {
		asked++
		if fails {
			return nil, errors.New("no")
		}
		return []provider.Model{{Name: "a"}}, nil
	})
	if _, err := c.Models(t.Context()); err == nil {
		t.Error("the error is lost")
	}
	fails = false
	for range 3 {
		if has, err := c.Has(t.Context(), "a"); !has || err != nil {
			t.Errorf("%v, %v", has, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}
