package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// reader walks the entries of consecutive segments and checks the chain.
type reader struct {
	seq    uint64 // last entry read
	hash   string // its hash; unknown while anchor is false
	anchor bool   // whether hash is known
	more   int    // entries that the last commit still owes
	last   head   // place of the last entry read
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// accept checks e against the chain and moves on to it.
func (r *reader) accept(e Entry, s segment, start, end int64) error {
	if !r.anchor {
		r.hash, r.anchor = e.Prev, true
	}
	if err := link(e, r.seq, r.hash); err != nil {
		return err
	}
	if r.more > 0 && e.More != r.more-1 {
		return fmt.Errorf("entry %d does not belong to the commit it stands in", e.Seq)
	}
	r.seq, r.hash, r.more = e.Seq, e.Hash, e.More
	r.last = head{Seq: e.Seq, Hash: e.Hash, Segment: s.first, Start: start, End: end}
	return nil
}

// segment reads the lines of s from the offset on and gives each entry to fn,
// with its line.
// The beginning of an entry at the end is damage with the cause ErrTorn.
func (r *reader) segment(ctx context.Context, s segment, offset int64, fn func(Entry, []byte) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return &DamageError{File: s.path, What: "the segment cannot be opened: " + err.Error(), Cause: err}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() <= offset { // most often nothing follows
		return nil
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := readLine(in)
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err == io.EOF && !begins(line, r.seq+1) {
			err = errors.New("what stands there is not an entry")
		}
		if err != nil {
			return r.damage(s, n, offset, err)
		}
		e, err := decode(line)
		if err == nil {
			err = r.accept(e, s, offset, offset+int64(len(line)))
		}
		if err != nil {
			return r.damage(s, n, offset, err)
		}
		offset += int64(len(line))
		if err := fn(e, line); err != nil {
			return err
		}
	}
}

func (r *reader) damage(s segment, line int, offset int64, cause error) error {
	d := &DamageError{File: s.path, Line: line, Offset: offset, What: cause.Error(), Cause: cause}
	if cause == io.EOF {
		d.What, d.Cause = "the line is torn", ErrTorn
	}
	return d
}

// readLine returns the next line with its newline, of at most MaxEntry bytes.
// io.EOF comes with what there is of a torn line.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxEntry {
			return nil, fmt.Errorf("the line is longer than %d bytes", MaxEntry)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// Replay gives every acknowledged entry with a number above after to fn, in
// order, and checks the chain up to the head. An error of fn ends it and is
// returned as it is. It needs no lock: entries committed meanwhile may be left
// out. errors.Is(err, [ErrDamaged]) when the journal is damaged; the entries
// given to fn until then are as they were written.
func (j *Journal) Replay(ctx context.Context, after uint64, fn func(Entry) error) error {
	return j.Lines(ctx, after, func(e Entry, _ []byte) error { return fn(e) })
}

// Lines is [Journal.Replay] with the line of each entry, as it is chained.
func (j *Journal) Lines(ctx context.Context, after uint64, fn func(e Entry, line []byte) error) error {
	h, err := j.acknowledged()
	if err != nil || h.Seq > 0 && after >= h.Seq {
		return err
	}
	if h.Seq == 0 {
		return j.checkRemoved(ctx)
	}
	return j.walk(ctx, h, after, fn)
}

// checkRemoved is asked about an empty journal, which may have had entries.
func (j *Journal) checkRemoved(ctx context.Context) error {
	known, err := j.signedUntil(ctx)
	if err != nil {
		return fmt.Errorf("read journal %s: %w", j.dir, err)
	}
	h, err := j.readHead() // again: another process may have written the first entry
	if err != nil {
		return err
	}
	return j.checkKnown(h, known)
}

func (j *Journal) walk(ctx context.Context, h head, after uint64, fn func(Entry, []byte) error) error {
	all, err := j.segments()
	if err != nil {
		return err
	}
	all, r := startAt(all, after)
	for _, s := range all {
		if s.first > h.Segment {
			break
		}
		if s.first != r.seq+1 {
			return missing(s, r.seq+1)
		}
		err := r.segment(ctx, s, 0, func(e Entry, line []byte) error { return deliver(e, line, h, after, fn) })
		if errors.Is(err, errEnough) {
			return j.checkEnd(r, h)
		}
		if err != nil {
			return err
		}
	}
	return j.shortened(h, r.seq)
}

// deliver gives e to fn when it is wanted and stops at the head, so that what
// lies behind it is not even looked at. The head's own entry is compared
// before it is given away.
func deliver(e Entry, line []byte, h head, after uint64, fn func(Entry, []byte) error) error {
	if e.Seq == h.Seq && e.Hash != h.Hash {
		return errEnough
	}
	if e.Seq > after {
		if err := fn(e, line); err != nil {
			return err
		}
	}
	if e.Seq == h.Seq {
		return errEnough
	}
	return nil
}

// startAt drops the segments before the one that has entry after, so that the
// link from it to the next is checked too.
func startAt(all []segment, after uint64) ([]segment, *reader) {
	for len(all) > 1 && all[1].first <= after {
		all = all[1:]
	}
	if len(all) == 0 || all[0].first <= 1 || all[0].first > after {
		return all, &reader{anchor: true}
	}
	return all, &reader{seq: all[0].first - 1}
}

func missing(s segment, want uint64) error {
	return &DamageError{File: s.path, What: fmt.Sprintf("the segment begins with entry %d, but entries from %d on are missing before it", s.first, want)}
}

func (j *Journal) shortened(h head, seq uint64) error {
	return &DamageError{
		File:  j.segment(h.Segment).path,
		What:  fmt.Sprintf("the journal ends with entry %d, but entry %d was acknowledged", seq, h.Seq),
		Cause: ErrTorn,
	}
}

// checkEnd compares the last entry read with the head.
func (j *Journal) checkEnd(r *reader, h head) error {
	got, want := r.last, h
	if got.Seq != want.Seq || got.Hash != want.Hash || got.Segment != want.Segment || got.Start != want.Start || got.End != want.End {
		return &DamageError{File: j.headPath(), What: fmt.Sprintf("the head does not name entry %d as the journal has it", h.Seq)}
	}
	return nil
}

// Report is what [Journal.Verify] found.
type Report struct {
	Entries        uint64       `json:"entries"`              // entries that are as they were written, up to the first that is not
	Segments       int          `json:"segments"`             // segment files
	Bytes          int64        `json:"bytes"`                // size of the segment files
	Head           uint64       `json:"head"`                 // number of the last acknowledged entry
	Hash           string       `json:"hash"`                 // its hash
	First          time.Time    `json:"first,omitzero"`       // time of the first entry read; zero when there is none
	Last           time.Time    `json:"last,omitzero"`        // and of the last
	Unacknowledged int64        `json:"unacknowledged_bytes"` // bytes behind the head; the next commit adopts or cuts them
	Signed         *Signed      `json:"signed,omitempty"`     // nil when nothing is signed
	Damage         *DamageError `json:"damage,omitempty"`     // nil when all is well
}

// Verify reads the whole journal, and checks its signatures when it has keys to
// check them with. The report counts what is right up to the first damage, which
// is both in the report and the error. Then errors.Is(err, [ErrDamaged]), and
// errors.Is(err, [ErrSignature]) when it is about what is signed.
func (j *Journal) Verify(ctx context.Context) (Report, error) {
	var rep Report
	err := j.verify(ctx, &rep)
	errors.As(err, &rep.Damage)
	return rep, err
}

func (j *Journal) verify(ctx context.Context, rep *Report) error {
	known, err := j.signedUntil(ctx)
	if err != nil {
		return fmt.Errorf("verify journal %s: %w", j.dir, err)
	}
	h, err := j.acknowledged()
	if err != nil {
		return err
	}
	rep.Head, rep.Hash = h.Seq, h.Hash
	if err := j.measure(h, rep); err != nil {
		return err
	}
	ring, err := j.keysToCheck(ctx)
	if err != nil {
		return err
	}
	v := verifier{journal: j, ring: ring, head: h, rep: rep}
	err = v.read()
	if err == nil && h.Seq > 0 {
		err = j.walk(ctx, h, 0, v.entry)
	}
	if err == nil {
		err = v.end(ctx)
	}
	if err != nil {
		return err
	}
	return j.checkKnown(h, known)
}

// measure adds up the sizes of the segments, and of what lies behind the head.
func (j *Journal) measure(h head, rep *Report) error {
	all, err := j.segments()
	if err != nil {
		return err
	}
	for _, s := range all {
		info, err := os.Stat(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // an empty one that a commit took back
		}
		if err != nil {
			return err
		}
		rep.Segments, rep.Bytes = rep.Segments+1, rep.Bytes+info.Size()
		switch {
		case s.first > h.Segment:
			rep.Unacknowledged += info.Size()
		case s.first == h.Segment:
			rep.Unacknowledged += max(0, info.Size()-h.End)
		}
	}
	return nil
}
