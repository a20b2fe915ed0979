// Package repeat keeps what requests with a key were answered, so that the same request again
// is answered with that and not carried out a second time.
package repeat

import (
	"container/list"
	"sync"
	"time"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// KeyForm is the form of keys: 1 to 200 characters of ASCII without spaces.
var KeyForm = lazyregexp.New(`^[\x21-\x7e]{1,200}$`)

// What is kept of answers: of each owner and in all.
const (
	maxAnswers      = 1000
	maxAnswersInAll = 10_000
	maxAnswerBytes  = 64 << 20
)

// MaxAnswer is the longest answer to keep, in bytes. Callers leave out of longer ones what
// is long.
const MaxAnswer = 1 << 20

// A Store keeps answers, of this process. It is safe for concurrent use.
type Store[V any] struct {
	life time.Duration
	mu   sync.Mutex
	all  map[Key]*list.Element
	ages list.List // of *Kept[V], the oldest first
	of   map[[32]byte]int
	size int
}

// A Key is a key of an owner, such as the hash of the secret that was shown.
type Key struct {
	Owner [32]byte
	Key   string
}

// A Kept is a request, and its answer once it has ended.
type Kept[V any] struct {
	// Request is the hash of all of it.
	Request [32]byte

	key   Key
	until time.Time
	done  chan struct{}
	value V
	size  int
}

// New makes a Store that keeps answers for a time.
func New[V any](life time.Duration) *Store[V] {
	return &Store[V]{life: life, all: map[Key]*list.Element{}, of: map[[32]byte]int{}}
}

// Begin returns what is kept for a key; first is true for a request that was not there before,
// which is carried out and then ended by [Store.End].
func (s *Store[V]) Begin(k Key, request [32]byte) (_ *Kept[V], first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.expire(now)
	if e := s.all[k]; e != nil {
		return e.Value.(*Kept[V]), false
	}
	if s.of[k.Owner] >= maxAnswers {
		s.dropOldest(func(o *Kept[V]) bool { return o.key.Owner == k.Owner })
	}
	for len(s.all) >= maxAnswersInAll || s.size > maxAnswerBytes {
		if !s.dropOldest(func(*Kept[V]) bool { return true }) {
			break
		}
	}
	v := &Kept[V]{key: k, Request: request, until: now.Add(s.life), done: make(chan struct{})}
	s.all[k] = s.ages.PushBack(v)
	s.of[k.Owner]++
	return v, true
}

// End keeps the answer of a request, of some bytes. Without keep the request is forgotten, and
// carried out when it is made again; who waits for it is told the answer all the same.
func (s *Store[V]) End(k *Kept[V], v V, size int, keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.value, k.size = v, size
	s.size += size
	if !keep {
		s.drop(s.all[k.key])
	}
	close(k.done)
}

// Done is closed when the request has ended.
func (k *Kept[V]) Done() <-chan struct{} { return k.done }

// Value is the answer, once the request has ended.
func (k *Kept[V]) Value() V { return k.value }

// expire forgets answers that were kept for their time. The oldest ends first.
func (s *Store[V]) expire(now time.Time) {
	for e := s.ages.Front(); e != nil && now.After(e.Value.(*Kept[V]).until); {
		next := e.Next()
		if e.Value.(*Kept[V]).ended() {
			s.drop(e)
		}
		e = next
	}
}

// dropOldest forgets the oldest answer of some, if there is one. A request that still runs is
// not forgotten.
func (s *Store[V]) dropOldest(some func(*Kept[V]) bool) bool {
	for e := s.ages.Front(); e != nil; e = e.Next() {
		if o := e.Value.(*Kept[V]); o.ended() && some(o) {
			s.drop(e)
			return true
		}
	}
	return false
}

func (s *Store[V]) drop(e *list.Element) {
	o := s.ages.Remove(e).(*Kept[V])
	delete(s.all, o.key)
	s.size -= o.size
	if s.of[o.key.Owner]--; s.of[o.key.Owner] == 0 {
		delete(s.of, o.key.Owner)
	}
}

func (k *Kept[V]) ended() bool {
	select {
	case <-k.done:
		return true
	default:
		return false
	}
}
