package llm

import (
	"math"

	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/plugins/provider"
)

const (
	// bytesPerToken is how many bytes of text a token has, roughly.
	bytesPerToken = 4
	// messageTokens is what a message takes besides its text, and toolTokens a tool.
	messageTokens = 4
	toolTokens    = 8
	// answerTokens is how long an answer is expected to be when neither the request
	// nor the model says how long it can be.
	answerTokens = 2048
	// maxTokens bounds what a provider is believed of one answer.
	maxTokens = 1 << 30
)

// sizeOf estimates the tokens of a question: its bytes by four, and a little for each
// message and tool.
func sizeOf(r provider.Request) int {
	n := len(r.System) + len(r.Schema)
	extra := messageTokens * len(r.Messages)
	for _, m := range r.Messages {
		n += len(m.Text) + len(m.CallID) + len(m.Opaque)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Input)
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.InputSchema)
		extra += toolTokens
	}
	return (n+bytesPerToken-1)/bytesPerToken + extra
}

// corrected is an estimate with what was learnt about a model.
func corrected(tokens int, ratio float64) int { return int(math.Ceil(float64(tokens) * ratio)) }

// answerSize is how many tokens the answer to a request can have, the thoughts among
// them: as many as the request allows, else as the model gives, but not more than
// is expected when that is all that is known.
func answerSize(r provider.Request, m provider.Model) int {
	n := r.MaxTokens
	if n == 0 {
		n = answerTokens
	}
	if m.OutputTokens > 0 {
		n = min(n, m.OutputTokens)
	}
	if m.Thinking {
		n += r.Thinking
	}
	return n
}

// cost is what tokens of a model cost.
func cost(m provider.Model, input, output int) budget.Amount {
	usd := (float64(input)*m.InputUSD + float64(output)*m.OutputUSD) / 1e6
	return budget.Amount{Tokens: int64(input) + int64(output), MicroUSD: budget.MicroUSD(usd)}
}

// usageOf is what a provider says that it used, or an estimate when it says nothing.
func usageOf(resp provider.Response, input int) provider.Usage {
	u := resp.Usage
	for _, n := range []*int{&u.InputTokens, &u.OutputTokens, &u.ThinkingTokens, &u.CachedTokens} {
		*n = min(max(*n, 0), maxTokens)
	}
	if u.InputTokens+u.OutputTokens > 0 {
		return u
	}
	n := len(resp.Text) + len(resp.Thinking)
	for _, c := range resp.Calls {
		n += len(c.Name) + len(c.Input)
	}
	return provider.Usage{InputTokens: input, OutputTokens: (n + bytesPerToken - 1) / bytesPerToken, Estimated: true}
}
