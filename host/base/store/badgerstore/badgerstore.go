// Package badgerstore is the state contract of package store on Badger, the
// embedded default, with guards where Badger by itself loses or alters data
// without an error. It is the only package that knows Badger.
//
// # Directory
//
//	LOCK     held by whoever has the store open, shared by those who only read
//	TURN     held while waiting for LOCK, so that waiting is a queue
//	HEAD     how many transactions were acknowledged, 512 bytes
//	SEAL     sizes and checksums of Badger's files at the last clean close
//	db/      Badger's files
//	keys/    a copy of the keys that Badger encrypts with, when it does
//	db.next/ a copy under examination after a crash; swapped in or removed
//	blobs/   an OCI image layout, unless [Options.Blobs] names another place
//
// # Entries
//
// In Badger, key "m" has the tally and key "d" + K has the entry of the
// engine's key K (the layout of K is described in package store). Each value
// is in an envelope:
//
//	byte  0      version of the envelope: 1
//	bytes 1-4    length of the value, big-endian
//	bytes 5-12   first 8 bytes of SHA-256 of Badger's key
//	bytes 13-16  CRC-32C of bytes 0-12 and the value
//	bytes 17-    the value
//
// so an empty, altered or misplaced value is found out when it is read. The
// tally is written in every transaction: format of the store (2 bytes), number
// of transactions, last number given out, number of entries (8 bytes each) and
// the sum of all entries (32 bytes): SHA-256 of key and envelope, taken as four
// 64-bit numbers, added modulo 2^64. So missing, doubled or outdated entries
// are found out when the store is opened.
//
// # Guards
//
// A clean close writes SEAL. When an opening finds the files as they were
// sealed, they are what was written. Otherwise the store was not closed, or is
// damaged: then a copy is opened and every entry is compared with the tally,
// and the tally with HEAD, before anything of the original is touched. Only a
// copy that has everything takes the original's place.
package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
)

// Options are the settings of a store. Stores that are larger than CheckBytes are compared
// after a crash, when opened by [Open] (the files only) and by [Verify].
type Options = store.Options

// hooks are what tests replace.
type hooks struct {
	free func(dir string) (int64, error) // nil means the system's
	step []migration                     // nil means migrations
}

// Store is a store on Badger. See [store.Store].
type Store struct {
	store.Store
	engine   snapshotter
	storeDir *storeDir
}

// snapshotter is an engine whose whole state can be read at one point.
type snapshotter interface {
	store.Engine
	snapshot(ctx context.Context, fn func(snapshot) error) error
}

// Open opens the store in dir for this process alone, until Close. The
// directory is made when it does not exist. A store that was not closed is
// checked and brought in order first.
//
// errors.Is(err, [store.ErrDamaged]) when it is damaged, [filelock.ErrHeld]
// when another process has it, [store.ErrKey] when it has another key.
func Open(log hclog.Logger, dir string, o Options) (*Store, error) {
	return newStoreDir(log, dir, o).open()
}

func (p *storeDir) open() (*Store, error) {
	e, err := openExclusive(p)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", p.dir, err)
	}
	s, err := p.assemble(e, store.Settings{Delivery: p.options.Delivery})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return s, nil
}

// OpenShared opens the store in dir for several processes. Badger admits one
// writer, so each call opens it when it is not open, several readers or one
// writer at a time, keeps it for [Options.Linger] and lets others in. A call
// that finds it taken waits up to [Options.LockWait] and then returns an error
// that errors.Is [filelock.ErrHeld] and names the holder. Errors of opening
// ([store.ErrDamaged], [store.ErrKey]) come from the calls.
func OpenShared(log hclog.Logger, dir string, o Options) (*Store, error) {
	return newStoreDir(log, dir, o).openShared()
}

func (p *storeDir) openShared() (*Store, error) {
	if err := p.make(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", p.dir, err)
	}
	e := newShared(p)
	return p.assemble(e, store.Settings{Delivery: p.options.Delivery, Changes: p.changes, Poll: p.options.Poll})
}

func (p *storeDir) assemble(e snapshotter, s store.Settings) (*Store, error) {
	blobs, err := store.DirBlobs(p.options.Blobs)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", p.dir, err)
	}
	return &Store{Store: store.New(e, blobs, s), engine: e, storeDir: p}, nil
}

// make makes the store's directory.
func (p *storeDir) make() error { return os.MkdirAll(p.dir, 0o700) }
