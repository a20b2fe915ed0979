package audit

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/record/checkpoint"
	"github.com/skillet-run/skillet/host/record/journal"
)

var update = flag.Bool("update", false, "rewrite the seeds of the fuzz target")

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A home is two logs with their keys, as a home has them.
type home struct {
	dir    string
	keeper *Keystore
	logs   []Log
	now    time.Time
}

func newKeystore(dir string) *Keystore {
	k := secret.NewKey(secret.KeyOptions{Home: dir, Location: secret.LocationFile})
	return NewKeystore(filepath.Join(dir, "keys"), k, secret.Open(filepath.Join(dir, "secrets"), k))
}

func newHome(t testing.TB) *home {
	h := &home{dir: t.TempDir()}
	h.keeper = newKeystore(h.dir)
	must(h.keeper.Make(t.Context()))
	h.now = time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	for _, name := range []string{"decisions", "runs"} {
		j := must(journal.Open(filepath.Join(h.dir, name), journal.Options{Keys: h.keeper, Log: name, Clock: func() time.Time { return h.now }}))
		h.logs = append(h.logs, Log{name, j})
	}
	return h
}

// write commits n entries to each log, a minute apart.
func (h *home) write(t testing.TB, n int) {
	for i := range n {
		h.now = h.now.Add(time.Minute)
		for _, l := range h.logs {
			must(l.Journal.Append(t.Context(), journal.Record{Kind: "note", Actor: "human:ada", Data: fmt.Sprintf("<%s %d>", l.Name, i)}, journal.Record{Kind: "second"}))
		}
	}
}

func (h *home) rotate(t testing.TB) {
	must(h.keeper.Rotate(t.Context(), func(ctx context.Context) error {
		return errors.Join(h.logs[0].Journal.Sign(ctx), h.logs[1].Journal.Sign(ctx))
	}))
}

func (h *home) export(t testing.TB, s Scope) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Export(t.Context(), &b, h.keeper, h.logs, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (h *home) key(t testing.TB) string {
	return must(h.keeper.Keyring(t.Context())).Current().String()
}

func verify(b []byte, key string) (ExportReport, error) {
	return Verify(bytes.NewReader(b), []byte(key))
}

func TestExportIsVerified(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	empty := h.export(t, Scope{})
	if f, err := verify(empty, h.key(t)); err != nil || f.Entries != 0 || len(f.Logs) != 2 {
		t.Errorf("empty: %+v %v", f, err)
	}
	begun := h.now
	h.write(t, 5)
	whole := h.export(t, Scope{})
	if !bytes.Equal(whole, h.export(t, Scope{Logs: []string{"decisions", "runs"}})) {
		t.Error("the same export has other bytes")
	}
	f, err := verify(whole, h.key(t))
	if err != nil || f.Entries != 20 || !f.Known || f.Home != must(h.keeper.Keyring(t.Context())).Name() || f.Logs[1].Last != 10 {
		t.Errorf("%+v %v", f, err)
	}
	if f, err := verify(whole, ""); err != nil || f.Known {
		t.Errorf("without a key: %+v %v", f, err)
	}
	pem := must(must(h.keeper.Keyring(t.Context())).Current().PEM())
	if f, err := verify(whole, string(pem)); err != nil || !f.Known {
		t.Errorf("with a PEM key: %+v %v", f, err)
	}
	for _, c := range []struct {
		scope       Scope
		n           uint64
		first, last uint64
	}{
		{Scope{Since: begun.Add(3 * time.Minute)}, 12, 5, 10},
		{Scope{Until: begun.Add(3 * time.Minute)}, 8, 1, 4},
		{Scope{Since: begun.Add(2 * time.Minute), Until: begun.Add(4 * time.Minute), Logs: []string{"runs"}}, 4, 3, 6},
		{Scope{Since: begun.Add(time.Hour)}, 0, 11, 10},
		{Scope{Until: begun.Add(-time.Hour)}, 0, 1, 0},
		{Scope{Logs: []string{"decisions"}}, 10, 1, 10},
	} {
		f, err := verify(h.export(t, c.scope), h.key(t))
		if err != nil || f.Entries != c.n || f.Logs[0].First != c.first || f.Logs[0].Last != c.last {
			t.Errorf("%+v: %+v %v", c.scope, f, err)
		}
	}
	if _, err := Export(t.Context(), &bytes.Buffer{}, h.keeper, h.logs, Scope{Logs: []string{"secrets"}}); err == nil {
		t.Error("a log that is none was exported")
	}
}

// An export over more entries than lie between two checkpoints has those that
// were kept.
func TestExportHasKeptCheckpoints(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	for range 3 {
		var many []journal.Record
		for range 1200 {
			many = append(many, journal.Record{Kind: "many"})
		}
		h.now = h.now.Add(time.Minute)
		must(h.logs[1].Journal.Append(t.Context(), many...))
	}
	h.rotate(t)
	b := h.export(t, Scope{})
	if n := bytes.Count(b, []byte(`{"checkpoint"`)); n != 4+4 {
		t.Errorf("%d checkpoints, want the two ends of two logs, and the first, the second at entry 1200, at 2400 and the old key's last", n)
	}
	if f, err := verify(b, h.key(t)); err != nil || f.Entries != 3600 || f.Keys != 2 {
		t.Errorf("%+v %v", f, err)
	}
}

// One who has an old key of the home can follow to the new one.
func TestExportAfterRotation(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(t, 2)
	old := h.key(t)
	h.rotate(t)
	h.write(t, 2)
	b := h.export(t, Scope{})
	for _, key := range []string{old, h.key(t)} {
		if f, err := verify(b, key); err != nil || f.Key.String() != h.key(t) || f.Keys != 2 {
			t.Errorf("%+v %v", f, err)
		}
	}
	if _, err := verify(b, newHomeKey(t)); !errors.Is(err, ErrExport) || !errors.Is(err, checkpoint.ErrUnknownKey) {
		t.Errorf("another home's key: %v", err)
	}
	if _, err := verify(b, "nonsense"); !errors.Is(err, checkpoint.ErrKey) {
		t.Errorf("no key: %v", err)
	}
}

func newHomeKey(t testing.TB) string { return must(checkpoint.NewHome()).String() }

// Every byte matters: one of its bits in turn, and the one that tells lower case
// from upper case, to which JSON decoders may be blind.
func TestEveryFlippedByteOfAnExport(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	h := newHome(t)
	h.write(t, 1)
	b, key := h.export(t, Scope{}), h.key(t)
	for at := range b {
		for _, flip := range []byte{1 << (at % 8), 0x20} {
			b[at] ^= flip
			if _, err := verify(b, key); !errors.Is(err, ErrExport) {
				t.Fatalf("byte %d ^ %#x, %q: %v", at, flip, b[max(0, at-10):min(len(b), at+10)], err)
			}
			b[at] ^= flip
		}
	}
	if _, err := verify(b, key); err != nil {
		t.Fatal(err)
	}
}

// edits are what can be done to the lines of an export; each gives every way to
// do it.
var edits = map[string]func(ls [][]byte) [][][]byte{
	"removed": func(ls [][]byte) (all [][][]byte) {
		for i := range ls {
			all = append(all, slices.Delete(slices.Clone(ls), i, i+1))
		}
		return all
	},
	"doubled": func(ls [][]byte) (all [][][]byte) {
		for i := range ls {
			all = append(all, slices.Insert(slices.Clone(ls), i, ls[i]))
		}
		return all
	},
	"swapped": func(ls [][]byte) (all [][][]byte) {
		for i := range ls {
			for k := i + 1; k < len(ls); k++ {
				if bytes.Equal(ls[i], ls[k]) {
					continue
				}
				s := slices.Clone(ls)
				s[i], s[k] = s[k], s[i]
				all = append(all, s)
			}
		}
		return all
	},
	"cut": func(ls [][]byte) (all [][][]byte) {
		for i := range ls {
			all = append(all, slices.Clone(ls[:i]))
		}
		return all
	},
	"added": func(ls [][]byte) [][][]byte {
		return [][][]byte{append(slices.Clone(ls), []byte("\n")), append(slices.Clone(ls), ls...), append(slices.Clone(ls), []byte("x"))}
	},
}

func lines(b []byte) [][]byte {
	ls := bytes.SplitAfter(b, []byte("\n"))
	return ls[:len(ls)-1]
}

func TestEditedLinesOfAnExport(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	begun := h.now
	h.write(t, 3)
	for _, s := range []Scope{{}, {Since: begun.Add(2 * time.Minute), Until: begun.Add(3 * time.Minute)}} {
		b, key := h.export(t, s), h.key(t)
		for name, edit := range edits {
			for i, e := range edit(lines(b)) {
				if _, err := verify(bytes.Join(e, nil), key); !errors.Is(err, ErrExport) {
					t.Errorf("%s %d: %v", name, i, err)
				}
			}
		}
	}
}

// What somebody can make who has a key of another home, and not this one's.
func TestForgedExport(t *testing.T) {
	t.Parallel()
	h, forger := newHome(t), newHome(t)
	forger.now = forger.now.Add(time.Second)
	h.write(t, 3)
	forger.write(t, 3)
	real, forged, key := lines(h.export(t, Scope{})), lines(forger.export(t, Scope{})), h.key(t)
	for name, c := range map[string]struct {
		lines [][]byte
		want  string
	}{
		"another home's":                  {forged, "signed by another key"},
		"another home's under our header": {append([][]byte{real[0]}, forged[1:]...), "the checkpoint does not hold"},
		"our entries with its end":        {append(slices.Clone(real[:len(real)-1]), forged[len(forged)-1]), "the statement about the export does not hold"},
		"its entries in our logs":         {append(append(slices.Clone(real[:3]), forged[3:9]...), real[9:]...), "entries were replaced"},
	} {
		if _, err := verify(bytes.Join(c.lines, nil), key); !errors.Is(err, ErrExport) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A log that is damaged is not exported.
func TestDamagedLogIsNotExported(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.write(t, 3)
	seg := must(filepath.Glob(filepath.Join(h.dir, "runs", "0*")))[0]
	b := must(os.ReadFile(seg))
	b[len(b)/2] ^= 1
	must(0, os.WriteFile(seg, b, 0o600))
	var out bytes.Buffer
	if _, err := Export(t.Context(), &out, h.keeper, h.logs, Scope{}); !errors.Is(err, journal.ErrDamaged) || out.Len() > 0 {
		t.Errorf("Export = %v, and wrote %d bytes", err, out.Len())
	}
}

// The verifier of docs/testdata/auditverify, which shares no code with this
// package, agrees about good exports and bad ones.
func TestIndependentVerifierAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	program := filepath.Join(t.TempDir(), "auditverify")
	if out, err := exec.Command("go", "build", "-o", program, "../../../docs/testdata/auditverify").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(t.TempDir(), "export")
	theirs := func(b []byte, key string) (ok bool, said string) {
		must(0, os.WriteFile(file, b, 0o600))
		out, err := exec.Command(program, file, key).CombinedOutput()
		return err == nil, string(out)
	}
	h := newHome(t)
	begun := h.now
	h.write(t, 2)
	old := h.key(t)
	h.rotate(t)
	h.write(t, 1)
	key := h.key(t)
	for _, s := range []Scope{{}, {Since: begun.Add(2 * time.Minute)}, {Logs: []string{"runs"}, Until: begun}} {
		for _, k := range []string{old, key} {
			if ok, said := theirs(h.export(t, s), k); !ok {
				t.Errorf("%+v: %s", s, said)
			}
		}
	}
	b := h.export(t, Scope{})
	if ok, _ := theirs(b, newHomeKey(t)); ok {
		t.Error("it takes any key")
	}
	for name, edit := range edits {
		for i, e := range edit(lines(b)) {
			if i%3 > 0 {
				continue
			}
			if ok, _ := theirs(bytes.Join(e, nil), key); ok {
				t.Errorf("%s %d: it saw nothing", name, i)
			}
		}
	}
	for at := 0; at < len(b); at += 101 {
		b[at] ^= 1
		if ok, _ := theirs(b, key); ok {
			t.Errorf("byte %d: it saw nothing", at)
		}
		b[at] ^= 1
	}
}

// seeds are the directory of the exports the fuzz target begins with.
const seeds = "testdata/export"

func FuzzVerify(f *testing.F) {
	if *update {
		h := newHome(f)
		h.write(f, 2)
		must(0, os.MkdirAll(seeds, 0o755))
		must(0, os.WriteFile(filepath.Join(seeds, "key"), []byte(h.key(f)), 0o644))
		must(0, os.WriteFile(filepath.Join(seeds, "whole"), h.export(f, Scope{}), 0o644))
		must(0, os.WriteFile(filepath.Join(seeds, "runs"), h.export(f, Scope{Logs: []string{"runs"}, Since: h.now}), 0o644))
	}
	key, good := must(os.ReadFile(filepath.Join(seeds, "key"))), map[string]bool{}
	for _, name := range []string{"whole", "runs"} {
		b := must(os.ReadFile(filepath.Join(seeds, name)))
		good[string(b)] = true
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := Verify(bytes.NewReader(b), key)
		if err == nil != good[string(b)] {
			t.Errorf("%+v, %v for an export that was made: %v", found, err, good[string(b)])
		}
		if err != nil && !errors.Is(err, ErrExport) {
			t.Errorf("%v is no ErrExport", err)
		}
		if _, err := Verify(bytes.NewReader(b), nil); err != nil && !errors.Is(err, ErrExport) {
			t.Errorf("without a key: %v is no ErrExport", err)
		}
	})
}

func BenchmarkExport(b *testing.B) {
	h := newHome(b)
	var many []journal.Record
	for i := range 10_000 {
		many = append(many, journal.Record{Kind: "run", Actor: "human:ada", Data: strings.Repeat("x", i%800)})
	}
	must(h.logs[1].Journal.Append(b.Context(), many...))
	out := h.export(b, Scope{})
	for name, do := range map[string]func(){
		"write":  func() { h.export(b, Scope{}) },
		"verify": func() { must(verify(out, h.key(b))) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(out)))
			for b.Loop() {
				do()
			}
		})
	}
}
