// Package text finds the texts that have the words of a query, in memory, ranked by
// BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and
// Beyond", 2009), with an inverse document frequency that is never below zero:
//
//	score(q, d) = sum over terms t of q of
//	              ln(1 + (N - n + 0.5)/(n + 0.5)) * f*(k1 + 1) / (f + k1*(1 - b + b*|d|/avg))
//
// for N texts, n of which have t, f times in d, and avg terms in a text.
//
// The package refuses to know what the texts are and where they are kept; it keeps
// their terms, not their words. It has no phrases, no stems and no wildcards.
package text

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// Defaults of the zero fields of [Settings]: those of the literature.
const (
	DefaultK1 = 1.2
	DefaultB  = 0.75
)

// Limits of every index.
const (
	// MaxText is how many bytes a text may have.
	MaxText = 1 << 20
	// MaxQueryTerms is how many different terms of a query are looked for, the first ones.
	MaxQueryTerms = 64
)

// ErrTooLarge means that a text has more than MaxText bytes.
var ErrTooLarge = errors.New("too large to index")

// Settings say how an index ranks. The zero value suits texts of all kinds.
type Settings struct {
	// K1 says how much a word counts that comes again and again; zero means 1.2.
	K1 float64
	// B says how much long texts are held back, 0 to 1; zero means 0.75. Less than
	// zero means not at all.
	B float64
	// Stop are words that are not indexed; nil for none. [English] has some.
	Stop []string
}

// English returns words that nearly every English text has.
func English() []string {
	return strings.Fields("a an and are as at be but by for from had has have he her his i if in into is it its no not " +
		"of on or our she so such that the their then there these they this to was we were which will with you your")
}

// asking are words by which English questions ask, beside those of [English].
const asking = "about any can could did do does how i'm i've me my please shall should some tell than us what when where which who whose why would"

// stops are the words that say nothing about what a query is about.
var stops = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, w := range append(English(), strings.Fields(asking)...) {
		for t := range Tokens(w) {
			all[t] = true
		}
	}
	return all
})

// Subject is a query without the words that nearly every English text or question has, so
// that what is found has to do with what it asks about. A query of such words alone stays
// as it is.
func Subject(query string) string {
	var kept []string
	for t := range Tokens(query) {
		if !stops()[t] {
			kept = append(kept, t)
		}
	}
	if len(kept) == 0 {
		return query
	}
	return strings.Join(kept, " ")
}

// A Hit is a text that was found.
type Hit struct {
	ID    string
	Score float64 // above zero; only comparable within one search
}

// An Index holds the terms of texts by ID. It is safe for concurrent use: searches
// run at the same time, and changes wait for them.
type Index struct {
	k1, b float64
	stop  map[string]bool

	mu      sync.RWMutex
	slots   map[string]uint32
	docs    []document // by slot; slots are given out once, until the index is compacted
	lengths []uint32   // by slot, in terms; 0 once deleted
	terms   map[string]*term
	built   int    // counts how often terms were taken out
	total   uint64 // of lengths
	bytes   int64
	scratch sync.Pool // of *[]float64
}

type document struct {
	id    string
	terms []*term
}

// term has the texts with a word, by rising slot.
type term struct {
	word  string
	in    []posting
	texts int // that were not deleted
}

type posting struct{ slot, count uint32 }

// New makes an empty index.
func New(s Settings) *Index {
	x := &Index{k1: s.K1, b: s.B, stop: map[string]bool{}, slots: map[string]uint32{}, terms: map[string]*term{}}
	if x.k1 == 0 {
		x.k1 = DefaultK1
	}
	if x.b == 0 {
		x.b = DefaultB
	}
	x.b = max(0, x.b)
	for _, w := range s.Stop {
		for t := range Tokens(w) {
			x.stop[t] = true
		}
	}
	x.scratch.New = func() any { return new([]float64) }
	return x
}

// Len is how many texts there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.slots)
}

// Bytes estimates the memory the index holds.
func (x *Index) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.bytes
}

// What a posting with its reference back, a text and a term are estimated to take.
const (
	postingBytes  = 8 + 8
	documentBytes = 100
	termBytes     = 120
)

// Put adds a text, or replaces the one of that ID. The error wraps [ErrTooLarge].
func (x *Index) Put(id, text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("index text %s: %w: %d bytes; at most %d", id, ErrTooLarge, len(text), MaxText)
	}
	words := x.words(text)
	known, built := x.known(words)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(id)
	if x.built != built {
		clear(known) // what was looked up may be gone
	}
	slot := uint32(len(x.docs))
	d := document{id: id, terms: make([]*term, 0, len(words))}
	for i, word := range words {
		t := known[i]
		if t == nil {
			t = x.term(word)
		}
		if n := len(t.in); n > 0 && t.in[n-1].slot == slot {
			t.in[n-1].count++
			continue
		}
		t.in = append(t.in, posting{slot, 1})
		t.texts++
		d.terms = append(d.terms, t)
	}
	x.docs, x.lengths = append(x.docs, d), append(x.lengths, uint32(len(words)))
	x.slots[id] = slot
	x.total += uint64(len(words))
	x.bytes += documentBytes + int64(len(id)) + int64(len(d.terms))*postingBytes
	return nil
}

// words are the terms of a text that are indexed, in order.
func (x *Index) words(text string) []string {
	words := make([]string, 0, len(text)/6)
	for t := range Tokens(text) {
		if !x.stop[t] {
			words = append(words, t)
		}
	}
	return words
}

// known looks up terms while others may do the same, so that this is not done while
// the index is locked; nil for new ones. It holds for one state of the terms.
func (x *Index) known(words []string) (terms []*term, built int) {
	terms = make([]*term, len(words))
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i, w := range words {
		terms[i] = x.terms[w]
	}
	return terms, x.built
}

func (x *Index) term(word string) *term {
	t := x.terms[word]
	if t == nil {
		// A copy, because word is part of the whole text.
		t = &term{word: strings.Clone(word)}
		x.terms[t.word] = t
		x.bytes += termBytes + int64(len(word))
	}
	return t
}

// Delete takes a text out, and reports whether it was there.
func (x *Index) Delete(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.remove(id)
}

func (x *Index) remove(id string) bool {
	slot, known := x.slots[id]
	if !known {
		return false
	}
	d := &x.docs[slot]
	for _, t := range d.terms {
		t.texts--
	}
	x.total -= uint64(x.lengths[slot])
	x.bytes -= documentBytes + int64(len(id))
	*d, x.lengths[slot] = document{}, 0
	delete(x.slots, id)
	if dead := len(x.docs) - len(x.slots); dead > len(x.slots)+64 {
		x.compact()
	}
	return true
}

// compact takes out what deleted texts left: they stay in the lists of their terms
// until there are more of them than of others.
func (x *Index) compact() {
	renamed := make([]uint32, len(x.docs))
	docs, lengths := make([]document, 0, len(x.slots)), make([]uint32, 0, len(x.slots))
	x.bytes, x.built = 0, x.built+1
	for slot, d := range x.docs {
		if at, live := x.slots[d.id]; !live || int(at) != slot {
			continue
		}
		renamed[slot] = uint32(len(docs))
		x.slots[d.id] = renamed[slot]
		docs, lengths = append(docs, d), append(lengths, x.lengths[slot])
		x.bytes += documentBytes + int64(len(d.id)) + int64(len(d.terms))*postingBytes
	}
	maps.DeleteFunc(x.terms, func(_ string, t *term) bool { return t.texts == 0 })
	for _, t := range x.terms {
		in := make([]posting, 0, t.texts)
		for _, p := range t.in {
			if x.lengths[p.slot] > 0 {
				in = append(in, posting{renamed[p.slot], p.count})
			}
		}
		t.in = in
		x.bytes += termBytes + int64(len(t.word))
	}
	x.docs, x.lengths = docs, lengths
}

// Search returns up to k texts with words of the query, the best first and equal
// ones by ID, of those whose ID keep takes; nil takes all. keep is called while the
// index is locked for changes, and possibly by several searches at a time; it must
// not change the index.
func (x *Index) Search(query string, k int, keep func(id string) bool) []Hit {
	words := x.wanted(query)
	x.mu.RLock()
	defer x.mu.RUnlock()
	if k <= 0 || len(words) == 0 || x.total == 0 {
		return nil
	}
	scratch := x.scratch.Get().(*[]float64)
	defer x.scratch.Put(scratch)
	scores := slices.Grow((*scratch)[:0], len(x.docs))[:len(x.docs)]
	*scratch = scores
	clear(scores)
	for _, w := range words {
		if t := x.terms[w]; t != nil && t.texts > 0 {
			x.score(scores, t)
		}
	}
	return x.best(scores, k, keep)
}

// wanted are the different terms of a query, in order.
func (x *Index) wanted(query string) (words []string) {
	if len(query) > MaxText {
		query = query[:MaxText]
	}
	for t := range Tokens(query) {
		if !x.stop[t] && !slices.Contains(words, t) {
			words = append(words, t)
		}
		if len(words) == MaxQueryTerms {
			break
		}
	}
	return words
}

func (x *Index) score(scores []float64, t *term) {
	n := float64(t.texts)
	idf := math.Log(1 + (float64(len(x.slots))-n+0.5)/(n+0.5))
	average := float64(x.total) / float64(len(x.slots))
	for _, p := range t.in {
		if length := x.lengths[p.slot]; length > 0 {
			f := float64(p.count)
			scores[p.slot] += idf * f * (x.k1 + 1) / (f + x.k1*(1-x.b+x.b*float64(length)/average))
		}
	}
}

func (x *Index) best(scores []float64, k int, keep func(id string) bool) []Hit {
	var hits []Hit
	for slot, s := range scores {
		if s == 0 || len(hits) == k && s < hits[k-1].Score {
			continue
		}
		h := Hit{x.docs[slot].id, s}
		at, _ := slices.BinarySearchFunc(hits, h, order)
		if at == k || keep != nil && !keep(h.ID) {
			continue
		}
		if len(hits) == k {
			hits = hits[:k-1]
		}
		hits = slices.Insert(hits, at, h)
	}
	return hits
}

// order puts the better hit first.
func order(a, b Hit) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return strings.Compare(a.ID, b.ID)
}

// Stats are figures of an index.
type Stats struct {
	Texts int    `json:"texts"`
	Terms int    `json:"terms"`
	Words uint64 `json:"words"` // of all texts
	Bytes int64  `json:"bytes"`
}

// Stats returns the figures.
func (x *Index) Stats() Stats {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Stats{Texts: len(x.slots), Terms: len(x.terms), Words: x.total, Bytes: x.bytes}
}
