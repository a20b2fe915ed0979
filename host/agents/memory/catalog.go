package memory

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A head is what is known of a record without its text.
type head struct {
	revision   uint64
	area       Area
	kind       Type
	tags       []string
	failed     bool
	byAgent    bool
	pinned     bool
	created    time.Time
	updated    time.Time
	size       int // of the text, in bytes
	digest     digest
	sources    []Source
	retrievals uint64
	retrieved  time.Time
	embedded   bool
}

func headOf(r *Record, revision uint64) head {
	return head{
		revision: revision, area: r.Area, kind: r.Type, tags: r.Tags, failed: r.Failed, byAgent: r.SaidByAgent(), pinned: r.Pinned,
		created: r.Created, updated: r.Updated, size: len(r.Text), digest: digestOf(r.Text), sources: r.Sources,
		retrievals: r.Retrievals, retrieved: r.Retrieved,
	}
}

func (h *head) importance(relevance float64) Importance {
	return importanceOf(time.Since(h.updated), h.failed, h.byAgent, relevance, h.retrievals)
}

// A Filter selects records. The zero value selects all.
type Filter struct {
	Areas []Area   // one of these; none means any
	Types []Type   // one of these; none means any
	Tags  []string // all of these
	// Since and Until bound when a record was updated; zero means no bound. Until
	// is not included.
	Since, Until time.Time
}

func (f *Filter) all() bool {
	return len(f.Areas)+len(f.Types)+len(f.Tags) == 0 && f.Since.IsZero() && f.Until.IsZero()
}

func (f *Filter) takes(h *head) bool {
	return (len(f.Areas) == 0 || slices.Contains(f.Areas, h.area)) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, h.kind)) &&
		!slices.ContainsFunc(f.Tags, func(t string) bool { return !slices.Contains(h.tags, t) }) &&
		!h.updated.Before(f.Since) && (f.Until.IsZero() || h.updated.Before(f.Until))
}

// catalog has the heads of all records. Nothing else is locked while it is.
type catalog struct {
	mu    sync.RWMutex
	heads map[string]*head
	bytes int64           // of the texts
	found map[string]uses // what was found and is not stored yet
}

// uses is how often a record was found, and when last.
type uses struct {
	Count uint64    `json:"count"`
	Last  time.Time `json:"last"`
}

func newCatalog() *catalog { return &catalog{heads: map[string]*head{}, found: map[string]uses{}} }

func (c *catalog) get(id string) (head, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if h := c.heads[id]; h != nil {
		return *h, true
	}
	return head{}, false
}

func (c *catalog) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.heads)
}

// size is how many records there are, and how many bytes their texts have.
func (c *catalog) size() (records int, bytes int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.heads), c.bytes
}

// put adds a head, or replaces one; what was counted is kept.
func (c *catalog) put(id string, h head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.heads[id]; was != nil {
		c.bytes -= int64(was.size)
		h.retrievals, h.retrieved = max(h.retrievals, was.retrievals), later(h.retrieved, was.retrieved)
	}
	c.heads[id] = &h
	c.bytes += int64(h.size)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *catalog) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.heads[id]; was != nil {
		c.bytes -= int64(was.size)
		delete(c.heads, id)
		delete(c.found, id)
	}
}

// count notes that records were found.
func (c *catalog) count(ids []string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		if h := c.heads[id]; h != nil {
			h.retrievals++
			h.retrieved = now
			c.found[id] = uses{c.found[id].Count + 1, now}
		}
	}
}

// recount gives a record made of others what was counted of them.
func (c *catalog) recount(id string, n uint64, last time.Time) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heads[id] != nil {
		c.found[id] = uses{n, last}
	}
}

// take returns what was found and forgets that it is not stored.
func (c *catalog) take() map[string]uses {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.found
	c.found = map[string]uses{}
	return found
}

// restore undoes take for a record.
func (c *catalog) restore(id string, u uses) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.found[id]
	c.found[id] = uses{was.Count + u.Count, later(was.Last, u.Last)}
}

// stored corrects the count of a record by what is stored: others count, too.
func (c *catalog) stored(id string, u uses) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.heads[id]; h != nil {
		h.retrievals, h.retrieved = u.Count+c.found[id].Count, later(u.Last, h.retrieved)
	}
}

// named is a head with its ID.
type named struct {
	id string
	head
}

// pick returns the heads that take selects, sorted by order and then by ID.
func (c *catalog) pick(take func(id string, h *head) bool, order func(a, b *named) int) []named {
	c.mu.RLock()
	var all []named
	for id, h := range c.heads {
		if take(id, h) {
			all = append(all, named{id, *h})
		}
	}
	c.mu.RUnlock()
	slices.SortFunc(all, func(a, b named) int {
		return cmp.Or(order(&a, &b), strings.Compare(a.id, b.id))
	})
	return all
}

func newestFirst(a, b *named) int { return b.updated.Compare(a.updated) }
func oldestFirst(a, b *named) int { return a.updated.Compare(b.updated) }
