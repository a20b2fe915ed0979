package vector

import (
	"fmt"
	"slices"
	"sync"
)

// unknown and exactly are widths: not measured yet, and so many that comparing
// exactly is better.
const (
	unknown = 0
	exactly = -1
)

const (
	// minWidth is how many vectors are scored at least in a search by codes.
	minWidth = 256
	// maxPart is which part of all vectors is scored at most: above that an exact
	// search costs little more.
	maxPart = 4
	// recallAt is how many nearest vectors recall is measured on.
	recallAt = 10
	// samples is how many vectors the width is measured with.
	samples = 32
	// margin is added to the recall that is asked for when the width is measured,
	// because queries are not vectors of the index.
	margin = 0.005
	// slack is by how much a width is more than what was enough for the samples.
	slack = 1.25
)

// Search returns up to k vectors nearest to query, the nearest first and equal ones
// by ID, of those whose ID keep takes; nil takes all. keep is called while the index
// is locked for changes, and possibly by several searches at a time; it must not
// change the index. Errors wrap [ErrVector].
func (x *Index) Search(query []float32, k int, keep func(id string) bool) ([]Hit, error) {
	return x.search(query, k, func(q []float32, k int) *nearest {
		width := x.measured()
		wide := x.wide(width, k)
		if wide == exactly {
			return x.exact(q, k, keep)
		}
		found := x.byCodes(q, k, wide, keep)
		if x.check.due() {
			x.compare(q, width)
		}
		return found
	})
}

// SearchExact is [Index.Search] without codes.
func (x *Index) SearchExact(query []float32, k int, keep func(id string) bool) ([]Hit, error) {
	return x.search(query, k, func(q []float32, k int) *nearest { return x.exact(q, k, keep) })
}

// search finds the nearest by way, with the index locked for changes.
func (x *Index) search(query []float32, k int, way func(q []float32, k int) *nearest) ([]Hit, error) {
	q, err := x.unit(query)
	if err != nil {
		return nil, fmt.Errorf("search vectors: %w", err)
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	if k = min(k, len(x.ids)); k <= 0 {
		return nil, nil
	}
	return way(q, k).hits(), nil
}

func (x *Index) exact(q []float32, k int, keep func(id string) bool) *nearest {
	n := &nearest{x: x, k: k, keep: keep, heap: make([]scored, 0, k)}
	for slot := range int32(len(x.ids)) {
		s := x.score(q, slot)
		if len(n.heap) < k || s >= n.heap[0].score {
			n.offer(scored{slot, s})
		}
	}
	return n
}

// wide is the width for k: what was measured for ten, and more for more.
func (x *Index) wide(width, k int) int {
	if width == exactly {
		return exactly
	}
	return x.bounded(max(width, width/recallAt*k))
}

// byCodes scores the vectors whose codes are nearest, at least width of those that
// keep takes.
func (x *Index) byCodes(q []float32, k, width int, keep func(id string) bool) *nearest {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	x.distances(s, q)
	n := &nearest{x: x, k: k, heap: make([]scored, 0, k)}
	from, taken := -1, 0
	for want := width; ; want *= 2 {
		to := s.within(want)
		taken += x.rescore(n, s.distance, from, to, q, keep)
		if from = to; taken >= width || to >= len(s.count)-1 {
			return n
		}
	}
}

// rescore scores the slots with a distance above from and up to to, and returns how
// many keep took.
func (x *Index) rescore(n *nearest, distance []uint16, from, to int, q []float32, keep func(id string) bool) (taken int) {
	for slot, d := range distance {
		if int(d) > to || int(d) <= from || keep != nil && !keep(x.ids[slot]) {
			continue
		}
		taken++
		if s := x.score(q, int32(slot)); len(n.heap) < n.k || s >= n.heap[0].score {
			n.offer(scored{int32(slot), s})
		}
	}
	return taken
}

// measured is the width, which is measured when it is not known.
func (x *Index) measured() int {
	if x.codes.mean == nil {
		return exactly
	}
	if w := x.width.Load(); w != unknown {
		return int(w)
	}
	x.tune.Lock()
	defer x.tune.Unlock()
	if x.width.Load() == unknown {
		x.width.Store(int64(x.measure()))
		x.check.reset()
	}
	return int(x.width.Load())
}

// measure finds the width with which vectors of the index find the ten nearest
// others as often as was asked for.
func (x *Index) measure() int {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	var needed []int
	for i := range samples {
		slot := int32(len(x.ids) * i / samples)
		q := x.row(slot)
		n := x.exact(q, recallAt+1, nil)
		x.distances(s, q)
		for _, c := range n.heap {
			if c.slot != slot {
				needed = append(needed, s.rank(int(s.distance[c.slot])))
			}
		}
	}
	slices.Sort(needed)
	enough := min(len(needed)-1, int(float64(len(needed))*(x.settings.Recall+margin)))
	return x.bounded(int(float64(needed[enough]) * slack))
}

// rank is how many codes have at most distance d.
func (s *scratch) rank(d int) int {
	n := 0
	for _, c := range s.count[:d+1] {
		n += int(c)
	}
	return n
}

func (x *Index) bounded(width int) int {
	width = max(width, minWidth)
	if width > len(x.ids)/maxPart {
		return exactly
	}
	return width
}

const (
	// firstChecks queries after the width was measured are checked, and one of
	// checkEvery later.
	firstChecks = 16
	checkEvery  = 256
	// window is how many checks count.
	window = 32
)

// A monitor remembers how well searches by codes did.
type monitor struct {
	mu      sync.Mutex
	queries uint64
	found   [window]int8 // of the recallAt nearest
	checks  int
	widened int
}

func (m *monitor) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queries, m.checks = 0, 0
}

// due counts a query and reports whether it is to be checked.
func (m *monitor) due() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queries++
	return m.queries <= firstChecks || m.queries%checkEvery == 0
}

// add notes a check and reports whether the recall of the last ones is too low:
// already, whatever those find that a full window still has room for.
func (m *monitor) add(found int, enough float64) (tooLow bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found[m.checks%window] = int8(found)
	m.checks++
	part := float64(min(m.checks, window)) / window
	return (1-m.recall())*part > 1-enough
}

// recall needs the lock. Without checks it is 1.
func (m *monitor) recall() float64 {
	n, sum := min(m.checks, window), 0
	if n == 0 {
		return 1
	}
	for _, f := range m.found[:n] {
		sum += int(f)
	}
	return float64(sum) / float64(n*recallAt)
}

// compare checks a query against an exact search, and doubles the width when the
// recall of the last checks is too low.
func (x *Index) compare(q []float32, width int) {
	k := min(recallAt, len(x.ids))
	want, have := x.exact(q, k, nil).sorted(), x.byCodes(q, k, width, nil).sorted()
	found := recallAt - k
	for _, w := range want {
		if slices.Contains(have, w) {
			found++
		}
	}
	if !x.check.add(found, x.settings.Recall) {
		return
	}
	if x.width.CompareAndSwap(int64(width), int64(x.bounded(2*width))) {
		x.check.widen()
	}
}

// widen forgets the checks of the old width.
func (m *monitor) widen() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.widened++
	m.queries, m.checks = 0, 0
}

// Stats are figures of an index.
type Stats struct {
	Vectors    int   `json:"vectors"`
	Dimensions int   `json:"dimensions"`
	Bytes      int64 `json:"bytes"`
	// Width is how many vectors a search for ten scores after it compared codes;
	// zero when searches are exact.
	Width int `json:"width"`
	// Checks is how many searches with this width were compared with exact ones,
	// and Recall which part of the ten nearest the last of them found; 1 while
	// there were none. Widened is how often the width was doubled because of that.
	Checks  int     `json:"checks"`
	Recall  float64 `json:"recall"`
	Widened int     `json:"widened"`
}

// Stats returns the figures.
func (x *Index) Stats() Stats {
	bytes := x.Bytes()
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := Stats{Vectors: len(x.ids), Dimensions: x.settings.Dimensions, Bytes: bytes}
	if x.codes.mean != nil {
		s.Width = max(0, int(x.width.Load()))
	}
	x.check.mu.Lock()
	defer x.check.mu.Unlock()
	s.Checks, s.Recall, s.Widened = x.check.checks, x.check.recall(), x.check.widened
	return s
}
