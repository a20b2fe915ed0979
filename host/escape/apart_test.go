package escape

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/internal/reexec"
)

// What this test binary does when its first argument says so.
const (
	serveArg = "__serve" // makes attempts, as the command line does
	dieArg   = "__die"   // the same, and dies, hangs or says nonsense in the middle
	stockArg = "__stock" // makes one attempt with a stock part
)

// TestMain runs the tests, or is one of those processes.
func TestMain(m *testing.M) {
	if reexec.Worker.Is(os.Args) {
		os.Exit(worker.Main())
	}
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], "__") {
		os.Exit(m.Run())
	}
	child := map[string]func([]string) error{stockArg: stockChild, serveArg: serve, dieArg: serveBadly}[os.Args[1]]
	if err := child(os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(args []string) error {
	return Serve(context.Background(), os.Stdout, os.Stderr, args)
}

// serveBadly does what its second argument says when it comes to cookie.
func serveBadly(args []string) error {
	dir, how, ids := args[1], args[0], args[3:]
	for i, id := range ids {
		if id != "cookie" {
			continue
		}
		if err := serve(append([]string{dir, inProcess}, ids[:i]...)); i > 0 && err != nil {
			return err
		}
		fmt.Println(`nonsense`)
		fmt.Println(`{"begin":{"id":"cookie"}}`)
		switch how {
		case "panic":
			panic("out of reach")
		case "hang":
			time.Sleep(time.Minute)
		}
		return errors.New("the end")
	}
	return serve(append([]string{dir, inProcess}, ids...))
}

// self starts this test binary.
func self(first ...string) func(ctx context.Context, args []string) *exec.Cmd {
	return func(ctx context.Context, args []string) *exec.Cmd {
		if first[0] == dieArg {
			args = append([]string{first[1]}, args...)
		}
		return exec.CommandContext(ctx, os.Args[0], append(first[:1:1], args...)...)
	}
}

func TestSupervise(t *testing.T) {
	t.Parallel()
	ids := []string{"redirect-out", "endless-loop", "environment", "standard-input"}
	var begun, ended []string
	o := Options{Only: ids, Begin: func(n, of int, a Attempt) {
		begun = append(begun, fmt.Sprint(n, "/", of, " ", a.ID))
	}, End: func(f Finding) { ended = append(ended, f.ID) }}
	found, err := Supervise(t.Context(), self(serveArg), o)
	if err != nil || len(found) != len(ids) || !Contained(found) {
		t.Errorf("%+v, %v", found, err)
	}
	if strings.Join(begun, ", ") != "0/4 redirect-out, 1/4 endless-loop, 2/4 environment, 3/4 standard-input" || !slices.Equal(ended, ids) {
		t.Errorf("begun %q, ended %q", begun, ended)
	}
	if !strings.Contains(found[2].Stopped, "this process has") {
		t.Errorf("the environment: %s", found[2].Stopped)
	}
	o.Only = []string{"nothing"}
	if _, err := Supervise(t.Context(), self(serveArg), o); err == nil {
		t.Error("an unknown attempt was made")
	}
}

// TestSuperviseDeath: an attempt that kills or hangs its process is a finding,
// and the others are made.
func TestSuperviseDeath(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{"panic": "the process died: exit status 2: panic: out of reach", "exit": "the process died: exit status 1: the end", "hang": "the process stood still"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var s supervisor
			s.prepare(t.Context(), self(dieArg, how), Options{Only: []string{"redirect-out", "cookie", "environment"}})
			if how == "hang" {
				s.silence = 5 * time.Second
			}
			found, err := s.all()
			if err != nil || len(found) != 3 {
				t.Fatalf("%+v, %v", found, err)
			}
			if !found[0].Contained || !found[2].Contained || found[1].Contained || !strings.HasPrefix(found[1].Breach, want) || found[1].ID != "cookie" {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestSuperviseEnds: without a process, without time, and cancelled.
func TestSuperviseEnds(t *testing.T) {
	t.Parallel()
	o := Options{Only: []string{"cookie"}}
	none := func(ctx context.Context, _ []string) *exec.Cmd { return exec.CommandContext(ctx, os.Args[0]+"-none") }
	if _, err := Supervise(t.Context(), none, o); err == nil {
		t.Error("a program that does not exist was started")
	}
	if _, err := Supervise(t.Context(), self(serveArg+"-none"), o); err == nil || !strings.Contains(err.Error(), "ended at once") {
		t.Errorf("a program that ends at once: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Supervise(ctx, self(serveArg), o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	late, stop := context.WithDeadline(t.Context(), time.Now())
	defer stop()
	found, err := Supervise(late, self(serveArg), Options{})
	if err != nil || len(found) != len(List()) || Contained(found) || !strings.HasPrefix(found[0].Breach, "not made") {
		t.Errorf("without time: %d findings, %v", len(found), err)
	}
}
