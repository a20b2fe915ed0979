// Package local is a provider that needs no network, no key and no model: it
// matches the words of a goal to the words of tools, and plans calls from that. Its
// vectors are those of host/agents/memory/hashing.
//
// It refuses to know what words mean. A goal that no tool's words fit is answered
// with that, and never with a guess; nothing in it writes text of its own. What tools
// answer and what is marked as data is only ever handed on or quoted: no call comes
// of it. The same request is answered with the same bytes, everywhere.
package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Version is the provider's own. It changes when the same request may be answered
// with other bytes.
const Version = "1.2.0"

// The names of the models.
const (
	// Planner answers with calls of tools, with plans, and with what came of them.
	Planner = "planner-1"
	// Hashing makes vectors: see host/agents/memory/hashing, whose name for it is
	// "hashing-1/384".
	Hashing = "hashing-1"
)

// Note is what the provider says of itself.
const Note = "Matches the words of a goal to tools, without a language model: it plans and calls tools, " +
	"fills in files, addresses, numbers and quotations, and quotes what they answer. It writes no text of its own, " +
	"knows nothing beside what tools and the memory tell it, and understands plain English only."

// Bounds of requests and answers, in estimated tokens.
const (
	contextTokens = 1_000_000
	outputTokens  = 64_000
)

// Provider is the provider. It keeps nothing of a request but what the descriptions of
// tools come to, and is safe for concurrent use.
type Provider struct {
	lex      *lexicon
	embedder hashing.Embedder
}

var _ provider.Provider = (*Provider)(nil)

// New returns the provider.
func New() *Provider { return &Provider{lex: newLexicon(), embedder: hashing.New(0)} }

// Info implements provider.Provider.
func (p *Provider) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "local", Version: Version, Local: true, Note: Note}, nil
}

// Models implements provider.Provider. The planner belongs to all tiers, for there
// is nothing faster or smarter without a model.
func (p *Provider) Models(context.Context) ([]provider.Model, error) {
	return []provider.Model{
		{
			Name: Planner, Tiers: []string{"fast", "balanced", "smart", "code", "conversation"},
			ContextTokens: contextTokens, OutputTokens: outputTokens,
			Text: true, Tools: true, JSONSchema: true, Thinking: true, Streaming: true, Loaded: true,
		},
		{Name: Hashing, Embeddings: true, Dimensions: p.embedder.Dimensions(), Loaded: true},
	}, nil
}

// Embed implements provider.Provider.
func (p *Provider) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	if r.Model != Hashing {
		return provider.EmbedResponse{}, refuse(provider.ClassInvalid, "unknown model %q for vectors; it is called %s", r.Model, Hashing)
	}
	vectors, err := p.embedder.Embed(ctx, r.Texts)
	if err != nil {
		return provider.EmbedResponse{}, ended(err)
	}
	answer := provider.EmbedResponse{Model: Hashing, Vectors: vectors, Usage: provider.Usage{Estimated: true}}
	for _, t := range r.Texts {
		answer.Usage.InputTokens += tokensOf(t)
	}
	return answer, nil
}

// Load implements provider.Provider: both models are always ready.
func (p *Provider) Load(_ context.Context, model string) error {
	if !slices.Contains([]string{Planner, Hashing}, model) {
		return refuse(provider.ClassInvalid, "unknown model %q; the models are %s and %s", model, Planner, Hashing)
	}
	return nil
}

// Unload implements provider.Provider: there is nothing to give back.
func (p *Provider) Unload(ctx context.Context, model string) error { return p.Load(ctx, model) }

// Health implements provider.Provider: there is nothing that could be away.
func (p *Provider) Health(context.Context) error { return nil }

func refuse(class provider.Class, format string, a ...any) error {
	return &provider.Error{Class: class, Message: fmt.Sprintf(format, a...)}
}

// ended is the error of a context that ended.
func ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return refuse(provider.ClassTimeout, "%v", err)
	}
	return refuse(provider.ClassCancelled, "%v", err)
}

// tokensOf estimates the tokens of a text: one for four characters, and one for what
// is around it.
func tokensOf(text string) int { return 1 + (utf8.RuneCountInString(text)+3)/4 }
