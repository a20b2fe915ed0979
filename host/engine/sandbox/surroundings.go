package sandbox

import (
	"strings"
	"sync"
	"sync/atomic"
)

// What an initialisation can see of a call is the directories that are open
// when it begins, and the arguments of a command. Toolchains look: the runtime
// of Go and the C library of WASI read the list of open directories once and
// keep it. So there is a snapshot, and a pool, for each.

// maxSurroundings is how many snapshots a module has at most. Calls with
// surroundings beyond that get new instances.
const maxSurroundings = 8

// poolsBySurroundings are the pools of one module.
type poolsBySurroundings struct {
	none atomic.Pointer[pool] // of all, the one for calls without any; nil before the first
	mu   sync.Mutex
	all  map[string]*pool
}

// poolFor returns where a call's instance may come from, or nil for a call that
// needs one of its own.
func (m *Module) poolFor(c *Call, files *fileTree) *pool {
	if c.Restart || len(m.info.Pinned) > 0 || m.runtime.strategy == StrategyNone {
		return nil
	}
	key := m.surroundings(c, files)
	if key == "" {
		if p := m.pools.none.Load(); p != nil {
			return p
		}
	}
	return m.pools.of(key, m.runtime)
}

func (ps *poolsBySurroundings) of(key string, r *Runtime) *pool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.all[key]
	if p == nil && len(ps.all) < maxSurroundings {
		if ps.all == nil {
			ps.all = map[string]*pool{}
		}
		p = newPool(r.pools, len(r.shards.all))
		ps.all[key] = p
		if key == "" {
			ps.none.Store(p)
		}
	}
	return p
}

// surroundings names what an initialisation can see of a call, and whether
// there is one.
func (m *Module) surroundings(c *Call, files *fileTree) string {
	own := c.initialisesItself()
	if !own && (!m.wasi || files == nil) {
		return ""
	}
	var b strings.Builder
	if own {
		b.WriteString("own\x00")
	}
	if own && m.start != "" {
		b.WriteString(strings.Join(c.Args, "\x00") + "\x01")
	}
	if m.wasi && files != nil {
		for _, p := range files.preopens {
			b.WriteString(p.Path + "\x00" + strings.Join(p.Only, "\x00") + "\x01")
		}
	}
	return b.String()
}

// close lets go of everything that waits.
func (ps *poolsBySurroundings) close() {
	ps.mu.Lock()
	all := ps.all
	ps.all = nil
	ps.mu.Unlock()
	for _, p := range all {
		p.close()
	}
}
