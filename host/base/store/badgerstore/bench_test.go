package badgerstore

import (
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/host/base/store"
)

func fill(t testing.TB, s *Store, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		if _, err := s.KV().Put(t.Context(), fmt.Sprintf("key/%05d", i), fmt.Appendf(nil, "value of %d", i), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := mustOpen(b, b.TempDir(), testOptions())
	defer s.Close()
	for i := 0; b.Loop(); i++ {
		fill(b, s, i%1000, 1)
	}
}

func BenchmarkGet(b *testing.B) {
	s := mustOpen(b, b.TempDir(), testOptions())
	defer s.Close()
	fill(b, s, 0, 1000)
	for i := 0; b.Loop(); i++ {
		if _, err := s.KV().Get(b.Context(), fmt.Sprintf("key/%05d", i%1000)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenClose is what each command pays: a store of 1000 entries is
// opened, used once and closed.
func BenchmarkOpenClose(b *testing.B) {
	dir := b.TempDir()
	s := mustOpen(b, dir, testOptions())
	fill(b, s, 0, 1000)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	use := map[string]func(s *Store){
		"nothing": func(*Store) {},
		"read": func(s *Store) {
			if _, err := s.KV().Get(b.Context(), "key/00007"); err != nil {
				b.Fatal(err)
			}
		},
		"write": func(s *Store) { fill(b, s, 7, 1) },
	}
	for _, name := range []string{"nothing", "read", "write"} {
		b.Run("exclusive/"+name, func(b *testing.B) { cycle(b, func() *Store { return mustOpen(b, dir, testOptions()) }, use[name]) })
		b.Run("shared/"+name, func(b *testing.B) { cycle(b, func() *Store { return mustShare(b, dir, testOptions()) }, use[name]) })
	}
}

func cycle(b *testing.B, open func() *Store, use func(*Store)) {
	for b.Loop() {
		s := open()
		use(s)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCrashOpen is the opening after a crash: the store is examined.
func BenchmarkCrashOpen(b *testing.B) {
	dir := b.TempDir()
	s := mustOpen(b, dir, testOptions())
	fill(b, s, 0, 1000)
	for b.Loop() {
		b.StopTimer()
		copied := crashCopy(b, dir)
		b.StartTimer()
		if err := mustOpen(b, copied, testOptions()).Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
