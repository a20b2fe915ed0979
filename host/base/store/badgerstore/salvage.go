package badgerstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/filelock"
)

// Salvage reads what is still whole of a store, damaged or not. Nothing in dir
// changes.
//
// Every value returned is one that was written, but unless the report says that it
// is whole not always the last: where the newest version of an entry is lost an
// older one may stand in for it, and what was deleted may be back. What matters must
// be checked against the journal. An error means that nothing can be read at all:
// fs.ErrNotExist when there is no store, [store.ErrKey] when it has another key,
// [store.ErrDamaged] when what is left cannot be decrypted.
func Salvage(ctx context.Context, log hclog.Logger, dir string, o Options) (*store.Remains, error) {
	h, err := Hold(ctx, log, dir, o)
	if err != nil {
		return nil, err
	}
	r, err := h.Salvage(ctx)
	return r, errors.Join(err, h.Release())
}

// A Held store is used by nobody, in no process, until it is released.
type Held struct {
	storeDir *storeDir
	lock     *filelock.Lock
}

// Hold waits until nobody uses the store in dir, and keeps it so. The errors are those
// of [Salvage] and, when others do not let go of it, [filelock.ErrHeld].
func Hold(ctx context.Context, log hclog.Logger, dir string, o Options) (*Held, error) {
	p := newStoreDir(log, dir, o)
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("salvage store: %w", err)
	}
	l, err := p.lock(ctx, true)
	if err != nil {
		return nil, fmt.Errorf("salvage store %s: %w", dir, err)
	}
	return &Held{p, l}, nil
}

// Release lets others use the store.
func (h *Held) Release() error { return h.lock.Release() }

// Salvage is the function of that name for a store that is held.
func (h *Held) Salvage(ctx context.Context) (*store.Remains, error) {
	r, err := h.storeDir.salvage(ctx)
	if err != nil {
		return nil, fmt.Errorf("salvage store %s: %w", h.storeDir.dir, err)
	}
	return r, nil
}

func (p *storeDir) salvage(ctx context.Context) (*store.Remains, error) {
	h, err := p.readHead()
	if err == nil && h.Key != p.fingerprint() {
		return nil, fmt.Errorf("%w: %s", store.ErrKey, keyHint(h.Key, p.fingerprint()))
	}
	r := &rescue{storeDir: p, dir: p.source(), newest: map[string]version{}, acknowledged: max(h.Commits, p.readSeal().Commits)}
	if err != nil && p.exists() {
		r.lost("%s: %v", headName, err)
	}
	if err := r.openKeys(); err != nil {
		return nil, err
	}
	defer r.keys.close()
	r.tables()
	r.logs()
	return r.remains(ctx)
}

// source is where the original is, also after a crash during a swap.
func (p *storeDir) source() string {
	if _, err := os.Lstat(p.path(dbName)); errors.Is(err, fs.ErrNotExist) && p.swapping() {
		return p.path(oldName)
	}
	return p.path(dbName)
}

// rescue collects the newest readable version of each of Badger's keys.
type rescue struct {
	storeDir     *storeDir
	dir          string
	keys         *tables
	acknowledged uint64 // transactions, as far as is known
	newest       map[string]version
	report       store.SalvageReport
}

// version is what is known of a key.
type version struct {
	at       uint64
	envelope []byte // nil when the key was deleted
}

func (r *rescue) lost(format string, args ...any) {
	r.report.Lost = append(r.report.Lost, fmt.Sprintf(format, args...))
}

// offer takes a version of a key unless a newer one is known.
func (r *rescue) offer(key []byte, v version) {
	if known, ok := r.newest[string(key)]; !ok || v.at > known.at {
		r.newest[string(key)] = v
	}
}

// offerValue is offer for a value, which must match its envelope.
func (r *rescue) offerValue(key []byte, at uint64, envelope []byte) error {
	if _, err := unwrap(key, envelope); err != nil {
		return err
	}
	r.offer(key, version{at, bytes.Clone(envelope)})
	return nil
}

// remains are what was collected.
func (r *rescue) remains(ctx context.Context) (*store.Remains, error) {
	was, err := r.lastTally()
	if err != nil {
		r.lost("the tally: %v", err)
	}
	e := store.MemoryEngine()
	defer e.Close()
	all := &store.Remains{Number: was.number}
	if err := e.Update(ctx, func(tx store.Tx) error { return r.fill(tx, was) }); err != nil {
		return nil, err
	}
	err = e.View(ctx, func(in store.Reader) error {
		for it, err := range in.Scan("", "") {
			if err != nil {
				return err
			}
			all.Items, all.Number = append(all.Items, it), max(all.Number, store.HighestNumber(it))
		}
		return nil
	})
	all.SalvageReport = r.report
	return all, err
}

// lastTally is the newest tally that can be read; the zero one when nothing was
// ever written.
func (r *rescue) lastTally() (tally, error) {
	v, ok := r.newest[tallyKey]
	if !ok && r.acknowledged == 0 && len(r.newest) == 0 {
		return tally{}, nil
	}
	if !ok || v.envelope == nil {
		return tally{}, errors.New("it cannot be read")
	}
	return decodeTally(v.envelope[envelopeHeader:])
}

// fill writes what was collected, and compares it with the tally. What is not whole
// may lack what queues find their jobs by.
func (r *rescue) fill(tx store.Tx, was tally) error {
	var found tally
	for _, key := range slices.Sorted(maps.Keys(r.newest)) {
		v := r.newest[key]
		name, isData := strings.CutPrefix(key, dataPrefix)
		if !isData || v.envelope == nil {
			continue
		}
		if err := tx.Set(name, v.envelope[envelopeHeader:]); err != nil {
			return err
		}
		found.add([]byte(key), v.envelope)
	}
	r.report.Entries, r.report.Expected = int(found.count), was.count
	r.report.Whole = was.compare(found) == nil && was.commits >= r.acknowledged
	if r.report.Whole {
		return nil
	}
	return store.Reindex(tx)
}

// tables reads the tables: those of the MANIFEST, or all there are when that
// is not whole.
func (r *rescue) tables() {
	for id, candidates := range r.candidates() {
		if err := r.table(id, candidates); err != nil {
			r.lost("%s: %v", filepath.Base(table.NewFilename(id, "")), err)
		}
	}
}

// openKeys prepares to read encrypted files: from the copy of the keys when they
// themselves cannot be read. Without encryption that needs no keys.
func (r *rescue) openKeys() error {
	t, err := r.storeDir.tables(r.dir)
	r.keys = t
	if err == nil {
		return nil
	}
	r.lost("%s: %v", badger.KeyRegistryFileName, err)
	if len(r.storeDir.options.Key) == 0 {
		t.keys, err = badger.OpenKeyRegistry(badger.KeyRegistryOptions{InMemory: true})
		return err
	}
	t, again := r.storeDir.tables(r.storeDir.path(keysName))
	if again != nil {
		return r.storeDir.damage(err, "%s/%s: %v", dbName, badger.KeyRegistryFileName, err)
	}
	t.dir, r.keys = r.dir, t
	return nil
}

// maxKeyID bounds the data keys that are tried for a table of which nothing is
// known. Badger makes one every ten days of use.
const maxKeyID = 64

// candidates returns the tables, and as what each is to be read.
func (r *rescue) candidates() map[uint64][]badger.TableManifest {
	all := map[uint64][]badger.TableManifest{}
	m, whole, err := readManifest(r.dir)
	if info, failed := os.Stat(filepath.Join(r.dir, badger.ManifestFilename)); err == nil && failed == nil && whole == info.Size() {
		for id, tm := range m.Tables {
			all[id] = []badger.TableManifest{tm}
		}
		return all
	}
	r.lost("%s is not whole: tables that were replaced may be read as well", badger.ManifestFilename)
	files, err := listFiles(r.dir)
	if err != nil {
		r.lost("%v", err)
	}
	for _, f := range files {
		if id, ok := table.ParseFileID(f.Name); ok {
			all[id] = r.guesses()
		}
	}
	return all
}

func (r *rescue) guesses() []badger.TableManifest {
	if len(r.storeDir.options.Key) == 0 {
		return []badger.TableManifest{{Compression: options.None}}
	}
	var all []badger.TableManifest
	for id := range uint64(maxKeyID) {
		all = append(all, badger.TableManifest{KeyID: id + 1, Compression: options.None})
	}
	return all
}

// table reads a table: entry by entry when all its checksums are right, else every
// entry in it that matches its envelope, wherever it is.
func (r *rescue) table(id uint64, candidates []badger.TableManifest) (err error) {
	for _, tm := range candidates {
		bad := 0
		err = r.keys.open(id, tm, options.OnTableRead, func(tbl *table.Table) error {
			bad = r.entries(tbl)
			return nil
		})
		if err == nil && bad > 0 {
			return fmt.Errorf("%d entries could not be read", bad)
		}
		if err == nil {
			return nil
		}
	}
	for _, tm := range candidates {
		if failed := r.scanTable(id, tm); failed != nil {
			err = failed
		}
	}
	return fmt.Errorf("not all of it can be read: %w", err)
}

// entries reads the entries of a table, and counts those that do not match their
// envelopes.
func (r *rescue) entries(tbl *table.Table) (bad int) {
	it := tbl.NewIterator(table.NOCACHE)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		key, at, v := bytes.Clone(y.ParseKey(it.Key())), y.ParseTs(it.Key()), it.Value()
		if v.Meta&deletedBit != 0 {
			r.offer(key, version{at: at})
		} else if err := r.offerValue(key, at, v.Value); err != nil && r.ours(key) {
			bad++
		}
	}
	return bad
}

// ours tells the store's keys from those Badger keeps for itself.
func (r *rescue) ours(key []byte) bool { return !bytes.HasPrefix(key, []byte(badgersOwn)) }

// scanTable looks for entries in a damaged table.
func (r *rescue) scanTable(id uint64, tm badger.TableManifest) error {
	data, err := os.ReadFile(table.NewFilename(id, r.dir))
	if err != nil {
		return err
	}
	key, err := r.keys.keys.DataKey(tm.KeyID)
	if err != nil {
		return err
	}
	var secret []byte
	if key != nil {
		secret = key.Data
	}
	return scanBlocks(data, secret, r.found)
}

// found takes an entry that a scan found; envelope is nil for a deleted one.
func (r *rescue) found(key []byte, at uint64, envelope []byte) {
	r.offer(key, version{at, bytes.Clone(envelope)})
}

// logs reads what was not yet in tables.
func (r *rescue) logs() {
	files, err := listFiles(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.lost("%v", err)
	}
	var all logScan
	for _, f := range files {
		if !strings.HasSuffix(f.Name, memSuffix) {
			continue
		}
		damaged, err := r.scanLog(f.Name, &all)
		if err != nil {
			r.lost("%s: %v", f.Name, err)
		} else if damaged > 0 {
			r.lost("%s: not all of it can be read, from byte %d on", f.Name, damaged)
		}
	}
	for _, e := range all.committed(r.acknowledged) {
		if e.deleted {
			r.offer(e.key, version{at: e.at})
		} else if err := r.offerValue(e.key, e.at, e.value); err != nil && r.ours(e.key) {
			r.lost("logs: an entry: %v", err)
		}
	}
}

func (r *rescue) scanLog(name string, to *logScan) (damaged int, err error) {
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil || len(b) < logHeader {
		return 0, err
	}
	key, err := r.keys.keys.DataKey(binary.BigEndian.Uint64(b))
	if err != nil {
		return 0, err
	}
	var secret []byte
	if key != nil {
		secret = key.Data
	}
	return to.read(b, secret), nil
}
