package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/plugins/provider"
)

const (
	catalogKey = "llm/catalog/"
	// refreshTime bounds how long a provider may take to say what it offers.
	refreshTime = 15 * time.Second
	// downRefresh is after which time one that did not answer is asked again.
	downRefresh = 30 * time.Second
	// soonest is after which time one that never answered is asked again when a
	// request needs it.
	soonest = 2 * time.Second
)

// A catalog is what providers offer. What one offered stays while it is down.
type catalog struct {
	log        hclog.Logger
	kv         store.KV
	providers  Providers
	settings   Settings
	tell       func(event.Event)
	pool       *pool
	base       context.Context // of refreshing in the background
	background sync.WaitGroup

	mu    sync.Mutex
	known map[string]*listing
	began map[string]bool // is being refreshed
}

// A listing is what one provider offers.
type listing struct {
	Info   provider.Info    `json:"info"`
	Models []provider.Model `json:"models"`

	checked time.Time // last, also in vain; zero when only the store was read
	problem string    // why it did not answer
}

// An entry is a model of the catalog.
type entry struct {
	ref     Ref
	model   provider.Model
	local   bool
	problem string
}

// entries are all models, in the order of the providers. Providers that were never
// asked are asked now; one whose answer is old is asked meanwhile.
func (c *catalog) entries(ctx context.Context) ([]entry, error) {
	names := c.providers.Names()
	if err := c.ensure(ctx, names); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []entry
	for _, name := range names {
		l := c.known[name]
		if l == nil {
			continue
		}
		for _, m := range c.settings.offered(name, l) {
			all = append(all, entry{Ref{name, m.Name}, c.settings.amended(name, m), l.Info.Local, l.problem})
		}
	}
	return all, nil
}

// offered are the models of a provider. Of one that does not answer and never has,
// those that the settings name are there: whether they can do what is asked of
// them is seen when it does.
func (s Settings) offered(name string, l *listing) []provider.Model {
	if l.problem == "" || len(l.Models) > 0 {
		return l.Models
	}
	var named []provider.Model
	for _, m := range s.Models[name] {
		if m.Embeddings {
			continue
		}
		m.Text, m.Tools = true, true
		named = append(named, m)
	}
	return named
}

// unheard are those of some names, "provider/model", whose provider does not answer
// and never has, each with why. Only those count that may be on this machine when
// only local models may be asked.
func (c *catalog) unheard(names []string, onlyLocal bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, name := range names {
		owner, _, _ := strings.Cut(name, "/")
		l := c.known[owner]
		if l == nil || l.problem == "" || len(l.Models) > 0 || onlyLocal && !l.Info.Local && l.Info.Name != "" {
			continue
		}
		all = append(all, fmt.Sprintf("%s: its provider %s does not answer: %s", name, owner, l.problem))
	}
	return all
}

// askAgain asks those providers of some models again that never answered, and reports
// whether any was asked.
func (c *catalog) askAgain(ctx context.Context, names []string) bool {
	var owners []string
	c.mu.Lock()
	for _, name := range names {
		owner, _, _ := strings.Cut(name, "/")
		l := c.known[owner]
		if l != nil && l.problem != "" && len(l.Models) == 0 && time.Since(l.checked) >= soonest && !slices.Contains(owners, owner) {
			owners = append(owners, owner)
		}
	}
	c.mu.Unlock()
	c.refreshEach(ctx, owners)
	return len(owners) > 0
}

// problems are the providers that do not answer, with why, by name.
func (c *catalog) problems() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for name, l := range c.known {
		if l.problem != "" {
			all = append(all, "provider "+name+": "+l.problem)
		}
	}
	slices.Sort(all)
	return all
}

// ensure asks every provider that was not asked yet.
func (c *catalog) ensure(ctx context.Context, names []string) error {
	var never []string
	for _, name := range names {
		switch c.state(name) {
		case unasked:
			never = append(never, name)
		case outdated:
			c.background.Go(func() { c.refresh(c.base, name) })
		}
	}
	c.refreshEach(ctx, never)
	return ctx.Err()
}

func (c *catalog) refreshAll(ctx context.Context) error {
	c.refreshEach(ctx, c.providers.Names())
	return ctx.Err()
}

func (c *catalog) refreshEach(ctx context.Context, names []string) {
	var asking sync.WaitGroup
	for _, name := range names {
		asking.Go(func() { c.refresh(ctx, name) })
	}
	asking.Wait()
}

// A freshness says whether a provider has to be asked.
type freshness int

const (
	current freshness = iota
	unasked
	outdated
)

// state marks a provider that is outdated as being refreshed.
func (c *catalog) state(name string) freshness {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.known[name]
	if l == nil || l.checked.IsZero() {
		return unasked
	}
	after := c.settings.Refresh
	if l.problem != "" {
		after = min(after, downRefresh)
	}
	if time.Since(l.checked) < after || c.began[name] {
		return current
	}
	if c.began == nil {
		c.began = map[string]bool{}
	}
	c.began[name] = true
	return outdated
}

// refresh asks a provider what it offers. When it does not answer, what it offered
// before stays, if need be from before the host was started.
func (c *catalog) refresh(outer context.Context, name string) {
	ctx, cancel := context.WithTimeout(outer, refreshTime)
	defer cancel()
	before := c.pool.moved()
	fresh, err := c.ask(ctx, name)
	if err != nil && outer.Err() != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.began, name)
		return // whoever wanted to know does not any more
	}
	if err == nil {
		c.keep(ctx, name, fresh)
		c.compare(name, fresh, before)
	} else {
		info := fresh.Info // what it is counts also when it does not know what it has
		if fresh = c.before(ctx, name); info.Name != "" {
			fresh.Info = info
		}
		fresh.problem = line(err.Error())
	}
	fresh.checked = time.Now()
	c.put(name, &fresh)
}

func (c *catalog) ask(ctx context.Context, name string) (l listing, err error) {
	p, err := c.providers.Provider(ctx, name)
	if err != nil {
		return l, err
	}
	if l.Info, err = p.Info(ctx); err != nil {
		return l, err
	}
	if l.Models, err = p.Models(ctx); err != nil {
		return l, err
	}
	return l, p.Health(ctx)
}

// before is what a provider offered when it last answered.
func (c *catalog) before(ctx context.Context, name string) listing {
	c.mu.Lock()
	old := c.known[name]
	c.mu.Unlock()
	if old != nil {
		return *old
	}
	var l listing
	e, err := c.kv.Get(context.WithoutCancel(ctx), catalogKey+name)
	if err == nil {
		err = json.Unmarshal(e.Value, &l)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		c.log.Warn("what a provider offered cannot be read", "provider", name, "err", err)
	}
	return l
}

// keep writes what a provider offers, when it is not what is there.
func (c *catalog) keep(ctx context.Context, name string, l listing) {
	if old := c.before(ctx, name); old.Info == l.Info && slices.EqualFunc(old.Models, l.Models, sameModel) {
		return
	}
	v, err := json.Marshal(l)
	if err == nil {
		_, err = c.kv.Put(ctx, catalogKey+name, v, store.AnyRevision)
	}
	if err != nil {
		c.log.Warn("what a provider offers is not kept", "provider", name, "err", err)
	}
}

// compare takes over what a provider has loaded, and warns of models that the settings
// name and it does not offer. before is as in sync.
func (c *catalog) compare(name string, l listing, before uint64) {
	var here []provider.Model
	for _, m := range l.Models {
		if l.Info.Local {
			here = append(here, c.settings.amended(name, m))
		}
	}
	c.pool.sync(name, here, before)
	for _, m := range c.settings.Models[name] {
		if !slices.ContainsFunc(l.Models, func(o provider.Model) bool { return o.Name == m.Name }) {
			c.log.Warn("a provider does not offer a model that the settings name", "provider", name, "model", m.Name)
		}
	}
}

// sameModel reports whether two models are the same but for being loaded.
func sameModel(a, b provider.Model) bool {
	tiers := slices.Equal(a.Tiers, b.Tiers)
	a.Tiers, b.Tiers, a.Loaded, b.Loaded = nil, nil, false, false
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return tiers && errX == nil && errY == nil && string(x) == string(y)
}

// put makes a listing the one that counts and tells when a provider went or came
// back.
func (c *catalog) put(name string, l *listing) {
	c.mu.Lock()
	old := c.known[name]
	if c.known == nil {
		c.known = map[string]*listing{}
	}
	c.known[name] = l
	delete(c.began, name)
	c.mu.Unlock()
	was := old != nil && old.problem != ""
	switch {
	case l.problem != "" && !was:
		c.log.Warn("a provider does not answer", "provider", name, "err", l.problem)
		c.tell(event.Event{Type: event.ProviderUnhealthy, Actor: "provider:" + name, Text: fmt.Sprintf("provider %s: %s", name, l.problem)})
	case l.problem == "" && was:
		c.tell(event.Event{Type: event.ProviderHealthy, Actor: "provider:" + name, Text: fmt.Sprintf("provider %s answers again", name)})
	}
}

// amended is a model with what the settings say of it.
func (s Settings) amended(providerName string, m provider.Model) provider.Model {
	i := slices.IndexFunc(s.Models[providerName], func(o provider.Model) bool { return o.Name == m.Name })
	if i < 0 {
		return m
	}
	o := s.Models[providerName][i]
	if len(o.Tiers) > 0 {
		m.Tiers = o.Tiers
	}
	instead(&m.ContextTokens, o.ContextTokens)
	instead(&m.OutputTokens, o.OutputTokens)
	instead(&m.Dimensions, o.Dimensions)
	instead(&m.MemoryBytes, o.MemoryBytes)
	instead(&m.InputUSD, o.InputUSD)
	instead(&m.OutputUSD, o.OutputUSD)
	for _, b := range []struct {
		to *bool
		v  bool
	}{{&m.Text, o.Text}, {&m.Tools, o.Tools}, {&m.JSONSchema, o.JSONSchema}, {&m.Thinking, o.Thinking}, {&m.Streaming, o.Streaming}, {&m.Embeddings, o.Embeddings}} {
		*b.to = *b.to || b.v
	}
	return m
}

func instead[T comparable](to *T, v T) {
	var zero T
	if v != zero {
		*to = v
	}
}
