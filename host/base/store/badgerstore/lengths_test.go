package badgerstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"github.com/skillet-run/skillet/host/base/store"
)

// openAndTell opens a store and says how much memory was asked for meanwhile, and what
// came of it.
func openAndTell(dir string, key []byte) error {
	o := testOptions()
	o.Key = key
	s, err := Open(nil, dir, o)
	if err == nil {
		err = s.Close()
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fmt.Println(mem.TotalAlloc, errors.Is(err, store.ErrDamaged), err)
	return nil
}

// A flipped bit in a length is a request for gigabytes, which not every machine has:
// the process would end.
func TestLengthsAreNoRequestsForMemory(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		key        []byte
		spoil      func(t *testing.T, path string)
	}{
		{"the first value of a log", "*.mem", nil, func(t *testing.T, path string) { lengthen(t, path, 0) }},
		{"a later value of a log", "*.mem", nil, func(t *testing.T, path string) { lengthen(t, path, 3) }},
		{"a value of the value log", "*.vlog", nil, appendEntry},
		{"a value of an encrypted log", "*.mem", testKey(), func(t *testing.T, path string) { lengthen(t, path, 1) }},
		{"a data key", badger.KeyRegistryFileName, testKey(), func(t *testing.T, path string) {
			patch(t, path, registryHeader, []byte{0xf0})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir, o := t.TempDir(), testOptions()
			o.Key = test.key
			populate(t, dir, o, 1)
			s := mustOpen(t, dir, o)
			defer s.Close()
			work(t, s, 1)
			killed := crashCopy(t, dir)
			files, err := filepath.Glob(filepath.Join(killed, dbName, test.file))
			if err != nil || len(files) == 0 {
				t.Fatal("no file to break:", err)
			}
			test.spoil(t, files[len(files)-1])
			job := "open and tell"
			if test.key != nil {
				job = "open encrypted and tell"
			}
			cmd, out := process(t, job, killed)
			said, _ := out.ReadString('\n')
			if err := cmd.Wait(); err != nil {
				t.Fatalf("the process ended with %v", err)
			}
			t.Log(strings.TrimSpace(said))
			if n, err := strconv.ParseInt(strings.Fields(said)[0], 10, 64); err != nil || n > 300<<20 {
				t.Errorf("%d bytes of memory were asked for (%v)", n, err)
			}
			damaged := test.file != "*.vlog" // there, nothing of the store's is lost
			if got := strings.Fields(said)[1]; got != fmt.Sprint(damaged) {
				t.Errorf("damage was reported: %s, want %v", got, damaged)
			}
		})
	}
}

func patch(t *testing.T, path string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(b, at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// overlong is the header of an entry: two flags, a key of one byte, a value of almost
// four gigabytes.
func overlong() []byte {
	return append(binary.AppendUvarint([]byte{0, 0, 1}, 1<<32-100), 0)
}

// lengthen makes the nth entry of a log overlong.
func lengthen(t *testing.T, path string, n int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := logHeader
	for range n {
		e := at + logFlags
		key, k := binary.Uvarint(b[e:])
		value, v := binary.Uvarint(b[e+k:])
		_, x := binary.Uvarint(b[e+k+v:])
		at = e + k + v + x + int(key+value) + logSum
	}
	if b[at+logFlags] == 0 {
		t.Fatal("the log has fewer entries")
	}
	patch(t, path, int64(at), overlong())
}

// appendEntry writes an overlong entry to a log that has none.
func appendEntry(t *testing.T, path string) { patch(t, path, logHeader, overlong()) }

func FuzzLengths(f *testing.F) {
	f.Add(append(make([]byte, logHeader), overlong()...), make([]byte, registryHeader))
	f.Add([]byte{}, append(make([]byte, registryHeader), 0xff, 0, 0, 0, 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, log, registry []byte) {
		dir := t.TempDir()
		path, keys := filepath.Join(dir, "00001.mem"), filepath.Join(dir, badger.KeyRegistryFileName)
		if err := errors.Join(os.WriteFile(path, log, 0o600), os.WriteFile(keys, registry, 0o600)); err != nil {
			t.Fatal(err)
		}
		p := newStoreDir(nil, dir, testOptions())
		if checkRegistry(keys) != nil {
			return
		}
		if err := p.checkLengths(dir, examine); err != nil {
			t.Fatal(err)
		}
		if at, err := firstOverlong(path, int64(len(log))); err != nil || at >= 0 {
			t.Errorf("after the log was cut: %d, %v", at, err)
		}
	})
}
