package sandbox

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Calls on several processors at once share a module, its instances and the
// slots of the runtime. Whatever two of them write at the same time goes from
// the cache of one processor to that of the other and back, which for small
// calls takes longer than the calls. So each processor has a lane, and in it
// what its calls need as a rule: the slot and the instance that the call before
// used. Only what is not found there is looked for where all see it.

// lane is what one call at a time has for itself.
type lane struct {
	index int // of what there is one of for each lane
	spare bool
	taken atomic.Bool
	slot  atomic.Bool  // a slot waits here: see slots
	bound *callContext // that nobody kept, for the next call
	_     [cacheLine]byte
}

// cacheLine keeps what different processors write apart: twice the 64 bytes of
// most, because they fetch lines in pairs.
const cacheLine = 128

// There are more lanes than processors, as calls that are interrupted or wait for
// something keep theirs. Calls beyond maxLanes share one.
const (
	lanesPerProcessor = 4
	maxLanes          = 64
)

// lanes are those of a runtime.
type lanes struct {
	all  []lane
	near sync.Pool // of *lane: the one that was used last on this processor
}

func newLanes() *lanes {
	ls := &lanes{all: make([]lane, min(lanesPerProcessor*runtime.GOMAXPROCS(0), maxLanes))}
	for i := range ls.all {
		ls.all[i].index = i
	}
	return ls
}

// enter takes a lane until leave. When all are taken it makes a spare one.
func (ls *lanes) enter() *lane {
	if l, ok := ls.near.Get().(*lane); ok && l.taken.CompareAndSwap(false, true) {
		return l
	}
	for i := range ls.all {
		if l := &ls.all[i]; l.taken.CompareAndSwap(false, true) {
			return l
		}
	}
	return &lane{spare: true}
}

func (ls *lanes) leave(l *lane) {
	if !l.spare {
		l.taken.Store(false)
		ls.near.Put(l)
	}
}

// slots bounds how many calls run at once. A slot that nobody uses is in the
// lane it was last used in, or on the list of free ones.
type slots struct {
	lanes   *lanes
	free    chan struct{}
	waiting atomic.Int64 // calls that found none
}

func newSlots(n int, ls *lanes) *slots {
	s := &slots{lanes: ls, free: make(chan struct{}, n)}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

// take takes a slot, of the lane if it has one.
func (s *slots) take(l *lane) bool { return l.slot.CompareAndSwap(true, false) || s.find() }

// find takes a slot from wherever there is one.
func (s *slots) find() bool {
	select {
	case <-s.free:
		return true
	default:
	}
	for i := range s.lanes.all {
		if s.lanes.all[i].slot.CompareAndSwap(true, false) {
			return true
		}
	}
	return false
}

// wait waits for a slot. Whoever gives one up sees that somebody waits, or the
// one who waits sees it: each writes before it looks. waits is told, unless nil.
func (s *slots) wait(ctx context.Context, waits func(bool)) error {
	if waits != nil {
		waits(true)
		defer waits(false)
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	if s.find() {
		return nil
	}
	select {
	case <-s.free:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for one of %d running calls: %w", cap(s.free), context.Cause(ctx))
	}
}

// giveBack ends the use of a slot.
func (s *slots) giveBack(l *lane) {
	if !l.spare && s.waiting.Load() == 0 && l.slot.CompareAndSwap(false, true) {
		if s.waiting.Load() == 0 || !l.slot.CompareAndSwap(true, false) {
			return
		}
	}
	s.free <- struct{}{}
}
