package sandbox

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pools keeps instances that wait at their snapshots, of all modules of a
// runtime together: within one budget of memory, and not for longer than they
// are worth. Those that were not used for longest go first, about.
//
// An instance stays on the lists while a call uses it, and counts there with
// what it held when it last waited: so a call that finds one in its shard, and
// leaves it there, takes no lock. Calls and eviction race for an instance: a
// compare-and-swap on instance.state decides.
//
//	stateRuns --wait--> stateWaits --claim--> stateRuns
//	                    stateWaits --evict--> stateGone
type pools struct {
	budget int64
	keep   time.Duration

	mu     sync.Mutex
	listed queue
	bytes  int64
	timer  *time.Timer // runs while something is listed
	closed atomic.Bool

	expiring sync.WaitGroup
}

func newPools(budget int64, keep time.Duration) *pools {
	return &pools{budget: budget, keep: keep}
}

// queue lists instances in the order they came.
type queue struct {
	newest, oldest *instance
	n              int
}

// add puts an instance in as the newest.
func (q *queue) add(in *instance) {
	in.older = q.newest
	if q.newest != nil {
		q.newest.newer = in
	} else {
		q.oldest = in
	}
	q.newest = in
	q.n++
}

// remove takes one out.
func (q *queue) remove(in *instance) {
	if in.newer != nil {
		in.newer.older = in.older
	} else {
		q.newest = in.older
	}
	if in.older != nil {
		in.older.newer = in.newer
	} else {
		q.oldest = in.newer
	}
	in.newer, in.older = nil, nil
	q.n--
}

// What an instance is doing. Whoever changes stateWaits to another has it.
const (
	stateRuns  = iota // for a call, or was just made
	stateWaits        // for the next
	stateGone         // evicted
)

// poolEntry is what the pools know of an instance. Who has the instance, by its
// state, may read listed and counts, and write them under pools.mu.
type poolEntry struct {
	state  atomic.Int32
	used   atomic.Int64 // when its last call ended, after epoch
	listed bool
	counts int64 // bytes of the budget

	// Under pools.mu.
	since        int64 // the used it had when it was put where it is
	newer, older *instance
}

// A pool has the snapshot of one module and the instances that wait there.
type pool struct {
	pools  *pools
	recent []recentInstance // of each shard
	closed atomic.Bool

	// Under pools.mu.
	calls    int           // before there is a snapshot
	taking   bool          // somebody takes the snapshot
	taken    chan struct{} // closed when that is done, for who waits
	snapshot *snapshot
	pinned   string // why there never will be one
	listed   []*instance
	users    int // instances that have the snapshot, listed or not
}

// recentInstance is the one that was last used in a shard.
type recentInstance struct {
	in atomic.Pointer[instance]
	_  [cacheLine - 8]byte
}

func newPool(all *pools, shards int) *pool {
	return &pool{pools: all, recent: make([]recentInstance, shards)}
}

// PoolStats says what is kept for the next calls.
type PoolStats struct {
	Idle      int   // instances that wait
	IdleBytes int64 // memory they hold, about
}

func (ps *pools) stats() (s PoolStats) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for in := ps.listed.oldest; in != nil; in = in.newer {
		if in.state.Load() == stateWaits {
			s.Idle++
			s.IdleBytes += in.counts
		}
	}
	return s
}

// start is how a call gets its instance.
type start struct {
	waiting      *instance       // one that waited, or nil for a new one
	at           *snapshot       // to put a new one at, or nil to initialise it
	takeSnapshot bool            // the caller takes the snapshot and hands it to publishSnapshot
	wait         <-chan struct{} // when there is no snapshot: closed when there may be one
}

// take finds out how a call gets its instance.
func (p *pool) take(c *Call, l *shard) start {
	if in := p.recent[l.index].in.Load(); in != nil && p.claim(in, c) {
		return start{waiting: in}
	}
	return p.find(c)
}

// claim takes an instance that waits, if the call may use it.
func (p *pool) claim(in *instance, c *Call) bool {
	if !in.state.CompareAndSwap(stateWaits, stateRuns) {
		return false
	}
	if in.at.peak <= c.Limits.MemoryBytes && in.linear.memory.fits(c.Limits.MemoryBytes) {
		return true
	}
	p.wait(in)
	return false
}

// find is take for a call that finds nothing in its shard. The second call of a
// module takes the snapshot: a process that makes only one has no use for it. A
// call that cannot have the memory of the snapshot starts anew, and meets its
// limit there.
func (p *pool) find(c *Call) start {
	ps := p.pools
	ps.mu.Lock()
	defer ps.mu.Unlock()
	switch {
	case p.snapshot == nil:
		p.calls++
		takeSnapshot := (p.calls > 1 || c.session != nil) && !p.taking && p.pinned == "" && !p.closed.Load()
		if takeSnapshot {
			p.taking, p.taken = true, make(chan struct{})
		}
		return start{takeSnapshot: takeSnapshot, wait: p.taken}
	case p.snapshot.peak > c.Limits.MemoryBytes:
		return start{}
	}
	for _, in := range slices.Backward(p.listed) {
		if in.state.CompareAndSwap(stateWaits, stateRuns) {
			if in.linear.memory.fits(c.Limits.MemoryBytes) {
				return start{waiting: in}
			}
			in.state.Store(stateWaits) // nobody lets go of it: see pools.mu
		}
	}
	p.users++
	return start{at: p.snapshot}
}

// publishSnapshot hands the snapshot over, or says why there is none.
func (p *pool) publishSnapshot(s *snapshot, pinned string) {
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	p.taking, p.snapshot, p.pinned = false, s, pinned
	close(p.taken)
	if s != nil {
		p.users++
	}
}

// put keeps an instance for the next call, and lets go of others when there is
// no room for all. In the shard it is found first.
func (p *pool) put(in *instance, l *shard, used time.Duration) {
	in.used.Store(int64(used))
	if in.listed && in.cost <= in.counts && in.counts-in.cost <= costSlack {
		if recent := &p.recent[l.index].in; recent.Load() != in {
			recent.Store(in)
		}
		p.wait(in)
		return
	}
	ps := p.pools
	ps.mu.Lock()
	if p.closed.Load() || ps.closed.Load() {
		ps.mu.Unlock()
		p.drop(in)
		return
	}
	p.list(in)
	p.recent[l.index].in.Store(in)
	in.state.Store(stateWaits)
	gone := ps.evict()
	ps.watch()
	ps.mu.Unlock()
	closeAll(gone)
}

// costSlack is how much more an instance may count than it holds.
const costSlack = 64 << 10

// wait marks a listed instance as waiting, unless the pool is closed. Closing sets
// closed before it looks for instances that wait, and wait looks at closed after
// marking: one of the two drops the instance.
func (p *pool) wait(in *instance) {
	in.state.Store(stateWaits)
	if (p.closed.Load() || p.pools.closed.Load()) && in.state.CompareAndSwap(stateWaits, stateGone) {
		p.drop(in)
	}
}

// list puts an instance on the lists, or counts anew what it holds.
func (p *pool) list(in *instance) {
	p.remove(in)
	in.listed, in.since, in.counts = true, in.used.Load(), in.cost
	p.listed = append(p.listed, in)
	p.pools.listed.add(in)
	p.pools.bytes += in.counts
}

// remove takes an instance off the lists, if it is there.
func (p *pool) remove(in *instance) {
	if !in.listed {
		return
	}
	if i := slices.Index(p.listed, in); i >= 0 {
		p.listed = slices.Delete(p.listed, i, i+1)
	}
	for i := range p.recent {
		p.recent[i].in.CompareAndSwap(in, nil)
	}
	p.pools.listed.remove(in)
	p.pools.bytes -= in.counts
	in.listed = false
}

// drop is put for an instance that is not fit to be kept.
func (p *pool) drop(in *instance) {
	_ = contain(func() error { in.close(); return nil })
	p.pools.mu.Lock()
	defer p.pools.mu.Unlock()
	p.remove(in)
	p.release()
}

// release counts one user of the snapshot less, and frees it after the last. It
// is called under pools.mu.
func (p *pool) release() {
	p.users--
	if p.closed.Load() && p.users == 0 && p.snapshot != nil {
		p.snapshot.image.close()
		p.snapshot = nil
	}
}

// evict takes an instance off the lists, unless it runs.
func (in *instance) evict() bool {
	if !in.state.CompareAndSwap(stateWaits, stateGone) {
		return false
	}
	in.pool.remove(in)
	return true
}

// evict takes instances off the lists until the rest is within the budget. An instance
// that runs, or was used since it was listed, becomes the newest instead. Each is looked
// at twice at most, so the loop ends.
func (ps *pools) evict() (gone []*instance) {
	for n := 2 * ps.listed.n; n > 0 && ps.bytes > ps.budget; n-- {
		in := ps.listed.oldest
		if in == nil {
			break
		}
		if used := in.used.Load(); used != in.since || !in.evict() {
			in.since = used
			ps.listed.remove(in)
			ps.listed.add(in)
			continue
		}
		gone = append(gone, in)
	}
	return gone
}

// unused evicts what waits and was last used before a time. It
// returns the earliest time that any other was used.
func (ps *pools) unused(before int64) (gone []*instance, oldest int64) {
	oldest = math.MaxInt64
	var next *instance
	for in := ps.listed.oldest; in != nil; in = next {
		next = in.newer
		if used := in.used.Load(); used < before && in.evict() {
			gone = append(gone, in)
		} else {
			oldest = min(oldest, max(used, before))
		}
	}
	return gone, oldest
}

// watch evicts instances when their time is over.
func (ps *pools) watch() {
	if ps.timer == nil && ps.listed.n > 0 {
		ps.timer = time.AfterFunc(ps.keep, ps.expire)
	}
}

func (ps *pools) expire() {
	ps.mu.Lock()
	if ps.closed.Load() {
		ps.mu.Unlock()
		return
	}
	ps.expiring.Add(1)
	defer ps.expiring.Done()
	now := sinceEpoch()
	gone, oldest := ps.unused(int64(now - ps.keep))
	ps.timer = nil
	if ps.listed.n > 0 {
		ps.timer = time.AfterFunc(max(time.Duration(oldest)+ps.keep-now, ps.keep/16), ps.expire)
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

// close evicts all instances of one module, and frees its snapshot once the last
// call that uses it is over.
func (p *pool) close() {
	ps := p.pools
	ps.mu.Lock()
	p.closed.Store(true)
	var gone []*instance
	for _, in := range slices.Clone(p.listed) {
		if in.evict() {
			gone = append(gone, in)
		}
	}
	p.users++ // for release
	ps.mu.Unlock()
	closeAll(gone)
	ps.mu.Lock()
	p.release()
	ps.mu.Unlock()
}

// close evicts everything that waits, and keeps nothing any more.
func (ps *pools) close() {
	ps.mu.Lock()
	ps.closed.Store(true)
	if ps.timer != nil {
		ps.timer.Stop()
	}
	gone, _ := ps.unused(math.MaxInt64)
	ps.mu.Unlock()
	closeAll(gone)
	ps.expiring.Wait()
}
