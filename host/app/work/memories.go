package work

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/outfile"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/approval"
)

// Memories are what tasks learnt. All that have a say in a home share them; what an agent
// adds says so, and only a person changes what is there, or takes it elsewhere.
type Memories struct{ s *Service }

// hashingEmbedder is the name of the embedder that needs no model.
const hashingEmbedder = "hashing"

// A Progress follows long work: it is handed how to look at how far that is, and returns
// what is called when it is over.
type Progress func(look func() int) (done func())

// begin calls p, unless it is nil.
func (p Progress) begin(look func() int) (done func()) {
	if p == nil {
		return func() {}
	}
	return p(look)
}

func (m *Memories) open(ctx context.Context, by approval.Principal) (*memory.Memory, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	return m.s.memory(ctx)
}

// Add remembers something. What others than persons add is marked as their own.
func (m *Memories) Add(ctx context.Context, by approval.Principal, d MemoryDraft) (Record, error) {
	mem, err := m.open(ctx, by)
	if err != nil {
		return Record{}, err
	}
	if _, person := by.(approval.Human); !person {
		meta := map[string]string{}
		for k, v := range d.Metadata {
			meta[k] = v
		}
		meta[memory.By] = by.Actor()
		d.Metadata, d.Pinned = meta, false
	}
	added, err := mem.Add(ctx, d)
	if err != nil {
		return Record{}, err
	}
	return added[0], nil
}

// Found is what a search found.
type Found struct {
	Matches []Match
	// Waiting of all Records have no embedding of Embedder yet, and are found by their words
	// only.
	Waiting, Records int
	Embedder         string
}

// checkFilter refuses names of areas and types that do not exist.
func checkFilter(f Filter) error {
	return errors.Join(eachOneOf("area", f.Areas, Areas()), eachOneOf("type", f.Types, MemoryTypes()))
}

// Search finds records by meaning and by words, and leaves out what is far from the query.
// An area or a type that does not exist is a [fault.KindUsage] error.
func (m *Memories) Search(ctx context.Context, by approval.Principal, q Query) (Found, error) {
	mem, err := m.open(ctx, by)
	if err == nil {
		err = checkFilter(q.Filter)
	}
	if err != nil {
		return Found{}, err
	}
	found, err := mem.Search(ctx, q)
	if err != nil {
		return Found{}, err
	}
	s, err := mem.Stats(ctx)
	return Found{append([]Match{}, found...), s.Waiting, s.Records, s.Embedder}, err
}

// List returns the records that f selects, the latest first, limit at most (0 for all), and
// how many there are of all kinds. Its errors are those of [Memories.Search].
func (m *Memories) List(ctx context.Context, by approval.Principal, f Filter, limit int) ([]Record, int, error) {
	mem, err := m.open(ctx, by)
	if err == nil {
		err = checkFilter(f)
	}
	if err != nil {
		return nil, 0, err
	}
	all, err := mem.List(ctx, f, limit)
	return all, mem.Len(), err
}

// Show returns the one record whose ID begins with prefix.
func (m *Memories) Show(ctx context.Context, by approval.Principal, prefix string) (Record, error) {
	mem, err := m.open(ctx, by)
	if err != nil {
		return Record{}, err
	}
	id, err := mem.Find(prefix)
	if err != nil {
		return Record{}, err
	}
	return mem.Get(ctx, id)
}

// Remove forgets records that were shown. One that was changed since is a
// [fault.KindConflict] error, and none is forgotten then.
func (m *Memories) Remove(ctx context.Context, by approval.Human, records []Record) error {
	mem, err := m.open(ctx, by)
	if err != nil {
		return err
	}
	for _, r := range records {
		now, err := mem.Get(ctx, r.ID)
		if err != nil {
			return err
		}
		if !now.Updated.Equal(r.Updated) {
			return fault.Errorf(fault.KindConflict, "the memory %s was changed since it was shown", r.ID).WithHint("look at it again")
		}
	}
	for _, r := range records {
		if err := mem.Delete(ctx, r.ID); err != nil {
			return err
		}
	}
	return nil
}

// MemoryStats are figures of what is remembered.
type MemoryStats struct {
	memory.Stats
	// Due says why a consolidation is due; empty when none is.
	Due string `json:"due,omitempty"`
}

// Stats returns the figures.
func (m *Memories) Stats(ctx context.Context, by approval.Principal) (f MemoryStats, err error) {
	mem, err := m.open(ctx, by)
	if err != nil {
		return f, err
	}
	if f.Stats, err = mem.Stats(ctx); err == nil {
		f.Due, err = mem.Due(ctx)
	}
	return f, err
}

// A ConsolidateRequest says how memories are consolidated.
type ConsolidateRequest struct {
	// IfDue does nothing when none is due.
	IfDue bool
	// Progress looks at how many records there are; it may be nil.
	Progress Progress
}

// Consolidate merges what says the same, and forgets what matters least. done is false when
// none was due.
func (m *Memories) Consolidate(ctx context.Context, by approval.Human, q ConsolidateRequest) (o Outcome, done bool, err error) {
	mem, err := m.open(ctx, by)
	if err != nil {
		return o, false, err
	}
	if q.IfDue {
		if why, err := mem.Due(ctx); err != nil || why == "" {
			return Outcome{Reason: "none is due", Records: mem.Len()}, false, err
		}
	}
	over := q.Progress.begin(mem.Len)
	o, err = mem.Consolidate(ctx)
	over()
	if errors.Is(err, store.ErrHeld) {
		err = fault.Wrap(fault.KindConflict, err).WithHint("another command is at it; the figures of the memory show when it is done")
	}
	return o, err == nil, err
}

// Reindexed is what came of making embeddings.
type Reindexed struct {
	Embedder string `json:"embedder"`
	// Made is how many embeddings were missing and are there now, Waiting how many
	// still are missing.
	Made    int `json:"made"`
	Waiting int `json:"waiting"`
}

// Reindex makes the embeddings that are missing, after another embedder was set. progress
// looks at how many of waiting are made; it may be nil. What was made stays, also with an
// error.
func (m *Memories) Reindex(ctx context.Context, by approval.Human, progress func(waiting int) Progress) (Reindexed, error) {
	mem, err := m.open(ctx, by)
	if err != nil {
		return Reindexed{}, err
	}
	before, err := mem.Stats(ctx)
	if err != nil {
		return Reindexed{}, err
	}
	var made atomic.Int64
	done := func() {}
	if progress != nil {
		done = progress(before.Waiting).begin(func() int { return int(made.Load()) })
	}
	_, failed := mem.Embed(ctx, func(n int) { made.Store(int64(n)) })
	done()
	after, err := mem.Stats(context.WithoutCancel(ctx))
	if err != nil {
		return Reindexed{}, err
	}
	return Reindexed{after.Embedder, before.Waiting - after.Waiting, after.Waiting}, failed
}

// Export writes the records that f selects to w, as lines of JSON, and returns how many.
func (m *Memories) Export(ctx context.Context, by approval.Human, w io.Writer, f Filter) (int, error) {
	mem, err := m.open(ctx, by)
	if err == nil {
		err = checkFilter(f)
	}
	if err != nil {
		return 0, err
	}
	return mem.Export(ctx, w, f)
}

// Exported is a file that was written.
type Exported struct {
	Path    string `json:"path"`
	Records int    `json:"records"`
}

// An ExportFile is a file for memories. Over overwrites an existing file, which otherwise
// is a conflict.
type ExportFile struct {
	Path string
	Over bool
}

// ExportFile is [Memories.Export] to a file, which appears whole or not at all.
func (m *Memories) ExportFile(ctx context.Context, by approval.Human, to ExportFile, f Filter) (Exported, error) {
	mem, err := m.open(ctx, by)
	if err == nil {
		err = checkFilter(f)
	}
	if err != nil {
		return Exported{}, err
	}
	n := 0
	_, err = outfile.Write(to.Path, outfile.Options{Over: to.Over}, func(w io.Writer) (err error) {
		n, err = mem.Export(ctx, w, f)
		return err
	})
	return Exported{to.Path, n}, err
}

// An ImportRequest is what [Memories.Export] wrote, to be added.
type ImportRequest struct {
	From io.Reader
	// Replace replaces a memory of the store by one that was changed later.
	Replace bool
	// Progress looks at how many records are new; it may be nil.
	Progress Progress
}

// Import adds memories. All lines are checked before anything is stored.
func (m *Memories) Import(ctx context.Context, by approval.Human, q ImportRequest) (Imported, error) {
	mem, err := m.open(ctx, by)
	if err != nil {
		return Imported{}, err
	}
	if q.From == nil {
		return Imported{}, fault.Errorf(fault.KindUsage, "there is nothing to import memories from")
	}
	before := mem.Len()
	defer q.Progress.begin(func() int { return mem.Len() - before })()
	return mem.Import(ctx, q.From, q.Replace)
}

func memorySettings(s config.Memory) memory.Settings {
	return memory.Settings{
		MaxRecords: s.MaxRecords, Hybrid: s.Embedder == hashingEmbedder,
		Consolidation: memory.Consolidation{
			Records: s.ConsolidateAfterCount, Every: time.Duration(s.ConsolidateAfterHours * float64(time.Hour)),
		},
	}
}
