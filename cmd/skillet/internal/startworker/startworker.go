// Package startworker begins the work of a worker process as soon as what a worker needs
// is initialized. Go initializes every package of a program before main, and most of what
// this program does there, such as compiling schemas and registering messages, a worker
// never uses: it would make each run of what nobody approved wait.
//
// Importing the package is all. In a process that is not a worker it does nothing. It only
// saves time: a worker that came to main would find its role in the table of package host.
package startworker

import (
	"os"
	"runtime/debug"

	// Before this one, which changes what it does.
	_ "github.com/skillet-run/skillet/cmd/skillet/internal/startheap"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/internal/reexec"
)

// unswept has a worker collect garbage at four times the four megabytes at which Go does
// otherwise, and as ever from then on. That package startheap waits for the end of its
// memory instead is not for a worker, which has a limit of its own, for its guest.
const unswept = 400

// init never returns in a worker, so that nothing more is initialized, nor main called.
// The worker has a goroutine of its own, because this one is tied to its thread until main
// begins, and each answer would wait for two threads to take turns.
func init() {
	if !reexec.Worker.Is(os.Args) {
		return
	}
	debug.SetGCPercent(unswept)
	go func() { os.Exit(worker.Main()) }()
	select {}
}
