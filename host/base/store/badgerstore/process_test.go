package badgerstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/store"
)

// The test binary runs itself as another process that does the job named in
// jobEnv to the store in dirEnv.
const (
	jobEnv = "SKILLET_TEST_JOB"
	dirEnv = "SKILLET_TEST_DIR"
)

// jobs is a table of what other processes do.
func jobs() map[string]func(dir string) error {
	return map[string]func(string) error{
		"put exclusively": func(dir string) error {
			s, err := Open(nil, dir, Options{FreeBytes: -1})
			return errors.Join(err, putForever(s))
		},
		"put shared": func(dir string) error {
			s, err := OpenShared(nil, dir, Options{FreeBytes: -1, Linger: time.Millisecond})
			return errors.Join(err, putForever(s))
		},
		"count":                   countUp,
		"open and tell":           func(dir string) error { return openAndTell(dir, nil) },
		"open encrypted and tell": func(dir string) error { return openAndTell(dir, testKey()) },
		"hold":                    hold,
		"fill disk":               fillDisk,
		"fill disk and close":     fillDiskAndClose,
		"plain fill":              plainFillDisk,
		"plain read":              plainRead,
	}
}

func TestMain(m *testing.M) {
	if job := os.Getenv(jobEnv); job != "" {
		if err := jobs()[job](os.Getenv(dirEnv)); err != nil {
			fmt.Println("error:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process runs a job on dir.
func process(t *testing.T, job, dir string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), jobEnv+"="+job, dirEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

// putForever writes entries and says which were acknowledged.
func putForever(s *Store) error {
	if s == nil {
		return nil
	}
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	for i := 0; ; i++ {
		key := fmt.Sprintf("%s/%06d", run, i)
		if _, err := s.KV().Put(context.Background(), key, []byte("value of "+key), store.MustNotExist); err != nil {
			return err
		}
		if i > 3 { // and delete, so that tables have something to merge
			gone := fmt.Sprintf("%s/%06d", run, i-3)
			if i%5 == 0 {
				fmt.Println("going", gone)
				if err := s.KV().Delete(context.Background(), gone, store.AnyRevision); err != nil {
					return err
				}
			}
		}
		fmt.Println("put", key)
	}
}

// readAcks reads what putForever says; a line that was cut off was not said.
func readAcks(in *bufio.Reader, there map[string]bool) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		what, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		if what == "going" {
			delete(there, key)
		} else if what == "put" {
			there[key] = true
		}
	}
}

// prove is the number of rounds: many when the proof is run.
func prove(short, long int) int {
	if os.Getenv("SKILLET_PROVE") == "1" {
		return long
	}
	return short
}

func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	for _, job := range []string{"put exclusively", "put shared"} {
		t.Run(job, func(t *testing.T) {
			dir, acked := t.TempDir(), map[string]bool{}
			for range prove(4, 100) {
				cmd, out := process(t, job, dir)
				stop := time.AfterFunc(time.Duration(60+rand.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
				readAcks(out, acked)
				_ = cmd.Wait() // it was killed
				stop.Stop()
				checkAcked(t, dir, acked)
			}
			if len(acked) == 0 {
				t.Fatal("nothing was acknowledged: the test shows nothing")
			}
			t.Logf("%d acknowledged, all there", len(acked))
		})
	}
}

// checkAcked opens the store and looks for everything that was acknowledged.
func checkAcked(t *testing.T, dir string, acked map[string]bool) {
	t.Helper()
	s := mustOpen(t, dir, testOptions())
	defer s.Close()
	entries, err := s.KV().List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, e := range entries {
		there[e.Key] = string(e.Value)
	}
	for key := range acked {
		if there[key] != "value of "+key {
			t.Fatalf("acknowledged entry %s is %q", key, there[key])
		}
	}
}

const increments = 25

func countUp(dir string) error {
	s, err := OpenShared(nil, dir, Options{FreeBytes: -1, LockWait: time.Minute})
	if err != nil {
		return err
	}
	for range increments {
		if err := increment(s.KV()); err != nil {
			return err
		}
	}
	return s.Close()
}

func increment(kv store.KV) error {
	for {
		e, err := kv.Get(context.Background(), "n")
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(e.Value))
		if err != nil {
			return err
		}
		_, err = kv.Put(context.Background(), "n", []byte(strconv.Itoa(n+1)), e.Revision)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

func TestProcessesLoseNoUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := mustShare(t, dir, testOptions())
	defer s.Close()
	if _, err := s.KV().Put(t.Context(), "n", []byte("0"), store.MustNotExist); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var all []*exec.Cmd
	for range 4 {
		cmd, out := process(t, "count", dir)
		go func() {
			text, _ := io.ReadAll(out)
			if len(text) > 0 {
				t.Errorf("%s", text)
			}
		}()
		all = append(all, cmd)
	}
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	e, err := s.KV().Get(t.Context(), "n")
	if err != nil || string(e.Value) != strconv.Itoa(4*increments) {
		t.Errorf("%d increments made %s, %v", 4*increments, e.Value, err)
	}
	t.Logf("%d increments by 4 processes in %v", 4*increments, time.Since(begin).Round(time.Millisecond))
	if rep, err := Verify(t.Context(), testLog(t), dir, testOptions()); err != nil {
		t.Errorf("Verify = %+v, %v", rep, err)
	}
}

// hold has the store open until it is killed.
func hold(dir string) error {
	if _, err := Open(nil, dir, Options{FreeBytes: -1}); err != nil {
		return err
	}
	fmt.Println("held")
	select {}
}
