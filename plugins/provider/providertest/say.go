package providertest

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/skillet-run/skillet/plugins/provider"
)

func (s *suite) info(t *testing.T, c *caller) {
	first, err := c.p.Info(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if first.Name == "" || !regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(first.Version) {
		t.Errorf("%+v: want a name and a semantic version", first)
	}
	if second, err := c.p.Info(c.ctx); err != nil || second != first {
		t.Errorf("first %+v, then %+v, %v", first, second, err)
	}
}

func (s *suite) health(t *testing.T, c *caller) {
	if err := c.p.Health(c.ctx); err != nil {
		t.Error(err)
	}
}

func (s *suite) models(t *testing.T, c *caller) {
	if len(c.models) == 0 {
		t.Fatal("no models")
	}
	again, err := c.p.Models(c.ctx)
	if err != nil {
		t.Fatal(err)
	}
	name := func(m provider.Model) string { return m.Name }
	if a, b := names(c.models, name), names(again, name); !slices.Equal(a, b) {
		t.Errorf("the order changes: %q, then %q", a, b)
	}
	seen := map[string]bool{}
	for _, m := range c.models {
		if seen[m.Name] || m.Name == "" {
			t.Errorf("the name %q is empty, or there twice", m.Name)
		}
		seen[m.Name] = true
		checkModel(t, m)
	}
}

func names[T any](list []T, name func(T) string) []string {
	var all []string
	for _, v := range list {
		all = append(all, name(v))
	}
	return all
}

func checkModel(t *testing.T, m provider.Model) {
	t.Helper()
	if !m.Text && !m.Embeddings {
		t.Errorf("%s: offers neither text nor vectors", m.Name)
	}
	if !m.Text && (m.Tools || m.JSONSchema || m.Thinking || m.Streaming) {
		t.Errorf("%s: offers no text, and something that is made of it: %+v", m.Name, m)
	}
	if m.Embeddings != (m.Dimensions > 0) {
		t.Errorf("%s: embeddings %v and %d dimensions", m.Name, m.Embeddings, m.Dimensions)
	}
	if m.ContextTokens < 0 || m.OutputTokens < 0 {
		t.Errorf("%s: bounds %d and %d", m.Name, m.ContextTokens, m.OutputTokens)
	}
	for _, usd := range []float64{m.InputUSD, m.OutputUSD} {
		if !(usd >= 0) || math.IsInf(usd, 0) {
			t.Errorf("%s: a price of %v", m.Name, usd)
		}
	}
}

// generate asks with emit, and looks at what comes in pieces.
func (s *suite) generate(t *testing.T, c *caller) {
	m := c.text(t)
	var text, thinking string
	pieces, within := 0, false
	r, err := c.p.Generate(c.ctx, ask(m, s.Prompt), func(d provider.Delta) error {
		if within {
			t.Error("emit is called concurrently")
		}
		within = true
		defer func() { within = false }()
		pieces++
		text, thinking = text+d.Text, thinking+d.Thinking
		if !utf8.ValidString(d.Text) || !utf8.ValidString(d.Thinking) {
			t.Errorf("a piece is not UTF-8: %q", d)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	checkResponse(t, r)
	if m.Streaming && pieces == 0 {
		t.Error("the model streams, and sent no pieces")
	}
	if pieces > 0 && (text != r.Text || thinking != r.Thinking) {
		t.Errorf("the pieces make up %q and %q, the whole is %q and %q", text, thinking, r.Text, r.Thinking)
	}
}

// checkResponse holds an answer of text against what any has to be.
func checkResponse(t *testing.T, r provider.Response) {
	t.Helper()
	if r.Text == "" || !utf8.ValidString(r.Text) {
		t.Errorf("the text is %q", r.Text)
	}
	if r.Finish != provider.FinishStop {
		t.Errorf("finish is %q, want %q", r.Finish, provider.FinishStop)
	}
	if r.Model == "" {
		t.Error("it does not say which model answered")
	}
	if len(r.Calls) > 0 {
		t.Errorf("there are calls, and no tools: %+v", r.Calls)
	}
}

func (s *suite) generateWithoutEmit(t *testing.T, c *caller) {
	r, err := c.p.Generate(c.ctx, ask(c.text(t), s.Prompt), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkResponse(t, r)
}

// conversation has several turns, a system prompt, and text that is not ASCII.
func (s *suite) conversation(t *testing.T, c *caller) {
	zero := 0.0
	r, err := c.p.Generate(c.ctx, provider.Request{
		Model: c.text(t).Name, System: "You answer briefly. 简短地回答。", Temperature: &zero, Stop: []string{"\n\n\n\n"},
		Messages: []provider.Message{
			{Role: provider.RoleUser, Text: "My name is Zoë."},
			{Role: provider.RoleAssistant, Text: "Hello, Zoë."},
			{Role: provider.RoleUser, Text: s.Prompt},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkResponse(t, r)
}

func (s *suite) usage(t *testing.T, c *caller) {
	m := c.text(t)
	short, err := c.p.Generate(c.ctx, ask(m, s.Prompt), nil)
	if err != nil {
		t.Fatal(err)
	}
	checkUsage(t, short.Usage)
	long := ask(m, s.Prompt)
	for range 20 {
		long.Messages = append(long.Messages, provider.Message{Role: provider.RoleAssistant, Text: "Hello to all of you."}, long.Messages[0])
	}
	r, err := c.p.Generate(c.ctx, long, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkUsage(t, r.Usage)
	if r.Usage.InputTokens <= short.Usage.InputTokens {
		t.Errorf("a long conversation has %d tokens of input, a short one %d", r.Usage.InputTokens, short.Usage.InputTokens)
	}
}

func checkUsage(t *testing.T, u provider.Usage) {
	t.Helper()
	if u.InputTokens <= 0 || u.OutputTokens <= 0 {
		t.Errorf("%+v: want tokens of input and of output", u)
	}
	if u.ThinkingTokens < 0 || u.ThinkingTokens > u.OutputTokens || u.CachedTokens < 0 || u.CachedTokens > u.InputTokens {
		t.Errorf("%+v: want thinking within the output, and what was cached within the input", u)
	}
}

func (s *suite) maxTokens(t *testing.T, c *caller) {
	r := ask(c.text(t), s.Prompt)
	r.MaxTokens = 2
	answer, err := c.p.Generate(c.ctx, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Usage.OutputTokens > r.MaxTokens && !answer.Usage.Estimated {
		t.Errorf("%d tokens of output, at most %d were asked for", answer.Usage.OutputTokens, r.MaxTokens)
	}
	if answer.Finish != provider.FinishLength && answer.Finish != provider.FinishStop {
		t.Errorf("finish is %q", answer.Finish)
	}
}

// weather is the tool that models are asked to call.
func weather() provider.Tool {
	return provider.Tool{
		Name: "weather", Description: "Tells what the weather in a city is now.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"The name of the city."}},"required":["city"]}`),
	}
}

// tools checks that a model calls a tool, and answers with what the tool said.
func (s *suite) tools(t *testing.T, c *caller) {
	r := ask(c.model(t, "tools", func(m provider.Model) bool { return m.Tools }), s.ToolPrompt)
	r.Tools = []provider.Tool{weather()}
	first, err := c.p.Generate(c.ctx, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkCalls(t, first)
	r.Messages = append(r.Messages, provider.Message{Role: provider.RoleAssistant, Text: first.Text, Calls: first.Calls, Opaque: first.Opaque})
	for _, call := range first.Calls {
		r.Messages = append(r.Messages, provider.Message{Role: provider.RoleTool, CallID: call.ID, Text: `{"city":"Paris","sky":"clear","celsius":21}`})
	}
	second, err := c.p.Generate(c.ctx, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if second.Finish != provider.FinishStop || second.Text == "" {
		t.Errorf("after the tool answered: finish %q, text %q, calls %+v", second.Finish, second.Text, second.Calls)
	}
}

func checkCalls(t *testing.T, r provider.Response) {
	t.Helper()
	if r.Finish != provider.FinishTools || len(r.Calls) == 0 {
		t.Fatalf("finish %q, %d calls, text %q: want a call of the tool", r.Finish, len(r.Calls), r.Text)
	}
	seen := map[string]bool{}
	for _, call := range r.Calls {
		if call.ID == "" || seen[call.ID] {
			t.Errorf("the call's id %q is empty, or there twice", call.ID)
		}
		seen[call.ID] = true
		var input struct {
			City *string `json:"city"`
		}
		if err := json.Unmarshal(call.Input, &input); call.Name != "weather" || err != nil || input.City == nil {
			t.Errorf("call of %s with %s: %v", call.Name, call.Input, err)
		}
	}
}

func (s *suite) schema(t *testing.T, c *caller) {
	r := ask(c.model(t, "JSON Schema", func(m provider.Model) bool { return m.JSONSchema }), s.SchemaPrompt)
	r.Schema = s.Schema
	answer, err := c.p.Generate(c.ctx, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(answer.Text)) {
		t.Fatalf("the answer is not JSON: %s", answer.Text)
	}
	if s.CheckSchema == nil {
		return
	}
	if err := s.CheckSchema(answer.Text); err != nil {
		t.Errorf("the answer does not fit the schema: %v: %s", err, answer.Text)
	}
}

func (s *suite) thinking(t *testing.T, c *caller) {
	r := ask(c.model(t, "thinking", func(m provider.Model) bool { return m.Thinking }), s.Prompt)
	r.Thinking = 1024
	answer, err := c.p.Generate(c.ctx, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkResponse(t, answer)
	checkUsage(t, answer.Usage)
}
