package upkeep

import (
	"context"
	"os/exec"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/escape"
	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/nearest"
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
	// Start starts this program so that it calls [ServeEscape] with the arguments.
	Start func(ctx context.Context, args []string) *exec.Cmd
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
	return escape.Supervise(ctx, q.Start, escape.Options{Only: q.Only, Workers: q.Workers, Begin: q.Begin})
}

// Contained reports whether nothing got out.
func Contained(found []Finding) bool { return escape.Contained(found) }

// noAttempt is the error for an attempt that does not exist.
func noAttempt(id string) error {
	var ids []string
	for _, a := range escape.List() {
		ids = append(ids, a.ID)
	}
	e := fault.Errorf(fault.KindNotFound, "there is no attempt %s", id)
	if best, ok := nearest.Name(id, ids); ok {
		return e.WithHint("did you mean %s? %s shows them all", fault.Choose(best), fault.CheckHome().With(fault.FieldEscape))
	}
	return e.WithHint("%s shows them all", fault.CheckHome().With(fault.FieldEscape))
}
