package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// Add remembers drafts, in order: either all are well-formed, or none is stored. When
// it returns without an error, the records are in the store; one whose embedding
// could not be made is found by its words until it has one. Errors wrap [ErrInvalid],
// [ErrFull] or those of the store; the records returned with one are stored.
func (m *Memory) Add(ctx context.Context, drafts ...Draft) ([]Record, error) {
	now := time.Now().UTC()
	records := make([]Record, len(drafts))
	for i, d := range drafts {
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("remember: %w", err)
		}
		at := now.Add(time.Duration(i)) // so that their order is kept
		records[i] = Record{ID: makeID(), Draft: d, Created: at, Updated: at}
	}
	if n := m.catalog.len(); n+len(records) > m.settings.MaxRecords {
		return nil, fmt.Errorf("remember: %w: it has %d of %d records; consolidate or delete some", ErrFull, n, m.settings.MaxRecords)
	}
	n, err := m.saveAll(ctx, records, store.MustNotExist)
	if err != nil {
		return records[:n], fmt.Errorf("remember: %w", err)
	}
	return records, nil
}

// saveAll stores records, and returns how many.
func (m *Memory) saveAll(ctx context.Context, records []Record, prev uint64) (n int, err error) {
	var ids []string
	defer func() { m.announce(ctx, ids...) }()
	for batch := range slices.Chunk(records, embedBatch) {
		vectors := m.vectorsOf(ctx, batch)
		for i := range batch {
			if err := m.save(ctx, &batch[i], vectors[i], prev); err != nil {
				return n, err
			}
			ids = append(ids, batch[i].ID)
			n++
		}
	}
	return n, nil
}

// vectorsOf embeds records; nil for each when that fails.
func (m *Memory) vectorsOf(ctx context.Context, records []Record) [][]float32 {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = r.Text
	}
	vectors, err := m.embedder.Embed(ctx, texts)
	if err == nil {
		err = checkVectors(m.embedder, texts, vectors)
	}
	if err != nil {
		m.log.Warn("memories are found by their words only, for now", "err", err)
		return make([][]float32, len(records))
	}
	return vectors
}

// save stores a record: the embedding first, so that a record that is there has one.
func (m *Memory) save(ctx context.Context, r *Record, v []float32, prev uint64) error {
	stored := *r
	stored.Retrievals, stored.Retrieved = 0, time.Time{}
	value, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	s := &m.shards[shardOf(r.ID)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if v != nil {
		if _, err := m.kv.Put(ctx, embeddingKey+r.ID, storedEmbedding(m.embedder.Name(), digestOf(r.Text), v), store.AnyRevision); err != nil {
			return err
		}
	}
	revision, err := m.kv.Put(ctx, recordKey+r.ID, value, prev)
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("memory %s: %w", r.ID, ErrConflict)
	}
	if err != nil {
		return err
	}
	m.learn(r, revision, v)
	return nil
}

// Replace writes a record anew, with its ID and age. Errors wrap [ErrInvalid],
// [ErrNotFound] or [ErrConflict].
func (m *Memory) Replace(ctx context.Context, id string, d Draft) (Record, error) {
	if err := d.check(); err != nil {
		return Record{}, fmt.Errorf("replace memory %s: %w", clip(id), err)
	}
	r, revision, err := m.read(ctx, id)
	if err != nil {
		return Record{}, fmt.Errorf("replace %w", err)
	}
	r.Draft, r.Updated = d, time.Now().UTC()
	if err := m.save(ctx, &r, m.vectorsOf(ctx, []Record{r})[0], revision); err != nil {
		return Record{}, fmt.Errorf("replace: %w", err)
	}
	m.announce(ctx, id)
	return r, nil
}

// read reads a record, with its count and its revision.
func (m *Memory) read(ctx context.Context, id string) (Record, uint64, error) {
	if !isID(id) {
		return Record{}, 0, fmt.Errorf("memory %q: %w", clip(id), ErrNotFound)
	}
	e, err := m.kv.Get(ctx, recordKey+id)
	if errors.Is(err, store.ErrNotFound) {
		return Record{}, 0, fmt.Errorf("memory %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return Record{}, 0, fmt.Errorf("memory %s: %w", id, err)
	}
	r, err := readRecord(e)
	if h, known := m.catalog.get(id); known {
		r.Retrievals, r.Retrieved = h.retrievals, h.retrieved
	}
	return r, e.Revision, err
}

// Get returns a record. The error wraps [ErrNotFound] when there is none.
func (m *Memory) Get(ctx context.Context, id string) (Record, error) {
	r, _, err := m.read(ctx, id)
	if err != nil {
		return Record{}, fmt.Errorf("get %w", err)
	}
	return r, nil
}

// List returns up to limit records that f selects, those updated last first. A limit
// of zero or less means no limit.
func (m *Memory) List(ctx context.Context, f Filter, limit int) ([]Record, error) {
	heads := m.catalog.pick(func(_ string, h *head) bool { return f.takes(h) }, newestFirst)
	if limit > 0 {
		heads = heads[:min(limit, len(heads))]
	}
	records := make([]Record, 0, len(heads))
	for _, h := range heads {
		r, _, err := m.read(ctx, h.id)
		if errors.Is(err, ErrNotFound) {
			continue // just deleted
		}
		if err != nil {
			return nil, fmt.Errorf("list memories: %w", err)
		}
		records = append(records, r)
	}
	return records, nil
}

// Delete forgets a record. The error wraps [ErrNotFound] when there is none.
func (m *Memory) Delete(ctx context.Context, id string) error {
	if !isID(id) {
		return fmt.Errorf("forget memory %q: %w", clip(id), ErrNotFound)
	}
	if err := m.remove(ctx, id, store.AnyRevision); err != nil {
		return fmt.Errorf("forget %w", err)
	}
	m.announce(ctx, id)
	return nil
}

// remove deletes a record of a revision, and then what belongs to it: what is left
// behind when that ends half-way is swept by a consolidation.
func (m *Memory) remove(ctx context.Context, id string, prev uint64) error {
	s := &m.shards[shardOf(id)]
	s.mu.Lock()
	defer s.mu.Unlock()
	err := m.kv.Delete(ctx, recordKey+id, prev)
	switch {
	case errors.Is(err, store.ErrNotFound):
		m.forget(id)
		return fmt.Errorf("memory %s: %w", id, ErrNotFound)
	case errors.Is(err, store.ErrConflict):
		return fmt.Errorf("memory %s: %w", id, ErrConflict)
	case err != nil:
		return fmt.Errorf("memory %s: %w", id, err)
	}
	m.forget(id)
	return m.sweep(ctx, id)
}

// sweep deletes what belonged to a record that is gone.
func (m *Memory) sweep(ctx context.Context, id string) error {
	for _, key := range []string{embeddingKey, useKey} {
		if err := m.kv.Delete(ctx, key+id, store.AnyRevision); err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("memory %s: %w", id, err)
		}
	}
	return nil
}

// flush stores what was counted.
func (m *Memory) flush(ctx context.Context) error {
	found := m.catalog.take()
	var failed error
	for id, u := range found {
		if _, known := m.catalog.get(id); !known {
			continue
		}
		if err := m.storeUses(ctx, id, u); err != nil {
			m.catalog.restore(id, u)
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// storeUses adds to a count, which others may change at the same time.
func (m *Memory) storeUses(ctx context.Context, id string, more uses) error {
	for {
		e, err := m.kv.Get(ctx, useKey+id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		var u uses
		if err == nil {
			if err := json.Unmarshal(e.Value, &u); err != nil {
				m.log.Warn("a count of a memory cannot be read", "id", id, "err", err)
			}
		}
		u = uses{u.Count + more.Count, later(u.Last, more.Last)}
		value, err := json.Marshal(u)
		if err != nil {
			return err
		}
		_, err = m.kv.Put(ctx, useKey+id, value, e.Revision)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err == nil {
			m.catalog.stored(id, u)
		}
		return err
	}
}
