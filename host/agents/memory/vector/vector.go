// Package vector finds the vectors that are nearest to one, by cosine, in memory.
//
// An [Index] compares a query with every vector it has: exactly, up to
// [Settings].Exact vectors. Above that it first compares codes of one bit for each
// dimension (which side of the mean of all vectors a component is on) and then
// scores only the vectors whose codes differ least. How many those have to be
// depends on the data, so the index measures it: on its own vectors when codes are
// made, and now and then on the queries it is asked. Where too many would be
// needed, it compares exactly.
//
// The package refuses to know what a vector stands for, who made it, and where it
// is kept when the process ends.
package vector

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/viterin/vek/vek32"
)

// Defaults of the zero fields of [Settings].
const (
	DefaultExact  = 50_000
	DefaultRecall = 0.99
)

// MaxDimensions is how many components a vector may have.
const MaxDimensions = 8192

// Errors a caller may test for. They come wrapped.
var (
	// ErrVector: the vector has the wrong number of components, or one that is not
	// a number, or no direction.
	ErrVector = errors.New("not a usable vector")
	// ErrFull: the index has [Settings].Max vectors.
	ErrFull = errors.New("the index is full")
)

// Settings say how an index works. Only Dimensions has to be set.
type Settings struct {
	// Dimensions is how many components each vector has, 1 to MaxDimensions.
	Dimensions int
	// Max bounds the number of vectors, and with it the memory; zero means no bound.
	Max int
	// Exact is up to how many vectors every search is exact; zero means 50,000.
	Exact int
	// Recall is which part of the ten nearest a search by codes has to find, on
	// the average; zero means 0.99.
	Recall float64
}

// A Hit is a vector that was found.
type Hit struct {
	ID    string
	Score float32 // cosine of the angle to the query, -1 to 1
}

// An Index holds vectors by ID. It is safe for concurrent use: searches run at the
// same time, and changes wait for them.
type Index struct {
	settings Settings
	scratch  sync.Pool // of *scratch

	mu     sync.RWMutex
	slots  map[string]int32
	ids    []string
	blocks [][]float32 // of blockVectors vectors each, so that growing copies nothing
	sum    []float64   // of all vectors, for the mean
	idSize int64
	codes  codes

	tune  sync.Mutex // held while the width is measured
	width atomic.Int64
	check monitor
}

// blockVectors is how many vectors are allocated at once.
const blockVectors = 512

// New makes an empty index.
func New(s Settings) (*Index, error) {
	if s.Dimensions < 1 || s.Dimensions > MaxDimensions {
		return nil, fmt.Errorf("make a vector index: %d dimensions: there must be 1 to %d", s.Dimensions, MaxDimensions)
	}
	if s.Exact == 0 {
		s.Exact = DefaultExact
	}
	if s.Recall == 0 {
		s.Recall = DefaultRecall
	}
	x := &Index{settings: s, slots: map[string]int32{}, sum: make([]float64, s.Dimensions)}
	x.codes.words = codeWords(s.Dimensions)
	x.scratch.New = func() any { return &scratch{} }
	return x, nil
}

// Dimensions is how many components each vector has.
func (x *Index) Dimensions() int { return x.settings.Dimensions }

// Len is how many vectors there are.
func (x *Index) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.ids)
}

// Bytes estimates the memory the index holds. A search takes two bytes for each
// vector more while it runs.
func (x *Index) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	const perID = 16 + 16 + 4 + 8 // the string twice, its slot, and the map around it
	return int64(len(x.blocks))*blockVectors*int64(x.settings.Dimensions)*4 +
		int64(cap(x.codes.bits))*8 + int64(len(x.ids))*perID + x.idSize
}

// row is the vector in a slot.
func (x *Index) row(slot int32) []float32 {
	d := x.settings.Dimensions
	at := int(slot) % blockVectors * d
	return x.blocks[slot/blockVectors][at : at+d : at+d]
}

// unit returns v if it has length 1, or a copy that has.
func (x *Index) unit(v []float32) ([]float32, error) {
	if len(v) != x.settings.Dimensions {
		return nil, fmt.Errorf("%w: it has %d components, the index %d dimensions", ErrVector, len(v), x.settings.Dimensions)
	}
	if s := vek32.Dot(v, v); s > 1-1e-6 && s < 1+1e-6 {
		return v, nil
	}
	var squares float64
	for _, c := range v {
		squares += float64(c) * float64(c)
	}
	if !(squares > 0) || math.IsInf(squares, 0) {
		return nil, fmt.Errorf("%w: its length is not a number above zero", ErrVector)
	}
	scale, u := 1/math.Sqrt(squares), make([]float32, len(v))
	for i, c := range v {
		u[i] = float32(float64(c) * scale)
	}
	return u, nil
}

// Put adds a vector, or replaces the one of that ID. The index keeps a copy of
// length 1. Errors wrap [ErrVector] or [ErrFull].
func (x *Index) Put(id string, v []float32) error {
	u, err := x.unit(v)
	if err != nil {
		return fmt.Errorf("add vector %s: %w", id, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	slot, known := x.slots[id]
	switch {
	case known:
		x.weigh(slot, -1)
	case x.settings.Max > 0 && len(x.ids) >= x.settings.Max:
		return fmt.Errorf("add vector %s: %w: it has %d", id, ErrFull, len(x.ids))
	default:
		slot = x.grow(id)
	}
	copy(x.row(slot), u)
	x.weigh(slot, 1)
	x.encode(slot)
	return nil
}

// grow makes a slot for an ID.
func (x *Index) grow(id string) int32 {
	slot := int32(len(x.ids))
	if int(slot)/blockVectors == len(x.blocks) {
		x.blocks = append(x.blocks, make([]float32, blockVectors*x.settings.Dimensions))
	}
	x.ids = append(x.ids, id)
	x.slots[id] = slot
	x.idSize += int64(len(id))
	return slot
}

// weigh adds the vector in a slot to the sum of all, or takes it away.
func (x *Index) weigh(slot int32, sign float64) {
	for i, c := range x.row(slot) {
		x.sum[i] += sign * float64(c)
	}
}

// Delete takes a vector out, and reports whether it was there.
func (x *Index) Delete(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	slot, known := x.slots[id]
	if !known {
		return false
	}
	x.weigh(slot, -1)
	last := int32(len(x.ids) - 1)
	copy(x.row(slot), x.row(last))
	x.codes.move(last, slot)
	x.ids[slot] = x.ids[last]
	x.slots[x.ids[slot]] = slot
	delete(x.slots, id)
	x.ids[last] = ""
	x.ids = x.ids[:last]
	x.idSize -= int64(len(id))
	x.shrink()
	return true
}

// shrink gives back what deletions left: all blocks but one spare, and the codes
// when there are too few vectors for them.
func (x *Index) shrink() {
	if need := (len(x.ids)+blockVectors-1)/blockVectors + 1; len(x.blocks) > need {
		clear(x.blocks[need:])
		x.blocks = x.blocks[:need]
	}
	if len(x.ids) <= x.settings.Exact/2 {
		x.codes.drop()
	}
}

// Score returns the cosine of the angle between a query and the vector of an ID,
// and whether there is one. A query that is not a vector of the index has none.
func (x *Index) Score(id string, query []float32) (float32, bool) {
	q, err := x.unit(query)
	if err != nil {
		return 0, false
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	slot, known := x.slots[id]
	if !known {
		return 0, false
	}
	return x.score(q, slot), true
}

// Vector returns a copy of the vector of an ID, of length 1; nil when there is none.
func (x *Index) Vector(id string) []float32 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	slot, known := x.slots[id]
	if !known {
		return nil
	}
	return append([]float32(nil), x.row(slot)...)
}

func (x *Index) score(q []float32, slot int32) float32 { return vek32.Dot(q, x.row(slot)) }
