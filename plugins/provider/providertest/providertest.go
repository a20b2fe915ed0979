// Package providertest is the conformance suite of providers: what the host counts
// on, for any implementation, in this process or behind gRPC in another language.
//
// The suite refuses to know how good the answers are. It asks for what a provider
// says that it offers, and skips the rest with a line that says so.
package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

// Options say how a provider is asked. The zero value suits a provider that
// answers anything.
type Options struct {
	// Model is the text model that is asked; empty is the first that there is. Those
	// for tools, schemas, thinking and vectors are it, or the first that offers them.
	Model string
	// Prompt is answered with text; empty is a greeting.
	Prompt string
	// ToolPrompt makes a model call the tool "weather", which takes a city. If empty,
	// it is a question about the weather.
	ToolPrompt string
	// Schema is the JSON Schema that an answer to SchemaPrompt is asked to fit, and
	// CheckSchema says whether it does. Empty is an object with the city and its
	// country.
	Schema       json.RawMessage
	SchemaPrompt string
	CheckSchema  func(answer string) error
	// Slow is answered so slowly, or with so many pieces, that the answer can be
	// ended before it is whole. Empty leaves that to luck: then an answer that is
	// whole is as right as an error.
	Slow string
	// Alike are two texts that mean much the same, and one that does not. Empty asks
	// for no such order.
	Alike [3]string
	// Patience is how long anything may take: 30 s.
	Patience time.Duration
}

func (o Options) orDefaults() Options {
	if o.Prompt == "" {
		o.Prompt = "Say hello to the people of Paris."
	}
	if o.ToolPrompt == "" {
		o.ToolPrompt = "What is the weather in Paris now? Use the tool weather."
	}
	if len(o.Schema) == 0 {
		o.Schema = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"country":{"type":"string"}},"required":["city","country"],"additionalProperties":false}`)
		o.SchemaPrompt, o.CheckSchema = "Which country is the city of Paris in? Answer in JSON with city and country.", checkCity
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	return o
}

// checkCity holds an answer against the schema of the defaults.
func checkCity(answer string) error {
	var v struct {
		City    *string `json:"city"`
		Country *string `json:"country"`
	}
	d := json.NewDecoder(strings.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return err
	}
	if v.City == nil || v.Country == nil {
		return errors.New("city or country is missing")
	}
	return nil
}

// A suite is one run of the cases.
type suite struct {
	open func(t *testing.T) provider.Provider
	Options
}

// Run checks that a provider keeps the contract. open is called once for each case,
// and may return the same provider each time: cases run one after another.
func Run(t *testing.T, open func(t *testing.T) provider.Provider, o Options) {
	s := &suite{open: open, Options: o.orDefaults()}
	for _, c := range []struct {
		name string
		run  func(t *testing.T, c *caller)
	}{
		{"Info", s.info},
		{"Health", s.health},
		{"Models", s.models},
		{"Generate", s.generate},
		{"GenerateWithoutEmit", s.generateWithoutEmit},
		{"Conversation", s.conversation},
		{"Usage", s.usage},
		{"MaxTokens", s.maxTokens},
		{"Tools", s.tools},
		{"Schema", s.schema},
		{"Thinking", s.thinking},
		{"UnknownModel", s.unknownModel},
		{"InvalidRequest", s.invalidRequest},
		{"Cancelled", s.cancelled},
		{"CancelledBefore", s.cancelledBefore},
		{"Deadline", s.deadline},
		{"EmitError", s.emitError},
		{"Concurrent", s.concurrent},
		{"Embed", s.embed},
		{"EmbedOrder", s.embedOrder},
		{"EmbedAlike", s.embedAlike},
		{"EmbedNothing", s.embedNothing},
		{"LoadUnload", s.loadUnload},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, s.begin(t)) })
	}
}

// A caller is who asks in one case.
type caller struct {
	*suite
	p      provider.Provider
	ctx    context.Context
	models []provider.Model
}

// begin opens the provider for a case.
func (s *suite) begin(t *testing.T) *caller {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), s.Patience)
	t.Cleanup(cancel)
	c := &caller{suite: s, p: s.open(t), ctx: ctx}
	var err error
	if c.models, err = c.p.Models(ctx); err != nil {
		t.Fatalf("Models: %v", err)
	}
	return c
}

// model is the model to ask for something, which skips the case when there is none.
func (c *caller) model(t *testing.T, offers string, has func(provider.Model) bool) provider.Model {
	t.Helper()
	i := slices.IndexFunc(c.models, func(m provider.Model) bool { return m.Name == c.Model && has(m) })
	if i < 0 {
		i = slices.IndexFunc(c.models, has)
	}
	if i < 0 {
		t.Skipf("the provider has no model that offers %s", offers)
	}
	return c.models[i]
}

func (c *caller) text(t *testing.T) provider.Model {
	t.Helper()
	return c.model(t, "text", func(m provider.Model) bool { return m.Text })
}

func (c *caller) vectors(t *testing.T) provider.Model {
	t.Helper()
	return c.model(t, "vectors", func(m provider.Model) bool { return m.Embeddings })
}

// ask is a request of one message.
func ask(m provider.Model, prompt string) provider.Request {
	return provider.Request{Model: m.Name, Messages: []provider.Message{{Role: provider.RoleUser, Text: prompt}}}
}

// refused fails the test unless an error is a *provider.Error of one of some
// classes.
func refused(t *testing.T, what string, err error, classes ...provider.Class) {
	t.Helper()
	var e *provider.Error
	switch {
	case err == nil:
		t.Errorf("%s: no error, want one of class %v", what, classes)
	case !errors.As(err, &e):
		t.Errorf("%s: %T %v, want a *provider.Error", what, err, err)
	case !slices.Contains(classes, e.Class):
		t.Errorf("%s: class %s (%s), want one of %v", what, e.Class, e.Message, classes)
	case e.Message == "":
		t.Errorf("%s: class %s without a message", what, e.Class)
	}
}

// ended fails the test unless a call ended because its context did.
func ended(t *testing.T, what string, err error) {
	t.Helper()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	refused(t, what, err, provider.ClassCancelled, provider.ClassTimeout)
}
