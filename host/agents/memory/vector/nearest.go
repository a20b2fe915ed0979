package vector

import (
	"cmp"
	"slices"
	"strings"
)

// scored is a slot with its score.
type scored struct {
	slot  int32
	score float32
}

// nearest keeps the k best of what is offered in a heap, the worst on top. Equal
// scores are ordered by ID, so that the answer does not depend on slots.
type nearest struct {
	x    *Index
	k    int
	keep func(id string) bool // nil for all
	heap []scored
}

func (n *nearest) worse(a, b scored) bool {
	if a.score != b.score {
		return a.score < b.score
	}
	return n.x.ids[a.slot] > n.x.ids[b.slot]
}

// offer asks keep only about what would be taken.
func (n *nearest) offer(c scored) {
	full := len(n.heap) == n.k
	if full && !n.worse(n.heap[0], c) {
		return
	}
	if n.keep != nil && !n.keep(n.x.ids[c.slot]) {
		return
	}
	if !full {
		n.heap = append(n.heap, c)
		n.up(len(n.heap) - 1)
		return
	}
	n.heap[0] = c
	n.down()
}

func (n *nearest) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !n.worse(n.heap[i], n.heap[parent]) {
			return
		}
		n.heap[i], n.heap[parent] = n.heap[parent], n.heap[i]
		i = parent
	}
}

func (n *nearest) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(n.heap) {
			return
		}
		if child+1 < len(n.heap) && n.worse(n.heap[child+1], n.heap[child]) {
			child++
		}
		if !n.worse(n.heap[child], n.heap[i]) {
			return
		}
		n.heap[i], n.heap[child] = n.heap[child], n.heap[i]
		i = child
	}
}

// sorted empties the heap, the best first.
func (n *nearest) sorted() []scored {
	slices.SortFunc(n.heap, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(n.x.ids[a.slot], n.x.ids[b.slot]))
	})
	return n.heap
}

// hits are the best, by ID.
func (n *nearest) hits() []Hit {
	all := make([]Hit, 0, len(n.heap))
	for _, s := range n.sorted() {
		all = append(all, Hit{ID: n.x.ids[s.slot], Score: s.score})
	}
	return all
}
