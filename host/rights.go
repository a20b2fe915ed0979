package host

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/policies"
)

// lookEvery is how often it is looked whether anything was decided, while somebody
// asks. So what a call asks for later than that after a decision is decided by it.
const lookEvery = 20 * time.Millisecond

// rights say what people and policies decide at present: those of all processes that
// have the home open, and of the administrator.
type rights struct {
	h      *Host
	began  time.Time
	looked atomic.Int64 // when it was last looked, since began
	epoch  atomic.Uint64

	mu        sync.Mutex
	decisions string // as [journal.Journal.Mark] has it
	rules     string // as [rules.Places.Mark] has it
	set       *policies.Set
	err       error // why there is no set
}

func newRights(h *Host) *rights {
	r := &rights{h: h, began: time.Now(), decisions: h.Decisions.Mark(), rules: h.marked, set: h.Policies}
	r.epoch.Store(1)
	return r
}

// Epoch is another number soon after a decision, or a change of policies or of the
// administrator's bounds.
func (r *rights) Epoch() uint64 {
	now := time.Since(r.began)
	if now-time.Duration(r.looked.Load()) < lookEvery {
		return r.epoch.Load()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now-time.Duration(r.looked.Load()) >= lookEvery { // nobody else did
		r.look()
		r.looked.Store(int64(now))
	}
	return r.epoch.Load()
}

// look looks whether anything changed. Policies are read again when their files did;
// one that cannot be read has nothing be allowed.
func (r *rights) look() {
	decisions, rules := r.h.Decisions.Mark(), r.h.rules.Mark()
	if decisions == r.decisions && rules == r.rules {
		return
	}
	if rules != r.rules {
		r.set, _, r.err = r.h.rules.Read()
	}
	r.decisions, r.rules = decisions, rules
	r.epoch.Add(1)
}

// Policies are those in force.
func (r *rights) Policies() (*policies.Set, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.set, r.err
}

// Still is what is left to a target of what it was granted for a call. It fails when
// its package was disabled, put into quarantine, removed or revoked.
func (r *rights) Still(ctx context.Context, t runner.Target) (approval.Granted, error) {
	if err := r.h.CatchUp(ctx); err != nil {
		return approval.Granted{}, err
	}
	if !t.Granted.Bound() {
		return t.Granted, r.h.skills.Unrevoked(ctx, t.Package)
	}
	versions, err := r.h.Registry.Versions(ctx, t.Package.Manifest().Name)
	if err != nil {
		return approval.Granted{}, err
	}
	i := slices.IndexFunc(versions, func(s registry.Skill) bool { return s.Digest == t.Package.Digest() })
	if i < 0 {
		return approval.Granted{}, fault.Errorf(fault.KindDenied, "%s was removed", t.Label)
	}
	if err := versions[i].Runs(); err != nil {
		return approval.Granted{}, err
	}
	return r.h.Desk.Still(ctx, t.Granted)
}
