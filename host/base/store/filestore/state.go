package filestore

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/store"
)

// state is all that a store has, in memory, and how far its file was read.
type state struct {
	entries map[string][]byte
	keys    []string // of entries, sorted
	number  uint64   // the last that was given out
	commits uint64   // the number of the last transaction
	live    int64    // bytes of all keys and values
	end     int64    // of the last whole frame in the file
}

func newState(number uint64) *state { return &state{entries: map[string][]byte{}, number: number} }

func (s *state) set(key string, value []byte) {
	if was, is := s.entries[key]; is {
		s.live -= int64(len(was))
	} else {
		at := len(s.keys) // most often behind all others
		if at > 0 && key < s.keys[at-1] {
			at, _ = slices.BinarySearch(s.keys, key)
		}
		s.keys = slices.Insert(s.keys, at, key)
		s.live += int64(len(key))
	}
	s.live += int64(len(value))
	s.entries[key] = value
}

func (s *state) remove(key string) {
	was, is := s.entries[key]
	if !is {
		return
	}
	at, _ := slices.BinarySearch(s.keys, key)
	s.keys = slices.Delete(s.keys, at, at+1)
	s.live -= int64(len(key) + len(was))
	delete(s.entries, key)
}

// Get implements [store.Reader].
func (s *state) Get(key string) ([]byte, error) {
	v, ok := s.entries[key]
	if !ok {
		return nil, store.ErrNotFound
	}
	return append([]byte{}, v...), nil
}

// Scan implements [store.Reader].
func (s *state) Scan(prefix, from string) iter.Seq2[store.Item, error] { return s.scan(prefix, from) }

func (s *state) scan(prefix, from string) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		at, _ := slices.BinarySearch(s.keys, max(prefix, from))
		for _, k := range s.keys[at:] {
			if !strings.HasPrefix(k, prefix) || !yield(store.Item{Key: k, Value: append([]byte{}, s.entries[k]...)}, nil) {
				return
			}
		}
	}
}

func (s *state) items() []store.Item {
	all := make([]store.Item, 0, len(s.keys))
	for _, k := range s.keys {
		all = append(all, store.Item{Key: k, Value: bytes.Clone(s.entries[k])})
	}
	return all
}

// An op is one change that a transaction makes.
type op struct {
	key   string
	value []byte // nil to delete
}

func (s *state) apply(ops []op) {
	for _, o := range ops {
		if o.value == nil {
			s.remove(o.key)
		} else {
			s.set(o.key, o.value)
		}
	}
}

// tx is a store.Tx: it writes to the state at once, and remembers how to undo that.
type tx struct {
	*state
	ops    []op
	before []op
	was    uint64 // number, before the transaction
}

func (t *tx) note(key string) {
	v, is := t.entries[key]
	if is && v == nil {
		v = []byte{}
	}
	t.before = append(t.before, op{key, v})
}

// Set implements [store.Tx].
func (t *tx) Set(key string, value []byte) error {
	t.note(key)
	o := op{key, append([]byte{}, value...)}
	t.ops = append(t.ops, o)
	t.set(o.key, o.value)
	return nil
}

// Delete implements [store.Tx].
func (t *tx) Delete(key string) error {
	t.note(key)
	t.ops = append(t.ops, op{key: key})
	t.remove(key)
	return nil
}

// Number implements [store.Tx].
func (t *tx) Number() (uint64, error) {
	t.number++
	return t.number, nil
}

func (t *tx) undo() {
	t.number = t.was
	for _, o := range slices.Backward(t.before) {
		t.apply([]op{o})
	}
}

// Change implements store.Numbered.
func (t *tx) Change() uint64 { return t.state.commits + 1 }

func (t *tx) changed() bool { return len(t.ops) > 0 || t.number != t.was }
