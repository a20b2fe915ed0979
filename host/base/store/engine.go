package store

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Engine is an ordered map with transactions: all an embedded database needs
// to give for [New] to make a [Store] of it.
type Engine interface {
	// View calls fn with a state that does not change meanwhile.
	View(ctx context.Context, fn func(Reader) error) error
	// Update calls fn and makes what it wrote durable, as a whole, unless fn
	// returns an error, which Update returns unchanged. Transactions happen as
	// if one after the other. fn may be called more than once.
	Update(ctx context.Context, fn func(Tx) error) error
	// Close releases the engine. Later calls return [ErrClosed].
	Close() error
}

// Item is a key with its value.
type Item struct {
	Key   string
	Value []byte
}

// Reader reads the state of an engine. It is valid until the function it was
// given to returns. What it returns belongs to the caller.
type Reader interface {
	// Get returns the value of key, or [ErrNotFound].
	Get(key string) ([]byte, error)
	// Scan gives the items whose key starts with prefix and is not below from,
	// in key order. An error ends it. The transaction may not write before the
	// range over it has ended.
	Scan(prefix, from string) iter.Seq2[Item, error]
}

// Tx reads and writes the state of an engine.
type Tx interface {
	Reader
	// Set writes the value of key.
	Set(key string, value []byte) error
	// Delete removes key; it is not an error when there is none.
	Delete(key string) error
	// Number returns a number above all that Number returned in transactions
	// that took effect; the first is 1.
	Number() (uint64, error)
}

// Numbered is a [Tx] that knows its place among all changes: without it, who waits for
// changes of other processes looks again after each one of this process too.
type Numbered interface {
	// Change is what Changes of the [Settings] returns when the transaction was the last
	// that took effect, if it writes anything.
	Change() uint64
}

// Settings are what a store on an [Engine] can be told. The zero value suits
// an engine that one process has for itself.
type Settings struct {
	// Delivery is how the queues hand out jobs.
	Delivery Delivery
	// Changes returns a number that is another after each change, whichever
	// process made it: one more than before. It must be cheap: it is asked every
	// Poll while any call waits for changes. Nil when no other process can write.
	Changes func() (uint64, error)
	// Poll is how often Changes is asked; zero means 25 ms.
	Poll time.Duration
}

const defaultPoll = 25 * time.Millisecond

// New makes a Store of an engine and a blob store. Closing the store closes
// the engine.
func New(e Engine, b Blobs, s Settings) Store {
	s.Delivery = s.Delivery.orDefault()
	if s.Poll <= 0 {
		s.Poll = defaultPoll
	}
	return &layered{engine: e, blobs: b, settings: s, hub: newHub(s)}
}

// layered is a Store on an Engine.
type layered struct {
	engine   Engine
	blobs    Blobs
	settings Settings
	hub      *hub
	close    sync.Once
	closeErr error
}

func (s *layered) KV() KV                  { return keyValues{s} }
func (s *layered) Queue(name string) Queue { return queue{s, name} }
func (s *layered) Log(name string) Log     { return eventLog{s, name} }
func (s *layered) Blobs() Blobs            { return s.blobs }
func (s *layered) Locks() Locks            { return locks{s} }

func (s *layered) Close() error {
	s.close.Do(func() {
		s.hub.close()
		s.closeErr = s.engine.Close()
	})
	return s.closeErr
}

func (s *layered) view(ctx context.Context, fn func(Reader) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.engine.View(ctx, fn)
}

// update runs a transaction and tells the listeners what it wrote.
func (s *layered) update(ctx context.Context, fn func(Tx) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	var wrote *recorder
	var change uint64
	err := s.engine.Update(ctx, func(tx Tx) error {
		wrote = &recorder{Tx: tx}
		if t, ok := tx.(Numbered); ok {
			change = t.Change()
		}
		return fn(wrote)
	})
	if err == nil && wrote != nil {
		s.hub.publish(wrote.keys, change)
	}
	return err
}

func (s *layered) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.hub.isClosed() {
		return ErrClosed
	}
	return nil
}

// recorder remembers the keys a transaction writes.
type recorder struct {
	Tx
	keys []string
}

func (r *recorder) Set(key string, value []byte) error {
	r.keys = append(r.keys, key)
	return r.Tx.Set(key, value)
}

func (r *recorder) Delete(key string) error {
	r.keys = append(r.keys, key)
	return r.Tx.Delete(key)
}
