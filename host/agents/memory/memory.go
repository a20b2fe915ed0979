// Package memory keeps what was learnt: records of text that are found again by
// what they mean and by their words, ranked by how much they matter, and merged or
// forgotten when there are too many.
//
// The records in the store are the truth. The indexes ([vector], [text]) are in
// memory, made from the records when a [Memory] is opened, and follow what other
// processes with the same store write. A record without an embedding is found by
// its words until it has one.
//
// The package refuses to know who asks and what follows from a record: a text is
// data, however much it looks like an instruction. It has no model; what turns a
// text into a vector is an [Embedder], and what shortens texts a [Summarizer].
//
// # Key layout
//
//	memory/record/$id     JSON: Record
//	memory/embedding/$id  the vector, with its model and the digest of its text (see embedding.go)
//	memory/use/$id        JSON: how often it was found, and when last
//	memory/changed/$x     who wrote last among the records whose ID begins with $x
//	memory/consolidated   JSON: the last consolidation
//
// An ID is 32 hexadecimal digits. Listing records reads no vectors, and counting
// what was found writes no records.
package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/memory/text"
	"github.com/skillet-run/skillet/host/agents/memory/vector"
	"github.com/skillet-run/skillet/host/base/store"
)

const (
	recordKey       = "memory/record/"
	embeddingKey    = "memory/embedding/"
	useKey          = "memory/use/"
	changedKey      = "memory/changed/"
	consolidatedKey = "memory/consolidated"
	consolidateLock = "memory/consolidate"
)

// Errors a caller may test for. They come wrapped.
var (
	// ErrInvalid: a record, query or line breaks a rule, which the message names.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: there is no record of that ID.
	ErrNotFound = errors.New("no such memory")
	// ErrFull: there are [Settings].MaxRecords records.
	ErrFull = errors.New("the memory is full")
	// ErrConflict: the record was changed by somebody else meanwhile.
	ErrConflict = errors.New("changed meanwhile")
)

// An Embedder turns texts into vectors that are near each other when the texts are
// about the same.
type Embedder interface {
	// Embed returns one vector for each text, in order.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Name names the model, so that vectors of another one are recognised.
	Name() string
	// Dimensions is how many components each vector has.
	Dimensions() int
}

// DefaultMaxRecords is how many records there may be by default.
const DefaultMaxRecords = 200_000

// Settings say how much a memory keeps. The zero value is usable.
type Settings struct {
	// MaxRecords bounds the records, and with them the main memory: some 2.5 KB for
	// each, of 384 dimensions. Zero means 200,000.
	MaxRecords int
	// Consolidation says when records are merged and forgotten.
	Consolidation Consolidation
	// Summarizer shortens what is merged; nil means [Extractive].
	Summarizer Summarizer
	// Hybrid means that the relevance of a record is the mean of the cosine and of how
	// well its words fit. It is for embedders that know no meaning: their cosine counts
	// common words less well than the text index does.
	Hybrid bool
	// Flush is how long counts of what was found stay in memory before they are
	// stored; a crash forgets those. Zero means a second.
	Flush time.Duration
	// Retry is how long after a failure of the embedder it is asked again; zero
	// means a minute.
	Retry time.Duration
}

// A Memory keeps records. It is safe for concurrent use.
type Memory struct {
	log      hclog.Logger
	kv       store.KV
	locks    store.Locks
	bus      *event.Bus
	embedder Embedder
	settings Settings
	self     string // of this Memory, in what others are told

	vectors *vector.Index
	words   *text.Index
	catalog *catalog
	shards  [shardCount]shard

	embedding sync.Mutex // held while a batch of missing embeddings is made

	stop    context.CancelFunc
	running sync.WaitGroup
	wake    chan struct{} // holds a token when a record wants an embedding
	counted chan struct{} // holds a token when a count wants to be stored
}

// Open makes a Memory of the records in the store. It reads all of them; embeddings
// that are missing, damaged or of another model or text are made again in the
// background, and meanwhile their records are found by words only. bus is told of
// consolidations. Close it before the store.
func Open(ctx context.Context, log hclog.Logger, s store.Store, bus *event.Bus, e Embedder, settings Settings) (*Memory, error) {
	settings = settings.withDefaults()
	m := &Memory{
		log: log, kv: s.KV(), locks: s.Locks(), bus: bus, embedder: e, settings: settings, self: makeID(),
		words: text.New(text.Settings{}), catalog: newCatalog(), wake: make(chan struct{}, 1), counted: make(chan struct{}, 1),
	}
	var err error
	if m.vectors, err = vector.New(vector.Settings{Dimensions: e.Dimensions()}); err != nil {
		return nil, fmt.Errorf("open memory: embedder %s: %w", e.Name(), err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	changes, err := m.kv.Watch(running, changedKey)
	if err == nil {
		err = m.load(ctx)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("open memory: %w", err)
	}
	m.stop = stop
	m.running.Go(func() { m.follow(running, changes) })
	m.running.Go(func() { m.embedLater(running) })
	m.running.Go(func() { m.flushLater(running) })
	return m, nil
}

func (s Settings) withDefaults() Settings {
	if s.MaxRecords <= 0 {
		s.MaxRecords = DefaultMaxRecords
	}
	if s.Flush <= 0 {
		s.Flush = time.Second
	}
	if s.Retry <= 0 {
		s.Retry = time.Minute
	}
	if s.Summarizer == nil {
		s.Summarizer = Extractive{}
	}
	s.Consolidation = s.Consolidation.withDefaults(s.MaxRecords)
	return s
}

// Close ends what runs in the background and stores the counts. The Memory must not
// be used afterwards.
func (m *Memory) Close() error {
	m.stop()
	m.running.Wait()
	if err := m.flush(context.Background()); err != nil {
		return fmt.Errorf("close memory: %w", err)
	}
	return nil
}

// flushLater stores counts a while after the first of them. Without searches it does
// nothing.
func (m *Memory) flushLater(ctx context.Context) {
	for {
		select {
		case <-m.counted:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(m.settings.Flush):
		case <-ctx.Done():
			return
		}
		if err := m.flush(ctx); err != nil && ctx.Err() == nil {
			m.log.Warn("counts of memories are not stored yet", "err", err)
			poke(m.counted)
		}
	}
}
