package sandbox

// ownPages are the pages of a memory that are its own and no longer the
// image's, as the kernel last told. Writing one of them causes no page fault.
type ownPages struct {
	known bool
	size  int // of the memory that was looked at
	pages int
	spans []span
}

// cover reports whether they are known for a memory of a size.
func (o *ownPages) cover(size int) bool { return o.known && size <= o.size }

// forget is called when pages went back to the image.
func (o *ownPages) forget() { o.known = false }

// find asks the kernel, for a whole memory. It does not look further when there
// are too many to copy.
func (o *ownPages) find(memory []byte) error {
	o.known, o.size, o.pages, o.spans = false, len(memory), 0, o.spans[:0]
	err := eachWritten(memory, func(from, to int) bool {
		o.spans = append(o.spans, span{from, to})
		o.pages += (to - from) / hostPage
		return o.pages <= dropAbove
	})
	o.known = err == nil && o.pages <= dropAbove
	return err
}

// restore copies what the image has and clears what lies behind it.
func (o *ownPages) restore(memory, img []byte) {
	for _, s := range o.spans {
		if s.from < len(memory) {
			restoreRange(memory, img, s.from, min(s.to, len(memory)))
		}
	}
}

// restoreRange does that for one range.
func restoreRange(memory, img []byte, from, to int) {
	n := 0
	if from < len(img) {
		n = copy(memory[from:to], img[from:])
	}
	clear(memory[from+n : to])
}
