package journal

import (
	"sync"

	"github.com/skillet-run/skillet/internal/histogram"
)

// groups counts how many entries were signed and acknowledged together.
type groups struct {
	mu    sync.Mutex
	sizes histogram.Histogram
}

func (g *groups) count(n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sizes.Add(float64(n))
}

// Groups has the sizes of the groups of entries that this process signed and acknowledged
// together.
func (j *Journal) Groups() histogram.Histogram {
	j.groups.mu.Lock()
	defer j.groups.mu.Unlock()
	return j.groups.sizes.Clone()
}
