package anthropic

import (
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/skillet-run/skillet/plugins/provider"
)

// known are models of Anthropic with their limits and prices, from Anthropic's
// price list of spring 2026. What the server says of limits wins, and
// ANTHROPIC_MODELS over both.
var known = []provider.Model{
	claude("claude-opus-4-7", 1_000_000, 128_000, 5, 25, "smart", "code"),
	claude("claude-opus-4-6", 1_000_000, 128_000, 5, 25, "smart", "code"),
	claude("claude-opus-4-5", 200_000, 64_000, 5, 25, "smart", "code"),
	claude("claude-sonnet-4-6", 1_000_000, 64_000, 3, 15, "balanced", "code", "conversation"),
	claude("claude-sonnet-4-5", 200_000, 64_000, 3, 15, "balanced", "code", "conversation"),
	claude("claude-haiku-4-5", 200_000, 64_000, 1, 5, "fast", "conversation"),
}

func claude(name string, context, output int, in, out float64, tiers ...string) provider.Model {
	return provider.Model{Name: name, Tiers: tiers, ContextTokens: context, OutputTokens: output, InputUSD: in, OutputUSD: out,
		Text: true, Tools: true, JSONSchema: true, Thinking: true, Streaming: true, Loaded: true}
}

// assumed is what a model is taken for that nobody says anything about.
var assumed = provider.Model{Text: true, Tools: true, JSONSchema: true, Thinking: true, Streaming: true, Loaded: true}

// version finds the version in names such as claude-opus-4-7 and claude-opus-5.
var version = regexp.MustCompile(`^claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)`)

// adaptive says whether a model decides itself how much to think and is told only
// with how much effort: those since 4.7. The ones before are given a number of
// tokens. The later ones take no temperature either.
func adaptive(model string) bool {
	m := version.FindStringSubmatch(model)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[2])
	minor, _ := strconv.Atoi(m[3])
	return major > 4 || major == 4 && minor >= 7
}

// always are the lines of models that cannot be told not to think.
func always(model string) bool {
	return strings.HasPrefix(model, "claude-fable-") || strings.HasPrefix(model, "claude-mythos-")
}

// effort is what stands for a number of tokens to think.
func effort(tokens int) sdk.OutputConfigEffort {
	switch {
	case tokens <= 2048:
		return sdk.OutputConfigEffortLow
	case tokens <= 8192:
		return sdk.OutputConfigEffortMedium
	}
	return sdk.OutputConfigEffortHigh
}
