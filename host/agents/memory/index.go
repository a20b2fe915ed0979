package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// Records are read, and changes told, in parts: by the first digit of the ID.
const (
	shardCount = 16
	digits     = "0123456789abcdef"
)

// A shard orders the changes of a part of the records.
type shard struct {
	mu   sync.Mutex
	seen uint64 // revision of the changed key up to which everything is known
}

func shardOf(id string) int { return strings.IndexByte(digits, id[0]) }

// loaders is how many shards are read at once.
const loaders = 4

// load reads all records.
func (m *Memory) load(ctx context.Context) error {
	errs, next := make([]error, shardCount), make(chan int)
	var all sync.WaitGroup
	for range loaders {
		all.Go(func() {
			for x := range next {
				errs[x] = m.loadShard(ctx, x)
			}
		})
	}
	for x := range shardCount {
		next <- x
	}
	close(next)
	all.Wait()
	return errors.Join(errs...)
}

func (m *Memory) loadShard(ctx context.Context, x int) error {
	s, part := &m.shards[x], digits[x:x+1]
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.seen, err = m.lastChange(ctx, x); err != nil {
		return err
	}
	records, err := m.kv.List(ctx, recordKey+part)
	if err != nil {
		return err
	}
	embeddings, err := m.values(ctx, embeddingKey+part)
	if err != nil {
		return err
	}
	counts, err := m.values(ctx, useKey+part)
	if err != nil {
		return err
	}
	for _, e := range records {
		id := strings.TrimPrefix(e.Key, recordKey)
		m.learnEntry(e, embeddings[id], counts[id])
	}
	return nil
}

// values are the entries under a prefix by the ID at the end of their key.
func (m *Memory) values(ctx context.Context, prefix string) (map[string][]byte, error) {
	entries, err := m.kv.List(ctx, prefix)
	byID := make(map[string][]byte, len(entries))
	for _, e := range entries {
		byID[e.Key[len(prefix)-1:]] = e.Value
	}
	return byID, err
}

func (m *Memory) lastChange(ctx context.Context, x int) (uint64, error) {
	e, err := m.kv.Get(ctx, changedKey+digits[x:x+1])
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return e.Revision, err
}

// learnEntry puts a stored record into the indexes. One that cannot be read is left
// out, and said.
func (m *Memory) learnEntry(e store.Entry, embedding, count []byte) {
	r, err := readRecord(e)
	if err != nil {
		m.log.Warn("a memory cannot be read", "err", err)
		return
	}
	var u uses
	if len(count) > 0 {
		if err := json.Unmarshal(count, &u); err != nil {
			m.log.Warn("a count of a memory cannot be read", "id", r.ID, "err", err)
		}
	}
	r.Retrievals, r.Retrieved = u.Count, u.Last
	v, err := readEmbedding(embedding, m.embedder.Name(), digestOf(r.Text), m.embedder.Dimensions())
	if err != nil {
		m.log.Debug("an embedding is made again", "id", r.ID, "err", err)
	}
	m.learn(&r, e.Revision, v)
}

func readRecord(e store.Entry) (Record, error) {
	var r Record
	if err := json.Unmarshal(e.Value, &r); err != nil {
		return r, fmt.Errorf("read memory %s: %w", e.Key, err)
	}
	if r.ID != strings.TrimPrefix(e.Key, recordKey) || !isID(r.ID) {
		return r, fmt.Errorf("read memory %s: it is another, or none", e.Key)
	}
	return r, nil
}

// learn puts a record into the indexes; without a vector it waits for one.
func (m *Memory) learn(r *Record, revision uint64, v []float32) {
	h := headOf(r, revision)
	if err := m.words.Put(r.ID, r.Text+" "+strings.Join(r.Tags, " ")); err != nil {
		m.log.Warn("a memory is not found by its words", "err", err)
	}
	if v != nil {
		if err := m.vectors.Put(r.ID, v); err != nil {
			m.log.Warn("a memory is not found by its meaning", "err", err)
		} else {
			h.embedded = true
		}
	}
	if !h.embedded {
		m.vectors.Delete(r.ID)
	}
	m.catalog.put(r.ID, h)
	if !h.embedded {
		poke(m.wake)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (m *Memory) forget(id string) {
	m.catalog.remove(id)
	m.vectors.Delete(id)
	m.words.Delete(id)
}

// follow learns what others write, until the channel is closed.
func (m *Memory) follow(ctx context.Context, changes <-chan store.Entry) {
	for e := range changes {
		x := strings.TrimPrefix(e.Key, changedKey)
		if len(x) != 1 || !strings.Contains(digits, x) {
			continue
		}
		if err := m.refresh(ctx, shardOf(x), e.Revision); err != nil && ctx.Err() == nil {
			m.log.Warn("memories of other processes are not seen", "err", err)
		}
	}
}

// refresh compares a shard with the store, unless everything up to a revision of its
// changed key is known.
func (m *Memory) refresh(ctx context.Context, x int, revision uint64) error {
	s := &m.shards[x]
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision <= s.seen {
		return nil
	}
	seen, err := m.lastChange(ctx, x)
	if err != nil {
		return err
	}
	entries, err := m.kv.List(ctx, recordKey+digits[x:x+1])
	if err != nil {
		return err
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		id := strings.TrimPrefix(e.Key, recordKey)
		there[id] = true
		if h, known := m.catalog.get(id); known && h.revision == e.Revision {
			continue
		}
		if err := m.learnChanged(ctx, id, e); err != nil {
			return err
		}
	}
	gone := m.catalog.pick(func(id string, _ *head) bool { return shardOf(id) == x && !there[id] }, oldestFirst)
	for _, g := range gone {
		m.forget(g.id)
	}
	s.seen = seen
	return nil
}

func (m *Memory) learnChanged(ctx context.Context, id string, e store.Entry) error {
	embedding, err := m.kv.Get(ctx, embeddingKey+id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	count, err := m.kv.Get(ctx, useKey+id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	m.learnEntry(e, embedding.Value, count.Value)
	return nil
}

// announce tells other processes that records of these shards changed. Only when
// nobody else did since we looked is everything known up to what we write.
func (m *Memory) announce(ctx context.Context, ids ...string) {
	shards := make([]int, 0, len(ids))
	for _, id := range ids {
		shards = append(shards, shardOf(id))
	}
	slices.Sort(shards)
	for _, x := range slices.Compact(shards) {
		if err := m.announceShard(context.WithoutCancel(ctx), x); err != nil {
			m.log.Warn("other processes are not told of a memory", "err", err)
		}
	}
}

func (m *Memory) announceShard(ctx context.Context, x int) error {
	s, key := &m.shards[x], changedKey+digits[x:x+1]
	s.mu.Lock()
	defer s.mu.Unlock()
	revision, err := m.kv.Put(ctx, key, []byte(m.self), s.seen)
	if errors.Is(err, store.ErrConflict) {
		_, err = m.kv.Put(ctx, key, []byte(m.self), store.AnyRevision)
		return err
	}
	if err == nil {
		s.seen = revision
	}
	return err
}

// embedBatch is how many texts an embedder is given at once.
const embedBatch = 32

// Embed makes the embeddings that are missing, oldest record first, and returns how
// many. It is done in the background, too; this is for who wants to wait. progress
// is told how many were made so far; it may be nil.
func (m *Memory) Embed(ctx context.Context, progress func(made int)) (made int, err error) {
	waiting := m.catalog.pick(func(_ string, h *head) bool { return !h.embedded }, oldestFirst)
	for batch := range slices.Chunk(waiting, embedBatch) {
		n, err := m.embedMissing(ctx, batch)
		if made += n; err != nil {
			return made, fmt.Errorf("embed memories: %w", err)
		}
		if progress != nil {
			progress(made)
		}
	}
	return made, nil
}

// embedMissing embeds those of a batch that nobody else has embedded meanwhile: the
// work in the background and who waits for it must not do it twice.
func (m *Memory) embedMissing(ctx context.Context, batch []named) (made int, err error) {
	m.embedding.Lock()
	defer m.embedding.Unlock()
	batch = slices.DeleteFunc(slices.Clone(batch), func(b named) bool {
		h, known := m.catalog.get(b.id)
		return !known || h.embedded
	})
	if len(batch) == 0 || ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return m.embedBatch(ctx, batch)
}

func (m *Memory) embedBatch(ctx context.Context, batch []named) (made int, err error) {
	var texts []string
	var entries []store.Entry
	for _, b := range batch {
		e, err := m.kv.Get(ctx, recordKey+b.id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		r, err := readRecord(e)
		if err != nil {
			return 0, err
		}
		texts, entries = append(texts, r.Text), append(entries, e)
	}
	vectors, err := m.embedder.Embed(ctx, texts)
	if err == nil {
		err = checkVectors(m.embedder, texts, vectors)
	}
	if err != nil {
		return 0, err
	}
	for i, e := range entries {
		if err := m.embedded(ctx, e, digestOf(texts[i]), vectors[i]); err != nil {
			return made, err
		}
		made++
	}
	return made, nil
}

// embedded stores an embedding of a record that may have been changed meanwhile.
func (m *Memory) embedded(ctx context.Context, e store.Entry, of digest, v []float32) error {
	id := strings.TrimPrefix(e.Key, recordKey)
	s := &m.shards[shardOf(id)]
	s.mu.Lock()
	defer s.mu.Unlock()
	h, known := m.catalog.get(id)
	if !known || h.digest != of {
		return nil
	}
	if err := m.vectors.Put(id, v); err != nil {
		m.log.Warn("a memory is found by its words only", "err", err)
		return nil // asking again gives the same
	}
	if _, err := m.kv.Put(ctx, embeddingKey+id, storedEmbedding(m.embedder.Name(), of, v), store.AnyRevision); err != nil {
		return err
	}
	h.embedded = true
	m.catalog.put(id, h)
	return nil
}

// embedLater makes missing embeddings when somebody pokes, and again after a while
// when that fails.
func (m *Memory) embedLater(ctx context.Context) {
	again := time.NewTimer(m.settings.Retry)
	defer again.Stop()
	for {
		select {
		case <-m.wake:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		if _, err := m.Embed(ctx, nil); err != nil && ctx.Err() == nil {
			m.log.Warn("memories are found by their words only", "err", err, "again", m.settings.Retry)
			again.Reset(m.settings.Retry)
		}
	}
}
