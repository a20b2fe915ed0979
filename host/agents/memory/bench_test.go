package memory

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
)

// note is a text of about forty words, some of which are frequent.
func note(r *rand.Rand) string {
	zipf, s := rand.NewZipf(r, 1.1, 5, 30_000), ""
	for range 30 + r.IntN(20) {
		s += fmt.Sprintf("word%x ", zipf.Uint64())
	}
	return s
}

// fill writes n records and their embeddings, as Add does, by several writers.
func fill(b *testing.B, s store.Store, e hashing.Embedder, n int) {
	b.Helper()
	var all sync.WaitGroup
	const writers = 32
	for w := range writers {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range n / writers {
				if err := fillOne(b.Context(), s.KV(), e, note(r)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func fillOne(ctx context.Context, kv store.KV, e hashing.Embedder, text string) error {
	now := time.Now().UTC()
	r := Record{ID: makeID(), Draft: Draft{Text: text, Tags: []string{"bench"}}, Created: now, Updated: now}
	if err := r.check(); err != nil {
		return err
	}
	v, err := e.Embed(ctx, []string{text})
	if err != nil {
		return err
	}
	if _, err := kv.Put(ctx, embeddingKey+r.ID, storedEmbedding(e.Name(), digestOf(text), v[0]), store.AnyRevision); err != nil {
		return err
	}
	value, err := json.Marshal(r)
	if err == nil {
		_, err = kv.Put(ctx, recordKey+r.ID, value, store.AnyRevision)
	}
	return err
}

// BenchmarkOpen is how long it takes until 100,000 records of 384 dimensions in the
// embedded store can be searched again.
func BenchmarkOpen(b *testing.B) {
	e := hashing.New(0)
	s, err := badgerstore.Open(hclog.NewNullLogger(), b.TempDir(), badgerstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	bus := event.NewBus(hclog.NewNullLogger(), s)
	defer bus.Close()
	last := 0
	sizes := []int{1_000, 10_000, 100_000}
	if flag.Lookup("test.benchtime").Value.String() == "1x" {
		sizes = sizes[:1] // only to see that it works: writing the most takes minutes
	}
	for _, n := range sizes {
		fill(b, s, e, n-last)
		last = n
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				m, err := Open(b.Context(), hclog.NewNullLogger(), s, bus, e, Settings{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := m.Search(b.Context(), Query{Text: "word1 word77", Quiet: true}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				b.ReportMetric(float64(m.vectors.Bytes()+m.words.Bytes())/(1<<20), "MiB")
				m.Close()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	m := open(b, newStore(b), hashing.New(0), Settings{})
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		drafts := make([]Draft, 100)
		for i := range drafts {
			drafts[i] = Draft{Text: note(r), Area: Areas()[r.IntN(4)]}
		}
		add(b, m, drafts...)
	}
	for name, f := range map[string]Filter{"all": {}, "one-area": {Areas: []Area{Main}}} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if _, err := m.Search(b.Context(), Query{Text: note(r), Filter: f}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
