package sandbox

import (
	"slices"
	"sync"
	"time"
)

// pools keeps instances that wait at their snapshots, of all modules of a
// runtime together: within one budget of memory, and not for longer than they
// are worth. Instances that were used last are used first; those that were not
// used for longest go first.
type pools struct {
	budget int64
	keep   time.Duration

	mu     sync.Mutex
	idle   waiting
	bytes  int64
	timer  *time.Timer // runs while something is idle
	closed bool

	expiring sync.WaitGroup
}

func newPools(budget int64, keep time.Duration) *pools {
	return &pools{budget: budget, keep: keep}
}

// waiting lists instances in the order they were used.
type waiting struct {
	newest, oldest *instance
	n              int
}

// add puts an instance in as the newest.
func (w *waiting) add(in *instance) {
	in.older = w.newest
	if w.newest != nil {
		w.newest.newer = in
	} else {
		w.oldest = in
	}
	w.newest = in
	w.n++
}

// remove takes one out.
func (w *waiting) remove(in *instance) {
	if in.newer != nil {
		in.newer.older = in.older
	} else {
		w.newest = in.older
	}
	if in.older != nil {
		in.older.newer = in.newer
	} else {
		w.oldest = in.newer
	}
	in.newer, in.older = nil, nil
	w.n--
}

// A pool has the snapshot of one module and the instances that wait there.
type pool struct {
	pools *pools

	// Under pools.mu.
	calls    int
	taking   bool          // somebody takes the snapshot
	taken    chan struct{} // closed when that is done, for who waits
	snapshot *snapshot
	pinned   string // why there never will be one
	idle     []*instance
	users    int // instances that have the snapshot, idle or not
	closed   bool
}

// PoolStats says what is kept for the next calls.
type PoolStats struct {
	Idle      int   // instances that wait
	IdleBytes int64 // memory they hold, about
}

func (ps *pools) stats() PoolStats {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return PoolStats{Idle: ps.idle.n, IdleBytes: ps.bytes}
}

// start is how a call gets its instance.
type start struct {
	waiting *instance       // one that waited, or nil for a new one
	at      *snapshot       // to put a new one at, or nil to initialise it
	shoot   bool            // the caller takes the snapshot and hands it to developed
	wait    <-chan struct{} // when there is no snapshot: closed when there may be one
}

// take finds out how a call gets its instance. The second call of a module
// takes the snapshot: a process that makes only one has no use for it. A call
// that cannot have the memory of the snapshot starts anew, and meets its limit
// there.
func (p *pool) take(c *Call) start {
	ps := p.pools
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p.calls++
	switch {
	case p.snapshot == nil:
		shoot := (p.calls > 1 || c.session != nil) && !p.taking && p.pinned == "" && !p.closed
		if shoot {
			p.taking, p.taken = true, make(chan struct{})
		}
		return start{shoot: shoot, wait: p.taken}
	case p.snapshot.peak > c.Limits.MemoryBytes:
		return start{}
	}
	for i := len(p.idle) - 1; i >= 0; i-- {
		if in := p.idle[i]; in.linear.memory.fits(c.Limits.MemoryBytes) {
			p.remove(in)
			return start{waiting: in}
		}
	}
	p.users++
	return start{at: p.snapshot}
}

// developed hands the snapshot over, or says why there is none.
func (p *pool) developed(s *snapshot, pinned string) {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	p.taking, p.snapshot, p.pinned = false, s, pinned
	close(p.taken)
	if s != nil {
		p.users++
	}
}

// remove takes an instance off the lists.
func (p *pool) remove(in *instance) {
	if i := slices.Index(p.idle, in); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
	p.pools.idle.remove(in)
	p.pools.bytes -= in.cost
}

// put keeps an instance for the next call, and lets go of others when there is
// no room for all.
func (p *pool) put(in *instance, now time.Time) {
	ps := p.pools
	ps.mu.Lock()
	if p.closed || ps.closed {
		ps.mu.Unlock()
		p.drop(in)
		return
	}
	in.idleSince = now
	ps.idle.add(in)
	p.idle = append(p.idle, in)
	ps.bytes += in.cost
	gone := ps.evict(time.Time{})
	ps.watch()
	ps.mu.Unlock()
	closeAll(gone)
}

// drop is put for an instance that is not fit to be kept.
func (p *pool) drop(in *instance) {
	in.close()
	p.release()
}

// release counts one user of the snapshot less, and frees it after the last.
func (p *pool) release() {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	p.users--
	if p.closed && p.users == 0 && p.snapshot != nil {
		p.snapshot.image.close()
		p.snapshot = nil
	}
}

// evict takes off the lists what is too much or was idle since before a time.
func (ps *pools) evict(before time.Time) (gone []*instance) {
	for in := ps.idle.oldest; in != nil; in = ps.idle.oldest {
		if ps.bytes <= ps.budget && in.idleSince.After(before) {
			break
		}
		in.pool.remove(in)
		gone = append(gone, in)
	}
	return gone
}

// watch lets go of idle instances when their time is over.
func (ps *pools) watch() {
	if ps.timer == nil && ps.idle.n > 0 {
		ps.timer = time.AfterFunc(ps.keep, ps.expire)
	}
}

func (ps *pools) expire() {
	ps.mu.Lock()
	if ps.closed {
		ps.mu.Unlock()
		return
	}
	ps.expiring.Add(1)
	defer ps.expiring.Done()
	gone := ps.evict(time.Now().Add(-ps.keep))
	ps.timer = nil
	if in := ps.idle.oldest; in != nil {
		ps.timer = time.AfterFunc(time.Until(in.idleSince.Add(ps.keep)), ps.expire)
	}
	ps.mu.Unlock()
	closeAll(gone)
}

// closeAll frees instances that are on no list any more.
func closeAll(gone []*instance) {
	for _, in := range gone {
		in.pool.drop(in)
	}
}

// close lets go of all instances of one module, and of its snapshot once the
// last call that uses it is over.
func (p *pool) close() {
	ps := p.pools
	ps.mu.Lock()
	p.closed = true
	gone := slices.Clone(p.idle)
	for _, in := range gone {
		p.remove(in)
	}
	p.users++ // for release
	ps.mu.Unlock()
	closeAll(gone)
	p.release()
}

// close lets go of everything that is idle, and keeps nothing any more.
func (ps *pools) close() {
	ps.mu.Lock()
	ps.closed = true
	if ps.timer != nil {
		ps.timer.Stop()
	}
	gone := ps.evict(time.Now()) // all
	ps.mu.Unlock()
	closeAll(gone)
	ps.expiring.Wait()
}
