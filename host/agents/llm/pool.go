package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/plugins/provider"
)

// loadTime bounds loading or unloading one model.
const loadTime = 5 * time.Minute

// A loader has providers load and unload models.
type loader struct {
	providers Providers
	tell      func(event.Event)
}

func (r loader) load(ctx context.Context, ref Ref) error {
	return r.do(ctx, ref, event.ModelLoaded, "loaded", provider.Provider.Load)
}

func (r loader) unload(ctx context.Context, ref Ref) error {
	return r.do(ctx, ref, event.ModelUnloaded, "unloaded", provider.Provider.Unload)
}

func (r loader) do(ctx context.Context, ref Ref, t event.Type, done string, what func(provider.Provider, context.Context, string) error) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	p, err := r.providers.Provider(ctx, ref.Provider)
	if err == nil {
		err = what(p, ctx, ref.Model)
	}
	if err == nil {
		r.tell(event.Event{Type: t, Actor: "provider:" + ref.Provider, Text: fmt.Sprintf("model %s is %s", ref, done)})
	}
	return err
}

// A pool keeps the models of this machine within a bound of memory: those that were
// not used for longest are unloaded for others, one in use never is, and neither is
// the one that is kept. Who needs memory that is in use waits for it; whoever comes
// later waits behind, so that it gets its turn.
type pool struct {
	bound uint64 // bytes; 0 is without
	loader

	// turn is held by who loads, or waits for memory; others wait for it in the
	// order in which they came.
	turn chan struct{}

	mu      sync.Mutex
	in      map[Ref]*resident
	keep    Ref
	starved bool          // who has the turn waits for memory
	freed   chan struct{} // closed and replaced when a request ends
	clock   uint64        // counts uses
	moves   uint64        // counts what came and went, at its beginning and its end
}

// A resident is a model that is loaded, or takes memory while it comes or goes.
type resident struct {
	bytes  uint64
	users  int
	used   uint64 // when last, by the pool's clock
	moving bool   // it is being loaded or unloaded
}

func newPool(bound uint64, r loader) *pool {
	return &pool{bound: bound, loader: r, turn: make(chan struct{}, 1), in: map[Ref]*resident{}, freed: make(chan struct{})}
}

func (p *pool) keepLoaded(ref Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = ref
}

// moved is how much came and went so far; see sync.
func (p *pool) moved() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moves
}

// sync takes over what a provider says is loaded, of models that nobody uses. before is
// what moved returned before the provider was asked: its answer is out of date when
// something was loaded or unloaded meanwhile, and with it the pool would forget models
// that take memory.
func (p *pool) sync(providerName string, models []provider.Model, before uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.moves != before {
		return
	}
	for _, m := range models {
		ref := Ref{providerName, m.Name}
		r := p.in[ref]
		switch {
		case m.MemoryBytes == 0:
		case r == nil && m.Loaded:
			p.in[ref] = &resident{bytes: m.MemoryBytes}
		case r != nil && !m.Loaded && r.users == 0 && !r.moving:
			delete(p.in, ref)
		}
	}
}

// room says whether there is memory for a model of a size now. What is not managed
// needs none.
func (p *pool) room(ref Ref, bytes uint64) room {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.in[ref]; bytes == 0 || r != nil && !r.moving {
		return roomUnneeded
	}
	var all, kept uint64
	for other, r := range p.in {
		all += r.bytes
		if other == p.keep && other != ref {
			kept = r.bytes
		}
	}
	switch {
	case p.bound == 0 || bytes+all <= p.bound:
		return roomFree
	case bytes+kept <= p.bound:
		return roomAfter
	}
	return roomNever
}

// acquire loads a model and keeps it in use until release is called, once; gone says
// that the model is not loaded any more, as far as the caller saw.
func (p *pool) acquire(ctx context.Context, ref Ref, bytes uint64) (release func(gone bool), err error) {
	if bytes == 0 {
		return func(bool) {}, nil
	}
	release = func(gone bool) { p.release(ref, gone) }
	if p.enter(ref, false) {
		return release, nil
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for memory for model %s: %w", ref, ctx.Err())
	}
	defer func() { <-p.turn }()
	if p.enter(ref, true) {
		return release, nil
	}
	if err := p.bring(ctx, ref, bytes); err != nil {
		return nil, fmt.Errorf("load model %s: %w", ref, err)
	}
	return release, nil
}

// enter uses a model that is loaded. While somebody waits for memory, only the kept
// model, which is never unloaded, is used without the turn.
func (p *pool) enter(ref Ref, turn bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.in[ref]
	if r == nil || r.moving || p.starved && !turn && ref != p.keep {
		return false
	}
	p.clock++
	r.users, r.used = r.users+1, p.clock
	return true
}

func (p *pool) release(ref Ref, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.in[ref]
	if r.users--; gone && r.users == 0 {
		p.moves++
		delete(p.in, ref)
	}
	close(p.freed)
	p.freed = make(chan struct{})
}

// bring loads a model, and unloads others before if it must. The caller has the turn.
func (p *pool) bring(ctx context.Context, ref Ref, bytes uint64) error {
	for {
		victim, freed, ok := p.makeRoom(ref, bytes)
		switch {
		case ok:
			return p.settle(ref, p.load(ctx, ref))
		case victim != Ref{}:
			if err := p.evict(ctx, victim); err != nil {
				return err
			}
		default:
			select {
			case <-freed:
			case <-ctx.Done():
				p.feed()
				return ctx.Err()
			}
		}
	}
}

// makeRoom takes the memory for a model, or says who has to go for it, or else what
// to wait for.
func (p *pool) makeRoom(ref Ref, bytes uint64) (victim Ref, freed chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var sum uint64
	var oldest *resident
	for other, r := range p.in {
		sum += r.bytes
		if r.users == 0 && !r.moving && other != p.keep && (oldest == nil || r.used < oldest.used) {
			victim, oldest = other, r
		}
	}
	if p.bound == 0 || sum+bytes <= p.bound {
		p.starved = false
		p.moves++
		p.in[ref] = &resident{bytes: bytes, moving: true}
		return Ref{}, nil, true
	}
	if oldest != nil {
		p.moves++
		oldest.moving = true
		return victim, nil, false
	}
	p.starved = true
	return Ref{}, p.freed, false
}

func (p *pool) feed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starved = false
}

// settle ends the loading of a model, which is then in use.
func (p *pool) settle(ref Ref, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moves++
	if err != nil {
		delete(p.in, ref)
		return err
	}
	p.clock++
	*p.in[ref] = resident{bytes: p.in[ref].bytes, users: 1, used: p.clock}
	return nil
}

// evict unloads a model. One that cannot be stays where it is.
func (p *pool) evict(ctx context.Context, ref Ref) error {
	err := p.unload(ctx, ref)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moves++
	if err != nil {
		p.in[ref].moving = false
		p.starved = false
		return fmt.Errorf("unload model %s: %w", ref, err)
	}
	delete(p.in, ref)
	return nil
}

// A Resident is a model that takes memory on this machine.
type Resident struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Bytes    uint64 `json:"bytes"`
	Users    int    `json:"users"`
	Kept     bool   `json:"kept,omitempty"`
}

func (p *pool) residents() []Resident {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Resident
	for ref, r := range p.in {
		all = append(all, Resident{ref.Provider, ref.Model, r.bytes, r.users, ref == p.keep})
	}
	return all
}
