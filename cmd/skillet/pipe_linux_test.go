package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipesNobodyWritesTo: a command that is given a pipe for a file refuses it, or ends
// when it is told to.
func TestPipesNobodyWritesTo(t *testing.T) {
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", "")
	p.must(0, "install", "./echo", "--yes")
	if err := syscall.Mkfifo(filepath.Join(p.work, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"import pipe", "sync pipe", "store restore pipe --yes", "memory import pipe", "agent add pipe", "permission import pipe echo",
		"audit verify --export pipe", "audit verify --key pipe", "audit verify --against pipe",
		"key import pipe", "trust add pipe", "trust add --root pipe", "trust revocations import pipe",
		"run echo --input @pipe", "run ./pipe", "install ./pipe", "inspect ./pipe", "scan ./pipe", "verify ./pipe", "pack ./pipe", "push ./pipe oci://localhost:1/x",
		"replay pipe", "task run x --attach pipe", "list --env-file pipe",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			cmd := p.command(ctx, strings.Fields(line)...)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			cmd.WaitDelay = 20 * time.Second
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			_ = cmd.Run()
			if cmd.ProcessState.ExitCode() < 1 { // -1: it was killed
				t.Errorf("exit code %d, want an error or an interruption: %s", cmd.ProcessState.ExitCode(), out.String())
			}
			if strings.Contains(out.String(), "skillet help") {
				t.Errorf("the command was not understood: %s", out.String())
			}
		})
	}
}
