package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
)

// Back gives acknowledged entries to fn, the newest first, until it wants no more or returns an
// error, which is returned as it is. It reads only what it gives, and checks that the chain leads
// there from the head. It needs no lock. errors.Is(err, [ErrDamaged]) when the journal is damaged;
// the entries given to fn until then are as they were written.
func (j *Journal) Back(ctx context.Context, fn func(Entry) (more bool, err error)) error {
	h, err := j.acknowledged()
	if err != nil {
		return err
	}
	if h.Seq == 0 {
		return j.checkRemoved(ctx)
	}
	all, err := j.segments()
	if err != nil {
		return err
	}
	b := &backReader{ctx: ctx, seq: h.Seq, hash: h.Hash, fn: fn}
	for i := len(all) - 1; i >= 0 && !b.done; i-- {
		end := int64(-1)
		switch s := all[i]; {
		case s.first > h.Segment:
			continue
		case s.first == h.Segment:
			end = h.End
		}
		if err := b.segment(all[i], end); err != nil {
			return err
		}
	}
	if !b.done && b.seq > 0 {
		return missing(j.segment(1), 1)
	}
	return nil
}

// backBlock is how much is read at once, in bytes.
const backBlock = 256 << 10

// A backReader walks entries from the head towards the first.
type backReader struct {
	ctx  context.Context
	seq  uint64 // the next entry, and
	hash string // its hash
	fn   func(Entry) (bool, error)
	done bool
}

// segment reads the entries of a segment before a place, its end for -1.
func (b *backReader) segment(s segment, end int64) error {
	f, err := os.Open(s.path)
	if err != nil {
		return &DamageError{File: s.path, What: "the segment cannot be opened: " + err.Error(), Cause: err}
	}
	defer f.Close()
	if end < 0 {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		end = info.Size()
	}
	var rest []byte // the end of a line that begins in an earlier block
	for end > 0 && !b.done {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		n := min(backBlock, end)
		block := make([]byte, n, n+int64(len(rest)))
		if _, err := f.ReadAt(block, end-n); err != nil {
			return &DamageError{File: s.path, Offset: end - n, What: "it is shorter than what was acknowledged: " + err.Error(), Cause: ErrTorn}
		}
		end -= n
		if rest, err = b.block(s, append(block, rest...), end); err != nil {
			return err
		}
		if len(rest) > MaxEntry {
			return &DamageError{File: s.path, Offset: end, What: fmt.Sprintf("the line is longer than %d bytes", MaxEntry)}
		}
	}
	return nil
}

// block reads the lines of a block from the last one on, and returns the end of the line that
// begins before it.
func (b *backReader) block(s segment, block []byte, offset int64) ([]byte, error) {
	for len(block) > 0 && !b.done {
		at := bytes.LastIndexByte(block[:len(block)-1], '\n') + 1
		if at == 0 && offset > 0 {
			return block, nil
		}
		if err := b.line(block[at:]); err != nil {
			if _, given := err.(notDamage); given {
				return nil, err.(notDamage).error
			}
			return nil, &DamageError{File: s.path, Offset: offset + int64(at), What: err.Error(), Cause: err}
		}
		block = block[:at]
	}
	return nil, nil
}

// notDamage is an error of who reads.
type notDamage struct{ error }

func (b *backReader) line(line []byte) error {
	e, err := decode(line)
	switch {
	case err != nil:
		return err
	case e.Seq != b.seq:
		return fmt.Errorf("entry %d stands where entry %d belongs", e.Seq, b.seq)
	case e.Hash != b.hash:
		return fmt.Errorf("entry %d is not the one that the entry after it follows", e.Seq)
	}
	b.seq, b.hash = e.Seq-1, e.Prev
	more, err := b.fn(e)
	if err != nil {
		return notDamage{err}
	}
	b.done = !more || e.Seq == 1
	return nil
}
