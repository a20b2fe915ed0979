package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/record/checkpoint"
)

// An appending is one call of [Journal.Append]: a commit of its own, which may be written
// together with others.
type appending struct {
	entries []Entry       // with Kind, Actor and Data; the rest when they are written
	err     error         // why nothing was
	done    chan struct{} // closed when it is known
}

// newAppending makes entries of records. Callers do it side by side, and only what follows
// from the entry before is left for whoever writes.
func newAppending(records []Record) (*appending, error) {
	a := &appending{entries: make([]Entry, len(records)), done: make(chan struct{})}
	for i, rec := range records {
		data, err := dataOf(rec)
		if err != nil {
			return nil, fmt.Errorf("record %q: %w", rec.Kind, err)
		}
		a.entries[i] = Entry{Kind: rec.Kind, Actor: rec.Actor, Data: data, More: len(records) - 1 - i}
	}
	return a, nil
}

// A queue is what waits to be written. One of those who wait writes for all.
type queue struct {
	mu      sync.Mutex
	waiting []*appending
	lead    chan struct{} // holds one token: the right to write for all
}

// maxTogether is how many appends are written together.
const maxTogether = 512

func newQueue() *queue {
	q := &queue{lead: make(chan struct{}, 1)}
	q.lead <- struct{}{}
	return q
}

func (q *queue) add(a *appending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, a)
}

func (q *queue) take() []*appending {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxTogether)
	all := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return all
}

// remove reports whether a was still waiting.
func (q *queue) remove(a *appending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, a)
	if i >= 0 {
		q.waiting = slices.Delete(slices.Clone(q.waiting), i, i+1)
	}
	return i >= 0
}

// putBack puts appends that were taken at the head of the queue again.
func (q *queue) putBack(all []*appending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(slices.Clone(all), q.waiting...)
}

// Append commits the records, whatever the journal says. Calls that come at the same time
// are written, synced and signed together, and each is a commit of its own: after a crash
// all its records are there, or none.
//
// With [Options.Window] it returns when the entries are written, and so survive the death of
// this process; they are synced and signed within the window, so a power cut may take what
// was appended in it. Entries of one window have one time, that of its first. What this
// journal reads includes them; other processes see them after the window, and commit after
// it. Call [Journal.Flush] before the process ends.
//
// Errors are those of [Journal.Commit].
func (j *Journal) Append(ctx context.Context, records ...Record) ([]Entry, error) {
	if len(records) == 0 {
		return nil, nil
	}
	a, err := newAppending(records)
	if err != nil {
		return nil, fmt.Errorf("commit to journal %s: %w", j.dir, err)
	}
	j.queue.add(a)
	for begin := time.Now(); ; {
		select {
		case <-a.done:
			return a.result(j.dir)
		case <-ctx.Done():
			if j.queue.remove(a) {
				a.err = &filelock.HeldError{Path: filepath.Join(j.dir, lockName), PID: os.Getpid(), Waited: time.Since(begin), Cause: ctx.Err()}
				return a.result(j.dir)
			}
			<-a.done
			return a.result(j.dir)
		case <-j.queue.lead:
			j.lead(ctx, a)
			j.queue.lead <- struct{}{}
		}
	}
}

func (a *appending) result(dir string) ([]Entry, error) {
	if a.err != nil {
		return nil, fmt.Errorf("commit to journal %s: %w", dir, a.err)
	}
	return a.entries, nil
}

// lead writes what waits, of which own is the caller's, unless it was written. When the
// caller's context ends, what others want is written by one of them.
func (j *Journal) lead(ctx context.Context, own *appending) {
	select {
	case <-own.done:
		return
	default:
	}
	all := j.queue.take()
	err := j.write(ctx, all)
	if err != nil && ctx.Err() != nil {
		j.queue.putBack(slices.DeleteFunc(slices.Clone(all), func(a *appending) bool { return a == own }))
		all = []*appending{own}
	}
	for _, a := range all {
		if err != nil {
			a.entries, a.err = nil, err
		}
		close(a.done)
	}
}

// write commits all, or writes them in the window.
func (j *Journal) write(ctx context.Context, all []*appending) (err error) {
	if j.options.Window > 0 {
		return j.writeInWindow(ctx, all)
	}
	release, err := j.lock(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if failed := release(); err == nil {
			err = failed
		}
	}()
	ring, tail, last, err := j.refresh(ctx)
	if err != nil {
		return err
	}
	if err := j.append(ring, tail, j.after(ring, last), all); err != nil {
		return err
	}
	if tail.Seq == 0 {
		j.rememberFirst(ctx)
	}
	return nil
}

// chain has the entries of each follow tail. It returns their lines, and a head for the
// last entry whose line begins and ends where it does in the lines. What cannot be written is
// left out, and has an error.
func chain(tail head, now time.Time, all []*appending) (lines []byte, at head) {
	at = tail
	for _, a := range all {
		lines, at = a.chain(lines, at, now)
	}
	return lines, at
}

// chain appends the lines of the entries, which follow that of at.
func (a *appending) chain(lines []byte, at head, now time.Time) ([]byte, head) {
	before, were := at, len(lines)
	for i := range a.entries {
		e := &a.entries[i]
		e.Seq, e.Time, e.Prev = at.Seq+1, now, at.Hash
		longer, err := appendLine(lines, e)
		if err == nil && !utf8.ValidString(e.Kind+e.Actor) { // JSON has other bytes
			*e, err = decode(longer[len(lines):])
		}
		if err != nil {
			a.err = fmt.Errorf("record %q: %w", e.Kind, err)
			return lines[:were], before
		}
		at.Start, at.End = int64(len(lines)), int64(len(longer))
		at.Seq, at.Hash, lines = e.Seq, e.Hash, longer
	}
	return lines, at
}

// in is h, which says where in some lines an entry is, for lines that are at next.
func (h head) in(next head) head {
	return head{Seq: h.Seq, Hash: h.Hash, Segment: next.Segment, Start: next.End + h.Start, End: next.End + h.End}
}

// A window is the time between the first write that was not signed and the signature.
// No other process can commit in it.
type window struct {
	lock   *filelock.Lock
	ring   *checkpoint.Keyring
	signed head      // the head that there is
	at     head      // of the last entry that was written
	time   time.Time // of all entries written in it
	file   *os.File  // the segment
	timer  *time.Timer
}

// writeInWindow writes all, in the window that is open or in a new one.
func (j *Journal) writeInWindow(ctx context.Context, all []*appending) error {
	select {
	case <-j.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { j.turn <- struct{}{} }()
	return j.writeOpen(ctx, all)
}

// writeOpen is writeInWindow for whoever holds the token.
func (j *Journal) writeOpen(ctx context.Context, all []*appending) error {
	if err := j.openWindow(ctx); err != nil {
		return err
	}
	w := j.window
	lines, at := chain(w.at, w.time, all)
	if at == w.at {
		return nil
	}
	next := j.nextPosition(w.at, w.at.Seq+1, int64(len(lines)))
	if next.Segment != w.at.Segment && w.at != w.signed { // a window is in one segment
		if err := j.closeWindow(); err != nil {
			return err
		}
		return j.writeOpen(ctx, all)
	}
	if err := w.write(j, next, lines); err != nil {
		return errors.Join(err, j.closeWindow())
	}
	w.at = at.in(next)
	return nil
}

// openWindow opens a window, unless there is one.
func (j *Journal) openWindow(ctx context.Context) error {
	if j.window != nil {
		return nil
	}
	l, err := filelock.Acquire(ctx, filepath.Join(j.dir, lockName), j.options.LockWait)
	if err != nil {
		return err
	}
	ring, tail, last, err := j.refresh(ctx)
	if err != nil {
		return errors.Join(err, l.Release())
	}
	w := &window{lock: l, ring: ring, signed: tail, at: tail, time: j.after(ring, last)}
	w.timer = time.AfterFunc(j.options.Window, func() { j.closeLater(w) })
	j.window = w
	j.open.Store(true)
	return nil
}

// write writes lines at next, and leaves none of them when it fails.
func (w *window) write(j *Journal, next head, lines []byte) (err error) {
	if w.file == nil {
		if w.file, err = os.OpenFile(j.segment(next.Segment).path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return err
		}
	}
	if _, err := w.file.WriteAt(lines, next.End); err != nil {
		return errors.Join(err, w.file.Truncate(next.End))
	}
	return nil
}

// closeLater closes w, unless somebody did.
func (j *Journal) closeLater(w *window) {
	<-j.turn
	defer func() { j.turn <- struct{}{} }()
	if j.window == w {
		_ = j.closeWindow() // the next commit meets what is wrong
	}
}

// closeWindow signs and syncs what was written in the window, if there is one, and lets
// other processes commit. When it fails the next commit adopts what was written, or says
// why it cannot. For whoever holds the token.
func (j *Journal) closeWindow() error {
	w := j.window
	if w == nil {
		return nil
	}
	w.timer.Stop()
	j.window = nil
	defer j.open.Store(false) // until then [Journal.Flush] waits
	err := w.seal(j)
	if err != nil {
		j.ready.Store(false)
		err = fmt.Errorf("sign journal %s: %w", j.dir, err)
	}
	return errors.Join(err, w.end())
}

// seal signs and syncs what was written.
func (w *window) seal(j *Journal) error {
	if w.at == w.signed {
		return nil
	}
	done := w.at
	if err := j.sign(w.ring, w.signed, &done, w.time); err != nil {
		return err
	}
	if j.options.Sync {
		if err := w.file.Sync(); err != nil {
			return err
		}
		if w.at.Segment != w.signed.Segment {
			if err := j.syncDir(); err != nil {
				return err
			}
		}
	}
	if err := j.writeHead(done); err != nil {
		return err
	}
	j.groups.count(w.at.Seq - w.signed.Seq)
	if w.signed.Seq == 0 {
		j.rememberFirst(context.Background())
	}
	return nil
}

func (w *window) end() error {
	var err error
	if w.file != nil {
		err = w.file.Close()
	}
	return errors.Join(err, w.lock.Release())
}

// Flush signs and syncs what [Journal.Append] wrote in a window, without waiting for its
// end.
func (j *Journal) Flush() error {
	if !j.open.Load() {
		return nil
	}
	<-j.turn
	defer func() { j.turn <- struct{}{} }()
	return j.closeWindow()
}
