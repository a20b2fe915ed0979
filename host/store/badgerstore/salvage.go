package badgerstore

import (
	"bytes"
	"context"
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

	"github.com/skillet-run/skillet/host/store"
)

// SalvageReport says what [Salvage] could read.
type SalvageReport struct {
	Entries  int      // entries of the engine that were read and match their envelopes
	Expected uint64   // entries that should be there; 0 when that cannot be told
	Lost     []string // what could not be read, for people
}

// Salvage reads what is still whole of a damaged store and returns it as a
// store in memory, with the blobs of the damaged one. Nothing in dir changes.
//
// Every value returned is one that was written, but not always the last: where
// the newest version of an entry is lost an older one may stand in for it, and
// what was deleted may be back. What matters must be checked against the
// journal. An error means that nothing can be read at all: fs.ErrNotExist when
// there is no store, [ErrKey] when it has another key, [store.ErrDamaged] when
// what is left cannot be decrypted.
func Salvage(ctx context.Context, log hclog.Logger, dir string, o Options) (store.Store, SalvageReport, error) {
	p := newPlace(log, dir, o)
	if _, err := os.Stat(dir); err != nil {
		return nil, SalvageReport{}, fmt.Errorf("salvage store: %w", err)
	}
	l, err := p.lock(ctx, true)
	if err != nil {
		return nil, SalvageReport{}, fmt.Errorf("salvage store %s: %w", dir, err)
	}
	s, rep, err := p.salvage(ctx, o)
	if err = errors.Join(err, l.Release()); err != nil {
		return nil, rep, fmt.Errorf("salvage store %s: %w", dir, err)
	}
	return s, rep, nil
}

func (p *place) salvage(ctx context.Context, o Options) (store.Store, SalvageReport, error) {
	if h, err := p.readHead(); err == nil && h.Key != p.fingerprint() {
		return nil, SalvageReport{}, fmt.Errorf("%w: %s", ErrKey, keyHint(h.Key, p.fingerprint()))
	}
	r := &rescue{place: p, dir: p.source(), newest: map[string]version{}}
	if err := r.tables(); err != nil {
		return nil, r.report, err
	}
	if err := r.logs(); err != nil {
		return nil, r.report, err
	}
	e := store.MemoryEngine()
	if err := e.Update(ctx, r.fill); err != nil {
		return nil, r.report, err
	}
	blobs, err := store.DirBlobs(p.options.Blobs)
	if err != nil {
		return nil, r.report, err
	}
	return store.New(e, blobs, store.Settings{Delivery: o.Delivery}), r.report, nil
}

// source is where the original is, also after a crash during a swap.
func (p *place) source() string {
	if _, err := os.Lstat(p.path(dbName)); errors.Is(err, fs.ErrNotExist) && p.swapping() {
		return p.path(oldName)
	}
	return p.path(dbName)
}

// rescue collects the newest readable version of each of Badger's keys.
type rescue struct {
	place  *place
	dir    string
	newest map[string]version
	noKeys bool // KEYREGISTRY cannot be read; the store has no encryption
	report SalvageReport
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

// fill writes what was collected.
func (r *rescue) fill(tx store.Tx) error {
	if v, ok := r.newest[tallyKey]; ok && v.envelope != nil {
		if t, err := decodeTally(v.envelope[envelopeHeader:]); err == nil {
			r.report.Expected = t.count
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.newest)) {
		v := r.newest[key]
		name, isData := strings.CutPrefix(key, dataPrefix)
		if !isData || v.envelope == nil {
			continue
		}
		if err := tx.Set(name, v.envelope[envelopeHeader:]); err != nil {
			return err
		}
		r.report.Entries++
	}
	return nil
}

// tables reads the tables: those of the MANIFEST, or all there are when that
// is not whole.
func (r *rescue) tables() error {
	t, err := r.openTables()
	if err != nil {
		return err
	}
	defer t.close()
	for id, candidates := range r.candidates() {
		name := filepath.Base(table.NewFilename(id, ""))
		if err := r.table(t, id, candidates); err != nil {
			r.lost("%s: %v", name, err)
		}
	}
	return nil
}

// openTables prepares to read tables. Without encryption that needs no keys.
func (r *rescue) openTables() (*tables, error) {
	t, err := r.place.tables(r.dir)
	if err == nil {
		return t, nil
	}
	if len(r.place.options.Key) > 0 {
		return nil, r.place.damage(err, "%s/%s: %v", dbName, badger.KeyRegistryFileName, err)
	}
	r.lost("%s: %v", badger.KeyRegistryFileName, err)
	r.noKeys = true
	t.keys, err = badger.OpenKeyRegistry(badger.KeyRegistryOptions{InMemory: true})
	return t, err
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
	if len(r.place.options.Key) == 0 {
		return []badger.TableManifest{{Compression: options.None}}
	}
	var all []badger.TableManifest
	for id := range uint64(maxKeyID) {
		all = append(all, badger.TableManifest{KeyID: id + 1, Compression: options.None})
	}
	return all
}

// table reads a table: with checked blocks if it can be opened so, else every
// entry of it that matches its envelope.
func (r *rescue) table(t *tables, id uint64, candidates []badger.TableManifest) (err error) {
	for _, tm := range candidates {
		for _, check := range []options.ChecksumVerificationMode{options.OnBlockRead, options.NoVerification} {
			bad := 0
			err = t.open(id, tm, check, func(tbl *table.Table) error {
				bad = r.blocks(tbl)
				return nil
			})
			if err == nil && bad > 0 {
				return fmt.Errorf("%d places could not be read", bad)
			}
			if err == nil {
				return nil
			}
		}
	}
	return err
}

// blocks reads the blocks of a table one by one and counts the bad ones.
func (r *rescue) blocks(tbl *table.Table) (bad int) {
	starts := tbl.KeySplits(1<<30, nil)
	for i, start := range starts {
		end := ""
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		err := guard(func() error { return r.block(tbl, []byte(start), []byte(end)) })
		if err != nil {
			bad++
		}
	}
	return bad
}

// block reads the entries from start up to end.
func (r *rescue) block(tbl *table.Table, start, end []byte) error {
	it := tbl.NewIterator(table.NOCACHE)
	defer it.Close()
	it.Seek(start)
	if !it.Valid() || !bytes.Equal(it.Key(), start) {
		return errors.New("the block cannot be read")
	}
	var bad error
	for ; it.Valid() && (len(end) == 0 || y.CompareKeys(it.Key(), end) < 0); it.Next() {
		key, v := bytes.Clone(y.ParseKey(it.Key())), it.Value()
		if v.Meta&deletedBit != 0 {
			r.offer(key, version{at: y.ParseTs(it.Key())})
			continue
		}
		if err := r.offerValue(key, y.ParseTs(it.Key()), v.Value); err != nil && r.ours(key) {
			bad = err
		}
	}
	return bad
}

// deletedBit marks a deleted key in Badger's tables (bitDelete in value.go).
const deletedBit = 1 << 0

// ours tells the store's keys from those Badger keeps for itself.
func (r *rescue) ours(key []byte) bool { return !bytes.HasPrefix(key, []byte("!badger!")) }

// logs reads what was not yet in tables: Badger replays its logs, up to the
// first damage in each, in a directory that has nothing else.
func (r *rescue) logs() error {
	tmp, err := os.MkdirTemp(r.place.dir, "salvage-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	wanted := func(name string) bool { return isLog(name) || name == badger.KeyRegistryFileName && !r.noKeys }
	if err := copyFiles(r.dir, tmp, wanted); err != nil {
		return err
	}
	db, err := r.place.openBadger(tmp, examine)
	if err != nil {
		r.lost("logs: %v", err)
		return nil
	}
	if err := guard(func() error { return r.replayed(db) }); err != nil {
		r.lost("logs: %v", err)
	}
	if err := closeBadger(db); err != nil {
		r.lost("logs: %v", err)
	}
	return nil
}

// replayed reads every version in the database.
func (r *rescue) replayed(db *badger.DB) error {
	return db.View(func(txn *badger.Txn) error {
		o := badger.DefaultIteratorOptions
		o.PrefetchValues, o.AllVersions = false, true
		it := txn.NewIterator(o)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			item := it.Item()
			if item.IsDeletedOrExpired() {
				r.offer(item.KeyCopy(nil), version{at: item.Version()})
				continue
			}
			b, err := item.ValueCopy(nil)
			if err == nil {
				err = r.offerValue(item.KeyCopy(nil), item.Version(), b)
			}
			if err != nil {
				r.lost("logs: an entry: %v", err)
			}
		}
		return nil
	})
}
