package gemini

import (
	"strings"

	"github.com/skillet-run/skillet/plugins/provider"
)

// known are Gemini models with their limits and prices, from Google's price list
// of spring 2026 (for prompts up to 200,000 tokens). What the server says of
// limits wins, and GEMINI_MODELS over both.
var known = []provider.Model{
	chat("gemini-3-pro-preview", 1_048_576, 65_536, 2, 12, "smart", "code"),
	chat("gemini-3-flash-preview", 1_048_576, 65_536, 0.50, 3, "balanced", "conversation"),
	chat("gemini-2.5-pro", 1_048_576, 65_536, 1.25, 10, "smart", "code"),
	chat("gemini-2.5-flash", 1_048_576, 65_536, 0.30, 2.50, "balanced", "conversation"),
	chat("gemini-2.5-flash-lite", 1_048_576, 65_536, 0.10, 0.40, "fast"),
	{Name: "gemini-embedding-001", ContextTokens: 2048, Embeddings: true, Dimensions: 3072, InputUSD: 0.15, Loaded: true},
}

func chat(name string, context, output int, in, out float64, tiers ...string) provider.Model {
	return provider.Model{Name: name, Tiers: tiers, ContextTokens: context, OutputTokens: output, InputUSD: in, OutputUSD: out,
		Text: true, Tools: true, JSONSchema: true, Thinking: true, Streaming: true, Loaded: true}
}

// assumed is what a model is taken for that nobody says anything about.
var assumed = provider.Model{Text: true, Tools: true, JSONSchema: true, Streaming: true, Loaded: true}

// How models are told how much to think.
type thinking int

const (
	never   thinking = iota // it cannot: nothing is said
	budgets                 // a number of tokens, 0 for none
	least                   // a number of tokens, 128 at least
	levels                  // a level, and none at all is not one of them
)

// thinks says how a model is told. Only 2.5 has budgets, and its pro cannot do
// without.
func thinks(model string) thinking {
	switch {
	case strings.HasPrefix(model, "gemini-2.5-pro"):
		return least
	case strings.HasPrefix(model, "gemini-2.5-"):
		return budgets
	case strings.HasPrefix(model, "gemini-2.0"), strings.HasPrefix(model, "gemini-1"), !strings.HasPrefix(model, "gemini-"):
		return never
	}
	return levels
}
