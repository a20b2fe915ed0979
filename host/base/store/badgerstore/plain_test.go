package badgerstore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"
)

// Badger as it comes, with the same flips: the tests above show something
// because these go wrong.

const plainEntries = 3000

func plainKey(i int) []byte { return fmt.Appendf(nil, "key/%06d", i) }

// plainValue is longer than the threshold of plainOptions for every third
// entry, so that the value log is used.
func plainValue(i int) []byte { return bytes.Repeat([]byte{byte('a' + i%26)}, 100+i%3*500) }

func plainOptions(dir string) badger.Options {
	return badger.DefaultOptions(dir).WithLogger(nil).WithValueThreshold(1000).
		WithMemTableSize(memTableSize).WithValueLogFileSize(valueLogSize).WithSyncWrites(false)
}

func plainFill(t *testing.T, dir string) *badger.DB {
	t.Helper()
	db, err := badger.Open(plainOptions(dir))
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewWriteBatch()
	for i := range plainEntries {
		if err := b.Set(plainKey(i), plainValue(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	return db
}

// plainRead says on its output how many entries Badger gives back wrong or not
// at all, without an error.
func plainRead(dir string) error {
	db, err := badger.Open(plainOptions(dir))
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	wrong, missing := 0, 0
	err = db.View(func(txn *badger.Txn) error {
		for i := range plainEntries {
			it, err := txn.Get(plainKey(i))
			if err == badger.ErrKeyNotFound {
				missing++
				continue
			}
			if err != nil {
				return err
			}
			v, err := it.ValueCopy(nil)
			if err != nil {
				return err
			}
			if !bytes.Equal(v, plainValue(i)) {
				wrong++
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	fmt.Printf("wrong %d missing %d\n", wrong, missing)
	return nil
}

func TestPlainBadgerServesDamage(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	closed := t.TempDir()
	if err := plainFill(t, closed).Close(); err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	db := plainFill(t, killed)
	defer db.Close()
	silent := 0
	for _, tc := range []struct{ name, src, ext string }{
		{"log after kill -9", killed, ".mem"},
		{"table", closed, ".sst"},
	} {
		for _, at := range []int{30, 300, 3000} {
			result := plainFlip(t, tc.src, tc.ext, at)
			t.Logf("bit flipped at byte %d of a %s: %s", at, tc.name, result)
			if strings.HasPrefix(result, "wrong") && result != "wrong 0 missing 0" {
				silent++
			}
		}
	}
	if silent == 0 {
		t.Error("Badger by itself noticed every flip: are these guards still needed?")
	}
}

// plainFlip flips a bit of a copy and says what another process reads there.
func plainFlip(t *testing.T, src, ext string, at int) string {
	t.Helper()
	dir := crashCopy(t, src)
	defer os.RemoveAll(dir)
	files, err := filepath.Glob(filepath.Join(dir, "*"+ext))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s file: %v", ext, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 4
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, out := process(t, "plain read", dir)
	said, _ := out.ReadString('\n')
	if err := cmd.Wait(); err != nil && said == "" {
		return "the process died: " + err.Error()
	}
	return strings.TrimSpace(said)
}
