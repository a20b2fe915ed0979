package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// A Turn is one call's hold on a session: nobody else has it until it is done.
type Turn struct {
	store *Store
	key   Key
	terms Terms
	base  string
	lock  *filelock.Lock
	head  header
	state any    // from an earlier call of this process; nil for none
	saved []byte // from the file
	after bool   // a session of this name had ended
}

// Begin waits for its turn with a session, at most for wait and as long as ctx
// lives, and opens it; one that is not there yet is begun. With a wait of 0 it does
// not wait. Errors: [ErrBusy], [ErrDamaged], [ErrVersion], [ErrEnded], [ErrLimit].
func (s *Store) Begin(ctx context.Context, k Key, terms Terms, wait time.Duration) (*Turn, error) {
	base, err := k.base(s.dir)
	if err != nil {
		return nil, err
	}
	t := &Turn{store: s, key: k, terms: terms, base: base}
	for start, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := s.look(ctx, func() error { return t.take(ctx) })
		switch {
		case err == nil:
			return t, nil
		case !errors.Is(err, errTaken):
			return nil, err
		case time.Since(start) >= wait:
			return nil, busy(k, wait)
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("wait for session %s: %w", k, err)
		}
	}
}

// errTaken means that another call has its turn.
var errTaken = errors.New("taken")

func busy(k Key, waited time.Duration) error {
	e := fault.Errorf(fault.KindLimit, "session %s: %w", k, ErrBusy)
	if waited > 0 {
		e = fault.Errorf(fault.KindLimit, "session %s: %w, for which it was waited for %s", k, ErrBusy, waited.Round(time.Millisecond))
	}
	return e.WithHint("try again when that call is done; %s shows the sessions, and a call in another one need not wait", fault.List(fault.Sessions)).
		WithRetryAfter(time.Second)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// take takes the turn if nobody has it, and opens the session.
func (t *Turn) take(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(t.base), 0o700); err != nil {
		return fmt.Errorf("open session %s: %w", t.key, err)
	}
	l, err := filelock.Acquire(ctx, t.base+".turn", 0)
	if errors.Is(err, filelock.ErrHeld) {
		return errTaken
	}
	if err != nil {
		return fmt.Errorf("open session %s: %w", t.key, err)
	}
	t.lock = l
	if err := t.open(ctx); err != nil {
		return errors.Join(err, l.Release(), t.tidy())
	}
	return nil
}

// tidy deletes what is left of a session that was not begun. The lock is held.
func (t *Turn) tidy() error {
	if _, err := os.Stat(t.base + ".session"); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return gone(os.Remove(t.base + ".turn"))
}

// open reads the session, or begins it.
func (t *Turn) open(ctx context.Context) error {
	h, state, found, err := t.find(ctx)
	switch {
	case err != nil:
		return unreadable(t.key, err)
	case found && h.ended(time.Now()) && h.Discard:
		t.after, found, t.state = true, false, nil
		if err := t.store.discard(ctx, t.key, t.base); err != nil {
			return fmt.Errorf("session %s: %w", t.key, err)
		}
	case found && h.ended(time.Now()):
		return ended(h)
	case found && h.Digest != t.terms.Digest:
		return otherVersion(h, t.terms)
	}
	if found {
		t.head, t.saved = h, state
		return nil
	}
	return t.begin(ctx)
}

// find looks for the session in memory and in its file. What is in memory counts
// as long as it is what the file holds.
func (t *Turn) find(ctx context.Context) (h header, state []byte, found bool, err error) {
	l := t.store.remembered(t.key)
	if l != nil && l.memory {
		return l.head, l.saved, true, nil
	}
	h, _, found, err = t.store.read(ctx, t.base+".session", false)
	if err != nil || !found {
		return h, nil, found, err
	}
	if l != nil && l.head == h {
		t.state = l.state
		return h, nil, true, nil
	}
	return t.store.read(ctx, t.base+".session", true)
}

// begin makes a new session, so that it counts and can be seen from now on.
func (t *Turn) begin(ctx context.Context) error {
	now := time.Now().UnixMilli()
	t.head = header{
		Namespace: t.key.Namespace, Owner: t.key.Owner, Name: t.key.Name, Version: t.terms.Version, Digest: t.terms.Digest,
		Created: now, Used: now, Timeout: t.terms.Timeout.Milliseconds(), Discard: t.terms.discards(),
	}
	if err := t.store.room(ctx, t.key, t.terms.Max); err != nil {
		return err
	}
	if !t.terms.Persist {
		t.store.remember(t.key, &live{head: t.head, memory: true})
		return nil
	}
	last, err := t.store.last(ctx, t.key)
	if err != nil {
		return fmt.Errorf("begin session %s: %w", t.key, err)
	}
	t.head.Number = last + 1
	b, err := t.store.pack(t.head, nil)
	if err == nil {
		err = atomicfile.Write(t.base+".session", b)
	}
	if err == nil {
		err = t.store.note(ctx, t.key, t.head.Number)
	}
	if err != nil {
		return fmt.Errorf("begin session %s: %w", t.key, err)
	}
	return nil
}

// State is what the last call left, when that was a call of another process; nil
// for a session without calls.
func (t *Turn) State() []byte { return t.saved }

// Live is what the last call gave to Keep, when that was a call of this process;
// otherwise nil.
func (t *Turn) Live() any { return t.state }

// Calls is how many calls the session has had, without this one.
func (t *Turn) Calls() int { return t.head.Calls }

// After reports whether a session of that name had ended, so that this one is new.
func (t *Turn) After() bool { return t.after }

// Ends is when the session ends unless it is called again, as of the last call.
func (t *Turn) Ends() time.Time { return t.head.ends() }

// Keep makes what a call left the state of the session: saved for the file, and
// state, which takes size bytes, for the next call in this process. On an error the
// session is what it was before the call. Errors: [ErrLimit], [ErrClosed].
func (t *Turn) Keep(ctx context.Context, tool string, saved []byte, state any, size int) error {
	next := t.head
	next.Tool, next.Calls, next.Used = tool, next.Calls+1, time.Now().UnixMilli()
	next.Timeout, next.Discard = t.terms.Timeout.Milliseconds(), t.terms.discards()
	next.State, next.Bytes, next.Number = stateDigest(saved), int64(len(saved)), next.Number+1
	if err := t.keep(ctx, next, saved); err != nil {
		if t.terms.Persist { // state is ahead of the file
			t.store.forget(t.key)
		}
		return err
	}
	t.head, t.saved, t.state = next, saved, state
	l := &live{head: next, state: state, bytes: int64(size)}
	if !t.terms.Persist {
		l = &live{head: next, saved: saved, memory: true}
	}
	t.store.remember(t.key, l)
	return nil
}

func (t *Turn) keep(ctx context.Context, next header, saved []byte) error {
	if next.Bytes > t.store.settings.Bytes {
		return fault.Errorf(fault.KindLimit, "session %s: %w: the call left %s, and a session may have %s; it stays as it was before the call",
			t.key, ErrLimit, megabytes(next.Bytes), megabytes(t.store.settings.Bytes)).
			WithHint("let the skill delete something, or raise session_max_mb of this host")
	}
	if !t.terms.Persist {
		return t.store.look(context.WithoutCancel(ctx), func() error { return t.keepHere(ctx, next.Bytes) })
	}
	b, err := t.store.pack(next, saved)
	if err == nil {
		err = writeSynced(t.base+".next", b)
	}
	if err != nil {
		return fmt.Errorf("keep session %s: %w", t.key, err)
	}
	err = t.store.look(context.WithoutCancel(ctx), func() error { return t.replace(context.WithoutCancel(ctx), next) })
	if err != nil {
		return errors.Join(err, gone(os.Remove(t.base+".next")))
	}
	return nil
}

// writeSynced writes a file whose content is on the disk when it returns. The name
// need not be: nobody looks for it after a power cut.
func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replace puts the new file in the place of the old one, which must still be there.
func (t *Turn) replace(ctx context.Context, next header) error {
	h, _, found, err := t.store.read(ctx, t.base+".session", false)
	if err == nil && (!found || h != t.head) {
		return fmt.Errorf("keep session %s: %w", t.key, ErrClosed)
	}
	if err == nil {
		err = t.store.fits(ctx, t.key, next.Bytes)
	}
	if err == nil {
		err = os.Rename(t.base+".next", t.base+".session")
	}
	if err == nil {
		err = atomicfile.SyncDir(filepath.Dir(t.base))
	}
	if err == nil {
		if unknown := t.store.note(ctx, t.key, next.Number); unknown != nil { // the state is kept all the same
			t.store.log.Warn("an older file of a session would be taken until its next call", "err", unknown)
		}
	}
	if err != nil && !errors.Is(err, ErrLimit) {
		return fmt.Errorf("keep session %s: %w", t.key, err)
	}
	return err
}

// keepHere makes sure that a session in memory may go on there.
func (t *Turn) keepHere(ctx context.Context, size int64) error {
	if l := t.store.remembered(t.key); l == nil || l.head != t.head {
		return fmt.Errorf("keep session %s: %w", t.key, ErrClosed)
	}
	return t.store.fits(ctx, t.key, size)
}

// Done lets the next call have its turn.
func (t *Turn) Done() error { return t.lock.Release() }

// gone is err, unless it says that a file is not there.
func gone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func unreadable(k Key, err error) error {
	if !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("open session %s: %w", k, err)
	}
	return fault.Errorf(fault.KindVerification, "open session %s: %w: it is not what a call left there", k, err).
		WithHint("delete it with %s and start again, or put the file back from a copy of the home", fault.CloseSession(k.String()))
}

func ended(h header) error {
	return fault.Errorf(fault.KindConflict, "session %s: %w: nobody called it for %s", h.key(), ErrEnded, time.Duration(h.Timeout)*time.Millisecond).
		WithHint("go on with what it had: %s; or delete that: %s", fault.ResumeSession(h.key().String()), fault.CloseSession(h.key().String()))
}

func otherVersion(h header, t Terms) error {
	k := h.key()
	if h.Version == t.Version {
		return fault.Errorf(fault.KindConflict, "session %s: %w: to another package of version %s, %s", k, ErrVersion, h.Version, h.Digest).
			WithHint("start again under another name, or delete it first: %s", fault.CloseSession(k.String()))
	}
	return fault.Errorf(fault.KindConflict, "session %s: %w: to %s, and this is %s", k, ErrVersion, h.Version, t.Version).
		WithHint("call the version it belongs to: %s; or delete it and start again: %s", fault.Run(k.Skill()+"@"+h.Version).With(fault.FieldSession, k.Name), fault.CloseSession(k.String()))
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
