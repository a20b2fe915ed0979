package providertest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

// Reference is a provider that keeps the contract and knows nothing: it repeats
// what it is told, calls the first tool that it has, and tells texts apart by
// their letters. What is served or wrapped is compared with it.
//
// Its model "echo" answers, and "letters" makes vectors. A prompt that begins with
// [ReferenceSlow] is answered a word every ten milliseconds.
type Reference struct{}

// ReferenceSlow begins a prompt that is answered slowly.
const ReferenceSlow = "slowly:"

const (
	referenceText    = "echo"
	referenceVectors = "letters"
	letters          = 32 // dimensions
)

// Info implements provider.Provider.
func (Reference) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "reference", Version: "1.0.0", Local: true, Note: "It repeats what it is told."}, nil
}

// Models implements provider.Provider.
func (Reference) Models(context.Context) ([]provider.Model, error) {
	return []provider.Model{
		{
			Name: referenceText, Tiers: []string{"fast"}, ContextTokens: 4096, OutputTokens: 1024,
			Text: true, Tools: true, JSONSchema: true, Thinking: true, Streaming: true, Loaded: true, InputUSD: 0.5, OutputUSD: 1.5,
		},
		{Name: referenceVectors, Embeddings: true, Dimensions: letters, Loaded: true},
	}, nil
}

func refusal(class provider.Class, format string, a ...any) error {
	return &provider.Error{Class: class, Message: fmt.Sprintf(format, a...)}
}

// check refuses what no model could answer.
func (Reference) check(r provider.Request) error {
	if r.Model != referenceText {
		return refusal(provider.ClassInvalid, "unknown text model %q", r.Model)
	}
	if len(r.Messages) == 0 {
		return refusal(provider.ClassInvalid, "the request has no messages")
	}
	for _, m := range r.Messages {
		if m.Role != provider.RoleUser && m.Role != provider.RoleAssistant && m.Role != provider.RoleTool {
			return refusal(provider.ClassInvalid, "unknown role %q", m.Role)
		}
	}
	return nil
}

// Generate implements provider.Provider.
func (p Reference) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	if err := p.check(r); err != nil {
		return provider.Response{}, err
	}
	answer := p.answer(r)
	if emit == nil {
		emit = func(provider.Delta) error { return nil }
	}
	slow := strings.HasPrefix(r.Messages[len(r.Messages)-1].Text, ReferenceSlow)
	if err := speak(ctx, answer, slow, emit); err != nil {
		return provider.Response{}, err
	}
	return answer, nil
}

// speak hands out an answer word by word.
func speak(ctx context.Context, answer provider.Response, slow bool, emit func(provider.Delta) error) error {
	if answer.Thinking != "" {
		if err := emit(provider.Delta{Thinking: answer.Thinking}); err != nil {
			return err
		}
	}
	for _, word := range strings.SplitAfter(answer.Text, " ") {
		if err := pause(ctx, slow); err != nil {
			return err
		}
		if err := emit(provider.Delta{Text: word}); err != nil {
			return err
		}
	}
	return nil
}

// pause waits if it is to, and says whether the answer is still wanted.
func pause(ctx context.Context, slow bool) error {
	if slow {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	switch err := ctx.Err(); err {
	case nil:
		return nil
	case context.DeadlineExceeded:
		return refusal(provider.ClassTimeout, "%v", err)
	default:
		return refusal(provider.ClassCancelled, "%v", err)
	}
}

// answer is the whole answer to a request.
func (p Reference) answer(r provider.Request) provider.Response {
	last := r.Messages[len(r.Messages)-1]
	a := provider.Response{Model: r.Model, Finish: provider.FinishStop, Text: "You said: " + last.Text}
	switch {
	case len(r.Schema) > 0:
		a.Text = `{"city": "Paris", "country": "France"}`
	case len(r.Tools) > 0 && last.Role == provider.RoleUser:
		a.Text, a.Finish = "", provider.FinishTools
		id := fmt.Sprintf("call-%d", len(r.Messages))
		a.Calls = []provider.ToolCall{{ID: id, Name: r.Tools[0].Name, Input: json.RawMessage(`{"city": "Paris"}`)}}
	}
	if r.Thinking > 0 {
		a.Thinking = "I repeat it."
	}
	if strings.HasPrefix(last.Text, ReferenceSlow) {
		a.Text = strings.Repeat("and on ", 2000)
	}
	return p.measure(r, a)
}

// measure bounds an answer and counts its words.
func (Reference) measure(r provider.Request, a provider.Response) provider.Response {
	words := strings.SplitAfter(a.Text, " ")
	if r.MaxTokens > 0 && len(words) > r.MaxTokens {
		words = words[:r.MaxTokens]
		a.Text, a.Finish = strings.Join(words, ""), provider.FinishLength
	}
	a.Usage.ThinkingTokens = len(strings.Fields(a.Thinking))
	a.Usage.OutputTokens = len(words) + a.Usage.ThinkingTokens
	a.Usage.InputTokens = len(strings.Fields(r.System))
	for _, m := range r.Messages {
		a.Usage.InputTokens += 1 + len(strings.Fields(m.Text))
	}
	return a
}

// Embed implements provider.Provider.
func (Reference) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	if r.Model != referenceVectors {
		return provider.EmbedResponse{}, refusal(provider.ClassInvalid, "unknown model %q for vectors", r.Model)
	}
	if err := pause(ctx, false); err != nil {
		return provider.EmbedResponse{}, err
	}
	a := provider.EmbedResponse{Model: r.Model}
	for _, text := range r.Texts {
		a.Vectors = append(a.Vectors, letterVector(text))
		a.Usage.InputTokens += 1 + len(strings.Fields(text))
	}
	return a, nil
}

// letterVector counts letters. Nothing counts as one of the first.
func letterVector(text string) []float32 {
	v := make([]float32, letters)
	for _, c := range strings.ToLower(text) {
		v[c%letters]++
	}
	if text == "" {
		v[0] = 1
	}
	length := float32(math.Sqrt(dot(v, v)))
	for i := range v {
		v[i] /= length
	}
	return v
}

// Load implements provider.Provider.
func (Reference) Load(_ context.Context, model string) error {
	if model != referenceText && model != referenceVectors {
		return refusal(provider.ClassInvalid, "unknown model %q", model)
	}
	return nil
}

// Unload implements provider.Provider.
func (p Reference) Unload(ctx context.Context, model string) error { return p.Load(ctx, model) }

// Health implements provider.Provider.
func (Reference) Health(context.Context) error { return nil }
