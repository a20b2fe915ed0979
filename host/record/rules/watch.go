package rules

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/skillet-run/skillet/policies"
)

// lookEvery is how often it is looked whether anything was decided, while somebody
// asks. So what a call asks for later than that after a decision is decided by it.
const lookEvery = 20 * time.Millisecond

// A Watch says what people and policies decide at present: those of all processes that
// have the home open, and of the administrator. It is safe for concurrent use.
type Watch struct {
	sources Sources
	decided func() uint64
	began   time.Time
	looked  atomic.Int64 // when it was last looked, since began
	epoch   atomic.Uint64

	mu        sync.Mutex
	decisions uint64 // as decided has it
	marked    string // as [Sources.Mark] has it
	set       *policies.Set
	err       error // why there is no set
}

// NewWatch makes a Watch. The set was read when the places had the mark; decided returns
// another number when something was decided since.
func NewWatch(p Sources, mark string, set *policies.Set, decided func() uint64) *Watch {
	w := &Watch{sources: p, decided: decided, began: time.Now(), decisions: decided(), marked: mark, set: set}
	w.epoch.Store(1)
	return w
}

// Epoch is another number soon after a decision, or a change of policies or of the
// administrator's bounds.
func (w *Watch) Epoch() uint64 {
	now := time.Since(w.began)
	if now-time.Duration(w.looked.Load()) < lookEvery {
		return w.epoch.Load()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now-time.Duration(w.looked.Load()) >= lookEvery { // nobody else did
		w.look()
		w.looked.Store(int64(now))
	}
	return w.epoch.Load()
}

// Decided is like [Watch.Epoch], but changes at once after a decision. It is for the
// beginning of a call, and costs a read of one sector.
func (w *Watch) Decided() uint64 {
	w.mu.Lock()
	decided := w.decided() != w.decisions
	w.mu.Unlock()
	if decided {
		w.looked.Store(int64(-lookEvery))
	}
	return w.Epoch()
}

// look looks whether anything changed. Policies are read again when their files did.
// If one cannot be read, nothing is allowed.
func (w *Watch) look() {
	decisions, mark := w.decided(), w.sources.Mark()
	if decisions == w.decisions && mark == w.marked {
		return
	}
	if mark != w.marked {
		w.set, _, w.err = w.sources.Read()
	}
	w.decisions, w.marked = decisions, mark
	w.epoch.Add(1)
}

// Current are the policies in force, looked for now, for a decision that is made once and
// holds from then on.
func (w *Watch) Current() (*policies.Set, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look()
	return w.set, w.err
}

// Policies are those in force when it was last looked.
func (w *Watch) Policies() (*policies.Set, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set, w.err
}
