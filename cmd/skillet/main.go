// Command skillet installs and runs untrusted skills, WebAssembly modules that
// can do nothing they were not granted. `skillet help` shows what it can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(skilletMain()) }

func skilletMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	t := &terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ()}
	return run(ctx, t, os.Args)
}
