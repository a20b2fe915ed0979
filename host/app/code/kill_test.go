package code_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
)

// victimEnv names the home in which this program, started again, runs the script of
// TestKilled until it has ended or is killed, and doubtEnv what becomes of a call in doubt.
const (
	victimEnv = "SKILLET_CODE_VICTIM"
	doubtEnv  = "SKILLET_CODE_DOUBT"
	writes    = 50
)

var loop = code.Request{Code: fmt.Sprintf(`const seen = [];
for (let n = 1; n <= %d; n++) {
  await tools.net_work.get();
  seen.push(await tools.net_work.post({ n }));
}
seen.length`, writes), May: all, Bounds: &invoke.Bounds{}}

// The exit codes of a victim that was not killed.
const (
	victimDone = iota + 10
	victimUncertain
	victimFailed
)

func victim(dir string) int {
	code.SetLease(300 * time.Millisecond)
	ctx := context.Background()
	h, err := host.Open(ctx, host.Options{Home: dir, Environ: environ(), LogOutput: hclog.DefaultOutput, Expect: host.ExpectMuch})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return victimFailed
	}
	req := loop
	req.Doubt = code.Doubt(os.Getenv(doubtEnv))
	var res code.Result
	for {
		res, err = h.Code().Execute(ctx, bot, req)
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindConflict || errors.Is(err, code.ErrDiverged) {
			break
		}
		time.Sleep(50 * time.Millisecond) // the one that was killed has it for a while
	}
	if closed := h.Close(ctx); err != nil || closed != nil {
		fmt.Fprintln(os.Stderr, err, closed)
		return victimFailed
	}
	switch {
	case res.Status == code.Done && string(res.Value) == fmt.Sprint(writes):
		return victimDone
	case res.Status == code.Uncertain:
		return victimUncertain
	}
	fmt.Fprintf(os.Stderr, "%s %+v\n", res.Status, res.Error)
	return victimFailed
}

// A person approves a loop of 50 writes once. A process that is killed at any of them leaves
// each done once, or one of which nobody knows, and says so: with that answered, there are 50 in
// the end, none twice and none missing.
func TestKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it kills many processes")
	}
	s := newServer(t)
	h := newHome(t, s)
	h.asks()
	first := h.run(loop)
	if first.Status != code.Paused || first.Waits.Call != 2 {
		t.Fatalf("%s %s", first.Status, outcome(first))
	}
	lent, err := h.approveLoop(first.Waits.Proposal, govern.Terms{Uses: 2 * writes, For: pattern(t, "n=*")})
	if err != nil {
		t.Fatal(err)
	}
	h.close()
	every := 7
	if os.Getenv("SKILLET_PROVE") != "" {
		every = 1
	}
	var mu sync.Mutex
	var at string
	var before bool
	var kill func()
	// It is killed before the server has the write, or after it.
	s.hook = func(path string) {
		mu.Lock()
		defer mu.Unlock()
		if kill != nil && path == at {
			kill()
			kill = nil
		}
	}
	s.first = func(path string) bool {
		mu.Lock()
		defer mu.Unlock()
		if kill != nil && before && path == at {
			kill()
			kill = nil
			return false
		}
		return true
	}
	doubt, kills, asked, repeated := "", 0, 0, 0
	for n, tries := 1, 0; tries < 4*writes; tries++ {
		cmd := exec.Command(os.Args[0])
		var stderr strings.Builder
		cmd.Env, cmd.Stderr = append(os.Environ(), victimEnv+"="+h.dir, doubtEnv+"="+doubt), &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		kill, at, before = nil, "", false
		if n <= writes {
			at, before = fmt.Sprintf("/%d", n), n%2 == 0
			kill = func() { _ = cmd.Process.Kill() }
		}
		mu.Unlock()
		_ = cmd.Wait()
		doubt = ""
		switch cmd.ProcessState.ExitCode() {
		case victimDone:
			got := s.counts()
			for path, times := range got {
				if times != 1 || len(got) != writes {
					t.Errorf("%s was written %d times; %d writes", path, times, len(got))
				}
			}
			h := open(t, h.dir)
			defer h.close()
			p, err := h.h.Govern().Proposals.Find(t.Context(), ada, lent.ID)
			if err != nil || p.Loop.Uses != writes+repeated {
				t.Errorf("%d calls are counted of %d, and %d that were made again: %v", p.Loop.Uses, writes, repeated, err)
			}
			decided, err := h.h.Govern().Audit.Events(t.Context(), ada, govern.EventsRequest{Kind: "approve"})
			if err != nil || len(decided) != 1 {
				t.Errorf("%d decisions, %v", len(decided), err)
			}
			t.Logf("proof: %d kills in a loop of 50 writes, %d times nobody knew, %d calls made again", kills, asked, repeated)
			return
		case victimUncertain:
			asked++
			if doubt = "done"; s.counts()[fmt.Sprintf("/%d", n-every)] == 0 {
				doubt, repeated = "again", repeated+1
			}
		case victimFailed:
			t.Fatalf("it ended with %s", stderr.String())
		default:
			kills, n = kills+1, n+every
		}
	}
	t.Fatal("it does not end", filepath.Base(h.dir))
}
