package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/manifests"
)

var work = Key{Namespace: "skill/repl", Owner: "human:ada", Name: "work"}

var usual = Terms{Version: "1.0.0", Digest: manifests.DigestOf([]byte("one")), Timeout: time.Hour, Max: 3, Persist: true, Discard: true}

// at opens the sessions of a directory, as another process does.
func at(dir string, s Settings) *Store {
	return Open(hclog.NewNullLogger(), dir, []byte("key"), s)
}

// add is a call that adds to the text that is the session's state.
func add(t testing.TB, s *Store, k Key, terms Terms, text string) (string, error) {
	t.Helper()
	turn, err := s.Begin(t.Context(), k, terms, 0)
	if err != nil {
		return "", err
	}
	defer turn.Done()
	state := string(turn.State())
	if live, ok := turn.Live().(string); ok {
		state = live
	}
	state += text
	return state, turn.Keep(t.Context(), "eval", []byte(state), state, len(state))
}

func mustAdd(t testing.TB, s *Store, k Key, terms Terms, text, want string) {
	t.Helper()
	if got, err := add(t, s, k, terms, text); err != nil || got != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
}

// wantError demands an error of a sentinel and a kind that says how to get out.
func wantError(t testing.TB, err, is error, kind fault.Kind, hint string) {
	t.Helper()
	e := fault.AsError(err)
	if !errors.Is(err, is) || e.Kind != kind || !strings.Contains(e.Way().String(), hint) {
		t.Errorf("got %v (%+v), want %v of kind %s with the hint %q", err, e, is, kind, hint)
	}
}

func list(t testing.TB, s *Store) []Info {
	t.Helper()
	all, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSessionGoesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sessions")
	a, b := at(dir, Settings{}), at(dir, Settings{})
	if got := list(t, a); len(got) > 0 {
		t.Errorf("nobody called, and there is %v", got)
	}
	mustAdd(t, a, work, usual, "a", "a")
	mustAdd(t, a, work, usual, "b", "ab")
	mustAdd(t, b, work, usual, "c", "abc")  // another process
	mustAdd(t, a, work, usual, "d", "abcd") // what is in memory is old
	bob := Key{work.Namespace, "human:bob", work.Name}
	mustAdd(t, a, bob, usual, "x", "x")
	mustAdd(t, a, Key{"dev/repl", work.Owner, work.Name}, usual, "y", "y")
	all := list(t, b)
	if len(all) != 3 || all[0].Skill != "repl" || all[0].Calls+all[1].Calls+all[2].Calls != 6 {
		t.Errorf("listed %+v", all)
	}
	files, err := filepath.Glob(filepath.Join(dir, "skill", "repl", "*"))
	if err != nil || len(files) != 4 { // two sessions, and their turns
		t.Errorf("files %v, %v", files, err)
	}
	if err := a.Forget(t.Context(), "skill/repl"); err != nil {
		t.Fatal(err)
	}
	if all := list(t, a); len(all) != 1 || all[0].key.Namespace != "dev/repl" {
		t.Errorf("left %+v", all)
	}
}

func TestCallsTakeTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	turn, err := at(dir, Settings{}).Begin(t.Context(), work, usual, 0)
	if err != nil {
		t.Fatal(err)
	}
	other := at(dir, Settings{})
	_, err = other.Begin(t.Context(), work, usual, 0)
	wantError(t, err, ErrBusy, fault.KindLimit, "[list_sessions]")
	if all := list(t, other); len(all) != 1 || !all[0].InUse {
		t.Errorf("listed %+v", all)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := other.Begin(ctx, work, usual, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := turn.Done(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s := other
			if i%2 == 0 {
				s = at(dir, Settings{})
			}
			turn, err := s.Begin(t.Context(), work, usual, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			defer turn.Done()
			state := append(turn.State(), 'x')
			if live, ok := turn.Live().(string); ok {
				state = append([]byte(live), 'x')
			}
			if err := turn.Keep(t.Context(), "eval", state, string(state), len(state)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	mustAdd(t, at(dir, Settings{}), work, usual, "", strings.Repeat("x", 20))
}

func TestAnotherVersion(t *testing.T) {
	t.Parallel()
	s := at(t.TempDir(), Settings{})
	mustAdd(t, s, work, usual, "a", "a")
	next := usual
	next.Version, next.Digest = "1.1.0", manifests.DigestOf([]byte("two"))
	_, err := add(t, s, work, next, "b")
	wantError(t, err, ErrVersion, fault.KindConflict, "[run repl@1.0.0 session=work]")
	next.Version = "1.0.0"
	_, err = add(t, s, work, next, "b")
	wantError(t, err, ErrVersion, fault.KindConflict, "[close_session repl/work]")
	mustAdd(t, s, work, usual, "b", "ab")
}

func TestEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, end) // time passes only where it sleeps, however busy the machine is
}

func end(t *testing.T) {
	dir := t.TempDir()
	s := at(dir, Settings{})
	short, kept := usual, usual
	short.Timeout, kept.Timeout, kept.Discard = 50*time.Millisecond, 50*time.Millisecond, false
	other := Key{work.Namespace, work.Owner, "kept"}
	mustAdd(t, s, work, short, "a", "a")
	mustAdd(t, s, other, kept, "a", "a")
	time.Sleep(60 * time.Millisecond)
	turn, err := s.Begin(t.Context(), work, short, 0)
	if err != nil || !turn.After() || turn.Live() != nil || turn.State() != nil {
		t.Fatalf("a session that ended goes on: %+v, %v", turn, err)
	}
	turn.Done()
	_, err = add(t, s, other, kept, "b")
	wantError(t, err, ErrEnded, fault.KindConflict, "[resume_session repl/kept]")
	time.Sleep(60 * time.Millisecond)
	all := list(t, at(dir, Settings{}))
	if len(all) != 1 || !all[0].Ended || all[0].Name != "kept" {
		t.Fatalf("listed %+v", all)
	}
	if err := s.Resume(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	kept.Timeout = time.Hour
	mustAdd(t, s, other, kept, "b", "ab")
}

func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := at(dir, Settings{})
	mustAdd(t, s, work, usual, "a", "a")
	if err := s.Close(t.Context(), list(t, s)[0]); err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*")); len(files) > 0 {
		t.Errorf("left %v", files)
	}
	// While a call goes on with it, from another process.
	for _, text := range []string{"", "a"} {
		if text != "" {
			mustAdd(t, s, work, usual, text, text)
		}
		turn, err := s.Begin(t.Context(), work, usual, 0)
		if err != nil {
			t.Fatal(err)
		}
		other := at(dir, Settings{})
		if err := other.Close(t.Context(), list(t, other)[0]); err != nil {
			t.Fatal(err)
		}
		if err := turn.Keep(t.Context(), "eval", []byte("new"), "new", 3); !errors.Is(err, ErrClosed) {
			t.Errorf("kept what was closed: %v", err)
		}
		if err := turn.Done(); err != nil {
			t.Fatal(err)
		}
		if all := list(t, s); len(all) > 0 {
			t.Errorf("left %+v", all)
		}
		mustAdd(t, s, work, usual, "n", "n")
		if err := s.Close(t.Context(), list(t, s)[0]); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := at(dir, Settings{Bytes: 100, Total: 150})
	name := func(i int) Key { return Key{work.Namespace, work.Owner, fmt.Sprintf("s%d", i)} }
	big := strings.Repeat("x", 90)
	mustAdd(t, s, name(0), usual, big, big)
	_, err := add(t, s, name(0), usual, "and 20 bytes more....")
	wantError(t, err, ErrLimit, fault.KindLimit, "session_max_mb")
	mustAdd(t, s, name(0), usual, "y", big+"y") // it is what it was
	_, err = add(t, s, name(1), usual, strings.Repeat("x", 80))
	wantError(t, err, ErrLimit, fault.KindLimit, "sessions_total_mb")
	mustAdd(t, s, name(1), usual, "y", "y")
	mustAdd(t, s, name(2), usual, "y", "y")
	_, err = add(t, s, name(3), usual, "y")
	wantError(t, err, ErrLimit, fault.KindLimit, "[close_session repl/NAME]")
	mustAdd(t, s, Key{work.Namespace, "human:bob", "s"}, usual, "y", "y")
	mustAdd(t, s, Key{"skill/other", work.Owner, "s"}, usual, "y", "y")
	if files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "s3.*")); len(files) > 0 {
		t.Errorf("one that was not begun left %v", files)
	}
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := at(dir, Settings{Bytes: 3})
	here := usual
	here.Persist, here.Discard, here.Max = false, false, 1
	mustAdd(t, s, work, here, "a", "a")
	mustAdd(t, s, work, here, "b", "ab")
	_, err := add(t, s, work, here, "cd")
	wantError(t, err, ErrLimit, fault.KindLimit, "session_max_mb")
	mustAdd(t, s, work, here, "c", "abc")
	_, err = add(t, s, Key{work.Namespace, work.Owner, "other"}, here, "a")
	wantError(t, err, ErrLimit, fault.KindLimit, "[close_session ")
	if files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.session")); len(files) > 0 {
		t.Errorf("in files: %v", files)
	}
	all := list(t, s)
	if len(all) != 1 || !all[0].Memory || all[0].Bytes != 3 {
		t.Fatalf("listed %+v", all)
	}
	mustAdd(t, at(dir, Settings{}), work, here, "a", "a") // a process of its own
	if err := s.Close(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	here.Timeout = 10 * time.Millisecond
	mustAdd(t, s, work, here, "a", "a")
	time.Sleep(20 * time.Millisecond)
	mustAdd(t, s, work, here, "b", "b")
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Work", "../x", "a/b", ".a", "a b", strings.Repeat("a", 65), "wörk"} {
		if err := CheckName(name); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := add(t, at(t.TempDir(), Settings{}), Key{work.Namespace, work.Owner, name}, usual, ""); err == nil {
			t.Errorf("%q is used", name)
		}
	}
	for _, place := range []string{"", "path/x", "skill/", "skill/../x", "skill/a/b"} {
		if _, err := add(t, at(t.TempDir(), Settings{}), Key{place, work.Owner, "a"}, usual, ""); err == nil {
			t.Errorf("%q is used", place)
		}
	}
}

// TestDamage flips each bit of a session's file, and cuts it everywhere: it is
// refused, listed, and can be closed.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustAdd(t, at(dir, Settings{}), work, usual, "state", "state")
	files, err := filepath.Glob(filepath.Join(dir, "skill", "repl", "*.session"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := add(t, at(dir, Settings{}), work, usual, "x")
		wantError(t, err, ErrDamaged, fault.KindVerification, "[close_session repl/work]")
		if t.Failed() {
			t.Fatal(what)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 1 << (i % 8)
		try(fmt.Sprintf("byte %d changed", i), b)
		try(fmt.Sprintf("cut after %d", i), whole[:i])
	}
	try("a byte more", append(bytes.Clone(whole), 0))
	if err := os.WriteFile(files[0], whole[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	s := at(dir, Settings{})
	all := list(t, s)
	if len(all) != 1 || !all[0].Damaged || all[0].Key().String() != "repl/work" || all[0].Bytes != 40 {
		t.Fatalf("listed %+v", all)
	}
	if err := s.Close(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, s, work, usual, "new", "new")
}

// TestForeignKey refuses the sessions of another home.
func TestForeignKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustAdd(t, at(dir, Settings{}), work, usual, "state", "state")
	thief := Open(hclog.NewNullLogger(), dir, []byte("other"), Settings{})
	_, err := add(t, thief, work, usual, "x")
	wantError(t, err, ErrDamaged, fault.KindVerification, "[close_session ")
}

// TestPutBack: the file of a session goes on as no other session, and an older one of the same session as none, also
// when the session was closed meanwhile.
func TestPutBack(t *testing.T) {
	t.Parallel()
	dir, kv := t.TempDir(), store.Memory()
	t.Cleanup(func() { kv.Close() })
	open := func() *Store {
		s := at(dir, Settings{})
		s.Remember(kv.KV())
		return s
	}
	other := work
	other.Name = "home"
	file := func(k Key) string { return filepath.Join(dir, "skill", "repl", k.Name+"."+whose(k.Owner)+".session") }
	read := func(k Key) []byte {
		t.Helper()
		b, err := os.ReadFile(file(k))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write := func(k Key, b []byte) {
		t.Helper()
		if err := os.WriteFile(file(k), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string, k Key, is error) {
		t.Helper()
		_, err := add(t, open(), k, usual, "x")
		wantError(t, err, is, fault.KindVerification, "[close_session repl/"+k.Name)
		if all := list(t, open()); !slices.ContainsFunc(all, func(i Info) bool { return i.Name == k.Name && i.Damaged }) {
			t.Errorf("%s: listed %+v", what, all)
		}
	}
	mustAdd(t, open(), work, usual, "a", "a")
	first := read(work)
	mustAdd(t, open(), work, usual, "b", "ab")
	mustAdd(t, open(), other, usual, "z", "z")
	last := read(work)

	write(other, last)
	refused("another's file", other, ErrDamaged)
	write(work, first)
	refused("an older file", work, ErrOld)
	write(work, last)
	mustAdd(t, open(), work, usual, "c", "abc")

	// A call that was killed before the store knew of what it left.
	b, err := open().numbers.Get(t.Context(), work.numberKey())
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, open(), work, usual, "d", "abcd")
	if _, err := kv.KV().Put(t.Context(), work.numberKey(), b.Value, store.AnyRevision); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, open(), work, usual, "e", "abcde")

	last = read(work)
	for _, i := range list(t, open()) {
		if i.Name == work.Name {
			if err := open().Close(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(work, last)
	refused("closed", work, ErrOld)
	if err := os.Remove(file(work)); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, open(), work, usual, "new", "new")
	write(work, last)
	refused("of the one before", work, ErrOld)
}

// TestFromBeforeNumbers: a file that was written before there were numbers goes on, and is an old one from its next
// call on.
func TestFromBeforeNumbers(t *testing.T) {
	t.Parallel()
	dir, kv := t.TempDir(), store.Memory()
	t.Cleanup(func() { kv.Close() })
	s := at(dir, Settings{})
	now := time.Now().UnixMilli()
	b, err := s.pack(header{
		Namespace: work.Namespace, Owner: work.Owner, Name: work.Name, Version: usual.Version, Digest: usual.Digest, Created: now, Used: now,
		Timeout: time.Hour.Milliseconds(), Discard: true, Calls: 1, State: stateDigest([]byte("a")), Bytes: 1,
	}, []byte("a"))
	if err != nil || bytes.Contains(b, []byte("number")) {
		t.Fatalf("%v, %s", err, b)
	}
	base, err := work.base(dir)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(base), 0o700), os.WriteFile(base+".session", b, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Remember(kv.KV())
	mustAdd(t, s, work, usual, "b", "ab")
	if err := os.WriteFile(base+".session", b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = add(t, s, work, usual, "x")
	wantError(t, err, ErrOld, fault.KindVerification, "[close_session repl/work]")
}

// TestSweep deletes what killed calls left, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := at(dir, Settings{})
	mustAdd(t, s, work, usual, "a", "a")
	in := filepath.Join(dir, "skill", "repl")
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".part-1", "work.x.next", "gone.0.turn"} {
		path := filepath.Join(in, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(in, ".part-2"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(in, "*"))
	hidden, _ := filepath.Glob(filepath.Join(in, ".*"))
	if len(files) != 3 || len(hidden) != 1 || filepath.Base(hidden[0]) != ".part-2" {
		t.Errorf("left %v, %v", files, hidden)
	}
	mustAdd(t, s, work, usual, "b", "ab")
}

// FuzzFile reads files that carry a right seal and anything else.
func FuzzFile(f *testing.F) {
	s := at(f.TempDir(), Settings{})
	for _, state := range []string{"", "state"} {
		b, err := s.pack(header{Namespace: work.Namespace, Owner: work.Owner, Name: work.Name, Bytes: int64(len(state)), State: stateDigest([]byte(state))}, []byte(state))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[preamble:])
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		head := b
		if end := bytes.LastIndexByte(b, '}'); end >= 0 {
			head = b[:end+1]
		}
		sealed := append(append([]byte(magic), s.seal(head)...), byte(len(head)>>24), byte(len(head)>>16), byte(len(head)>>8), byte(len(head)))
		for _, file := range [][]byte{b, append(sealed, b...)} {
			r := bytes.NewReader(file)
			h, err := s.readHeader(r)
			if err == nil {
				_, err = readState(r, h)
			}
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkKeep(b *testing.B) {
	for _, size := range []int{4 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := at(b.TempDir(), Settings{})
			state := make([]byte, size)
			for b.Loop() {
				turn, err := s.Begin(b.Context(), work, usual, 0)
				if err == nil {
					err = errors.Join(turn.Keep(b.Context(), "eval", state, state, size), turn.Done())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
