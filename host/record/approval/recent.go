package approval

import "sync"

// recent keeps what was read from the store until something is decided: it holds what is
// so in one epoch, see [Settings]. The zero value is empty and ready to use.
type recent[K comparable, V any] struct {
	mu    sync.Mutex
	epoch uint64
	all   map[K]V
}

// maxRecent bounds how many values are kept.
const maxRecent = 4096

func (r *recent[K, V]) get(epoch uint64, k K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.all[k]
	return v, ok && r.epoch == epoch
}

func (r *recent[K, V]) add(epoch uint64, k K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.epoch != epoch || r.all == nil || len(r.all) >= maxRecent {
		r.epoch, r.all = epoch, map[K]V{}
	}
	r.all[k] = v
}
