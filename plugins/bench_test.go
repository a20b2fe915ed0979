//go:build unix

package plugins

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/plugins/provider"
)

// BenchmarkStart is a plugin from nothing to its first answer, and back.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		v := New(hclog.NewNullLogger(), Settings{})
		if _, err := v.Provider(b.Context(), spec("lender")); err != nil {
			b.Fatal(err)
		}
		v.Close()
	}
}

// BenchmarkCall is one small answer of a plugin that runs.
func BenchmarkCall(b *testing.B) {
	v := New(hclog.NewNullLogger(), Settings{})
	defer v.Close()
	p, err := v.Provider(b.Context(), spec("lender"))
	if err != nil {
		b.Fatal(err)
	}
	r := provider.Request{Model: "echo", Messages: []provider.Message{{Role: provider.RoleUser, Text: "hello"}}}
	for b.Loop() {
		if _, err := p.Generate(b.Context(), r, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEmbed is a hundred short texts.
func BenchmarkEmbed(b *testing.B) {
	v := New(hclog.NewNullLogger(), Settings{})
	defer v.Close()
	p, err := v.Provider(b.Context(), spec("lender"))
	if err != nil {
		b.Fatal(err)
	}
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = "a text of a few words"
	}
	for b.Loop() {
		if _, err := p.Embed(b.Context(), provider.EmbedRequest{Model: "letters", Texts: texts}); err != nil {
			b.Fatal(err)
		}
	}
}
