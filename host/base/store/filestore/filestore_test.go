package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
	"github.com/skillet-run/skillet/host/base/store/storetest"
)

func TestBackend(t *testing.T) { storetest.RunBackend(t, Backend()) }

func TestMove(t *testing.T) {
	storetest.RunMove(t, badgerstore.Backend(), Backend())
	storetest.RunMove(t, Backend(), badgerstore.Backend())
}

// dirEnv has the test binary write to a store until it is killed.
const dirEnv = "SKILLET_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirEnv); dir != "" {
		fmt.Println("error:", putForever(dir))
		os.Exit(3)
	}
	os.Exit(m.Run())
}

// putForever writes entries and says which were acknowledged.
func putForever(dir string) error {
	s, err := Backend().OpenShared(nil, dir, store.Options{FreeBytes: -1})
	if err != nil {
		return err
	}
	run := fmt.Sprint(os.Getpid())
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s/%06d", run, i)
		value := append([]byte(key), bytes.Repeat([]byte("x"), 20<<10)...) // so that the file is written anew now and then
		if _, err := s.KV().Put(context.Background(), key, value, store.MustNotExist); err != nil {
			return err
		}
		fmt.Println("put", key)
		if i < 8 {
			continue
		}
		gone := fmt.Sprintf("%s/%06d", run, i-8)
		fmt.Println("going", gone)
		if err := s.KV().Delete(context.Background(), gone, store.AnyRevision); err != nil {
			return err
		}
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, there := t.TempDir(), map[string]bool{}
	for range 6 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), dirEnv+"="+dir)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(100+rand.IntN(300))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was killed
		lines := strings.SplitAfter(out.String(), "\n")
		for _, line := range lines[:len(lines)-1] {
			what, key, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch what {
			case "put":
				there[key] = true
			case "going":
				delete(there, key)
			default:
				t.Fatal(line)
			}
		}
		s, err := Backend().Open(nil, dir, store.Options{FreeBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		for key := range there {
			if e, err := s.KV().Get(t.Context(), key); err != nil || !strings.HasPrefix(string(e.Value), key+"x") {
				t.Errorf("%s was acknowledged: %.20q, %v", key, e.Value, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(there) == 0 {
		t.Fatal("nothing was acknowledged: the test shows nothing")
	}
}

// written makes a store of some transactions, and returns its file.
func written(t testing.TB, key []byte) []byte {
	t.Helper()
	dir := t.TempDir()
	s, err := Backend().Open(nil, dir, store.Options{FreeBytes: -1, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if _, err := s.KV().Put(t.Context(), fmt.Sprint("key", i), fmt.Append(nil, "value ", i), store.AnyRevision); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.KV().Delete(t.Context(), "key2", store.AnyRevision), s.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, logName))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What a process that died left of its last transaction is no damage, wherever it died;
// what was acknowledged is, wherever it is cut.
func TestTornTail(t *testing.T) {
	t.Parallel()
	for name, key := range map[string][]byte{"plain": nil, "sealed": bytes.Repeat([]byte("k"), 32)} {
		p := newStoreDir(nil, "store", store.Options{Key: key})
		b := written(t, key)
		whole, err := p.read(b)
		if err != nil || whole.end != int64(len(b)) {
			t.Fatalf("%s: %v", name, err)
		}
		h, _ := decodeHead(b)
		c, err := newCodec(h, key)
		if err != nil {
			t.Fatal(err)
		}
		next, err := c.frame(whole.commits+1, whole.number+1, []op{{"key9", []byte("value 9")}})
		if err != nil {
			t.Fatal(err)
		}
		for n := range next {
			s, err := p.read(append(bytes.Clone(b), next[:n]...))
			if err != nil || s.end != int64(len(b)) || !maps.EqualFunc(s.entries, whole.entries, bytes.Equal) {
				t.Fatalf("%s: with %d bytes more: %v", name, n, err)
			}
		}
		if s, err := p.read(append(bytes.Clone(b), next...)); err != nil || string(s.entries["key9"]) != "value 9" || s.commits != whole.commits+1 {
			t.Errorf("%s: with all of it: %v", name, err)
		}
		for n := range b {
			if _, err := p.read(b[:n]); !errors.Is(err, store.ErrDamaged) {
				t.Fatalf("%s: the first %d bytes: %v, want ErrDamaged", name, n, err)
			}
		}
	}
}

// Each bit counts: what is altered is found, and no entry comes back that was not written.
func TestEachBit(t *testing.T) {
	t.Parallel()
	p := newStoreDir(nil, "store", store.Options{})
	b := written(t, nil)
	whole, err := p.read(b)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(b) * 8 {
		bad := bytes.Clone(b)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := p.read(bad); err == nil {
			t.Fatalf("bit %d is not noticed", bit)
		}
		r, err := p.salvage(bad)
		if err != nil || len(r.Items) < len(whole.keys)-1 || r.Whole {
			t.Fatalf("bit %d: %d entries are left of %d, %v", bit, len(r.Items), len(whole.keys), err)
		}
	}
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := store.Options{FreeBytes: -1}
	one, err := Backend().OpenShared(nil, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := Backend().OpenShared(nil, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	value := bytes.Repeat([]byte("v"), 256<<10)
	for i := range 60 {
		if _, err := one.KV().Put(t.Context(), "key", value, store.AnyRevision); err != nil {
			t.Fatal(err)
		}
		if e, err := two.KV().Get(t.Context(), "key"); err != nil || len(e.Value) != len(value) {
			t.Fatalf("the other, after %d: %d bytes, %v", i, len(e.Value), err)
		}
	}
	st, err := os.Stat(filepath.Join(dir, logName))
	if err != nil || st.Size() > leastGarbage+(garbage+1)*int64(len(value)) {
		t.Errorf("the file has %d bytes for one value of %d, %v", st.Size(), len(value), err)
	}
}

// FuzzRead reads foreign bytes as the file of a store: they are refused, or are a whole
// one, and what is salvaged of them is in order.
func FuzzRead(f *testing.F) {
	key := bytes.Repeat([]byte("k"), 32)
	plain, sealed := written(f, nil), written(f, key)
	f.Add(plain, false)
	f.Add(sealed, true)
	f.Add(plain[:bodyStart+20], false)
	f.Add(plain[:headSize], false)
	f.Add([]byte(nil), true)
	f.Fuzz(func(t *testing.T, b []byte, withKey bool) {
		o := store.Options{}
		if withKey {
			o.Key = key
		}
		p := newStoreDir(nil, "store", o)
		s, err := p.read(b)
		if err == nil && (s.end > int64(len(b)) || len(s.keys) != len(s.entries)) {
			t.Fatalf("read %d of %d bytes, %d keys of %d entries", s.end, len(b), len(s.keys), len(s.entries))
		}
		if r, err := p.salvage(b); err == nil && (r.Entries != len(r.Items) || r.Whole && len(r.Lost) > 0) {
			t.Fatalf("salvaged %+v", r.SalvageReport)
		}
	})
}
