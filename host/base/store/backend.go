package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"
)

// A Backend keeps stores in directories, one in each. Everything that is done with a
// store beside using it is in here, so that one backend can stand in for another: a
// store is moved from one to the other by [Held.Salvage] and [Backend.Create], or by
// a backup, whose format is the same for all.
//
// Package storetest has the conformance suite.
type Backend interface {
	// Name is what settings call the backend.
	Name() string
	// Owns reports whether the store in dir was made by this backend. It is false when
	// there is none.
	Owns(dir string) bool
	// Open opens the store in dir for this process alone, until it is closed. The
	// directory is made when it does not exist. A store that was not closed is checked
	// and brought in order first. The errors are [ErrDamaged], [ErrKey],
	// [ErrOtherBackend], and filelock.ErrHeld when another process has it.
	Open(log hclog.Logger, dir string, o Options) (Opened, error)
	// OpenShared opens the store in dir for several processes. It succeeds also when
	// the store is damaged: errors of opening come from the calls.
	OpenShared(log hclog.Logger, dir string, o Options) (Opened, error)
	// Create makes a store of items, which are by the keys of the engine, in a directory
	// that must not exist: fs.ErrExist. number is not below any number that the items
	// show to have been given out. When it returns nil the store is closed and durable.
	Create(ctx context.Context, log hclog.Logger, dir string, o Options, items []Item, number uint64) error
	// Restore makes a store in dir from a backup: all of it, or nothing. It refuses a
	// directory that has anything in it: fs.ErrExist. The other errors are ErrBackup of
	// package backup, and [ErrKey].
	Restore(ctx context.Context, log hclog.Logger, r io.Reader, dir string, o Options) (Totals, error)
	// Verify reads the whole store, which no process may have open meanwhile, and
	// changes nothing. The report is complete also when there is an error: [ErrDamaged],
	// or fs.ErrNotExist when there is no store.
	Verify(ctx context.Context, log hclog.Logger, dir string, o Options) (Report, error)
	// Hold waits until nobody uses the store in dir, and keeps it so until the result
	// is released. The errors are fs.ErrNotExist, and filelock.ErrHeld when others do
	// not let go of it.
	Hold(ctx context.Context, log hclog.Logger, dir string, o Options) (Held, error)
}

// Opened is a store in a directory.
type Opened interface {
	Store
	// Backup writes all entries, as they are at one point, and all blobs. A store with
	// a key gives a backup that the same key opens. Any damage that is met fails it.
	Backup(ctx context.Context, w io.Writer) (Totals, error)
	// Items returns all entries, by the keys of the engine, in their order.
	Items(ctx context.Context) ([]Item, error)
}

// Held is a store that nobody uses, in any process.
type Held interface {
	// Salvage reads what is still whole of the store, damaged or not. Nothing in its
	// directory changes.
	//
	// Every value returned is one that was written, but unless the report says that it
	// is whole not always the last: where the newest version of an entry is lost an
	// older one may stand in for it, and what was deleted may be back. What matters
	// must be checked against the journal. An error means that nothing can be read at
	// all: [ErrKey], or [ErrDamaged] when what is left cannot be decrypted.
	Salvage(ctx context.Context) (*Remains, error)
	// Release lets others use the store.
	Release() error
}

// Options are what every backend is told. The zero value is ready to use.
type Options struct {
	// Key encrypts the entries at rest: 16, 24 or 32 bytes for AES-128, -192 or
	// -256; nil for none. Blobs are not encrypted. A store keeps the key it was
	// made with.
	Key []byte
	// Blobs is the directory of the blobs; empty means blobs in the store's.
	Blobs string
	// Delivery is how queues hand out jobs.
	Delivery Delivery
	// FreeBytes is how much of the file system must be free for writing; below
	// it writes return [ErrReadOnly]. Zero means 256 MiB, less than zero turns the
	// watch off.
	FreeBytes int64
	// WarnBytes is the free space below which a warning is logged, once; zero
	// means twice FreeBytes.
	WarnBytes int64
	// LockWait is how long to wait for another process that has the store;
	// zero means 10 seconds.
	LockWait time.Duration
	// Linger is how long a shared store stays open for the next call, for backends that
	// have to open it; zero means 50 ms. It is cut short when another process waits.
	Linger time.Duration
	// Poll is how often a shared store looks for changes of other processes in
	// Watch, Follow and Pull; zero means 25 ms.
	Poll time.Duration
	// CheckBytes is the size of store up to which every opening reads and compares all
	// of it, for backends that could do without; zero means 64 MiB.
	CheckBytes int64
}

// Defaults of the zero fields of [Options].
const (
	DefaultFreeBytes  = 256 << 20
	DefaultLockWait   = 10 * time.Second
	DefaultLinger     = 50 * time.Millisecond
	DefaultCheckBytes = 64 << 20
)

// OrDefault returns o with its zero fields filled in, but for Blobs and Delivery.
func (o Options) OrDefault() Options {
	if o.FreeBytes == 0 {
		o.FreeBytes = DefaultFreeBytes
	}
	if o.WarnBytes == 0 {
		o.WarnBytes = 2 * o.FreeBytes
	}
	if o.LockWait <= 0 {
		o.LockWait = DefaultLockWait
	}
	if o.Linger <= 0 {
		o.Linger = DefaultLinger
	}
	if o.CheckBytes == 0 {
		o.CheckBytes = DefaultCheckBytes
	}
	return o
}

// CheckKey refuses a key that no cipher takes, with [ErrKey].
func (o Options) CheckKey() error {
	switch len(o.Key) {
	case 0, 16, 24, 32:
		return nil
	}
	return fmt.Errorf("%w: a key has 16, 24 or 32 bytes, this one has %d", ErrKey, len(o.Key))
}

// Errors of a [Backend] that a caller may test for.
var (
	// ErrKey: the store or backup was made with another key, or with none.
	ErrKey = errors.New("the key is not the store's")
	// ErrOtherBackend: the store was made by another backend.
	ErrOtherBackend = errors.New("the store was made by another backend")
)

// DamageError says what of a store is damaged. errors.Is finds
// [ErrDamaged] in it.
type DamageError struct {
	Dir   string // the store
	What  string // the file or entry, and what is wrong with it
	Cause error  // may be nil
}

// Error says what is damaged.
func (e *DamageError) Error() string {
	return fmt.Sprintf("store %s is damaged: %s", e.Dir, e.What)
}

// Is reports whether target is [ErrDamaged].
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns the cause.
func (e *DamageError) Unwrap() error { return e.Cause }

// Report is what [Backend.Verify] found.
type Report struct {
	Entries uint64       // entries that were read and are as they were written
	Commits uint64       // transactions
	Closed  bool         // the store was closed cleanly
	Files   []FileReport // the files of the backend
	Blobs   int          // blobs that match their digests
	Damage  []string     // everything that is damaged, for people; empty when nothing is
}

// Note adds damage to the report and hands the error on.
func (r *Report) Note(err error) error {
	var damage *DamageError
	if errors.As(err, &damage) {
		r.Damage = append(r.Damage, damage.What)
	} else if errors.Is(err, ErrDamaged) {
		r.Damage = append(r.Damage, err.Error())
	}
	return err
}

// VerifyBlobs reads all blobs in a directory, for the report; none when it is not there.
func (r *Report) VerifyBlobs(ctx context.Context, dir string) error {
	blobs, err := existingBlobs(dir)
	if err != nil || blobs == nil {
		return err
	}
	digests, err := blobs.List(ctx)
	for _, d := range digests {
		_, failed := blobs.Get(ctx, d)
		if failed == nil {
			r.Blobs++
		}
		err = errors.Join(err, r.Note(failed))
	}
	return err
}

// FileReport is the state of one file of a store.
type FileReport struct {
	Name  string
	Size  int64
	State FileState
}

// FileState compares a file with what it was when the store was closed.
type FileState string

// The states of a file.
const (
	FileSealed  FileState = "sealed"  // as it was when the store was closed
	FileNew     FileState = "new"     // not there when it was closed: the store was not closed
	FileChanged FileState = "changed" // not as it was
	FileMissing FileState = "missing" // was there, and is gone
)

// SalvageReport says what [Held.Salvage] could read.
type SalvageReport struct {
	Entries  int      // entries of the engine that were read and match their envelopes
	Expected uint64   // entries that should be there; 0 when that cannot be told
	Whole    bool     // they are all that was acknowledged, as it was written last
	Lost     []string // what could not be read, for people; may say something of a whole store, too
}

// Remains are what is still whole of a store.
type Remains struct {
	SalvageReport
	// Items are the entries, by the keys of the engine, in their order.
	Items []Item
	// Number is not below any number that the store gave out, as far as that can be
	// told from what was read.
	Number uint64
}

// Totals says what a backup has.
type Totals struct {
	Entries int    `json:"entries"` // entries of the engine: KV, queues, logs, locks
	Blobs   int    `json:"blobs"`
	Number  uint64 `json:"number"` // last number given out
	SHA256  []byte `json:"sha256"` // of all records before this one
}
