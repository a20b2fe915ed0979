package work

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Providers are what answers requests for models.
type Providers struct{ s *Service }

// Names returns the names of the providers, sorted. None is started.
func (p *Providers) Names(ctx context.Context, by approval.Principal) ([]string, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	return p.s.parts.Models.Names(ctx)
}

// List returns the models of all providers, each of which is asked. One of which no model is
// known is there, too, with why.
func (p *Providers) List(ctx context.Context, by approval.Principal) ([]Listed, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	router, err := p.s.parts.Models.Router(ctx)
	if err != nil {
		return nil, err
	}
	if err := router.Refresh(ctx); err != nil && ctx.Err() != nil {
		return nil, err
	}
	all, err := router.Models(ctx)
	if err != nil {
		return nil, err
	}
	names, err := p.s.parts.Models.Names(ctx)
	for _, name := range names {
		if slices.ContainsFunc(all, func(l Listed) bool { return l.Provider == name }) {
			continue
		}
		silent := Listed{Provider: name, Problem: "it has no models"}
		if _, err := p.s.parts.Models.Provider(ctx, name); err != nil {
			silent.Problem = p.s.parts.Explain(err).Message
		}
		all = append(all, silent)
	}
	return append([]Listed{}, all...), err
}

// A Probe is one thing that [Providers.Test] tried.
type Probe struct {
	What   string       `json:"what"`
	OK     bool         `json:"ok"`
	TookMS float64      `json:"took_ms"`
	Detail string       `json:"detail,omitempty"`
	Error  *fault.Error `json:"error,omitempty"`
}

// Probed is what came of testing a provider.
type Probed struct {
	Provider string        `json:"provider"`
	OK       bool          `json:"ok"`
	Info     provider.Info `json:"info"`
	Trials   []Probe       `json:"trials"`
}

// Failed is the kind of the first failure; empty for none.
func (p Probed) Failed() fault.Kind {
	for _, t := range p.Trials {
		if t.Error != nil {
			return t.Error.Kind
		}
	}
	return ""
}

// DefaultPrompt is what a provider is asked to test it.
const DefaultPrompt = "Say hello in one word."

// A TestRequest says how a provider is tested.
type TestRequest struct {
	Provider string
	// Model is the one that is asked; empty for the first that makes text, and the first that
	// makes vectors.
	Model string
	// Prompt is what it is asked; empty for [DefaultPrompt].
	Prompt string
	// Begins is called as each thing is tried, and returns what is called when that is over;
	// it may be nil.
	Begins func(what string) (done func())
}

// Test starts a provider and asks it, past budgets and the kept answers: what it is, a
// short text, a vector. A person has to want that: one that is paid is paid for it. What went
// wrong with the provider is in the result.
func (p *Providers) Test(ctx context.Context, by approval.Human, q TestRequest) (Probed, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Probed{}, err
	}
	if q.Prompt == "" {
		q.Prompt = DefaultPrompt
	}
	t := trial{s: p.s, q: q, out: Probed{Provider: q.Provider, OK: true}}
	var of provider.Provider
	if t.try("start", func() (_ string, err error) { of, err = p.s.parts.Models.Provider(ctx, q.Provider); return "", err }) {
		t.ask(ctx, of)
	}
	return t.out, nil
}

// A trial tests one provider.
type trial struct {
	s   *Service
	q   TestRequest
	out Probed
}

// try tries one thing, and reports whether it succeeded.
func (t *trial) try(what string, do func() (detail string, err error)) bool {
	done := func() {}
	if t.q.Begins != nil {
		done = t.q.Begins(what)
	}
	began := time.Now()
	detail, err := do()
	done()
	p := Probe{What: what, OK: err == nil, TookMS: float64(time.Since(began).Microseconds()) / 1000, Detail: detail, Error: t.s.parts.Explain(err)}
	t.out.Trials, t.out.OK = append(t.out.Trials, p), t.out.OK && p.OK
	return p.OK
}

func (t *trial) ask(ctx context.Context, p provider.Provider) {
	var models []Model
	t.try("health", func() (string, error) { return "", p.Health(ctx) })
	t.try("info", func() (s string, err error) { t.out.Info, err = p.Info(ctx); return t.out.Info.Note, err })
	counted := func() (s string, err error) {
		models, err = p.Models(ctx)
		if s = fmt.Sprintf("%d models", len(models)); len(models) == 1 {
			s = "1 model"
		}
		return s, err
	}
	if !t.try("models", counted) {
		return
	}
	text, vector := t.model(models, func(m Model) bool { return m.Text }), t.model(models, func(m Model) bool { return m.Embeddings })
	if t.q.Model != "" && text == "" && vector == "" {
		text = t.q.Model // a server may have more models than it lists
	}
	if text != "" {
		t.try("text of "+text, func() (string, error) { return t.text(ctx, p, text) })
	}
	if vector != "" {
		t.try("vector of "+vector, func() (string, error) { return t.vector(ctx, p, vector) })
	}
}

// model is the name of the model to ask that can do something; empty for none.
func (t *trial) model(models []Model, can func(Model) bool) string {
	i := slices.IndexFunc(models, func(m Model) bool { return can(m) && (t.q.Model == "" || m.Name == t.q.Model) })
	if i < 0 {
		return ""
	}
	return models[i].Name
}

// maxProbe is how many characters of an answer are told.
const maxProbe = 80

func (t *trial) text(ctx context.Context, p provider.Provider, model string) (string, error) {
	r, err := p.Generate(ctx, provider.Request{Model: model, MaxTokens: 64, Messages: []provider.Message{{Role: provider.RoleUser, Text: t.q.Prompt}}}, nil)
	said := r.Text
	if utf8.RuneCountInString(said) > maxProbe {
		said = string([]rune(said)[:maxProbe-1]) + "…"
	}
	return fmt.Sprintf("%q, %d tokens in, %d out", said, r.Usage.InputTokens, r.Usage.OutputTokens), err
}

func (t *trial) vector(ctx context.Context, p provider.Provider, model string) (string, error) {
	r, err := p.Embed(ctx, provider.EmbedRequest{Model: model, Texts: []string{t.q.Prompt}})
	if err == nil && len(r.Vectors) != 1 {
		err = fault.Errorf(fault.KindSkill, "it made %d vectors of one text", len(r.Vectors))
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d dimensions", len(r.Vectors[0])), nil
}

// A DiagnoseRequest is a request for a model that is not made. All may be left out.
type DiagnoseRequest struct {
	Tier Tier
	// Model is PROVIDER/MODEL.
	Model  string
	Prompt string
	// Tools and Schema say that the request has tools, or wants JSON that fits a schema, and
	// LocalOnly that nothing may leave this machine.
	Tools, Schema, LocalOnly bool
}

// Diagnose says which models a request would go to, in which order, and why. No model is
// asked.
func (p *Providers) Diagnose(ctx context.Context, by approval.Principal, q DiagnoseRequest) (Diagnosis, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Diagnosis{}, err
	}
	router, err := p.s.parts.Models.Router(ctx)
	if err != nil {
		return Diagnosis{}, err
	}
	a := llm.Ask{Tier: q.Tier, Model: q.Model, Purpose: "diagnose", LocalOnly: q.LocalOnly}
	if q.Prompt != "" {
		a.Request.Messages = []provider.Message{{Role: provider.RoleUser, Text: q.Prompt}}
	}
	if q.Tools {
		a.Request.Tools = []provider.Tool{{Name: "tool", Description: "a tool", InputSchema: []byte(`{"type":"object"}`)}}
	}
	if q.Schema {
		a.Request.Schema = []byte(`{"type":"object"}`)
	}
	return router.Diagnose(ctx, a)
}
