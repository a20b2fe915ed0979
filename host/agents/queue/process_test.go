package queue

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
)

// The test binary runs itself as another process that works on the queue in the
// directory in dirEnv, in the way named in jobEnv.
const (
	jobEnv = "SKILLET_TEST_JOB"
	dirEnv = "SKILLET_TEST_DIR"
)

// The leases of these tests: short enough to wait for their end, and long enough
// for a busy machine.
const (
	realLease     = 2 * time.Second
	realHeartbeat = 400 * time.Millisecond
)

func TestMain(m *testing.M) {
	if job := os.Getenv(jobEnv); job != "" {
		if err := child(job, os.Getenv(dirEnv)); err != nil {
			fmt.Println("error:", err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child works on the queue until its standard input ends: "stuck" never comes to an
// end with its item, "quick" does one after the other.
func child(job, dir string) error {
	q, end, err := onDisk(dir)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		bufio.NewReader(os.Stdin).ReadString(0)
	}()
	return q.Run(ctx, func(ctx context.Context, d Delivery) error {
		fmt.Println("begun", d.ID)
		if job == "stuck" {
			<-ctx.Done()
		}
		return nil
	})
}

// onDisk opens the queue in a directory, which other processes have open, too.
func onDisk(dir string) (*Queue, func(), error) {
	s, err := badgerstore.OpenShared(nil, dir, badgerstore.Options{
		FreeBytes: -1, Linger: time.Millisecond, Delivery: store.Delivery{Lease: realLease},
	})
	if err != nil {
		return nil, nil, err
	}
	bus := event.NewBus(hclog.NewNullLogger(), s)
	q := New(hclog.NewNullLogger(), s, bus, Settings{Heartbeat: realHeartbeat, Drain: 20 * time.Second})
	return q, func() { bus.Close(); s.Close() }, nil
}

// start starts a process, and returns what it prints.
func start(t *testing.T, job, dir string) (*exec.Cmd, *bufio.Scanner, func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), jobEnv+"="+job, dirEnv+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out), func() { in.Close() }
}

// A worker that is killed loses its item to another process, which is told so; what
// may not be begun again becomes a dead letter.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	q, end, err := onDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, i := range []Item{{ID: "goes on", Again: TakeOver}, {ID: "does not"}} {
		if _, err := q.Push(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	worker, lines, _ := start(t, "stuck", dir)
	for range 2 {
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "begun ") {
			t.Fatalf("the other process says %q", lines.Text())
		}
	}
	time.Sleep(2 * realLease) // it lives, so it keeps them
	if s, err := q.Stats(t.Context()); err != nil || s.Running != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	worker.Process.Kill()
	worker.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []Delivery
	err = q.Run(ctx, func(_ context.Context, d Delivery) error {
		got = append(got, d)
		cancel()
		return nil
	})
	if err != nil || len(got) != 1 || got[0].ID != "goes on" || got[0].Attempt != 2 || !got[0].TakenOver {
		t.Errorf("%+v, %v", got, err)
	}
	eventually(t, func() bool { return givenUp(t, q) })
}

// givenUp reports whether the item that may not be begun again is a dead letter after
// a moment of work.
func givenUp(t *testing.T, q *Queue) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := q.Run(ctx, func(_ context.Context, d Delivery) error {
		t.Errorf("%s was begun again", d.ID)
		return errors.New("no")
	})
	dead, listed := q.Dead(t.Context())
	return err == nil && listed == nil && len(dead) == 1 && dead[0].ID == "does not"
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it never came to that")
		}
	}
}

// Two processes do each item once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	q, end, err := onDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	var want, got []string
	for n := range 12 {
		id, err := q.Push(t.Context(), Item{ID: fmt.Sprint("item ", n)})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, "begun "+id)
	}
	said := make(chan string, 100)
	var finish []func()
	var workers []*exec.Cmd
	for range 2 {
		cmd, lines, stop := start(t, "quick", dir)
		workers, finish = append(workers, cmd), append(finish, stop)
		go func() {
			for lines.Scan() {
				said <- lines.Text()
			}
		}()
	}
	for range want {
		select {
		case line := <-said:
			got = append(got, line)
		case <-time.After(time.Minute):
			t.Fatalf("only %q", got)
		}
	}
	for i, stop := range finish {
		stop()
		if err := workers[i].Wait(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	s, err := q.Stats(t.Context())
	if err != nil || s.Totals.Done != 12 || s.Totals.Begun != 12 || s.Totals.Pushed != 12 || s.Waiting+s.Running+s.DeadLetters != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
