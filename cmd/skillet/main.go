// Command skillet installs and runs untrusted skills, WebAssembly modules that
// can do nothing they were not granted. `skillet help` shows what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "github.com/skillet-run/skillet/cmd/skillet/internal/startheap"
	_ "github.com/skillet-run/skillet/cmd/skillet/internal/startworker" // a worker begins before main
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/upkeep"
)

func main() {
	if code, ok := host.Roles().Run(os.Args); ok {
		os.Exit(code)
	}
	os.Exit(skilletMain(upkeep.SystemDir(), nil))
}

// builtinCatalog has the packages that come with the program; tests have another.
var builtinCatalog = admit.Builtin

// skilletMain runs the command line, within the bounds of an administrator. No
// keyring means that of the system.
func skilletMain(system string, keyring host.Keyring) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	t := newTerminal(os.Stdin, os.Stdout, os.Stderr, os.Environ())
	t.system, t.keyring = system, keyring
	return run(ctx, t, os.Args)
}
