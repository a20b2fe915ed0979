// Package recent keeps values in memory for as long as nothing that they depend on
// changes.
package recent

import "sync"

// A Cache keeps what was found in one epoch: a number that is another one as soon as
// something changed. The zero value is empty and ready to use. It is safe for concurrent
// use.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	epoch uint64
	all   map[K]V
}

// most bounds how many values a cache keeps.
const most = 4096

// Get returns the value that was added for k in this epoch.
func (c *Cache[K, V]) Get(epoch uint64, k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.all[k]
	return v, ok && c.epoch == epoch
}

// Add keeps a value of this epoch, and forgets those of others. It forgets all when there
// are too many.
func (c *Cache[K, V]) Add(epoch uint64, k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch || c.all == nil || len(c.all) >= most {
		c.epoch, c.all = epoch, map[K]V{}
	}
	c.all[k] = v
}
