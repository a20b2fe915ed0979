package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
)

// Consolidation says when records are merged and forgotten, and how much of that is
// done at a time. Zero fields mean what their comment says.
type Consolidation struct {
	// Records and Bytes (of text) are what is kept. Above that a consolidation is
	// due, and the least important records are forgotten. Zero: three quarters of
	// Settings.MaxRecords, and 64 MiB.
	Records int
	Bytes   int64
	// Every is how long after one consolidation the next is due. Zero: a day.
	Every time.Duration
	// Similar is the cosine from which records of one area and type are the same
	// thing said again. Zero: 0.95.
	Similar float64
	// Related is the cosine from which old fragments belong together, and OldAfter
	// how long after their last change they are old. Zero: 0.5, and a week.
	Related  float64
	OldAfter time.Duration
	// SummaryBytes is how long the summary of a group of fragments may be. Zero: 2 KiB.
	SummaryBytes int
	// Floor is the importance, of no query, below which a record is forgotten that
	// was not changed for ForgetAfter. Zero: 0.12, which only records of failures
	// reach that nobody finds, and 30 days.
	Floor       float64
	ForgetAfter time.Duration
	// Merges, Forgotten and Budget bound one consolidation: groups that are merged,
	// records that are forgotten, and its time. Zero: 200, 2000 and 30 seconds.
	Merges    int
	Forgotten int
	Budget    time.Duration
}

func (c Consolidation) withDefaults(maxRecords int) Consolidation {
	c.Records = cmp.Or(c.Records, max(1, maxRecords*3/4))
	c.Bytes = cmp.Or(c.Bytes, 64<<20)
	c.Every = cmp.Or(c.Every, 24*time.Hour)
	c.Similar = cmp.Or(c.Similar, 0.95)
	c.Related = cmp.Or(c.Related, 0.5)
	c.OldAfter = cmp.Or(c.OldAfter, 7*24*time.Hour)
	c.SummaryBytes = min(cmp.Or(c.SummaryBytes, 2<<10), MaxText)
	c.Floor = cmp.Or(c.Floor, 0.12)
	c.ForgetAfter = cmp.Or(c.ForgetAfter, 30*24*time.Hour)
	c.Merges = cmp.Or(c.Merges, 200)
	c.Forgotten = cmp.Or(c.Forgotten, 2000)
	c.Budget = cmp.Or(c.Budget, 30*time.Second)
	return c
}

// An Outcome says what a consolidation did.
type Outcome struct {
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	// Merged records became Made ones; Forgotten ones are gone; Swept are what
	// earlier consolidations and deletions left behind half-way.
	Merged    int `json:"merged"`
	Made      int `json:"made"`
	Forgotten int `json:"forgotten"`
	Swept     int `json:"swept"`
	// Unfinished says that a budget ran out: there is more to do.
	Unfinished bool `json:"unfinished,omitempty"`
	// Checked is up to which change records were compared with others.
	Checked time.Time `json:"checked,omitzero"`
	Records int       `json:"records"` // that are left
	Bytes   int64     `json:"bytes"`   // of their texts
}

// Due says why a consolidation is due; empty when none is. The error is one of the
// store.
func (m *Memory) Due(ctx context.Context) (string, error) {
	c := m.settings.Consolidation
	records, bytes := m.catalog.size()
	last, err := m.lastConsolidation(ctx)
	switch {
	case err != nil:
		return "", err
	case records > c.Records:
		return fmt.Sprintf("%d records, %d are kept", records, c.Records), nil
	case bytes > c.Bytes:
		return fmt.Sprintf("%d bytes of text, %d are kept", bytes, c.Bytes), nil
	case records > 0 && time.Since(last.Time) >= c.Every:
		return "the time has come", nil
	case last.Unfinished:
		return "the last one had no time left", nil
	}
	return "", nil
}

func (m *Memory) lastConsolidation(ctx context.Context) (Outcome, error) {
	var last Outcome
	e, err := m.kv.Get(ctx, consolidatedKey)
	if errors.Is(err, store.ErrNotFound) {
		return last, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value, &last)
	}
	if err != nil {
		return last, fmt.Errorf("last consolidation of the memory: %w", err)
	}
	return last, nil
}

// consolidation is one that runs.
type consolidation struct {
	*Memory
	Outcome
	limits Consolidation
	until  time.Time
	gone   map[string]bool // merged or forgotten in this run
}

// Consolidate merges what says the same, merges old fragments that belong together
// into solutions, and forgets what matters least. Records that are merged are deleted
// only when what was made of them is stored, so nothing is lost when it ends half-way;
// the next one goes on. One runs at a time over all processes: the error wraps
// [store.ErrHeld] when another does. memory.consolidated is published.
func (m *Memory) Consolidate(ctx context.Context) (Outcome, error) {
	outcome, err := m.consolidate(ctx)
	if err != nil {
		return outcome, fmt.Errorf("consolidate memory: %w", err)
	}
	return outcome, nil
}

func (m *Memory) consolidate(ctx context.Context) (Outcome, error) {
	reason, err := m.Due(ctx)
	if err != nil {
		return Outcome{}, err
	}
	c := consolidation{Memory: m, limits: m.settings.Consolidation, gone: map[string]bool{}}
	lock, err := m.locks.Acquire(ctx, consolidateLock, m.self, 2*c.limits.Budget+time.Minute)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { _ = lock.Release(context.WithoutCancel(ctx)) }() // it runs out by itself
	last, err := m.lastConsolidation(ctx)
	if err != nil {
		return Outcome{}, err
	}
	now := time.Now().UTC()
	c.until = now.Add(c.limits.Budget)
	c.Outcome = Outcome{Time: now, Reason: cmp.Or(reason, "asked for"), Checked: last.Checked}
	ctx, cancel := context.WithTimeout(ctx, 2*c.limits.Budget)
	defer cancel()
	for _, phase := range []func(context.Context) error{c.finish, c.sweepAll, c.repeated, c.fragments, c.prune, c.note} {
		if err := phase(ctx); err != nil {
			return c.Outcome, err
		}
	}
	return c.Outcome, nil
}

// finish deletes records that were merged, but not deleted, before. Those that were
// changed since they were merged stay.
func (c *consolidation) finish(ctx context.Context) error {
	for _, made := range c.catalog.pick(func(_ string, h *head) bool { return len(h.sources) > 0 }, oldestFirst) {
		for _, s := range made.sources {
			h, known := c.catalog.get(s.ID)
			if !known || s.Revision == 0 || h.revision != s.Revision {
				continue
			}
			if err := c.drop(ctx, s.ID, s.Revision, &c.Swept); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop deletes a record and counts it, if it is still at that revision.
func (c *consolidation) drop(ctx context.Context, id string, revision uint64, count *int) error {
	c.gone[id] = true
	err := c.remove(ctx, id, revision)
	switch {
	case errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	c.announce(ctx, id)
	*count++
	return nil
}

// sweepAll deletes embeddings and counts without a record.
func (c *consolidation) sweepAll(ctx context.Context) error {
	for _, d := range digits {
		for _, kind := range []string{embeddingKey, useKey} {
			entries, err := c.kv.List(ctx, kind+string(d))
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := c.sweepOne(ctx, strings.TrimPrefix(e.Key, kind)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *consolidation) sweepOne(ctx context.Context, id string) error {
	if _, known := c.catalog.get(id); known {
		return nil
	}
	_, err := c.kv.Get(ctx, recordKey+id)
	if errors.Is(err, store.ErrNotFound) {
		c.Swept++
		return c.sweep(ctx, id)
	}
	return err
}

// spent reports whether a budget ran out, and notes it.
func (c *consolidation) spent() bool {
	if c.Made < c.limits.Merges && time.Now().Before(c.until) {
		return false
	}
	c.Unfinished = true
	return true
}

// repeated merges records that say the same. Only those that changed since the last
// time are compared, with all.
func (c *consolidation) repeated(ctx context.Context) error {
	changed := c.catalog.pick(func(_ string, h *head) bool { return !h.pinned && h.embedded && !h.updated.Before(c.Checked) }, oldestFirst)
	for i, r := range changed {
		if c.spent() {
			return nil
		}
		if i > 0 && r.updated.After(changed[i-1].updated) {
			c.Checked = changed[i-1].updated
		}
		if err := c.mergeNear(ctx, r, c.limits.Similar, MaxText, func(h *head) bool {
			return h.area == r.area && h.kind == r.kind && h.failed == r.failed
		}); err != nil {
			return err
		}
	}
	if n := len(changed); n > 0 {
		c.Checked = changed[n-1].updated
	}
	return nil
}

// fragments merges old fragments that are about the same into solutions.
func (c *consolidation) fragments(ctx context.Context) error {
	old := func(h *head) bool { return h.area == Fragments && time.Since(h.updated) >= c.limits.OldAfter }
	for _, r := range c.catalog.pick(func(_ string, h *head) bool { return !h.pinned && h.embedded && old(h) }, oldestFirst) {
		if c.spent() {
			return nil
		}
		if err := c.mergeNear(ctx, r, c.limits.Related, c.limits.SummaryBytes, old); err != nil {
			return err
		}
	}
	return nil
}

// mergeNear merges a record with those near to it that also fit.
func (c *consolidation) mergeNear(ctx context.Context, r named, cosine float64, maxBytes int, fits func(*head) bool) error {
	v := c.vectors.Vector(r.id)
	if c.gone[r.id] || v == nil {
		return nil
	}
	hits, err := c.vectors.Search(v, maxSources, func(id string) bool {
		h, known := c.catalog.get(id)
		return known && id != r.id && !h.pinned && !c.gone[id] && fits(&h)
	})
	if err != nil {
		return err
	}
	group := []string{r.id}
	for _, h := range hits {
		if float64(h.Score) >= cosine && len(group) < maxSources {
			group = append(group, h.ID)
		}
	}
	if len(group) < 2 {
		return nil
	}
	return c.merge(ctx, group, maxBytes)
}

// merge makes one record of several, stores it, and only then deletes them.
func (c *consolidation) merge(ctx context.Context, ids []string, maxBytes int) error {
	var parts []Record
	var sources []Source
	for _, id := range ids {
		r, revision, err := c.read(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		parts, sources = append(parts, r), append(sources, Source{id, revision})
	}
	if len(parts) < 2 {
		return nil
	}
	made := joined(parts, sources)
	made.Text = c.summarise(ctx, parts, maxBytes)
	if made.Area == Fragments && maxBytes == c.limits.SummaryBytes {
		made.Area = Solutions
	}
	if err := made.check(); err != nil {
		return err
	}
	return c.replaceBy(ctx, made, sources)
}

func (c *consolidation) replaceBy(ctx context.Context, made Record, sources []Source) error {
	switch err := c.save(ctx, &made, c.vectorsOf(ctx, []Record{made})[0], store.MustNotExist); {
	case errors.Is(err, ErrConflict):
		// Made before, of the same revisions of the same records.
	case err != nil:
		return err
	default:
		c.Made++
		c.catalog.recount(made.ID, made.Retrievals, made.Retrieved)
		poke(c.counted)
	}
	c.announce(ctx, made.ID)
	for _, s := range sources {
		if err := c.drop(ctx, s.ID, s.Revision, &c.Merged); err != nil {
			return err
		}
	}
	return nil
}

// joined is what records have together, but for the text. Its ID follows from them, so
// that merging them twice makes one record.
func joined(parts []Record, sources []Source) Record {
	newest := slices.MaxFunc(parts, func(a, b Record) int { return a.Updated.Compare(b.Updated) })
	r := Record{ID: mergedID(sources), Draft: newest.Draft, Created: newest.Created, Updated: newest.Updated, Sources: sources}
	r.Tags, r.Metadata, r.Failed = nil, map[string]string{}, true
	for _, p := range parts {
		r.Tags = append(r.Tags, p.Tags...)
		maps.Copy(r.Metadata, p.Metadata)
		r.Failed = r.Failed && p.Failed
		r.Retrievals += p.Retrievals
		r.Retrieved = later(r.Retrieved, p.Retrieved)
		if p.Created.Before(r.Created) {
			r.Created = p.Created
		}
		if p.Type != r.Type {
			r.Type = Knowledge
		}
		if p.Task != r.Task {
			r.Task = ""
		}
	}
	maps.Copy(r.Metadata, newest.Metadata)
	if i := slices.IndexFunc(parts, func(p Record) bool { return p.SaidByAgent() }); i >= 0 {
		r.Metadata[By] = parts[i].Origin() // what others said does not confirm it
	}
	r.bound()
	return r
}

// bound leaves out tags and metadata beyond what a record may have.
func (d *Draft) bound() {
	d.Tags = slices.Compact(slices.Sorted(slices.Values(d.Tags)))
	d.Tags = d.Tags[:min(len(d.Tags), MaxTags)]
	for _, k := range slices.Sorted(maps.Keys(d.Metadata)) {
		if len(d.Metadata) > MaxMetadata && k != By {
			delete(d.Metadata, k)
		}
	}
}

func mergedID(sources []Source) string {
	of := slices.SortedFunc(slices.Values(sources), func(a, b Source) int { return strings.Compare(a.ID, b.ID) })
	h := sha256.New()
	for _, s := range of {
		fmt.Fprintf(h, "%s %d\n", s.ID, s.Revision)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// summarise asks the summarizer, and does it by itself when that fails or its answer
// is none.
func (c *consolidation) summarise(ctx context.Context, parts []Record, maxBytes int) string {
	slices.SortStableFunc(parts, func(a, b Record) int { return a.Updated.Compare(b.Updated) })
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	s, err := c.settings.Summarizer.Summarize(ctx, texts, maxBytes)
	if err == nil {
		answer := Draft{Text: s}
		if err = answer.check(); err == nil && len(s) > maxBytes {
			err = fmt.Errorf("%w: a summary of %d bytes, where %d were asked for", ErrInvalid, len(s), maxBytes)
		}
	}
	if err != nil {
		c.log.Warn("memories are merged without the summarizer", "err", err)
		s = extract(texts, maxBytes)
	}
	return s
}

// prune forgets what matters least: all that is below the floor for long, and as much
// as there is too much.
func (c *consolidation) prune(ctx context.Context) error {
	records, bytes := c.catalog.size()
	least := c.catalog.pick(func(_ string, h *head) bool { return !h.pinned }, func(a, b *named) int {
		return cmp.Or(cmp.Compare(a.importance(0).Total, b.importance(0).Total), oldestFirst(a, b))
	})
	for _, r := range least {
		total := r.importance(0).Total
		stale := total < c.limits.Floor && time.Since(r.updated) >= c.limits.ForgetAfter
		if !stale && records <= c.limits.Records && bytes <= c.limits.Bytes {
			if total >= c.limits.Floor {
				return nil
			}
			continue
		}
		if c.Forgotten >= c.limits.Forgotten {
			c.Unfinished = true
			return nil
		}
		if err := c.drop(ctx, r.id, r.revision, &c.Forgotten); err != nil {
			return err
		}
		records, bytes = c.catalog.size()
	}
	return nil
}

// note stores and tells what was done.
func (c *consolidation) note(ctx context.Context) error {
	c.Records, c.Bytes = c.catalog.size()
	value, err := json.Marshal(c.Outcome)
	if err != nil {
		return err
	}
	if _, err := c.kv.Put(ctx, consolidatedKey, value, store.AnyRevision); err != nil {
		return err
	}
	c.bus.Tell(ctx, event.Event{
		Type: event.MemoryConsolidated, Data: value,
		Text: fmt.Sprintf("%d memories were merged into %d, %d forgotten", c.Merged, c.Made, c.Forgotten),
	})
	return nil
}
