package registry

import (
	"bytes"
	"sync"

	"github.com/skillet-run/skillet/host/base/store"
)

// maxParsed is of how many entries is kept what they hold.
const maxParsed = 50_000

// parsed keeps what entries hold: each list of thousands of skills would read the same JSON again.
// The zero value is ready. It is safe for concurrent use.
type parsed[T any] struct {
	mu  sync.Mutex
	all map[string]parsedEntry[T] // by key
}

type parsedEntry[T any] struct {
	value []byte
	holds T
}

// of returns what an entry holds. What is in it is shared, and only read.
func (p *parsed[T]) of(e store.Entry, parse func(store.Entry) (T, error)) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, ok := p.all[e.Key]; ok && bytes.Equal(was.value, e.Value) {
		return was.holds, nil
	}
	v, err := parse(e)
	if err != nil {
		return v, err
	}
	if p.all == nil || len(p.all) >= maxParsed {
		p.all = map[string]parsedEntry[T]{}
	}
	p.all[e.Key] = parsedEntry[T]{e.Value, v}
	return v, nil
}
