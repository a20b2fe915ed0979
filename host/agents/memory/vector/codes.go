package vector

import (
	"math/bits"
	"slices"
)

// codes has a bit for each component of each vector: whether it is above the mean.
type codes struct {
	words int       // of a code; a multiple of stride
	mean  []float32 // that bits was made with; nil while there are no codes
	of    int       // how many vectors there were then
	since int       // how many were written since
	bits  []uint64
}

// stride is how many words are compared at once: 384 bits. Models of embeddings
// have a multiple of that many dimensions, or are padded to one.
const stride = 6

func codeWords(dimensions int) int {
	return (dimensions + 64*stride - 1) / (64 * stride) * stride
}

func (c *codes) drop() { *c = codes{words: c.words} }

// code is that of the vector in a slot.
func (c *codes) code(slot int32) []uint64 {
	at := int(slot) * c.words
	return c.bits[at : at+c.words]
}

// write makes the code of v.
func (c *codes) write(code []uint64, v []float32) {
	mean := c.mean[:len(v)]
	for w := range code {
		var word uint64
		for i := w * 64; i < min(w*64+64, len(v)); i++ {
			if v[i] > mean[i] {
				word |= 1 << (i % 64)
			}
		}
		code[w] = word
	}
}

// move copies the code of the last slot to another, and takes the last away.
func (c *codes) move(last, slot int32) {
	if c.mean == nil {
		return
	}
	copy(c.code(slot), c.code(last))
	c.bits = c.bits[:int(last)*c.words]
}

// encode makes the code of a slot that was written, if there are codes. They come
// to be when there are more vectors than are searched exactly, and are made anew
// with the mean of that time when as many were written as there were.
func (x *Index) encode(slot int32) {
	n := len(x.ids)
	if n <= x.settings.Exact && x.codes.mean == nil {
		return
	}
	if x.codes.since++; x.codes.mean == nil || x.codes.since >= x.codes.of {
		x.encodeAll()
		return
	}
	if need := n * x.codes.words; need > len(x.codes.bits) {
		x.codes.bits = slices.Grow(x.codes.bits, need-len(x.codes.bits))[:need]
	}
	x.codes.write(x.codes.code(slot), x.row(slot))
}

func (x *Index) encodeAll() {
	n := len(x.ids)
	x.codes.mean, x.codes.of, x.codes.since = make([]float32, x.settings.Dimensions), n, 0
	for i, s := range x.sum {
		x.codes.mean[i] = float32(s / float64(n))
	}
	x.codes.bits = make([]uint64, n*x.codes.words, n*x.codes.words*5/4)
	for slot := range int32(n) {
		x.codes.write(x.codes.code(slot), x.row(slot))
	}
	x.width.Store(unknown)
}

// scratch is what a search by codes needs for itself.
type scratch struct {
	query    []uint64
	distance []uint16 // of each slot's code from the query's
	count    []int32  // how many slots have each distance
}

// distances fills the scratch for a query.
func (x *Index) distances(s *scratch, q []float32) {
	c := &x.codes
	s.query = slices.Grow(s.query[:0], c.words)[:c.words]
	c.write(s.query, q)
	s.distance = slices.Grow(s.distance[:0], len(x.ids))[:len(x.ids)]
	s.count = slices.Grow(s.count[:0], c.words*64+1)[:c.words*64+1]
	clear(s.count)
	if c.words == stride {
		s.short(c.bits)
	} else {
		s.long(c.bits)
	}
}

// hamming returns how many of 384 bits differ.
func hamming(a, b *[stride]uint64) int {
	return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) +
		bits.OnesCount64(a[3]^b[3]) + bits.OnesCount64(a[4]^b[4]) + bits.OnesCount64(a[5]^b[5])
}

func (s *scratch) short(all []uint64) {
	q, count := [stride]uint64(s.query), s.count
	for slot := range s.distance {
		d := hamming((*[stride]uint64)(all[slot*stride:]), &q)
		s.distance[slot] = uint16(d)
		count[d]++
	}
}

func (s *scratch) long(all []uint64) {
	for slot := range s.distance {
		d, code := 0, all[slot*len(s.query):]
		for w := 0; w < len(s.query); w += stride {
			d += hamming((*[stride]uint64)(code[w:]), (*[stride]uint64)(s.query[w:]))
		}
		s.distance[slot] = uint16(d)
		s.count[d]++
	}
}

// within is the distance within which there are at least n codes.
func (s *scratch) within(n int) int {
	seen := 0
	for d, c := range s.count {
		if seen += int(c); seen >= n {
			return d
		}
	}
	return len(s.count)
}
