// Package filestore is the state contract of package store in one file: a log of
// transactions, which is read into memory and written anew when most of it is out of
// date. It is for homes that are small, or are kept where one file is easier to look
// after than a database.
//
// # Directory
//
//	LOCK        held while the store is read or written, shared by those who only read
//	TURN        held while waiting for LOCK, so that waiting is a queue
//	store.log   the store
//	store.next  the next store.log, until it is whole
//	blobs/      an OCI image layout, unless [store.Options.Blobs] names another place
//
// # The file
//
// It begins with a head of 512 bytes, as a disk writes them as a whole: JSON with the
// format, the fingerprint of the key, the salt, the number of the first transaction, how
// many were acknowledged, and a checksum. A copy of the head as it was first follows.
// Then there are frames, one for each transaction:
//
//	bytes 0-3   "SKTX"
//	bytes 4-7   length of the body, big-endian
//	bytes 8-15  number of the transaction: one above that of the frame before
//	bytes 16-23 last number that was given out
//	bytes 24-27 CRC-32C of the salt, bytes 0-23 and the body
//	bytes 28-   the body
//
// The body has what the transaction wrote: for each entry what was done ('s' set,
// 'd' deleted), the lengths of key and value (4 bytes each), key and value. With a key it
// is sealed by AES-GCM under a key of its own, with a random nonce in front and bytes
// 0-23 as additional data.
//
// # Guards
//
// A transaction is written and synced before it is acknowledged; then the head counts it,
// which is not synced: a head that is behind is not damage. What a process that died left
// of a frame is cut off by the next that writes, if the head does not count it and no
// whole frame follows. Everything else that does not fit is damage.
package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/host/base/store/backup"
	"github.com/skillet-run/skillet/host/base/store/filelock"
	"github.com/skillet-run/skillet/host/base/store/space"
)

// Name is what settings call this backend.
const Name = "file"

// Backend returns the backend.
func Backend() store.Backend { return backend{} }

type backend struct{}

// Names in the directory of a store.
const (
	lockName = "LOCK"
	turnName = "TURN"
	logName  = "store.log"
	nextName = "store.next"
	blobName = "blobs"
)

func (backend) Name() string { return Name }

func (backend) Owns(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, logName))
	return err == nil
}

// storeDir is the directory of a store, open or not.
type storeDir struct {
	log     hclog.Logger
	dir     string
	options store.Options
	room    space.Watch
}

func newStoreDir(log hclog.Logger, dir string, o store.Options) *storeDir {
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if o = o.OrDefault(); o.Blobs == "" {
		o.Blobs = filepath.Join(dir, blobName)
	}
	return &storeDir{log, dir, o, space.Watch{Log: log, Dir: dir, FreeBytes: o.FreeBytes, WarnBytes: o.WarnBytes}}
}

func (p *storeDir) path(name string) string { return filepath.Join(p.dir, name) }

func (p *storeDir) damage(cause error, format string, args ...any) error {
	return &store.DamageError{Dir: p.dir, What: logName + ": " + fmt.Sprintf(format, args...), Cause: cause}
}

// lock begins all use of a store, behind everyone who waits already.
func (p *storeDir) lock(ctx context.Context, exclusive bool) (*filelock.Lock, error) {
	if err := p.options.CheckKey(); err != nil {
		return nil, err
	}
	begin, wait := time.Now(), p.options.LockWait
	turn, err := filelock.Acquire(ctx, p.path(turnName), wait)
	if err != nil {
		return nil, err
	}
	acquire := filelock.AcquireShared
	if exclusive {
		acquire = filelock.Acquire
	}
	l, err := acquire(ctx, p.path(lockName), max(0, wait-time.Since(begin)))
	return l, errors.Join(err, turn.Release())
}

// opened is a store.Opened.
type opened struct {
	store.Store
	engine *engine
}

func (backend) Open(log hclog.Logger, dir string, o store.Options) (store.Opened, error) {
	p := newStoreDir(log, dir, o)
	s, err := p.open(true)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return s, nil
}

func (backend) OpenShared(log hclog.Logger, dir string, o store.Options) (store.Opened, error) {
	s, err := newStoreDir(log, dir, o).open(false)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, err)
	}
	return s, nil
}

func (p *storeDir) open(alone bool) (*opened, error) {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	e := newEngine(p)
	if alone {
		if err := e.takeAlone(context.Background()); err != nil {
			return nil, err
		}
	}
	blobs, err := store.DirBlobs(p.options.Blobs)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	settings := store.Settings{Delivery: p.options.Delivery}
	if !alone {
		settings.Changes, settings.Poll = p.changes, p.options.Poll
	}
	return &opened{store.New(e, blobs, settings), e}, nil
}

func (s *opened) Backup(ctx context.Context, w io.Writer) (store.Totals, error) {
	t, err := backup.Write(ctx, w, s.engine.storeDir.options.Key, func(write func(backup.State) error) error {
		return s.engine.view(ctx, func(now *state) error {
			return write(backup.State{Items: now.scan("", ""), Count: uint64(len(now.keys)), Number: now.number})
		})
	}, s.Blobs())
	if err != nil {
		return store.Totals{}, fmt.Errorf("back up store %s: %w", s.engine.storeDir.dir, err)
	}
	return t, nil
}

func (s *opened) Items(ctx context.Context) (all []store.Item, err error) {
	err = s.engine.view(ctx, func(now *state) error {
		all = now.items()
		return ctx.Err()
	})
	return all, err
}

func (backend) Create(ctx context.Context, log hclog.Logger, dir string, o store.Options, items []store.Item, number uint64) error {
	if err := newStoreDir(log, dir, o).create(ctx, items, number); err != nil {
		return fmt.Errorf("create store %s: %w", dir, err)
	}
	return nil
}

func (p *storeDir) create(ctx context.Context, items []store.Item, number uint64) error {
	if _, err := os.Lstat(p.dir); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, fs.ErrExist)
	}
	if err := errors.Join(ctx.Err(), p.options.CheckKey()); err != nil {
		return err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	if err := p.room.Room(); err != nil {
		return err
	}
	s := newState(number)
	for _, it := range items {
		s.set(it.Key, it.Value)
	}
	f, err := p.rewrite(s)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), atomicfile.SyncTree(p.dir), atomicfile.SyncDir(filepath.Dir(p.dir)))
}

func (backend) Restore(ctx context.Context, log hclog.Logger, r io.Reader, dir string, o store.Options) (store.Totals, error) {
	return backup.Restore(dir, func(part string) (store.Totals, error) {
		p := newStoreDir(log, part, o)
		if err := errors.Join(p.options.CheckKey(), os.MkdirAll(part, 0o700)); err != nil {
			return store.Totals{}, err
		}
		blobs, err := store.DirBlobs(p.options.Blobs)
		if err != nil {
			return store.Totals{}, err
		}
		to := &restorer{ctx, newState(0), blobs}
		t, err := backup.Read(r, o.Key, to)
		if err == nil {
			err = p.room.Room()
		}
		if err != nil {
			return store.Totals{}, err
		}
		to.state.number = t.Number
		f, err := p.rewrite(to.state)
		if err != nil {
			return store.Totals{}, err
		}
		return t, errors.Join(f.Close(), atomicfile.SyncTree(part))
	})
}

// restorer takes what a backup has.
type restorer struct {
	ctx   context.Context
	state *state
	blobs store.Blobs
}

// Item implements [backup.Sink].
func (r *restorer) Item(key string, value []byte) error {
	if err := errors.Join(r.ctx.Err(), backup.CheckItem(key, value)); err != nil {
		return err
	}
	r.state.set(key, append([]byte{}, value...))
	return nil
}

// Blob implements [backup.Sink].
func (r *restorer) Blob(digest string, content []byte) error {
	return r.blobs.Put(r.ctx, digest, content)
}

func (backend) Verify(ctx context.Context, log hclog.Logger, dir string, o store.Options) (store.Report, error) {
	p := newStoreDir(log, dir, o)
	if _, err := os.Stat(dir); err != nil {
		return store.Report{}, fmt.Errorf("verify store: %w", err)
	}
	l, err := p.lock(ctx, true)
	if err != nil {
		return store.Report{}, fmt.Errorf("verify store %s: %w", dir, err)
	}
	var rep store.Report
	err = errors.Join(rep.Note(p.verify(&rep)), rep.VerifyBlobs(ctx, p.options.Blobs), l.Release())
	if err != nil {
		return rep, fmt.Errorf("verify store %s: %w", dir, err)
	}
	return rep, nil
}

func (p *storeDir) verify(rep *store.Report) error {
	b, err := os.ReadFile(p.path(logName))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store not found: %w", fs.ErrNotExist)
	}
	if err != nil {
		return err
	}
	file := store.FileReport{Name: logName, Size: int64(len(b)), State: store.FileChanged}
	defer func() { rep.Files = append(rep.Files, file) }()
	s, err := p.read(b)
	if err != nil {
		return err
	}
	rep.Entries, rep.Commits, rep.Closed = uint64(len(s.keys)), s.commits, s.end == int64(len(b))
	if file.State = store.FileNew; rep.Closed {
		file.State = store.FileSealed
	}
	return nil
}

// held is a store.Held.
type held struct {
	storeDir *storeDir
	lock     *filelock.Lock
}

func (backend) Hold(ctx context.Context, log hclog.Logger, dir string, o store.Options) (store.Held, error) {
	p := newStoreDir(log, dir, o)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("salvage store: %w", err)
	}
	l, err := p.lock(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("salvage store %s: %w", dir, err)
	}
	return &held{p, l}, nil
}

func (h *held) Release() error { return h.lock.Release() }

func (h *held) Salvage(ctx context.Context) (*store.Remains, error) {
	b, err := os.ReadFile(h.storeDir.path(logName))
	if err == nil {
		err = ctx.Err()
	}
	var r *store.Remains
	if err == nil {
		r, err = h.storeDir.salvage(b)
	}
	if err != nil {
		return nil, fmt.Errorf("salvage store %s: %w", h.storeDir.dir, err)
	}
	return r, nil
}
