package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/agents/memory/text"
	"github.com/skillet-run/skillet/host/agents/memory/vector"
)

const (
	// DefaultLimit is how many records a search returns by default, MaxLimit at most.
	DefaultLimit = 5
	MaxLimit     = 100
	// oversample is how many times more candidates are looked at than are returned.
	oversample = 3
	// fusion is the constant k of reciprocal rank fusion (Cormack, Clarke and
	// Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
	// Learning Methods", 2009).
	fusion = 60
)

// An Order says what comes first.
type Order string

// The orders.
const (
	// ByImportance puts first what matters most: see [Importance].
	ByImportance Order = ""
	// ByRank puts first what fits the query best, however old it is.
	ByRank Order = "rank"
)

// A Query says what to find.
type Query struct {
	// Text is what the records should be about, at most MaxText bytes.
	Text string
	Filter
	// Limit is how many records are returned at most: zero means 5, the most is 100.
	Limit int
	// Order is how they are sorted.
	Order Order
	// MinRelevance leaves out records whose cosine to the query is below it and
	// that have no word of what it asks about. Zero means that of the settings; less
	// than zero leaves out none.
	MinRelevance float64
	// Quiet does not count the records as found.
	Quiet bool
}

// A Match is a record that was found.
type Match struct {
	Record
	Importance Importance `json:"importance"`
	// Rank is the sum of 1/(60+r) over its ranks r, from 1, by vector and by words.
	Rank float64 `json:"rank"`
	// VectorRank and TextRank are these; zero when it was not found that way.
	VectorRank int `json:"vector_rank,omitempty"`
	TextRank   int `json:"text_rank,omitempty"`
	// TextScore is how well its words fit, as a part of the best that was found: 0 to 1.
	TextScore float64 `json:"text_score,omitempty"`
}

func (q *Query) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "" || len(q.Text) > MaxText:
		return fmt.Errorf("%w: a query has 1 to %d bytes", ErrInvalid, MaxText)
	case q.Limit < 0 || q.Limit > MaxLimit:
		return fmt.Errorf("%w: a limit of %d; 1 to %d records can be asked for", ErrInvalid, q.Limit, MaxLimit)
	case q.Order != ByImportance && q.Order != ByRank:
		return fmt.Errorf("%w: unknown order %q", ErrInvalid, clip(string(q.Order)))
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	return nil
}

const (
	// minRelevance is the cosine below which an embedder that knows meaning takes two
	// texts to be about different things.
	minRelevance = 0.2
	// minHashed is that of one that counts common words and letters: sentences about
	// different things come to 0.33 by the words that all of them have.
	minHashed = 0.35
)

// floor is the cosine below which a record needs a word of the query.
func (m *Memory) floor(q *Query) float64 {
	switch {
	case q.MinRelevance != 0:
		return q.MinRelevance
	case m.settings.Hybrid:
		return minHashed
	}
	return minRelevance
}

// Search finds records by meaning and by words. Three times as many candidates as
// asked for are taken from each index and fused by rank; of the best of those, again
// three times as many, the most important are returned. When the embedder fails, that
// is logged, and only words count. Errors wrap [ErrInvalid] or those of the store.
func (m *Memory) Search(ctx context.Context, q Query) ([]Match, error) {
	if err := q.check(); err != nil {
		return nil, fmt.Errorf("search memories: %w", err)
	}
	var keep func(id string) bool
	if !q.all() {
		keep = func(id string) bool { h, known := m.catalog.get(id); return known && q.takes(&h) }
	}
	vector := m.vectorsOf(ctx, []Record{{Draft: Draft{Text: q.Text}}})[0]
	near, err := m.near(vector, q.Limit*oversample, keep)
	if err != nil {
		return nil, fmt.Errorf("search memories: %w", err)
	}
	matches := fuse(near, m.words.Search(text.Subject(q.Text), q.Limit*oversample, keep))
	matches = m.weigh(matches[:min(len(matches), q.Limit*oversample)], vector, &q)
	matches, err = m.fill(ctx, matches, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("search memories: %w", err)
	}
	if !q.Quiet {
		m.countFound(matches)
	}
	return matches, nil
}

// near searches by vector; nothing is near to none.
func (m *Memory) near(v []float32, k int, keep func(string) bool) ([]vector.Hit, error) {
	if v == nil {
		return nil, nil
	}
	return m.vectors.Search(v, k, keep)
}

// fuse joins two lists by reciprocal rank, the best first.
func fuse(near []vector.Hit, words []text.Hit) []Match {
	byID := map[string]*Match{}
	match := func(id string) *Match {
		if byID[id] == nil {
			byID[id] = &Match{Record: Record{ID: id}}
		}
		return byID[id]
	}
	for i, h := range near {
		match(h.ID).VectorRank = i + 1
	}
	for i, h := range words {
		found := match(h.ID)
		found.TextRank, found.TextScore = i+1, h.Score/words[0].Score
	}
	all := make([]Match, 0, len(byID))
	for _, found := range byID {
		for _, r := range []int{found.VectorRank, found.TextRank} {
			if r > 0 {
				found.Rank += 1 / float64(fusion+r)
			}
		}
		all = append(all, *found)
	}
	slices.SortFunc(all, byRank)
	return all
}

func byRank(a, b Match) int {
	return cmp.Or(cmp.Compare(b.Rank, a.Rank), strings.Compare(a.ID, b.ID))
}

func byImportance(a, b Match) int {
	return cmp.Or(cmp.Compare(b.Importance.Total, a.Importance.Total), byRank(a, b))
}

// weigh adds the importance, leaves out what is not relevant, and sorts.
func (m *Memory) weigh(all []Match, query []float32, q *Query) []Match {
	kept := all[:0]
	for _, a := range all {
		h, known := m.catalog.get(a.ID)
		if !known {
			continue
		}
		var relevance float32
		if query != nil {
			relevance, _ = m.vectors.Score(a.ID, query)
		}
		if float64(relevance) < m.floor(q) && a.TextRank == 0 {
			continue
		}
		a.Importance = h.importance(m.relevance(float64(relevance), a.TextScore, h.embedded))
		kept = append(kept, a)
	}
	if q.Order == ByImportance {
		slices.SortFunc(kept, byImportance)
	}
	return kept
}

// relevance is the cosine between a record and a query. Words count as much where
// the cosine says little: with an embedder that knows no meaning, and for a record
// that has no embedding yet.
func (m *Memory) relevance(cosine, words float64, embedded bool) float64 {
	if embedded && !m.settings.Hybrid {
		return cosine
	}
	return (max(0, cosine) + words) / 2
}

// fill reads the first records of a list; one that was deleted meanwhile is left out.
func (m *Memory) fill(ctx context.Context, all []Match, limit int) ([]Match, error) {
	filled := make([]Match, 0, limit)
	for _, a := range all {
		if len(filled) == limit {
			break
		}
		r, _, err := m.read(ctx, a.ID)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		a.Record = r
		filled = append(filled, a)
	}
	return filled, nil
}

func (m *Memory) countFound(found []Match) {
	ids, now := make([]string, len(found)), time.Now().UTC()
	for i := range found {
		ids[i] = found[i].ID
	}
	m.catalog.count(ids, now)
	poke(m.counted)
	for i := range found {
		found[i].Retrievals++
		found[i].Retrieved = now
	}
}

// Stats are figures of a memory.
type Stats struct {
	Records int            `json:"records"`
	Areas   map[Area]int   `json:"areas"`
	Types   map[Type]int   `json:"types"`
	Tags    map[string]int `json:"tags"`
	// TextBytes is how long all texts are together.
	TextBytes int64 `json:"text_bytes"`
	// Failed, Pinned and Merged count records that tell of failures, are pinned, or
	// were made of others.
	Failed int `json:"failed"`
	Pinned int `json:"pinned"`
	Merged int `json:"merged"`
	// Retrievals counts how often a record that is still there was found.
	Retrievals uint64 `json:"retrievals"`
	// Waiting is how many records have no embedding yet.
	Waiting int `json:"waiting"`
	// Oldest and Newest are when records were updated; zero without any.
	Oldest time.Time `json:"oldest,omitzero"`
	Newest time.Time `json:"newest,omitzero"`
	// Embedder names the model of the embeddings.
	Embedder string       `json:"embedder"`
	Vectors  vector.Stats `json:"vectors"`
	Words    text.Stats   `json:"words"`
	// Consolidated is when that was last done; zero for never.
	Consolidated time.Time `json:"consolidated,omitzero"`
}

// Stats returns the figures. The error is one of the store.
func (m *Memory) Stats(ctx context.Context) (Stats, error) {
	s := Stats{
		Areas: map[Area]int{}, Types: map[Type]int{}, Tags: map[string]int{},
		Embedder: m.embedder.Name(), Vectors: m.vectors.Stats(), Words: m.words.Stats(),
	}
	m.catalog.mu.RLock()
	s.Records, s.TextBytes = len(m.catalog.heads), m.catalog.bytes
	for _, h := range m.catalog.heads {
		s.add(h)
	}
	m.catalog.mu.RUnlock()
	last, err := m.lastConsolidation(ctx)
	s.Consolidated = last.Time
	return s, err
}

func (s *Stats) add(h *head) {
	s.Areas[h.area]++
	s.Types[h.kind]++
	for _, t := range h.tags {
		s.Tags[t]++
	}
	for _, c := range []struct {
		is    bool
		count *int
	}{{h.failed, &s.Failed}, {h.pinned, &s.Pinned}, {len(h.sources) > 0, &s.Merged}, {!h.embedded, &s.Waiting}} {
		if c.is {
			*c.count++
		}
	}
	s.Retrievals += h.retrievals
	s.Newest = later(s.Newest, h.updated)
	if s.Oldest.IsZero() || h.updated.Before(s.Oldest) {
		s.Oldest = h.updated
	}
}
