package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/skillet-run/skillet/bench/guests"
)

// process starts a program for each call.
type process struct {
	env  []string // added to that of this process
	args func(export string) []string
	dir  string // deleted in the end; or ""
}

// Native is the text guest as a plain program: a process for each call, with
// nothing around it. It can only count.
func Native(program string) Way {
	return Way{"native process", func(_ context.Context, g guests.Guest, _ []byte) (Caller, error) {
		if g.Language != "go" || g.ABI != guests.Bulk {
			return nil, fmt.Errorf("%w: one native program is enough", ErrSkipped)
		}
		return process{args: func(string) []string { return []string{program} }}, nil
	}}
}

// Run is `skillet run` of a module in a file, with a home of its own: a
// process for each call, that finds the machine code in the cache after the
// first.
func Run(skillet string) Way {
	return Way{RunProcess, func(_ context.Context, g guests.Guest, wasm []byte) (Caller, error) {
		if g.ABI != guests.Bulk {
			return nil, fmt.Errorf("%w: the same skill over the other interface is enough", ErrSkipped)
		}
		dir, err := os.MkdirTemp("", "skillet-bench-")
		if err != nil {
			return nil, err
		}
		file := filepath.Join(dir, "guest.wasm")
		p := process{
			env: []string{"SKILLET_HOME=" + filepath.Join(dir, "home")},
			args: func(export string) []string {
				return []string{skillet, "run", file + ":" + export, "--input", "-"}
			},
			dir: dir,
		}
		return p, os.WriteFile(file, wasm, 0o600)
	}}
}

// Call starts the program, gives it the input and waits for its end.
func (p process) Call(ctx context.Context, export string, input []byte) ([]byte, error) {
	args := p.args(export)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdin = bytes.NewReader(input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, bytes.TrimSpace(errs.Bytes()))
	}
	return bytes.TrimSuffix(out, []byte("\n")), err
}

// Close deletes what Open made.
func (p process) Close(context.Context) error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}
