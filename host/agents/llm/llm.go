// Package llm asks models: it picks one for a request, keeps to the budget, tries
// again what can be tried again and falls back to another model where that helps.
//
// What a caller wants is an [Ask]: a class of models ([Tier]) or a model, and the
// request. A [Router] knows which models there are (catalog), which of them can
// answer, in which order they are asked (scores), what each attempt cost (budget,
// usage) and how each did before (history). [Router.Diagnose] says all of that
// without asking a model.
//
// The package refuses to know how a provider is reached: it is given
// [provider.Provider]s. It knows no agent, no plan and no skill, and no answer of a
// model makes it do anything: tool calls are returned, never made.
//
// # Key layout
//
//	llm/catalog/$provider    JSON: what a provider said of itself and its models
//	llm/model/$digest        JSON: how a model did, see record
//	llm/cache/$digest        JSON: an answer
//	llm/usage/$day/$digest   JSON: what was used that day by one task, agent, purpose, tier and model
package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Providers gives the providers that there are. Its methods may be called
// concurrently.
type Providers interface {
	// Names are the names of all, in an order that does not change.
	Names() []string
	// Provider is the one of that name, which may have to be started first.
	Provider(ctx context.Context, name string) (provider.Provider, error)
}

// Defaults of zero fields of [Settings] and [Limit].
const (
	DefaultCacheBytes = 64 << 20
	DefaultRefresh    = 5 * time.Minute
	DefaultMaxWait    = 20 * time.Second
	DefaultMaxModels  = 4
	DefaultConcurrent = 8
)

// Settings say which models are asked, and how. The zero value is usable: every
// model that a provider offers, no cache, no limits.
//
// A model is named "provider/model", or "model" where one name is enough.
type Settings struct {
	// Default is asked when an Ask names neither a model nor a tier, and first of
	// all for tiers that Tiers does not have; empty asks the tier [Balanced].
	Default string
	// Tiers are the models of a tier, the first choice first. A tier that is not in
	// it has the models that their providers say belong to it, see [TierOf].
	Tiers map[Tier][]string
	// Fallback are asked, in this order, after the models of the tier, and after a
	// model that was named.
	Fallback []string
	// LastResort are asked only by name, or when there is nothing else that could
	// answer such a request: what is better than nothing and worse than any model.
	// They do not stand in for a model that fails.
	LastResort []string
	// FallbackRefused asks the next model when one does not want to answer.
	FallbackRefused bool
	// LocalOnly asks only providers from which nothing leaves the machine.
	LocalOnly bool
	// CacheTTL is how long an answer is given again to the same request; zero or
	// less keeps none. CacheBytes bounds all of them together; zero means 64 MiB.
	CacheTTL   time.Duration
	CacheBytes int64
	// MemoryBytes bounds what the models that are loaded on this machine take
	// together; zero is without bound.
	MemoryBytes uint64
	// Keep is the model that is never unloaded; empty means the first of the tier
	// [Conversation] that is loaded on this machine.
	Keep string
	// Limits are those of providers, by their name.
	Limits map[string]Limit
	// Models say more about the models of a provider, or otherwise, than it does
	// itself: a field that is not zero counts instead of the provider's.
	Models map[string][]provider.Model
	// Timeouts bound one attempt, by tier; those that are missing are in
	// [DefaultTimeout].
	Timeouts map[Tier]time.Duration
	// Refresh is how long what providers say of their models counts; zero means 5
	// minutes.
	Refresh time.Duration
	// MaxWait is how long an attempt waits for its turn at a provider, or for as
	// long as a provider wants; zero means 20 seconds.
	MaxWait time.Duration
	// MaxModels is how many models are asked for one Ask; zero means 4.
	MaxModels int
}

// A Limit bounds what a provider is sent. Zero fields do not.
type Limit struct {
	RequestsPerMinute int
	TokensPerMinute   int
	// Concurrent is how many requests it is sent at the same time; zero means 8.
	Concurrent int
	// Timeout bounds one attempt instead of the tier's.
	Timeout time.Duration
}

func (s Settings) orDefault() Settings {
	orElse(&s.CacheBytes, DefaultCacheBytes)
	orElse(&s.Refresh, DefaultRefresh)
	orElse(&s.MaxWait, DefaultMaxWait)
	orElse(&s.MaxModels, DefaultMaxModels)
	return s
}

func orElse[T int | int64 | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

func (s Settings) limit(providerName string) Limit {
	l := s.Limits[providerName]
	orElse(&l.Concurrent, DefaultConcurrent)
	return l
}

// timeout bounds one attempt.
func (s Settings) timeout(providerName string, t Tier) time.Duration {
	for _, d := range []time.Duration{s.Limits[providerName].Timeout, s.Timeouts[t]} {
		if d > 0 {
			return d
		}
	}
	return DefaultTimeout(t)
}

// An Ask is what is asked of a model, and by whom.
type Ask struct {
	// Tier is the class of models that may answer. Model names one instead; it may
	// also name a tier. With neither, [Settings].Default counts.
	Tier  Tier
	Model string
	// Purpose says in a word what for: "plan", "act". It is kept with what was used.
	Purpose string
	// Request is what is asked; its Model is ignored.
	Request provider.Request
	// Lease is the budget that pays; nil for those of the day and the month alone.
	Lease *budget.Lease
	// Task and Agent are kept with what was used, and told in events, as Step is;
	// each may be empty.
	Task, Step, Agent string
	// Principal is for whom it is asked: a kept answer is never given to another.
	// Private keeps answers for this task alone; without a Task, none.
	Principal string
	Private   bool
	// NoCache neither looks for a kept answer nor keeps this one.
	NoCache bool
	// LocalOnly is [Settings].LocalOnly for this request.
	LocalOnly bool
	// Accept refuses an answer that is not good enough by returning why; then
	// another model is asked. nil accepts every answer that is not empty and fits
	// the request's schema.
	Accept func(provider.Response) error
	// Emit is handed the pieces of the answer as they come; nil for none. See
	// [Router.Generate] for what holds when an attempt fails in the middle.
	Emit func(provider.Delta) error
}

// An Answer is what a model answered, and what it took. Its Opaque names the provider
// and goes back only to that one, when the answer is part of a later request.
type Answer struct {
	provider.Response
	// Provider is the one that answered; Response.Model the model.
	Provider string
	// USD is what all attempts cost together.
	USD float64
	// Cached says that it was kept from an earlier request, and cost nothing.
	Cached bool
	// Attempts are all that were made, the last one being the answer. There are
	// none of a cached answer.
	Attempts []Attempt
}

// An Attempt is one request to one model.
type Attempt struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Class is the class of the failure; empty when it succeeded. Beside those of
	// package provider there are [ClassUnfit] and [ClassBudget].
	Class   provider.Class `json:"class,omitempty"`
	Message string         `json:"message,omitempty"`
	Usage   provider.Usage `json:"usage"`
	USD     float64        `json:"usd,omitempty"`
	Took    time.Duration  `json:"took"`
}

// Classes of failed attempts that are not the provider's.
const (
	// ClassUnfit: the answer was empty, did not fit the schema, or was not accepted.
	ClassUnfit provider.Class = "unfit"
	// ClassBudget: the budget does not have what the attempt may cost.
	ClassBudget provider.Class = "budget"
)

// A Router asks models. It is safe for concurrent use.
type Router struct {
	log      hclog.Logger
	bus      *event.Bus
	budget   *budget.Ledger
	settings Settings

	catalog  *catalog
	history  *history
	usage    *tally
	cache    *cache
	pool     *pool
	limiters *limiters

	ctx    context.Context // of what goes on between requests
	cancel context.CancelFunc
	saving *saver
	close  sync.Once
}

// New makes a Router. What it learns is kept in the store; [Router.Close] writes the
// last of it. Nobody is told of events when bus is nil.
func New(log hclog.Logger, s store.Store, bus *event.Bus, l *budget.Ledger, p Providers, settings Settings) *Router {
	settings = settings.orDefault()
	r := &Router{log: log, bus: bus, budget: l, settings: settings}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.pool = newPool(settings.MemoryBytes, loader{p, r.tell})
	r.catalog = &catalog{log: log, kv: s.KV(), providers: p, settings: settings, tell: r.tell, pool: r.pool, base: r.ctx}
	r.history = &history{kv: s.KV()}
	r.usage = &tally{kv: s.KV()}
	r.cache = &cache{kv: s.KV(), ttl: settings.CacheTTL, room: settings.CacheBytes}
	r.limiters = &limiters{settings: settings}
	r.saving = &saver{save: r.save}
	return r
}

// Close writes what is not written yet and ends what goes on in the background.
// Requests that are under way go on.
func (r *Router) Close() error {
	var err error
	r.close.Do(func() {
		r.cancel()
		r.catalog.background.Wait()
		err = r.saving.end()
	})
	return err
}

func (r *Router) tell(e event.Event) {
	if r.bus != nil {
		r.bus.Tell(context.Background(), e)
	}
}

// A Ref names a model of a provider.
type Ref struct{ Provider, Model string }

// String is "provider/model".
func (r Ref) String() string { return r.Provider + "/" + r.Model }

// A Listed is a model that can be asked for.
type Listed struct {
	Provider string `json:"provider"`
	provider.Model
	// Local says that nothing leaves the machine.
	Local bool `json:"local"`
	// In are the tiers it belongs to.
	In []Tier `json:"in_tiers,omitempty"`
	// Problem says why its provider does not answer; empty when it does.
	Problem string `json:"problem,omitempty"`
}

// Models lists every model that providers offer, also those of providers that do
// not answer now, in the order of the providers.
func (r *Router) Models(ctx context.Context) ([]Listed, error) {
	entries, err := r.catalog.entries(ctx)
	if err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	var all []Listed
	for _, e := range entries {
		l := Listed{Provider: e.ref.Provider, Model: e.model, Local: e.local, Problem: e.problem}
		for _, t := range Tiers() {
			if slices.Contains(r.settings.members(t, entries), e.ref) {
				l.In = append(l.In, t)
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// Health says of each provider that was asked so far whether it answered the last time.
func (r *Router) Health() map[string]bool {
	r.catalog.mu.Lock()
	defer r.catalog.mu.Unlock()
	all := map[string]bool{}
	for name, l := range r.catalog.known {
		all[name] = l != nil && l.problem == ""
	}
	return all
}

// Refresh asks every provider what it offers now.
func (r *Router) Refresh(ctx context.Context) error { return r.catalog.refreshAll(ctx) }

// line is the first line of a text, not too long, for messages.
func line(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
