package resolve

import "slices"

// A choice is a set of what may become of one name: bit 0 is set when it may be
// absent, bit i+1 when it may be its candidate i. All choices of a name are of
// one length, and none is changed after it was made.
type choice []uint64

// none returns the empty choice of a name with n candidates.
func none(n int) choice { return make(choice, (n+64)/64) }

// anyOf returns the choice of a name with n candidates that leaves all open.
func anyOf(n int) choice {
	c := none(n)
	for i := range n + 1 {
		c[i/64] |= 1 << (i % 64)
	}
	return c
}

// one returns the choice of candidate i alone.
func one(n, i int) choice {
	c := none(n)
	c.add(i)
	return c
}

// add is for choices that are being made.
func (c choice) add(candidate int) { c[(candidate+1)/64] |= 1 << ((candidate + 1) % 64) }

func (c choice) has(candidate int) bool { return c[(candidate+1)/64]>>((candidate+1)%64)&1 == 1 }

func (c choice) mayBeAbsent() bool { return c[0]&1 == 1 }

func (c choice) union(d choice) choice {
	out := slices.Clone(c)
	for i := range out {
		out[i] |= d[i]
	}
	return out
}

func (c choice) intersect(d choice) choice {
	out := slices.Clone(c)
	for i := range out {
		out[i] &= d[i]
	}
	return out
}

func (c choice) minus(d choice) choice {
	out := slices.Clone(c)
	for i := range out {
		out[i] &^= d[i]
	}
	return out
}

func (c choice) isSubset(d choice) bool {
	for i := range c {
		if c[i]&^d[i] != 0 {
			return false
		}
	}
	return true
}

func (c choice) isDisjoint(d choice) bool {
	for i := range c {
		if c[i]&d[i] != 0 {
			return false
		}
	}
	return true
}

func (c choice) isEmpty() bool { return !slices.ContainsFunc(c, func(w uint64) bool { return w != 0 }) }

func (c choice) equal(d choice) bool { return slices.Equal(c, d) }

// key returns c as something a map takes.
func (c choice) key() string {
	b := make([]byte, 0, 8*len(c))
	for _, w := range c {
		for range 8 {
			b = append(b, byte(w))
			w >>= 8
		}
	}
	return string(b)
}
