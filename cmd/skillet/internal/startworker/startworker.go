// Package startworker has a worker process begin its work as soon as what a worker needs
// is initialized. Go initializes every package of a program before main, and most of what
// this program does there, such as compiling schemas and registering messages, a worker
// never uses: it would make each run of what nobody approved wait.
//
// Importing the package is all. In a process that is no worker it does nothing. It refuses
// to know what a worker does.
package startworker

import (
	"os"

	// Before it, so that it holds for workers too.
	_ "github.com/skillet-run/skillet/cmd/skillet/internal/startheap"
	"github.com/skillet-run/skillet/host/sandbox/worker"
)

// init never returns in a worker, so that nothing more is initialized, nor main called.
// The worker has a goroutine of its own, because this one is tied to its thread until main
// begins, and each answer would wait for two threads to take turns.
func init() {
	if !worker.IsWorker(os.Args) {
		return
	}
	go func() { os.Exit(worker.Main()) }()
	select {}
}
