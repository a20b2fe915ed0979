package wasmbin_test

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// mutator damages modules of the corpus.
type mutator struct {
	seeds []corpusModule
	r     *rand.Rand
}

func newMutator(t *testing.T) *mutator {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &mutator{corpus(t), rand.New(rand.NewPCG(seed, 0))}
}

// next returns a seed with one to four damages.
func (m *mutator) next() []byte {
	b := slices.Clone(m.seed())
	for range 1 + m.r.IntN(4) {
		b = m.damage(b)
	}
	return b
}

func (m *mutator) seed() []byte {
	for {
		if b := m.seeds[m.r.IntN(len(m.seeds))].wasm; len(b) > 8 && len(b) < 10_000 {
			return b
		}
	}
}

func (m *mutator) damage(b []byte) []byte {
	if len(b) <= 9 {
		return b
	}
	at := 8 + m.r.IntN(len(b)-8)
	n := 1 + m.r.IntN(min(16, len(b)-at))
	switch m.r.IntN(7) {
	case 0:
		b[at] ^= 1 << m.r.IntN(8)
	case 1:
		b[at] = byte(m.r.Uint32())
	case 2:
		interesting := []byte{0, 1, 2, 3, 0x0b, 0x10, 0x11, 0x40, 0x60, 0x7f, 0x80, 0xfc, 0xfd, 0xff}
		b[at] = interesting[m.r.IntN(len(interesting))]
	case 3:
		return slices.Insert(b, at, byte(m.r.Uint32()))
	case 4:
		return slices.Delete(b, at, at+n)
	case 5:
		return slices.Insert(b, at, slices.Clone(b[at:at+n])...)
	case 6:
		other := m.seed()
		copy(b[at:], other[m.r.IntN(len(other)):])
	}
	return b
}
