package openai

import (
	"regexp"
	"strings"

	"github.com/skillet-run/skillet/plugins/provider"
)

// known are models of OpenAI with their limits and prices, from OpenAI's price
// list of spring 2026. OPENAI_MODELS overrides them, and adds others.
var known = []provider.Model{
	chat("gpt-5.2", 400_000, 128_000, 1.75, 14, "smart", "code"),
	chat("gpt-5.1", 400_000, 128_000, 1.25, 10, "smart", "code"),
	chat("gpt-5", 400_000, 128_000, 1.25, 10, "smart", "code"),
	chat("gpt-5-mini", 400_000, 128_000, 0.25, 2, "balanced", "conversation"),
	chat("gpt-5-nano", 400_000, 128_000, 0.05, 0.40, "fast"),
	chat("gpt-4.1", 1_047_576, 32_768, 2, 8, "balanced"),
	chat("gpt-4.1-mini", 1_047_576, 32_768, 0.40, 1.60, "balanced"),
	chat("gpt-4.1-nano", 1_047_576, 32_768, 0.10, 0.40, "fast"),
	chat("gpt-4o", 128_000, 16_384, 2.50, 10, "balanced"),
	chat("gpt-4o-mini", 128_000, 16_384, 0.15, 0.60, "fast", "conversation"),
	chat("o3", 200_000, 100_000, 2, 8, "smart"),
	chat("o4-mini", 200_000, 100_000, 1.10, 4.40, "balanced"),
	{Name: "text-embedding-3-small", ContextTokens: 8192, Embeddings: true, Dimensions: 1536, InputUSD: 0.02, Loaded: true},
	{Name: "text-embedding-3-large", ContextTokens: 8192, Embeddings: true, Dimensions: 3072, InputUSD: 0.13, Loaded: true},
}

func chat(name string, context, output int, in, out float64, tiers ...string) provider.Model {
	return provider.Model{Name: name, Tiers: tiers, ContextTokens: context, OutputTokens: output, InputUSD: in, OutputUSD: out,
		Text: true, Tools: true, JSONSchema: true, Streaming: true, Loaded: true, Thinking: reasons(name)}
}

// assumed is what a model is taken for that nobody says anything about.
var assumed = provider.Model{Text: true, Tools: true, JSONSchema: true, Streaming: true, Loaded: true}

// names of models that reason: o1, o3, gpt-5, gpt-5.2-pro, gpt-6-sol.
var reasoning = regexp.MustCompile(`^(o\d|gpt-([5-9]|\d\d))([-.]|$)`)

// reasons says whether a model thinks and is told how much with reasoning_effort.
func reasons(model string) bool {
	model = bare(model)
	return reasoning.MatchString(model) && !strings.Contains(model, "chat")
}

// bare is a model's name without the maker's, which routers put before it.
func bare(model string) string { return model[strings.LastIndexByte(model, '/')+1:] }

// least is the smallest effort a model takes: the first that reasoned had to,
// gpt-5 could do with little, and those since can do without.
func least(model string) string {
	switch model = bare(model); {
	case strings.HasPrefix(model, "o"), strings.Contains(model, "-pro"):
		return "low"
	case model == "gpt-5" || strings.HasPrefix(model, "gpt-5-"):
		return "minimal"
	}
	return "none"
}

// effort is what stands for a number of tokens to think.
func effort(model string, tokens int) string {
	switch {
	case tokens <= 0 && reasons(model):
		return least(model)
	case tokens <= 0:
		return ""
	case tokens <= 2048:
		return "low"
	case tokens <= 8192:
		return "medium"
	}
	return "high"
}
