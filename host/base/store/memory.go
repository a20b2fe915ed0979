package store

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Memory returns a store that lives in memory and ends with the process. It is
// for tests and for trying things out. At most one Delivery is given; none
// means the defaults.
func Memory(d ...Delivery) Store {
	s := Settings{}
	if len(d) > 0 {
		s.Delivery = d[0]
	}
	return New(MemoryEngine(), &memoryBlobs{content: map[string][]byte{}}, s)
}

// MemoryEngine returns an empty engine in memory.
func MemoryEngine() Engine { return &memory{items: map[string][]byte{}} }

// MemoryOf returns an engine in memory that has items, which are in the order of their
// keys, and gives out numbers above number.
func MemoryOf(items []Item, number uint64) Engine {
	m := &memory{items: make(map[string][]byte, len(items)), number: number}
	for _, it := range items {
		m.keys, m.items[it.Key] = append(m.keys, it.Key), it.Value
	}
	return m
}

// memory is an Engine: a map with its keys in order. A transaction writes to
// it directly and is undone when it fails.
type memory struct {
	mu     sync.RWMutex
	closed bool
	items  map[string][]byte
	keys   []string // of items, sorted
	number uint64
}

func (m *memory) View(_ context.Context, fn func(Reader) error) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return ErrClosed
	}
	return fn(memoryReader{m})
}

func (m *memory) Update(_ context.Context, fn func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	tx := &memoryTx{memoryReader: memoryReader{m}, number: m.number}
	done := false
	defer func() {
		if !done {
			tx.undo()
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	done = true
	return nil
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *memory) set(key string, value []byte) {
	if _, is := m.items[key]; !is {
		at, _ := slices.BinarySearch(m.keys, key)
		m.keys = slices.Insert(m.keys, at, key)
	}
	m.items[key] = value
}

func (m *memory) remove(key string) {
	if _, is := m.items[key]; is {
		at, _ := slices.BinarySearch(m.keys, key)
		m.keys = slices.Delete(m.keys, at, at+1)
	}
	delete(m.items, key)
}

type memoryReader struct{ m *memory }

func (r memoryReader) Get(key string) ([]byte, error) {
	v, ok := r.m.items[key]
	if !ok {
		return nil, ErrNotFound
	}
	return bytes.Clone(v), nil
}

func (r memoryReader) Scan(prefix, from string) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		at, _ := slices.BinarySearch(r.m.keys, max(prefix, from))
		for _, k := range r.m.keys[at:] {
			if !strings.HasPrefix(k, prefix) || !yield(Item{k, bytes.Clone(r.m.items[k])}, nil) {
				return
			}
		}
	}
}

// memoryTx remembers what it overwrote.
type memoryTx struct {
	memoryReader
	number uint64   // before the transaction
	before []before // in the order of writing
}

type before struct {
	key   string
	value []byte
	was   bool
}

func (tx *memoryTx) note(key string) {
	v, was := tx.m.items[key]
	tx.before = append(tx.before, before{key, v, was})
}

func (tx *memoryTx) Set(key string, value []byte) error {
	tx.note(key)
	tx.m.set(key, append([]byte{}, value...))
	return nil
}

func (tx *memoryTx) Delete(key string) error {
	tx.note(key)
	tx.m.remove(key)
	return nil
}

func (tx *memoryTx) Number() (uint64, error) {
	tx.m.number++
	return tx.m.number, nil
}

func (tx *memoryTx) undo() {
	tx.m.number = tx.number
	for _, b := range slices.Backward(tx.before) {
		if b.was {
			tx.m.set(b.key, b.value)
		} else {
			tx.m.remove(b.key)
		}
	}
}

// memoryBlobs is a Blobs.
type memoryBlobs struct {
	mu      sync.RWMutex
	content map[string][]byte
}

func (m *memoryBlobs) Put(ctx context.Context, digest string, content []byte) error {
	if err := errors.Join(ctx.Err(), checkContent(digest, content)); err != nil {
		return blobError("put", digest, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.content[digest] = bytes.Clone(content)
	return nil
}

func (m *memoryBlobs) Get(ctx context.Context, digest string) ([]byte, error) {
	ok, err := m.Has(ctx, digest)
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return nil, blobError("get", digest, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return append([]byte{}, m.content[digest]...), nil
}

func (m *memoryBlobs) Has(ctx context.Context, digest string) (bool, error) {
	if err := errors.Join(ctx.Err(), checkDigest(digest)); err != nil {
		return false, blobError("look for", digest, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, ok := m.content[digest]
	return ok, nil
}

func (m *memoryBlobs) Delete(ctx context.Context, digest string) error {
	ok, err := m.Has(ctx, digest)
	if err == nil && !ok {
		err = ErrNotFound
	}
	if err != nil {
		return blobError("delete", digest, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.content, digest)
	return nil
}

func (m *memoryBlobs) List(ctx context.Context) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.content)), ctx.Err()
}
