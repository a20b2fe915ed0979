package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// engine is a store.Engine. Its calls come one after the other, each with the lock of the
// store, and begin with what others wrote meanwhile. One that is alone keeps the lock.
type engine struct {
	storeDir *storeDir
	turn     chan struct{} // holds one token: the right to use what follows

	closed bool
	alone  *filelock.Lock // nil when the lock is taken for each call
	file   *os.File       // nil when it was not opened yet
	codec  *codec
	head   head
	state  *state // what was read of the file
	warned bool   // whether little free space was logged
}

func newEngine(p *storeDir) *engine {
	e := &engine{storeDir: p, turn: make(chan struct{}, 1)}
	e.turn <- struct{}{}
	return e
}

// takeAlone takes the lock until the engine is closed, and brings the store in order.
func (e *engine) takeAlone(ctx context.Context) error {
	l, err := e.storeDir.lock(ctx, true)
	if err != nil {
		return err
	}
	e.alone = l
	if err = e.load(true); err == nil {
		err = e.mend()
	}
	if err != nil {
		return errors.Join(err, e.Close())
	}
	return nil
}

// View implements store.Engine.
func (e *engine) View(ctx context.Context, fn func(store.Reader) error) error {
	return e.view(ctx, func(s *state) error { return fn(s) })
}

func (e *engine) view(ctx context.Context, fn func(*state) error) error {
	return e.call(ctx, false, func() error { return fn(e.state) })
}

// Update implements store.Engine.
func (e *engine) Update(ctx context.Context, fn func(store.Tx) error) error {
	return e.call(ctx, true, func() error {
		t := &tx{state: e.state, was: e.state.number}
		done := false
		defer func() {
			if !done {
				t.undo()
			}
		}()
		if err := fn(t); err != nil {
			return err
		}
		if t.changed() {
			if err := e.write(t); err != nil {
				return err
			}
		}
		done = true
		return nil
	})
}

// call runs fn with the state as it is on the disk, alone when it writes.
func (e *engine) call(ctx context.Context, writes bool, fn func() error) (err error) {
	select {
	case <-e.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { e.turn <- struct{}{} }()
	if e.closed {
		return store.ErrClosed
	}
	if e.alone != nil {
		return fn()
	}
	l, err := e.storeDir.lock(ctx, writes)
	if err == nil {
		err = e.load(writes)
		if errors.Is(err, errNeedsWriter) {
			if err = l.Release(); err == nil {
				l, err = e.storeDir.lock(ctx, true)
			}
			if err == nil {
				err = e.load(true)
			}
		}
		if err == nil {
			err = fn()
		}
		if l != nil {
			err = errors.Join(err, l.Release())
		}
		return err
	}
	return fmt.Errorf("open store %s: %w", e.storeDir.dir, err)
}

// errNeedsWriter means that the store has to be made before it can be read.
var errNeedsWriter = errors.New("the store must be opened for writing first")

// load brings the state to what is in the file: all of it when that is another one than
// was read, else what came behind it.
func (e *engine) load(writes bool) error {
	if e.file != nil && e.current() {
		return e.catchUp(writes)
	}
	if err := e.closeFile(); err != nil {
		return err
	}
	f, err := os.OpenFile(e.storeDir.path(logName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		f, err = os.Open(e.storeDir.path(logName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return e.make(writes)
	}
	if err != nil {
		return err
	}
	e.file = f
	if err := e.readAll(); err != nil {
		return errors.Join(err, e.closeFile())
	}
	return e.catchUp(writes)
}

// make makes an empty store.
func (e *engine) make(writes bool) error {
	if err := e.storeDir.strange(); err != nil {
		return err
	}
	if !writes {
		return errNeedsWriter
	}
	if err := e.storeDir.room.Room(); err != nil {
		return err
	}
	return e.renew(newState(0))
}

// strange refuses a directory in which something else is than this backend writes.
func (p *storeDir) strange() error {
	entries, err := os.ReadDir(p.dir)
	for _, f := range entries {
		switch f.Name() {
		case lockName, turnName, logName, nextName, blobName:
		default:
			return fmt.Errorf("%w: it has %s, and no %s", store.ErrOtherBackend, f.Name(), logName)
		}
	}
	return err
}

// renew writes the file anew, and goes on with that.
func (e *engine) renew(s *state) error {
	f, err := e.storeDir.rewrite(s)
	if err != nil {
		return err
	}
	err = e.closeFile()
	e.file, e.state = f, s
	return errors.Join(err, e.readHead())
}

// current reports whether the file that was opened is the one with the name.
func (e *engine) current() bool {
	is, err := e.file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(e.storeDir.path(logName))
	return err == nil && os.SameFile(is, named)
}

func (e *engine) readHead() error {
	b := make([]byte, bodyStart)
	n, err := e.file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	h, err := decodeHeads(b[:n])
	if err != nil {
		return e.storeDir.damage(err, "%v", err)
	}
	if err := e.storeDir.check(h); err != nil {
		return err
	}
	e.head = h
	e.codec, err = newCodec(h, e.storeDir.options.Key)
	return err
}

func (e *engine) readAll() error {
	if err := e.readHead(); err != nil {
		return err
	}
	e.state = newState(0)
	e.state.commits, e.state.end = e.head.First-1, bodyStart
	return nil
}

// catchUp reads what came behind what was read. A writer cuts off what a process that
// died left there.
func (e *engine) catchUp(writes bool) error {
	h, err := e.nowHead()
	if err != nil {
		return err
	}
	b, err := e.rest()
	if err != nil {
		return err
	}
	if len(b) > 0 || h.Commits > e.state.commits {
		if err := e.storeDir.follow(e.state, e.codec, h, b); err != nil {
			e.forget()
			return err
		}
	}
	if e.head = h; writes {
		return e.mend()
	}
	return nil
}

// nowHead reads the first head again: the second does not change.
func (e *engine) nowHead() (head, error) {
	b := make([]byte, headSize)
	if _, err := e.file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return head{}, err
	}
	h, err := decodeHead(b)
	if err == nil && h.Salt != e.head.Salt {
		err = errors.New("its head is of another file")
	}
	if err != nil {
		e.forget()
		return head{}, e.storeDir.damage(err, "%v", err)
	}
	return h, nil
}

// rest is what the file has behind what was read.
func (e *engine) rest() ([]byte, error) {
	st, err := e.file.Stat()
	if err != nil || st.Size() == e.state.end {
		return nil, err
	}
	if st.Size() < e.state.end {
		end := e.state.end
		e.forget()
		return nil, e.storeDir.damage(nil, "it has %d bytes, and had %d", st.Size(), end)
	}
	b := make([]byte, st.Size()-e.state.end)
	_, err = io.ReadFull(io.NewSectionReader(e.file, e.state.end, int64(len(b))), b)
	return b, err
}

// forget makes the next call read the whole file.
func (e *engine) forget() { _ = e.closeFile() }

func (e *engine) closeFile() error {
	if e.file == nil {
		return nil
	}
	err := e.file.Close()
	e.file, e.state = nil, nil
	return err
}

// mend cuts off what is behind the last transaction. It was not acknowledged.
func (e *engine) mend() error {
	st, err := e.file.Stat()
	if err != nil || st.Size() == e.state.end {
		return err
	}
	if err := e.file.Truncate(e.state.end); err != nil {
		return err
	}
	return e.file.Sync()
}

// A file is written anew when it has garbage times as much as the state has, and at
// least that much more.
const (
	garbage      = 3
	leastGarbage = 4 << 20
)

// write makes a transaction durable.
func (e *engine) write(t *tx) error {
	if err := e.storeDir.room.Room(); err != nil {
		return err
	}
	if !e.warned {
		e.warned = e.storeDir.room.Warn()
	}
	b, err := e.codec.frame(e.state.commits+1, e.state.number, t.ops)
	if err != nil {
		return err
	}
	if _, err = e.file.WriteAt(b, e.state.end); err == nil {
		err = e.file.Sync()
	}
	if err != nil { // how much of it is on the disk nobody knows
		return errors.Join(fmt.Errorf("write store %s: %w", e.storeDir.dir, err), e.file.Truncate(e.state.end))
	}
	e.state.commits, e.state.end = e.state.commits+1, e.state.end+int64(len(b))
	// From here on the transaction is durable: what fails serves other things.
	e.head.Commits = e.state.commits
	if b, err = e.head.encode(); err == nil {
		_, err = e.file.WriteAt(b, 0)
	}
	if err == nil && e.state.end > garbage*e.state.live+leastGarbage {
		err = e.renew(e.state)
	}
	if err != nil {
		e.storeDir.log.Warn("store: it is not in order; what was written is", "dir", e.storeDir.dir, "error", err)
	}
	return nil
}

// Close implements store.Engine.
func (e *engine) Close() error {
	<-e.turn
	defer func() { e.turn <- struct{}{} }()
	e.closed = true
	err := e.closeFile()
	if e.alone != nil {
		err = errors.Join(err, e.alone.Release())
		e.alone = nil
	}
	return err
}
