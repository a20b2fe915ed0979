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
// calls takes longer than the calls. So each processor has a shard, and in it
// what its calls need as a rule: the slot and the instance that the call before
// used. Only what is not found there is looked for where all see it.

// shard is what one call at a time has for itself.
type shard struct {
	index int // of what there is one of for each shard
	spare bool
	taken atomic.Bool
	slot  atomic.Bool  // a slot waits here: see slots
	bound *callContext // that nobody kept, for the next call
	_     [cacheLine]byte
}

// cacheLine keeps what different processors write apart: twice the 64 bytes of
// most, because they fetch lines in pairs.
const cacheLine = 128

// There are more shards than processors, as calls that are interrupted or wait for
// something keep theirs. Calls beyond maxShards share one.
const (
	shardsPerProcessor = 4
	maxShards          = 64
)

// shards are those of a runtime.
type shards struct {
	all    []shard
	recent sync.Pool // of *shard: the one that was used last on this processor
}

func newShards() *shards {
	ls := &shards{all: make([]shard, min(shardsPerProcessor*runtime.GOMAXPROCS(0), maxShards))}
	for i := range ls.all {
		ls.all[i].index = i
	}
	return ls
}

// enter takes a shard until leave. When all are taken it makes a spare one.
func (ls *shards) enter() *shard {
	if l, ok := ls.recent.Get().(*shard); ok && l.taken.CompareAndSwap(false, true) {
		return l
	}
	for i := range ls.all {
		if l := &ls.all[i]; l.taken.CompareAndSwap(false, true) {
			return l
		}
	}
	return &shard{spare: true}
}

func (ls *shards) leave(l *shard) {
	if !l.spare {
		l.taken.Store(false)
		ls.recent.Put(l)
	}
}

// slots bounds how many calls run at once. A slot that nobody uses is in the
// shard it was last used in, or on the list of free ones.
type slots struct {
	shards  *shards
	free    chan struct{}
	waiting atomic.Int64 // calls that found none
}

func newSlots(n int, ls *shards) *slots {
	s := &slots{shards: ls, free: make(chan struct{}, n)}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

// take takes a slot, of the shard if it has one.
func (s *slots) take(l *shard) bool { return l.slot.CompareAndSwap(true, false) || s.find() }

// find takes a slot from wherever there is one.
func (s *slots) find() bool {
	select {
	case <-s.free:
		return true
	default:
	}
	for i := range s.shards.all {
		if s.shards.all[i].slot.CompareAndSwap(true, false) {
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
func (s *slots) giveBack(l *shard) {
	if !l.spare && s.waiting.Load() == 0 && l.slot.CompareAndSwap(false, true) {
		if s.waiting.Load() == 0 || !l.slot.CompareAndSwap(true, false) {
			return
		}
	}
	s.free <- struct{}{}
}
