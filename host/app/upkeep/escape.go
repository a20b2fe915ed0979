package upkeep

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/escape"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/internal/nearest"
	"github.com/skillet-run/skillet/internal/reexec"
)

// An Attempt is a guest that tries to get out of the sandbox, and a Finding what became
// of it.
type (
	Attempt = escape.Attempt
	Finding = escape.Finding
)

// An EscapeRequest says which attempts are made, and how.
type EscapeRequest struct {
	// Only are the IDs of the attempts; all when empty.
	Only []string
	// Workers makes them in worker processes, as skills run that nobody approved.
	Workers bool
	// Begin is told before each attempt, with its number from 0 and how many there are.
	// Nil is for nobody.
	Begin func(n, of int, a Attempt)
}

// Escape has guests try to get out of the sandbox, and says what stopped each. It needs
// no home, and touches none. [Contained] says whether all were stopped.
func Escape(ctx context.Context, by approval.Principal, q EscapeRequest) ([]Finding, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	if id := escape.Unknown(q.Only); id != "" {
		return nil, noAttempt(id)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	start := func(ctx context.Context, args []string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, self, reexec.Attempts.Arguments(args...)...)
		cmd.Args[0] = os.Args[0] // the same program under the same name
		return cmd
	}
	return escape.Supervise(ctx, start, escape.Options{Only: q.Only, Workers: q.Workers, Begin: q.Begin})
}

// ServeEscape is the whole life of a process in the role [reexec.Attempts].
func ServeEscape(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := escape.Serve(ctx, os.Stdout, os.Stderr, args); err != nil {
		fmt.Fprintln(os.Stderr, "skillet:", err)
		return 1
	}
	return 0
}

// Contained reports whether nothing got out.
func Contained(found []Finding) bool { return escape.Contained(found) }

// noAttempt is the error for an attempt that does not exist.
func noAttempt(id string) error {
	var ids []string
	for _, a := range escape.List() {
		ids = append(ids, a.ID)
	}
	e := fault.Errorf(fault.KindNotFound, "attempt %s not found", id)
	if best, ok := nearest.Name(id, ids); ok {
		return e.WithHint("did you mean %s? %s shows them all", fault.Choose(best), fault.CheckHome().With(fault.FieldEscape))
	}
	return e.WithHint("%s shows them all", fault.CheckHome().With(fault.FieldEscape))
}
