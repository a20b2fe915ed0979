package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/record/checkpoint"
)

// The test binary runs itself as another process: one that commits to the
// journal in journalEnv, and says on its output what was acknowledged.
const (
	journalEnv = "SKILLET_TEST_JOURNAL"
	countEnv   = "SKILLET_TEST_COUNT"
	limitEnv   = "SKILLET_TEST_FILE_LIMIT"
	ringEnv    = "SKILLET_TEST_RING" // a file with the keys to sign with
	windowEnv  = "SKILLET_TEST_WINDOW"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(journalEnv); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

func child(dir string) int {
	o := Options{SegmentBytes: 4 << 10, Log: "calls"}
	if path := os.Getenv(ringEnv); path != "" {
		o.Keys = &held{ring: must(checkpoint.ReadKeyring(must(os.ReadFile(path))))}
	}
	if w := os.Getenv(windowEnv); w != "" {
		o.Window = must(time.ParseDuration(w))
	}
	j, err := Open(dir, o)
	if err != nil {
		return fail(err)
	}
	if err := limitFiles(os.Getenv(limitEnv)); err != nil {
		return fail(err)
	}
	n, err := strconv.Atoi(os.Getenv(countEnv))
	if err != nil {
		return fail(err)
	}
	for i := range n {
		es, err := j.Append(context.Background(),
			Record{Kind: "first", Data: strings.Repeat("x", i%700)}, Record{Kind: "second", Data: i})
		if err != nil {
			fmt.Println("error", err)
			return 3
		}
		fmt.Println(es[1].Seq, es[1].Hash)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func start(t *testing.T, dir string, count int, env ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(env, journalEnv+"="+dir, countEnv+"="+strconv.Itoa(count))...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out
}

// killed reads what a process acknowledges and kills it, soon after it began to.
func killed(cmd *exec.Cmd, out io.Reader, into map[string]string) {
	in := bufio.NewReader(out)
	_, _ = in.Peek(1) // starting takes long on a busy machine
	time.AfterFunc(time.Duration(rand.IntN(80))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	acks(in, into)
	_ = cmd.Wait() // it was killed
}

// acks reads "seq hash" lines; a line that was cut off was not acknowledged.
func acks(r io.Reader, into map[string]string) (failure string) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return failure
		}
		seq, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if seq == "error" {
			failure = rest
			continue
		}
		into[seq] = rest
	}
}

// checkAcked checks that every acknowledged entry is there, and no commit is
// there in part.
func checkAcked(t *testing.T, dir string, acked map[string]string) {
	t.Helper()
	j := open(t, dir, Options{})
	write(t, j, 1) // adopts or cuts what the dead process left
	es, err := read(t.Context(), j, 0)
	if err != nil {
		t.Fatal(err)
	}
	for seq, hash := range acked {
		n, err := strconv.Atoi(seq)
		if err != nil || n > len(es) || es[n-1].Hash != hash {
			t.Fatalf("acknowledged entry %s is not there", seq)
		}
	}
	for i, e := range es {
		if e.Kind == "first" && (i+1 == len(es) || es[i+1].Kind != "second") {
			t.Fatalf("entry %d is there without the rest of its commit", e.Seq)
		}
	}
}

func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	rounds := 12
	if os.Getenv("SKILLET_PROVE") == "1" {
		rounds = 200
	}
	dir, acked := t.TempDir(), map[string]string{}
	for range rounds {
		cmd, out := start(t, dir, 1<<30)
		killed(cmd, out, acked)
		checkAcked(t, dir, acked)
	}
	if len(acked) == 0 {
		t.Fatal("nothing was acknowledged: the test shows nothing")
	}
	t.Logf("%d commits acknowledged over %d kills, all there", len(acked), rounds)
}

func TestTwoProcessesMakeOneChain(t *testing.T) {
	t.Parallel()
	const each = 100
	dir, acked := t.TempDir(), map[string]string{}
	a, outA := start(t, dir, each)
	b, outB := start(t, dir, each)
	acks(outA, acked)
	acks(outB, acked)
	if err := errors.Join(a.Wait(), b.Wait()); err != nil {
		t.Fatal(err)
	}
	if len(acked) != 2*each {
		t.Fatalf("%d commits have a number of their own, want %d", len(acked), 2*each)
	}
	checkAcked(t, dir, acked)
}

func TestFullDiskTakesTheCommitBack(t *testing.T) {
	t.Parallel()
	dir, acked := t.TempDir(), map[string]string{}
	cmd, out := start(t, dir, 1000, limitEnv+"=3000") // below the size of a segment
	failure := acks(out, acked)
	if err := cmd.Wait(); err == nil {
		t.Skip("this system has no limit on the size of files")
	}
	if !strings.Contains(failure, "file too large") {
		t.Fatalf("the process ended with %q, want the refused write", failure)
	}
	if len(acked) == 0 {
		t.Fatal("nothing was acknowledged before")
	}
	if rep, err := open(t, dir, Options{}).Verify(t.Context()); err != nil || rep.Unacknowledged != 0 || rep.Entries != uint64(2*len(acked)) {
		t.Errorf("Verify = %+v %v, want %d entries and no rest", rep, err, 2*len(acked))
	}
	checkAcked(t, dir, acked)
}

func TestFullDiskLeavesNoPartOfAHead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 { // the second finds what the first left
		cmd, out := start(t, dir, 1, limitEnv+"=100") // below the size of a head
		failure := acks(out, map[string]string{})
		if err := cmd.Wait(); err == nil {
			t.Skip("this system has no limit on the size of files")
		}
		if !strings.Contains(failure, "file too large") {
			t.Fatalf("the process ended with %q, want the refused write", failure)
		}
	}
	if left := must(os.ReadDir(dir)); len(left) != 1 || left[0].Name() != lockName {
		t.Errorf("%v is left, want the lock alone", left)
	}
	j := open(t, dir, Options{})
	if seq, _, err := j.Head(); seq != 0 || err != nil {
		t.Fatalf("Head = %d %v, want an empty journal", seq, err)
	}
	write(t, j, 1)
}

func TestFullDiskKeepsTheOldHead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := write(t, open(t, dir, Options{}), 3)
	before := must(os.ReadFile(filepath.Join(dir, headName)))
	cmd, out := start(t, dir, 1, limitEnv+"=100")
	if failure := acks(out, map[string]string{}); cmd.Wait() == nil {
		t.Skip("this system has no limit on the size of files")
	} else if !strings.Contains(failure, "file too large") {
		t.Fatalf("the process ended with %q, want the refused write", failure)
	}
	if after := must(os.ReadFile(filepath.Join(dir, headName))); !bytes.Equal(before, after) {
		t.Errorf("the head is %q, want the old one", after)
	}
	j := open(t, dir, Options{})
	if got, err := read(t.Context(), j, 0); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v %v, want the entries before", got, err)
	}
	write(t, j, 1)
}
