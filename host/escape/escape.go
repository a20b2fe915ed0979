// Package escape tries to get out of the sandbox.
//
// It is a suite of hostile guests, each of them small and written here, with
// what it tries said in words. They run against the parts that run skills:
// package sandbox with the functions of hostfn and the file tree of jail, the
// default policies, a store, directories, web servers and a name server on
// loopback. Whether an attempt was contained is judged by what can be seen
// afterwards: the secret did not come out, nothing outside changed, the server
// that was not granted was not asked, the limit that ended the call is the one
// that should have, and the process still answers. An attempt that nothing
// stood in the way of counts as not contained, and so does one that could not
// be made.
//
// [Run] makes the attempts in this process, [Supervise] in another one, so that
// a guest that kills or hangs it is a finding too. Everything happens below one
// temporary directory, which is gone afterwards, and nothing leaves the machine.
//
// The package refuses to know of homes, installed skills and grants of a
// person: what it shows holds for the program, whoever uses it.
package escape

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
)

// An Attempt is one thing that hostile code tries.
type Attempt struct {
	// ID is the attempt's name: "redirect-out".
	ID string `json:"id"`
	// Group is what it is aimed at: "files", "network", ...
	Group string `json:"group"`
	// Tries says what it tries, in words.
	Tries string `json:"tries"`
}

// A Finding is what became of an attempt.
type Finding struct {
	Attempt
	// Stopped is what stood in its way, as it was observed: the typed error, the
	// denial, the limit.
	Stopped string `json:"stopped"`
	// Contained is true when something stopped it and nothing got through.
	Contained bool `json:"contained"`
	// Breach is what was seen that must not be; empty when Contained.
	Breach string `json:"breach,omitempty"`
	// DurationMS is how long it took, in milliseconds.
	DurationMS float64 `json:"duration_ms"`
}

// Options says which attempts are made and where.
type Options struct {
	// Only are the IDs of the attempts to make; all when empty. See [Unknown].
	Only []string
	// Workers runs the guests in worker processes, behind the second wall, as
	// skills that nobody has approved. Whoever sets it has to start main as
	// package worker says.
	Workers bool
	// Dir is the directory to work in, with links resolved. It has to exist and
	// be empty, and is left with whatever a killed attempt left. Run makes one of
	// its own when it is empty, and removes it.
	Dir string
	// Begin is called before each attempt, with its number from 0 and how many
	// there are. Nil is not called.
	Begin func(n, of int, a Attempt)
	// End is called after each attempt. Nil is not called.
	End func(f Finding)
}

// attemptTime bounds one attempt. All its calls have limits far below; only
// something that got through, or a machine that stands still, reaches it.
const attemptTime = 15 * time.Second

// attempt is an Attempt and how it is made.
type attempt struct {
	id, tries string
	run       func(l *lab)
}

// group is attempts with one aim.
type group struct {
	name     string
	attempts []attempt
}

// suite is all attempts.
func suite() []group {
	return []group{
		{"files", slices.Concat(linkAttempts(), pathAttempts(), kindAttempts(), policyAttempts(), quotaAttempts())},
		{"network", slices.Concat(hostAttempts(), addressAttempts(), requestAttempts(), responseAttempts())},
		{"computing", slices.Concat(loopAttempts(), recursionAttempts(), memoryAttempts(), hostCallAttempts())},
		{"floods", slices.Concat(streamAttempts(), messageAttempts(), stateAttempts())},
		{"surroundings", slices.Concat(ambientAttempts(), secretAttempts())},
		{"leftovers", leftoverAttempts()},
		{"modules", slices.Concat(bombAttempts(), malformedAttempts(), importAttempts(), segmentAttempts())},
	}
}

// List returns every attempt, in order.
func List() (out []Attempt) {
	for _, g := range suite() {
		for _, a := range g.attempts {
			out = append(out, Attempt{a.id, g.name, a.tries})
		}
	}
	return out
}

// Unknown returns the first of some IDs that no attempt has; "" when all exist.
func Unknown(ids []string) string {
	all := List()
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(a Attempt) bool { return a.ID == id }) {
			return id
		}
	}
	return ""
}

// chosen are the attempts of a suite that Options names.
func (o Options) chosen() (out []group) {
	for _, g := range suite() {
		g.attempts = slices.DeleteFunc(g.attempts, func(a attempt) bool {
			return len(o.Only) > 0 && !slices.Contains(o.Only, a.id)
		})
		out = append(out, g)
	}
	return out
}

// Run makes the attempts one after the other, in this process. The error is nil
// when they could be made, whatever came of them.
func Run(ctx context.Context, log hclog.Logger, o Options) ([]Finding, error) {
	return run(ctx, log, o, slack{})
}

func run(ctx context.Context, log hclog.Logger, o Options, s slack) (found []Finding, err error) {
	if id := Unknown(o.Only); id != "" {
		return nil, fmt.Errorf("make attempt %s: there is none of this name", id)
	}
	if o.Dir == "" {
		dir, remove, err := workDir()
		if err != nil {
			return nil, err
		}
		defer remove()
		o.Dir = dir
	}
	b, err := openBench(ctx, log, o, s)
	if err != nil {
		return nil, fmt.Errorf("open the place of the attempts: %w", err)
	}
	defer b.close()
	of, n := len(o.Only), 0
	if of == 0 {
		of = len(List())
	}
	for _, g := range o.chosen() {
		for _, a := range g.attempts {
			if err := ctx.Err(); err != nil {
				return found, err
			}
			o.begin(n, of, Attempt{a.id, g.name, a.tries})
			f := b.make(ctx, g.name, a)
			found = append(found, f)
			o.end(f)
			n++
		}
	}
	return found, nil
}

func (o Options) begin(n, of int, a Attempt) {
	if o.Begin != nil {
		o.Begin(n, of, a)
	}
}

func (o Options) end(f Finding) {
	if o.End != nil {
		o.End(f)
	}
}

// workDir makes a directory that only its owner can enter.
func workDir() (dir string, remove func(), err error) {
	made, err := os.MkdirTemp("", "skillet-escape-")
	if err != nil {
		return "", nil, fmt.Errorf("make a place for the attempts: %w", err)
	}
	remove = func() { _ = os.RemoveAll(made) }
	if dir, err = realPath(made); err != nil {
		remove()
		return "", nil, fmt.Errorf("find the place of the attempts: %w", err)
	}
	return dir, remove, nil
}

// Contained reports whether every attempt was.
func Contained(found []Finding) bool {
	return !slices.ContainsFunc(found, func(f Finding) bool { return !f.Contained })
}
