package plugins

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/confine"
	"github.com/skillet-run/skillet/plugins/provider"
)

// Supervisor starts plugins, watches them and stops them.
//
// What a plugin finds in its environment is HOME, TMPDIR, LANG, what its Spec
// says, and what it needs to be a plugin: variables that begin with PLUGIN_ and
// SKILLET_PLUGIN. It has no standard input. It ends when the host does: on Linux
// the system kills it, elsewhere it watches its parent.
//
// On Linux a program is executed by the descriptor that its digest was checked
// through, its limits are set from outside, and what it has left behind is found
// and killed even where it left its process group. On other systems it is executed
// by the name of its private copy, sets its limits itself when it is served by
// this package, and is killed with its group (on Windows: alone).
type Supervisor struct {
	log      hclog.Logger
	settings Settings
	tidy     sync.Once

	mu      sync.Mutex
	plugins map[key]*supervised
	closed  bool
}

type key struct {
	kind Kind
	name string
}

// New returns a supervisor of no plugins yet.
func New(log hclog.Logger, s Settings) *Supervisor {
	return &Supervisor{log: log, settings: s.orDefaults(), plugins: map[key]*supervised{}}
}

// Provider starts a provider, unless it runs already, and returns it. A provider
// that dies is started again when it is next asked: what was being asked fails
// with a *provider.Error of class unavailable, and is not asked again. A spec that
// differs from that of a plugin of the same name replaces it.
//
// The error is a *[StartError]; it wraps [ErrDigest], [ErrHandshake],
// [ErrVersion], [ErrCrashLoop], [ErrClosed] or what the system said.
func (s *Supervisor) Provider(ctx context.Context, spec Spec) (provider.Provider, error) {
	spec.Kind = KindProvider
	p, err := s.ready(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &providerClient{p}, nil
}

// ready finds or makes the plugin of a spec and has it running.
func (s *Supervisor) ready(ctx context.Context, spec Spec) (*supervised, error) {
	s.tidy.Do(s.tidyUp)
	if err := spec.check(); err != nil {
		return nil, &StartError{Kind: spec.Kind, Name: spec.Name, Reason: err}
	}
	p, replaced, err := s.find(spec.clone())
	if err != nil {
		return nil, err
	}
	if replaced != nil {
		s.stopWithin(ctx, replaced)
	}
	_, done, err := p.use(ctx)
	if err != nil {
		return nil, err
	}
	done()
	return p, nil
}

// tidyUp removes what hosts have left that were killed.
func (s *Supervisor) tidyUp() {
	if n := confine.KillOrphans(envHost); n > 0 {
		s.log.Warn("a host that is gone has left processes of plugins, which were killed", "processes", n)
	}
	confine.RemoveStale(scratchBase(), scratchPrefix)
	copies(s.settings.Dir).prune(time.Now())
}

// find returns the plugin of a spec, and the one that it takes the place of.
func (s *Supervisor) find(spec Spec) (p, replaced *supervised, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, &StartError{Kind: spec.Kind, Name: spec.Name, Reason: ErrClosed}
	}
	k := key{spec.Kind, spec.Name}
	old := s.plugins[k]
	if old != nil && old.spec.same(&spec) {
		return old, nil, nil
	}
	p = supervise(s.log.Named(spec.Name), spec, s.settings)
	s.plugins[k] = p
	return p, old, nil
}

// Remove stops a plugin and forgets it. There may be none of that name.
func (s *Supervisor) Remove(ctx context.Context, kind Kind, name string) {
	s.mu.Lock()
	p := s.plugins[key{kind, name}]
	delete(s.plugins, key{kind, name})
	s.mu.Unlock()
	if p != nil {
		s.stopWithin(ctx, p)
	}
}

func (s *Supervisor) stopWithin(ctx context.Context, p *supervised) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.StopTimeout)
	defer cancel()
	p.stop(ctx)
}

// Stop stops every plugin: those that are answering may finish until ctx ends, or
// StopTimeout is over, and are killed then. When it returns no process of a plugin
// is left, and none is started any more.
func (s *Supervisor) Stop(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	var all []*supervised
	for _, p := range s.plugins {
		all = append(all, p)
	}
	s.mu.Unlock()
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() { s.stopWithin(ctx, p) })
	}
	wait.Wait()
}

// Close is Stop with nothing but StopTimeout to wait for.
func (s *Supervisor) Close() { s.Stop(context.Background()) }

// State is what a plugin is doing.
type State string

// The states of plugins.
const (
	StateRunning State = "running" // it answers
	StateIdle    State = "idle"    // it does not run, and is started when it is asked
	StateFailed  State = "failed"  // it keeps dying
	StateStopped State = "stopped"
)

// Status is how a plugin is.
type Status struct {
	Name  string    `json:"name"`
	Kind  Kind      `json:"kind"`
	State State     `json:"state"`
	PID   int       `json:"pid,omitempty"`
	Since time.Time `json:"since,omitzero"` // when its process was started
	Calls int       `json:"calls"`          // that it is answering now
	// Starts is how often it was started.
	Starts int `json:"starts"`
	// Deaths is how often in a row it died.
	Deaths int `json:"deaths,omitempty"`
	// Problem is why it died or could not be started last.
	Problem string `json:"problem,omitempty"`
	// Output are the last lines that it wrote. They are untrusted text.
	Output []string `json:"output,omitempty"`
}

// Status says how every plugin is, by kind and name.
func (s *Supervisor) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Status
	for _, p := range s.plugins {
		all = append(all, p.status())
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return all
}
