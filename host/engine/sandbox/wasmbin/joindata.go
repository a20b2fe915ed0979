package wasmbin

// dataGap is how many zeros joinData writes between two segments to make them one.
// An engine spends more on a segment than on so many bytes.
const dataGap = 256

// joinData is a data section with fewer segments that leaves the same in a memory
// of zeros: those that begin at or soon behind the end of the one before continue
// it. A section with anything but active segments at constant places is returned
// as it is. No code may name the segments.
func joinData(section []byte) []byte {
	c := cursor{b: section, end: len(section), section: "data"}
	d := joinedData{zeros: len(section)}
	for n := c.u32(); n > 0 && c.err == nil; n-- {
		if c.u32() != 0 || c.u8() != opI32Const {
			return section
		}
		at := uint64(uint32(c.signed(32)))
		if c.u8() != opEnd {
			return section
		}
		size := c.size("data")
		if c.err != nil {
			return section
		}
		d.add(at, c.b[c.pos:c.pos+size])
		c.skip(size)
	}
	if c.err != nil || c.left() > 0 {
		return section
	}
	return append(appendU32(make([]byte, 0, len(d.out)+len(d.now)+16), d.whole()), d.out...)
}

// joinedData is the segments so far. The last one still grows.
type joinedData struct {
	out   []byte
	count uint32 // of those in out
	at    uint64 // of now
	now   []byte // nil before there is one
	zeros int    // that may still be written
}

func (d *joinedData) add(at uint64, data []byte) {
	if end := d.at + uint64(len(d.now)); d.now == nil || at < end || at-end > uint64(min(dataGap, d.zeros)) {
		d.whole()
		d.at, d.now = at, []byte{}
	} else {
		d.zeros -= int(at - end)
		d.now = append(d.now, make([]byte, at-end)...)
	}
	d.now = append(d.now, data...)
}

// whole ends the last segment and returns how many there are.
func (d *joinedData) whole() uint32 {
	if d.now != nil {
		d.out = append(appendSigned(append(d.out, 0, opI32Const), int64(int32(uint32(d.at)))), opEnd)
		d.out = append(appendU32(d.out, uint32(len(d.now))), d.now...)
		d.now = nil
		d.count++
	}
	return d.count
}
