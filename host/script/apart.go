package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime/debug"
	"time"

	"github.com/skillet-run/skillet/host/task"
)

// Bundling reads a program as deep as it is nested, and what nests deep enough ends
// the process: no error is left to handle then. So programs of strangers are
// bundled in a process of their own.

// apartWord is the argument by which a program knows that it is to bundle.
const apartWord = "bundle-script"

// IsApart reports whether a program was started to bundle one program of a script.
// Its main function must then return [Apart] as its exit code before anything else.
func IsApart(args []string) bool { return len(args) == 2 && args[1] == apartWord }

// maxStack bounds the stack of a process that bundles, in bytes, and apartTime how
// long it may take.
const (
	maxStack  = 256 << 20
	apartTime = 30 * time.Second
)

// question and reply are what goes to such a process, and what comes back.
type question struct {
	Interpreter string
	Main        string
	Files       Tree
}

type reply struct {
	Program []byte
	Error   *task.Error
}

// Apart is the whole life of a process that bundles.
func Apart() int {
	debug.SetMaxStack(maxStack)
	var q question
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		return 1
	}
	in, ok := Find(q.Interpreter)
	if !ok {
		return 1
	}
	var r reply
	program, err := in.Program(q.Files, q.Main)
	if r.Program = program; err != nil {
		r.Error = task.AsError(err)
	}
	if json.NewEncoder(os.Stdout).Encode(r) != nil {
		return 1
	}
	return 0
}

// InProcess has programs be read by another process of the program at a path, whose
// main function heeds [IsApart]. An empty path has them be read here.
func (in Interpreter) InProcess(ctx context.Context, path string) Interpreter {
	if path == "" {
		return in
	}
	in.Program = func(files fs.FS, main string) ([]byte, error) {
		t, ok := files.(Tree)
		if !ok {
			return nil, task.Errorf(task.KindInternal, "bundle %s: its files are not in memory", main)
		}
		return ask(ctx, path, question{in.Name, main, t})
	}
	return in
}

func ask(ctx context.Context, path string, q question) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, apartTime)
	defer cancel()
	b, err := json.Marshal(q)
	if err != nil {
		return nil, task.Wrap(task.KindInternal, err)
	}
	cmd := exec.CommandContext(ctx, path, apartWord)
	cmd.Args[0], cmd.Env, cmd.WaitDelay = "skillet", []string{}, time.Second
	cmd.Stdin, cmd.Stderr = bytes.NewReader(b), io.Discard
	out, err := cmd.Output()
	var r reply
	switch ended := (*exec.ExitError)(nil); {
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, ctx.Err()
	case ctx.Err() != nil || errors.As(err, &ended):
		return nil, task.Errorf(task.KindLimit, "%s: the program cannot be read within the limits of a build: it is too large, or nested too deeply", q.Main).
			WithHint("a build may take %s, and %d MB for what is nested", apartTime, maxStack>>20)
	case err == nil:
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		return nil, task.Wrap(task.KindInternal, fmt.Errorf("bundle %s: %w", q.Main, err))
	}
	if r.Error != nil {
		return nil, r.Error
	}
	return r.Program, nil
}
