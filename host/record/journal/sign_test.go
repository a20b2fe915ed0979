package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/record/checkpoint"
)

// held are keys that are at hand.
type held struct {
	ring  *checkpoint.Keyring
	until uint64
}

func (k *held) Keyring(context.Context) (*checkpoint.Keyring, error) { return k.ring, nil }
func (k *held) Make(context.Context) (*checkpoint.Keyring, error)    { return k.ring, nil }

func (k *held) Signed(context.Context, string) (uint64, error) { return k.until, nil }

func (k *held) Remember(_ context.Context, _ string, n uint64) error {
	k.until = n
	return nil
}

// newKeys are those of a new home, made an hour before the entries.
func newKeys(t testing.TB) *held {
	t.Helper()
	return &held{ring: must(checkpoint.NewKeyring(fixedClock().Add(-time.Hour)))}
}

func signing(k Keys) Options { return Options{SegmentBytes: 900, Keys: k, Log: "decisions"} }

// signedFiles are the files of a journal with its statements.
func signedFiles(t testing.TB, dir string) []string {
	return append(files(t, dir), filepath.Join(dir, statementsName))
}

// copySigned copies a journal with its statements.
func copySigned(t testing.TB, from string) string {
	to := t.TempDir()
	for _, path := range signedFiles(t, from) {
		must(0, os.WriteFile(filepath.Join(to, filepath.Base(path)), must(os.ReadFile(path)), 0o600))
	}
	return to
}

func TestSignedJournal(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	j := open(t, t.TempDir(), signing(keys))
	if rep, err := j.Verify(t.Context()); err != nil || rep.Signed != nil {
		t.Errorf("empty: %+v %v", rep, err)
	}
	want := write(t, j, 6)
	rep, err := j.Verify(t.Context())
	if err != nil || rep.Entries != 6 || rep.Signed == nil {
		t.Fatalf("Verify = %+v %v", rep, err)
	}
	if s := rep.Signed; s.Key != keys.ring.Current() || s.From != 1 || s.Statements != 1 || len(s.Adopted) != 0 {
		t.Errorf("Signed = %+v", s)
	}
	if got, err := read(t.Context(), open(t, j.dir, Options{}), 0); err != nil || len(got) != len(want) {
		t.Errorf("read without keys: %d entries, %v", len(got), err)
	}
	if _, err := open(t, j.dir, Options{}).Append(t.Context(), Record{Kind: "x"}); err == nil {
		t.Error("a signed journal went on without a signature")
	}
}

// A journal from before there were keys is adopted, and says so.
func TestAdoption(t *testing.T) {
	t.Parallel()
	for _, signNow := range []bool{false, true} {
		dir := t.TempDir()
		write(t, open(t, dir, Options{}), 3)
		keys := &held{ring: must(checkpoint.NewKeyring(fixedClock().Add(time.Hour)))}
		j := open(t, dir, signing(keys))
		if rep, err := j.Verify(t.Context()); err != nil || rep.Signed != nil {
			t.Fatalf("before: %+v %v", rep, err)
		}
		if signNow {
			must(0, j.Sign(t.Context()))
			must(0, j.Sign(t.Context()))
		} else {
			write(t, j, 2)
		}
		rep, err := j.Verify(t.Context())
		if err != nil || rep.Signed == nil || rep.Signed.From != 4 || len(rep.Signed.Adopted) != 1 || rep.Signed.Adopted[0].Range != (checkpoint.Range{First: 1, Last: 3}) {
			t.Errorf("after: %+v %v", rep.Signed, err)
		}
	}
}

// Every flipped bit of every file is seen.
func TestEveryFlippedBitOfASignedJournal(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	src := open(t, t.TempDir(), signing(newKeys(t)))
	write(t, src, 3)
	next := must(src.options.Keys.(*held).ring.Rotated(fixedClock()))
	src.options.Keys = &held{ring: next}
	must(0, src.Sign(t.Context())) // so that there is a second statement
	for _, path := range signedFiles(t, src.dir) {
		good := must(os.ReadFile(path))
		for bit := range len(good) * 8 {
			if bit%7 > 0 && filepath.Base(path) != statementsName {
				continue // the others are flipped without signatures elsewhere
			}
			bad := bytes.Clone(good)
			bad[bit/8] ^= 1 << (bit % 8)
			must(0, os.WriteFile(path, bad, 0o600))
			if _, err := src.Verify(t.Context()); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s bit %d: Verify = %v", filepath.Base(path), bit, err)
			}
		}
		must(0, os.WriteFile(path, good, 0o600))
	}
	if _, err := src.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// forge writes a journal anew, chained and with a head, as somebody can who has
// no key: the first n entries stay, and others follow.
func forge(t *testing.T, dir string, keep []Entry, n int) {
	t.Helper()
	h := must((&Journal{dir: dir}).readHead())
	for _, path := range files(t, dir) {
		must(0, os.Remove(path))
	}
	j := open(t, dir, Options{})
	for _, e := range keep {
		must(j.Append(t.Context(), Record{Kind: e.Kind, Actor: e.Actor, Data: e.Data}))
	}
	for range n {
		must(j.Append(t.Context(), Record{Kind: "forged"}))
	}
	made := must(j.readHead())
	made.Time, made.After, made.Notes, made.Signature = h.Time, h.After, h.Notes, h.Signature
	must(0, j.writeHead(made))
}

// attacks are what somebody can do who can write the files and has no key.
var attacks = []struct {
	name string
	do   func(t *testing.T, dir string, es []Entry)
	want string
	// quiet attacks are seen by whoever reads all, and not by a commit.
	quiet bool
}{
	{"end cut off", func(t *testing.T, dir string, _ []Entry) {
		change(t, must((&Journal{dir: dir}).segments())[0].path, func(b []byte) []byte { return join(lines(b)[:4]...) })
	}, "the journal ends with entry 4, but entry 6 was acknowledged", false},
	{"lines swapped", func(t *testing.T, dir string, _ []Entry) {
		change(t, must((&Journal{dir: dir}).segments())[0].path, func(b []byte) []byte {
			l := lines(b)
			return join(l[0], l[2], l[1], l[3], l[4], l[5])
		})
	}, "entry 3 stands where entry 2 belongs", true},
	{"end replaced", func(t *testing.T, dir string, es []Entry) { forge(t, dir, es[:4], 2) }, "the end of the journal was replaced without the key", false},
	{"end cut off and the head written anew", func(t *testing.T, dir string, es []Entry) { forge(t, dir, es[:4], 0) }, "its signature is not for entry 4", false},
	{"end replaced and the signature removed", func(t *testing.T, dir string, es []Entry) {
		forge(t, dir, es[:4], 2)
		unsign(t, dir)
	}, "the signature was removed", false},
	{"all signatures removed", func(t *testing.T, dir string, es []Entry) {
		forge(t, dir, es[:4], 2)
		unsign(t, dir)
		remove(t, filepath.Join(dir, statementsName))
	}, "was written after the home got its key, and nothing in the journal is signed", false},
	{"statements removed", func(t *testing.T, dir string, _ []Entry) {
		change(t, filepath.Join(dir, statementsName), func([]byte) []byte { return nil })
	}, "statements were removed", false},
	{"replaced by another home's", func(t *testing.T, dir string, _ []Entry) {
		other := open(t, t.TempDir(), signing(newKeys(t)))
		write(t, other, 9)
		for _, path := range signedFiles(t, dir) {
			must(0, os.RemoveAll(path))
		}
		for _, path := range signedFiles(t, other.dir) {
			must(0, os.WriteFile(filepath.Join(dir, filepath.Base(path)), must(os.ReadFile(path)), 0o600))
		}
	}, "signed by another key than this home's: the journal was replaced as a whole", false},
}

// unsign takes the signature off a head.
func unsign(t *testing.T, dir string) {
	j := &Journal{dir: dir}
	h := must(j.readHead())
	h.Time, h.After, h.Notes, h.Signature = "", "", 0, ""
	must(0, j.writeHead(h))
}

func TestAttacksOnASignedJournal(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	o := signing(keys)
	o.SegmentBytes = 0
	src := open(t, t.TempDir(), o)
	es := write(t, src, 6)
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			dir := copySigned(t, src.dir)
			a.do(t, dir, es)
			j := open(t, dir, o)
			rep, err := j.Verify(t.Context())
			if !errors.Is(err, ErrDamaged) || rep.Damage == nil || !strings.Contains(err.Error(), a.want) {
				t.Errorf("Verify = %v, want %q", err, a.want)
			}
			if _, err := j.Append(t.Context(), Record{Kind: "later"}); !a.quiet && !errors.Is(err, ErrDamaged) {
				t.Errorf("Append = %v: what was not signed here was signed over", err)
			}
		})
	}
}

// An old head that is put back is seen, with the entries behind it or without.
func TestOldHeadPutBack(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	o := signing(keys)
	o.SegmentBytes = 0
	j := open(t, t.TempDir(), o)
	write(t, j, 3)
	old := must(os.ReadFile(j.headPath()))
	write(t, j, 3)
	must(0, os.WriteFile(j.headPath(), old, 0o600))
	for what, err := range map[string]error{"Verify": verifyOf(t, j), "Append": appendTo(t, j)} {
		if !errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), "an older head was put back") {
			t.Errorf("%s = %v", what, err)
		}
	}
}

func verifyOf(t *testing.T, j *Journal) error { _, err := j.Verify(t.Context()); return err }
func appendTo(t *testing.T, j *Journal) error {
	_, err := j.Append(t.Context(), Record{Kind: "later"})
	return err
}

// A head and entries that are put back together leave the statements that were
// made since.
func TestOldStatePutBack(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	o := signing(keys)
	o.SegmentBytes = 0
	j := open(t, t.TempDir(), o)
	write(t, j, 3)
	old, seg := must(os.ReadFile(j.headPath())), must(os.ReadFile(j.segment(1).path))
	var many []Record
	for range checkpointEvery {
		many = append(many, Record{Kind: "many"})
	}
	for range 3 { // the second and third begin a new stretch: the head before is kept
		must(j.Append(t.Context(), many...))
	}
	if rep, err := j.Verify(t.Context()); err != nil || rep.Signed.Statements != 4 {
		t.Fatalf("%+v, %v", rep.Signed, err)
	}
	must(0, os.WriteFile(j.headPath(), old, 0o600))
	must(0, os.WriteFile(j.segment(1).path, seg, 0o600))
	for what, err := range map[string]error{"Verify": verifyOf(t, j), "Append": appendTo(t, j)} {
		if !errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), "its end was cut off, and an older head put back") {
			t.Errorf("%s = %v", what, err)
		}
	}
}

// What a process left behind the head when it died is adopted, and that is said.
func TestUnsignedCommitIsAdopted(t *testing.T) {
	t.Parallel()
	j := open(t, t.TempDir(), signing(newKeys(t)))
	write(t, j, 3)
	h := must(j.readHead())
	write(t, j, 1)
	must(0, j.writeHead(h))
	if rep, err := j.Verify(t.Context()); err != nil || rep.Entries != 3 {
		t.Fatalf("before: %+v %v", rep, err)
	}
	write(t, j, 1)
	rep, err := j.Verify(t.Context())
	if err != nil || rep.Entries != 5 || rep.Signed.From != 1 || len(rep.Signed.Adopted) != 1 || rep.Signed.Adopted[0].Range != (checkpoint.Range{First: 4, Last: 4}) {
		t.Errorf("after: %+v %v", rep.Signed, err)
	}
}

// A process that dies at any point of signing leaves a journal that goes on.
func TestTornStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("it is long, and nothing in it is concurrent")
	}
	t.Parallel()
	keys := newKeys(t)
	for size := range 400 {
		o := signing(&held{ring: keys.ring})
		j := open(t, t.TempDir(), o)
		h := head{}
		if size%2 == 1 {
			write(t, j, 2)
			h = must(j.readHead())
		} else {
			must(j.Append(t.Context())) // makes the head
		}
		kept, err := j.keepHeadOrState(o.Keys.(*held).ring, h)
		if err != nil {
			t.Fatal(err)
		}
		torn := min(kept.Notes, h.Notes+int64(size))
		must(0, os.Truncate(j.statementsPath(), torn))
		if _, err := j.Verify(t.Context()); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		write(t, j, 1)
		if _, err := j.Verify(t.Context()); err != nil {
			t.Fatalf("%d bytes, after: %v", size, err)
		}
	}
}

// keepHeadOrState writes the statement that a commit would.
func (j *Journal) keepHeadOrState(r *checkpoint.Keyring, h head) (head, error) {
	if h.signed() {
		return j.writeHeadStatement(r, h)
	}
	return j.writeDueStatements(r, h, 1)
}

func TestRotatedKeys(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	o := signing(keys)
	o.SegmentBytes = 0
	j := open(t, t.TempDir(), o)
	es := write(t, j, 3)
	stolen := &held{ring: keys.ring}
	keys.ring = must(keys.ring.Rotated(fixedClock()))
	write(t, j, 1) // between making the key and signing with it
	must(0, j.Sign(t.Context()))
	keys.ring = keys.ring.RetireOld()
	rep, err := j.Verify(t.Context())
	if err != nil || rep.Signed.Key != keys.ring.Current() || rep.Signed.From != 1 {
		t.Fatalf("%+v %v", rep.Signed, err)
	}
	// Who finds the old key cannot write another end with it.
	for _, path := range signedFiles(t, j.dir) {
		must(0, os.Remove(path))
	}
	o.Keys = stolen
	forged := open(t, j.dir, o)
	for range es {
		must(forged.Append(t.Context(), Record{Kind: "forged"}))
	}
	if err := verifyOf(t, j); err == nil || !strings.Contains(err.Error(), "signed with a key that was retired") {
		t.Errorf("Verify = %v", err)
	}
	if err := appendTo(t, j); !errors.Is(err, ErrSignature) {
		t.Errorf("Append = %v", err)
	}
}

// A repair signs what it kept, and says what it lost.
func TestRepairSignsAnew(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	o := signing(keys)
	o.SegmentBytes, o.Sync = 0, true
	j := open(t, t.TempDir(), o)
	write(t, j, 6)
	change(t, j.segment(1).path, func(b []byte) []byte { b[len(lines(b)[0])+200] ^= 1; return b })
	r, err := RepairDir(t.Context(), j.dir, nil, o)
	if err != nil || r.Kept != 5 {
		t.Fatalf("%+v %v", r, err)
	}
	rep, err := j.Verify(t.Context())
	if err != nil || rep.Signed == nil || rep.Signed.From != 6 || len(rep.Signed.Repairs) != 1 || len(rep.Signed.Carried) != 1 || len(rep.Signed.Adopted) != 0 || !slices.Equal(rep.Signed.Lost, []checkpoint.Range{{First: 2, Last: 2}}) {
		t.Fatalf("%+v %v", rep.Signed, err)
	}
	write(t, j, 1)
	if _, err := j.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// Processes that are killed leave a journal in which everything acknowledged is
// signed.
func TestKilledProcessLeavesASignedJournal(t *testing.T) {
	t.Parallel()
	rounds := 8
	if os.Getenv("SKILLET_PROVE") == "1" {
		rounds = 200
	}
	keys := &held{ring: must(checkpoint.NewKeyring(time.Now()))}
	ring := filepath.Join(t.TempDir(), "ring")
	must(0, os.WriteFile(ring, must(json.Marshal(keys.ring)), 0o600))
	dir, acked := t.TempDir(), map[string]string{}
	j := open(t, dir, Options{SegmentBytes: 4 << 10, Keys: keys, Log: "calls", Clock: time.Now})
	for range rounds {
		cmd, out := start(t, dir, 1<<30, ringEnv+"="+ring)
		killed(cmd, out, acked)
		if _, err := j.Verify(t.Context()); err != nil {
			t.Fatal(err)
		}
		must(j.Append(t.Context(), Record{Kind: "after the kill"}))
	}
	rep, err := j.Verify(t.Context())
	if err != nil || rep.Signed.From != 1 || len(rep.Signed.Adopted) > rounds || rep.Entries < uint64(2*len(acked)) {
		t.Fatalf("%+v %v", rep, err)
	}
	t.Logf("%d commits acknowledged and signed over %d kills, %d adopted", len(acked), rounds, len(rep.Signed.Adopted))
}

func BenchmarkAppendSigned(b *testing.B) {
	for _, sync := range []bool{false, true} {
		for name, k := range map[string]Keys{"unsigned": nil, "signed": newKeys(b)} {
			b.Run(name+map[bool]string{true: "/sync", false: "/nosync"}[sync], func(b *testing.B) {
				j := open(b, b.TempDir(), Options{Sync: sync, Keys: k, Log: "calls"})
				for b.Loop() {
					must(j.Append(b.Context(), Record{Kind: "x", Actor: "y", Data: note{"text", 1}}))
				}
			})
		}
	}
}
