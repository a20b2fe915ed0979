package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A script is a provider whose answers are written down: what stands for the models
// outside.
type script struct {
	info   provider.Info
	models []provider.Model

	mu   sync.Mutex
	down error
	// unlisted is why its list of models cannot be had, while the rest can.
	unlisted error
	calls    []provider.Request
	embeds   int
	loads    []string
	answers  []answer // one for each call; the last one goes on
	begun    chan struct{}
	// load, when set, stands for the time that loading takes.
	load func(ctx context.Context, what string) error
}

// An answer is one scripted answer: pieces, then the text or an error.
type answer struct {
	text   string
	pieces []string
	think  []string
	calls  []provider.ToolCall
	finish string
	opaque string
	usage  provider.Usage
	err    error
	took   time.Duration
	wait   chan struct{}
}

func says(text string) answer { return answer{text: text} }

func fails(c provider.Class) answer {
	return answer{err: &provider.Error{Class: c, Message: "scripted"}}
}

func (s *script) Info(context.Context) (provider.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info, s.down
}

func (s *script) Models(context.Context) ([]provider.Model, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.models), errors.Join(s.down, s.unlisted)
}

func (s *script) Health(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

func (s *script) setDown(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// take is the answer to the next call.
func (s *script) take(r provider.Request) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r)
	if len(s.answers) == 0 {
		return says("ok")
	}
	a := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return a
}

func (s *script) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	a := s.take(r)
	if s.begun != nil {
		s.begun <- struct{}{}
	}
	if err := a.delay(ctx); err != nil {
		return provider.Response{}, err
	}
	if emit != nil {
		for _, t := range a.think {
			if err := emit(provider.Delta{Thinking: t}); err != nil {
				return provider.Response{}, err
			}
		}
		for _, p := range a.pieces {
			if err := emit(provider.Delta{Text: p}); err != nil {
				return provider.Response{}, err
			}
		}
	}
	if a.err != nil {
		return provider.Response{}, a.err
	}
	if a.text == "" {
		a.text = strings.Join(a.pieces, "")
	}
	if a.finish == "" {
		a.finish = provider.FinishStop
	}
	return provider.Response{Model: r.Model, Text: a.text, Calls: a.calls, Finish: a.finish, Usage: a.usage, Opaque: json.RawMessage(a.opaque)}, nil
}

func (a answer) delay(ctx context.Context) error {
	if a.took > 0 {
		t := time.NewTimer(a.took)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if a.wait != nil {
		select {
		case <-a.wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *script) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	s.mu.Lock()
	s.embeds++
	s.mu.Unlock()
	a := s.take(provider.Request{Model: r.Model})
	if a.err != nil {
		return provider.EmbedResponse{}, a.err
	}
	resp := provider.EmbedResponse{Model: r.Model, Usage: a.usage}
	for i := range r.Texts {
		resp.Vectors = append(resp.Vectors, []float32{1, float32(i)})
	}
	return resp, nil
}

func (s *script) move(ctx context.Context, what string) error {
	s.mu.Lock()
	s.loads = append(s.loads, what)
	s.mu.Unlock()
	if s.load != nil {
		return s.load(ctx, what)
	}
	return nil
}

func (s *script) Load(ctx context.Context, m string) error   { return s.move(ctx, "+"+m) }
func (s *script) Unload(ctx context.Context, m string) error { return s.move(ctx, "-"+m) }

// says has it say of a model whether that is loaded.
func (s *script) says(model string, loaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.models {
		if s.models[i].Name == model {
			s.models[i].Loaded = loaded
		}
	}
}

// asked are the models that were asked, in order.
func (s *script) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, c := range s.calls {
		all = append(all, c.Model)
	}
	return all
}

func (s *script) request(i int) provider.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[i]
}

func (s *script) moved() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.loads)
}

// outside are scripts by name.
type outside []*script

func (o outside) Names() []string {
	var names []string
	for _, s := range o {
		names = append(names, s.info.Name)
	}
	return names
}

func (o outside) Provider(_ context.Context, name string) (provider.Provider, error) {
	for _, s := range o {
		if s.info.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no provider %s", name)
}

// text is a model that answers with text, for a tier.
func text(name string, tiers ...string) provider.Model {
	return provider.Model{Name: name, Tiers: tiers, Text: true, Tools: true, Streaming: true, JSONSchema: true, ContextTokens: 100_000, OutputTokens: 1000}
}

func local(name string, answers ...answer) *script {
	return &script{info: provider.Info{Name: name, Local: true}, answers: answers, models: []provider.Model{text("m", "balanced")}}
}

func remote(name string, answers ...answer) *script {
	s := local(name, answers...)
	s.info.Local = false
	return s
}

// A host is what a router needs.
type host struct {
	*llm.Router
	store  store.Store
	bus    *event.Bus
	ledger *budget.Ledger
}

func newHost(t testing.TB, s llm.Settings, b budget.Settings, ps ...*script) host {
	t.Helper()
	st := store.Memory()
	h := hostOn(t, st, s, b, ps...)
	t.Cleanup(func() { h.Close(); st.Close() })
	return h
}

func hostOn(t testing.TB, st store.Store, s llm.Settings, b budget.Settings, ps ...*script) host {
	t.Helper()
	log := hclog.NewNullLogger()
	bus := event.NewBus(log, st)
	l := budget.Open(log, st.KV(), bus, b)
	return host{llm.New(log, st, bus, l, outside(ps), s), st, bus, l}
}

func question(text string) provider.Request {
	return provider.Request{Messages: []provider.Message{{Role: provider.RoleUser, Text: text}}}
}

func ask(tier llm.Tier) llm.Ask {
	return llm.Ask{Tier: tier, Purpose: "test", Request: question("What is it?")}
}

// classOf is the class of a provider's failure in an error.
func classOf(err error) provider.Class {
	var pe *provider.Error
	if errors.As(err, &pe) {
		return pe.Class
	}
	return ""
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func events(t testing.TB, h host, p event.Pattern) []string {
	t.Helper()
	var all []string
	for _, e := range must[[]event.Event](t)(h.bus.Read(context.Background(), p, 0, 0)) {
		all = append(all, string(e.Type)+": "+e.Text)
	}
	return all
}
