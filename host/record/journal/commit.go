package journal

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/record/checkpoint"
)

const lockName = "LOCK"

// Commit appends the records that decide returns, as one: after a crash all
// of them are there, or none. While decide runs no other process can commit,
// so what it read from this journal, and from whatever apply keeps, stays
// true. Then the records are appended (and synced, see [Options]), and apply,
// which may be nil, is called with the new entries before the next process
// gets its turn. decide and apply may read this journal, but not commit to it.
//
// An error of decide appends nothing and is returned as it is; no records and
// no error append nothing. When the entries are not nil they are committed,
// even when there is an error: it is then that of apply, wrapped.
//
// errors.Is(err, [filelock.ErrHeld]) and the context's error when ctx ended
// while another process held the lock, [ErrDamaged] when the end of the
// journal is damaged, [ErrTooLarge].
func (j *Journal) Commit(ctx context.Context, decide func() ([]Record, error), apply func([]Entry) error) (entries []Entry, err error) {
	release, err := j.lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("commit to journal %s: %w", j.dir, err)
	}
	defer func() {
		if failed := release(); failed != nil {
			err = errors.Join(err, failed)
		}
	}()
	ring, tail, last, err := j.refresh(ctx)
	if err != nil {
		return nil, fmt.Errorf("commit to journal %s: %w", j.dir, err)
	}
	records, err := decide()
	if err != nil || len(records) == 0 {
		return nil, err
	}
	one, err := newAppending(records)
	if err != nil {
		return nil, fmt.Errorf("commit to journal %s: %w", j.dir, err)
	}
	if err := cmp.Or(j.append(ring, tail, j.after(ring, last), []*appending{one}), one.err); err != nil {
		return nil, fmt.Errorf("commit to journal %s: %w", j.dir, err)
	}
	entries = one.entries
	if tail.Seq == 0 {
		j.rememberFirst(ctx)
	}
	if apply == nil {
		return entries, nil
	}
	if err := apply(entries); err != nil {
		return entries, fmt.Errorf("apply journal entries %d to %d: %w", entries[0].Seq, entries[len(entries)-1].Seq, err)
	}
	return entries, nil
}

// rememberFirst keeps that a journal is signed which has just got its first
// entries. They are committed: what fails here, the next commit does again.
func (j *Journal) rememberFirst(ctx context.Context) {
	if h, err := j.readHead(); err == nil {
		_ = j.remember(context.WithoutCancel(ctx), h, 0)
	}
}

// lock waits for this process' turn, then for the other processes.
func (j *Journal) lock(ctx context.Context) (release func() error, err error) {
	path, begin := filepath.Join(j.dir, lockName), time.Now()
	select {
	case <-j.turn:
	case <-ctx.Done():
		return nil, &filelock.HeldError{Path: path, PID: os.Getpid(), Waited: time.Since(begin), Cause: ctx.Err()}
	}
	l, err := j.lockFile(ctx, path)
	if err != nil {
		j.turn <- struct{}{}
		return nil, err
	}
	return func() error {
		defer func() { j.turn <- struct{}{} }()
		return l.Release()
	}, nil
}

// lockFile locks the other processes out. What this one has written and not signed is
// signed first.
func (j *Journal) lockFile(ctx context.Context, path string) (*filelock.Lock, error) {
	if err := j.closeWindow(); err != nil {
		return nil, err
	}
	return filelock.Acquire(ctx, path, j.options.LockWait)
}

// refresh returns the keys to go on with, and the end of the journal after what
// other processes did, with its entry. It checks the last acknowledged entry
// and brings what lies behind it in order. The lock must be held.
func (j *Journal) refresh(ctx context.Context) (*checkpoint.Keyring, head, Entry, error) {
	h, err := j.readHead()
	if err != nil {
		return nil, head{}, Entry{}, err
	}
	if j.needsHead() {
		if err := j.makeHead(); err != nil {
			return nil, head{}, Entry{}, err
		}
	}
	last, err := j.checkTail(h)
	if err != nil {
		return nil, head{}, Entry{}, err
	}
	ring, err := j.keyring(ctx)
	if err != nil {
		return nil, head{}, Entry{}, err
	}
	known, err := j.checkSigned(ctx, ring, h, last)
	if err == nil {
		err = j.remember(ctx, h, known)
	}
	if err != nil {
		return nil, head{}, Entry{}, err
	}
	h, last, err = j.adopt(ctx, ring, h, last)
	return ring, h, last, err
}

// checkTail compares the entry the head names with the journal, and returns it.
func (j *Journal) checkTail(h head) (Entry, error) {
	if h.Seq == 0 {
		return Entry{}, nil
	}
	s := j.segment(h.Segment)
	f, err := os.Open(s.path)
	if err != nil {
		return Entry{}, &DamageError{File: s.path, What: "the segment of the last acknowledged entry cannot be opened: " + err.Error(), Cause: err}
	}
	defer f.Close()
	if h.Start < 0 || h.End <= h.Start || h.End-h.Start > MaxEntry {
		return Entry{}, &DamageError{File: j.headPath(), What: "the head names an impossible position"}
	}
	line := make([]byte, h.End-h.Start)
	if _, err := f.ReadAt(line, h.Start); err == io.EOF {
		return Entry{}, j.shortened(h, h.Seq-1)
	} else if err != nil {
		return Entry{}, err
	}
	e, err := decode(line)
	if err == nil && (e.Seq != h.Seq || e.Hash != h.Hash) {
		err = errors.New("it is not the entry that was acknowledged")
	}
	if err != nil {
		return Entry{}, &DamageError{File: s.path, Offset: h.Start, What: fmt.Sprintf("entry %d: %v", h.Seq, err)}
	}
	return e, nil
}

// adopt acknowledges complete commits behind the head and cuts a torn one. It
// returns the head there is then, with its entry.
func (j *Journal) adopt(ctx context.Context, ring *checkpoint.Keyring, h head, last Entry) (head, Entry, error) {
	all, err := j.segments()
	if err != nil {
		return head{}, Entry{}, err
	}
	behind := slices.DeleteFunc(all, func(s segment) bool { return s.first < h.Segment })
	found, err := j.complete(ctx, h, behind)
	if err != nil {
		return head{}, Entry{}, err
	}
	if err := j.dropEmpty(behind, found.end); err != nil || found.commits == 0 {
		return h, last, err
	}
	good, err := j.signAdopted(ring, h, found.end, found.last.Time)
	if err != nil {
		return head{}, Entry{}, err
	}
	return good, found.last, j.acknowledge(good)
}

// leftover is what lies behind a head.
type leftover struct {
	commits int   // complete ones
	writes  int   // how often some were written: what was written together has one time
	end     head  // of the last complete one; the head itself when there is none
	last    Entry // its last entry
	// segments counts the segments that are right; with an error the next one is
	// not.
	segments int
}

// complete finds the complete commits in the segments behind h, and cuts what
// follows them. A process that dies leaves what it wrote together at most, so more
// behind a signed head is damage.
func (j *Journal) complete(ctx context.Context, h head, behind []segment) (leftover, error) {
	found, err := lookBehind(ctx, h, behind)
	if err != nil && (!errors.Is(err, ErrDamaged) || found.segments < len(behind)-1) {
		return found, err
	}
	if damage := j.checkBehind(h, found); damage != nil || err == nil {
		return found, damage
	}
	s := behind[found.segments]
	if err := j.checkInterrupted(s, found.end, err); err != nil {
		return found, err
	}
	if err := os.Truncate(s.path, offsetIn(s, found.end)); err != nil {
		return found, err
	}
	return found, j.syncDir()
}

// checkBehind refuses what was written more than once behind a signed head, and
// statements about entries that are not there.
func (j *Journal) checkBehind(h head, found leftover) error {
	if !h.signed() {
		return nil
	}
	if found.writes < 2 {
		return j.checkStatementsBehind(h, found.end.Seq)
	}
	return j.sealDamage(headName, "it names entry %d, but %d commits lie behind it, up to entry %d: an older head was put back", h.Seq, found.commits, found.end.Seq)
}

// lookBehind reads the segments behind h.
func lookBehind(ctx context.Context, h head, behind []segment) (leftover, error) {
	r := &reader{seq: h.Seq, hash: h.Hash, anchor: true, last: h}
	found := leftover{end: h}
	for _, s := range behind {
		err := r.segment(ctx, s, offsetIn(s, h), func(e Entry, _ []byte) error {
			if e.More > 0 {
				return nil
			}
			if found.commits == 0 || !e.Time.Equal(found.last.Time) {
				found.writes++
			}
			found.commits, found.end, found.last = found.commits+1, r.last, e
			return nil
		})
		if err == nil && r.more > 0 {
			err = r.damage(s, 0, r.last.End, io.EOF)
		}
		if err != nil {
			return found, err
		}
		found.segments++
	}
	return found, nil
}

// dropEmpty removes segments that were begun and never written.
func (j *Journal) dropEmpty(behind []segment, good head) error {
	for _, s := range behind {
		if s.first <= good.Segment {
			continue
		}
		if err := os.Remove(s.path); err != nil {
			return err
		}
	}
	return nil
}

func offsetIn(s segment, h head) int64 {
	if s.first == h.Segment {
		return h.End
	}
	return 0
}

// acknowledge makes entries that were already there as durable as new ones.
func (j *Journal) acknowledge(h head) error {
	if j.options.Sync {
		f, err := os.OpenFile(j.segment(h.Segment).path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return j.writeHead(h)
}

// checkInterrupted returns the reason why what lies in s behind good is not right,
// unless it is what an interrupted write leaves: a line without its end, a commit
// without its last lines, or blocks of zeros. None of it was acknowledged.
func (j *Journal) checkInterrupted(s segment, good head, reason error) error {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	keep := offsetIn(s, good)
	if int64(len(b)) < keep {
		return j.shortened(good, good.Seq-1)
	}
	if !errors.Is(reason, ErrTorn) && bytes.IndexByte(b[keep:], 0) < 0 {
		return reason
	}
	return nil
}

// append writes the records of each behind tail and acknowledges them, as of now. When
// it fails it leaves the journal as it was. A record that cannot be written is the error
// of its own.
func (j *Journal) append(ring *checkpoint.Keyring, tail head, now time.Time, all []*appending) error {
	lines, at := chain(tail, now, all)
	if at == tail {
		return nil
	}
	next := j.nextPosition(tail, tail.Seq+1, int64(len(lines)))
	done := at.in(next)
	if err := j.sign(ring, tail, &done, now); err != nil {
		return err
	}
	err := j.writeLines(next, lines)
	if err == nil {
		err = j.writeHead(done)
	}
	if err != nil {
		return errors.Join(err, j.takeBack(tail, next))
	}
	j.groups.count(at.Seq - tail.Seq)
	return nil
}

// after is the time of what is committed now. No two commits of a signed journal have one
// time unless they were written together: see [leftover].
func (j *Journal) after(r *checkpoint.Keyring, last Entry) time.Time {
	now := j.options.Clock().Round(0).UTC() // without what a line does not have
	if r != nil && now.Equal(last.Time) {
		return now.Add(1)
	}
	return now
}

// dataOf is the data of a record as an entry has it.
func dataOf(rec Record) (json.RawMessage, error) {
	if rec.Kind == "" {
		return nil, errors.New("a record needs a kind")
	}
	if rec.Data == nil {
		return nil, nil
	}
	return json.Marshal(rec.Data)
}

// nextPosition returns where size more bytes go: behind tail, or in a new segment
// that begins with entry first.
func (j *Journal) nextPosition(tail head, first uint64, size int64) head {
	if tail.Seq == 0 || tail.End > 0 && tail.End+size > j.options.SegmentBytes {
		return head{Segment: first}
	}
	return tail
}

func (j *Journal) writeLines(at head, lines []byte) error {
	f, err := os.OpenFile(j.segment(at.Segment).path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(lines, at.End)
	if err == nil && j.options.Sync {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil || at.End > 0 {
		return err
	}
	return j.syncDir()
}

// takeBack undoes a write that failed: the lines, and the head in case that
// was written but not synced.
func (j *Journal) takeBack(tail, next head) error {
	path := j.segment(next.Segment).path
	undo := func() error { return os.Truncate(path, next.End) }
	if next.End == 0 {
		undo = func() error { return os.Remove(path) }
	}
	err := undo()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, j.writeHead(tail))
}
