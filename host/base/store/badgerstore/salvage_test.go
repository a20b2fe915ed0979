package badgerstore

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"

	"github.com/skillet-run/skillet/host/base/store"
)

// One altered byte, wherever it is, costs one entry: all others come back as they were
// written last, and the report says whether there was one.
func TestSalvageAroundOneByte(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	for name, o := range map[string]Options{"plain": testOptions(), "with a key": sealedOptions()} {
		dir := t.TempDir()
		populate(t, dir, o, 2)
		s := mustOpen(t, dir, o)
		work(t, s, 2)
		want, err := dump(t, s)
		if err != nil {
			t.Fatal(err)
		}
		killed := crashCopy(t, dir)
		mustClose(t, s)
		for state, dir := range map[string]string{"closed": dir, "killed": killed} {
			t.Run(fmt.Sprint(name, ", ", state), func(t *testing.T) { aroundOneByte(t, dir, o, want) })
		}
	}
}

func aroundOneByte(t *testing.T, src string, o Options, want map[string]string) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 0))
	files := slices.DeleteFunc(storeFiles(t, src), func(f string) bool { return strings.HasSuffix(f, ".vlog") })
	lossy := 0
	for i := range prove(40, 600) {
		rel, err := filepath.Rel(src, files[i%len(files)])
		if err != nil {
			t.Fatal(err)
		}
		dir := crashCopy(t, src)
		where := flip(t, rnd, filepath.Join(dir, rel))
		what := fmt.Sprintf("seed %d: %s, %s", seed, rel, where)
		r, err := Salvage(t.Context(), testLog(t), dir, o)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		checkRemains(t, what, r, want)
		if !r.Whole {
			lossy++
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("proof: one altered byte, %d times in %d files: %d times one entry was lost, and otherwise none", prove(40, 600), len(files), lossy)
}

// One altered byte of a table, whichever it is, costs one entry.
func TestScanAroundEachByte(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	for name, o := range map[string]Options{"plain": testOptions(), "with a key": sealedOptions()} {
		dir := t.TempDir()
		populate(t, dir, o, 2)
		for _, tbl := range tableFiles(t, dir, o) {
			t.Run(fmt.Sprint(name, ", ", tbl.name), func(t *testing.T) {
				whole := tbl.scan()
				step := prove(37, 1)
				for at := 0; at < len(tbl.data); at += step {
					for _, by := range []byte{1, 0x80} {
						tbl.data[at] ^= by
						left, lost := tbl.scan(), maps.Clone(whole)
						tbl.data[at] ^= by
						maps.DeleteFunc(lost, func(k, v string) bool { return left[k] == v })
						if len(lost) > mostLost {
							t.Errorf("byte %d of %d, altered by %#x: %d of %d keys are lost: %q", at, len(tbl.data), by, len(lost), len(whole), slices.Sorted(maps.Keys(lost)))
						}
					}
				}
			})
		}
	}
}

// A tableFile is a table as it is on disk, with the key it is encrypted with.
type tableFile struct {
	name      string
	data, key []byte
}

// scan returns the newest value of each key that a scan finds.
func (f tableFile) scan() map[string]string {
	r := &rescue{newest: map[string]version{}}
	_ = scanBlocks(f.data, f.key, r.found) // what cannot be read is missing
	all := map[string]string{}
	for key, v := range r.newest {
		all[key] = string(v.envelope)
	}
	return all
}

func tableFiles(t *testing.T, dir string, o Options) []tableFile {
	t.Helper()
	p := newStoreDir(testLog(t), dir, o)
	keys, err := p.tables(p.source())
	if err != nil {
		t.Fatal(err)
	}
	defer keys.close()
	m, _, err := readManifest(p.source())
	if err != nil {
		t.Fatal(err)
	}
	var all []tableFile
	for id, tm := range m.Tables {
		f := tableFile{name: filepath.Base(table.NewFilename(id, ""))}
		if f.data, err = os.ReadFile(table.NewFilename(id, p.source())); err != nil {
			t.Fatal(err)
		}
		key, err := keys.keys.DataKey(tm.KeyID)
		if err != nil {
			t.Fatal(err)
		}
		if key != nil {
			f.key = key.Data
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		t.Fatal("the store has no tables")
	}
	return all
}

// mostLost is how many entries one altered byte costs, but for what a queue finds its
// jobs by: that is made again of the jobs.
const mostLost = 1

func checkRemains(t *testing.T, what string, r *store.Remains, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, it := range r.Items {
		got[it.Key] = string(it.Value)
	}
	bad := 0
	for k, v := range want {
		if part, _ := store.PartOf(k); got[k] != v && part != store.PartIndex {
			bad++
		}
	}
	for k := range got {
		if part, _ := store.PartOf(k); part != store.PartIndex && want[k] == "" {
			bad++
		}
	}
	if bad > mostLost || r.Whole && bad > 0 {
		t.Errorf("%s: %d of %d entries are not as they were, and the report is %+v", what, bad, len(want), r.SalvageReport)
	}
	if !r.Whole && len(r.Lost) == 0 {
		t.Errorf("%s: something is lost, and the report does not say so: %+v", what, r.SalvageReport)
	}
}

// Bytes in the middle of a damaged entry that look like a deleted one do not hide those
// behind it.
func TestDamagedEntryHidesNoOther(t *testing.T) {
	base := y.KeyWithTs([]byte("dk\x00a base that is long enough"), 9)
	entry := func(name string, value []byte) []byte {
		key := y.KeyWithTs([]byte("dq\x00q\x00"+name), 44)
		b := append([]byte{1, 0, byte(len(key) - 1), 0}, key[1:]...) // it shares the d
		if value == nil {
			return append(b, deletedBit, 0, 0)
		}
		return append(append(b, 0, 0, 0), wrap(y.ParseKey(key), value)...)
	}
	for i := range 40 {
		damaged := entry("f\x000-0", []byte("12345678"))
		damaged[i%len(damaged)] ^= 0x80
		var found []string
		data := slices.Concat(damaged, entry("g\x000-0", []byte{1}), entry("j\x000-0", nil), entry("j\x000-1", []byte{2}))
		scanEntries(data, base, func(key []byte, _ uint64, _ []byte) { found = append(found, string(key)) })
		for _, name := range []string{"g\x000-0", "j\x000-0", "j\x000-1"} {
			if !slices.Contains(found, "dq\x00q\x00"+name) {
				t.Errorf("byte %d: %q is not found in %q", i, name, found)
			}
		}
	}
}

// An index that is wrong about a block has one more listed for it, and no more than
// that: it once had the list grow until the memory was full.
func TestBlocksBetween(t *testing.T) {
	all := []listing{{0, 10, nil}, {10, 20, nil}, {25, 30, nil}, {30, 40, nil}, {40, 55, nil}}
	want := []listing{{10, 25, nil}, {20, 30, nil}, {40, 50, nil}}
	if got := between(all, 50); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := between(all[:2], 20); got != nil {
		t.Errorf("nothing is wrong: %v", got)
	}
}

// What is made of bytes at random is only ever what has an envelope.
func FuzzScan(f *testing.F) {
	key := y.KeyWithTs([]byte("dk\x00name"), 7)
	entry := append([]byte{0, 0, byte(len(key)), 0}, key...)
	entry = append(append(entry, 0, 0, 0), wrap([]byte("dk\x00name"), []byte("value"))...)
	f.Add(entry, []byte(nil))
	f.Add(append(bytes.Clone(entry), 4, 0, 1, 0, 'x', 1, 0, 0), key)
	f.Fuzz(func(t *testing.T, data, base []byte) {
		scanEntries(data, base, func(key []byte, _ uint64, envelope []byte) {
			if _, err := unwrap(key, envelope); envelope != nil && err != nil {
				t.Errorf("%q: %v", key, err)
			}
		})
		var s logScan
		if len(data) >= logHeader {
			s.read(data, nil)
			s.committed(1)
		}
		_ = guard(func() error { tableBlocks(data, nil); return nil }) // a panic is an error there
	})
}
