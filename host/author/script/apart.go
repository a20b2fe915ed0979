package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime/debug"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/reexec"

	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
)

// Programs are of strangers, and what bundles them is a library that was made for
// programs of one's own: it opens files by itself, and what nests deep enough ends its
// process. So it works in a process without files, behind the walls of a worker, and
// asks for each file of the package.

const (
	// maxStack bounds the stack of a process that bundles, in bytes, and apartMemory
	// all of its data.
	maxStack      = 256 << 20
	bundlerMemory = 1 << 30
	// bundlerTime is how long it may take.
	bundlerTime = 30 * time.Second
	// maxFiles is how much it may read, in bytes: what is imported, and not needed
	// in the end, is read, too.
	maxFiles = 64 << 20
	// maxOutput is how long its answer may be, in bytes: a program, and the places in
	// its files.
	maxOutput = 4 * MaxProgram
)

// question is what such a process is asked, and reply what it answers.
type question struct {
	Interpreter string
	Main        string
}

type reply struct {
	Program []byte
	Error   *fault.Error
}

// RunBundler is the whole life of a process in the role [reexec.Bundler].
func RunBundler([]string) int {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(100) // from the start
	return worker.Serve(bundle)
}

// bundle bundles the files it asks for. Without an answer it could not be asked.
func bundle(input []byte, ask func([]byte) []byte) []byte {
	var q question
	if json.Unmarshal(input, &q) != nil {
		return nil
	}
	in, ok := Find(q.Interpreter)
	if !ok {
		return nil
	}
	var r reply
	program, err := in.Program(&asked{ask: ask, known: Tree{}}, q.Main)
	if r.Program = program; err != nil {
		r.Error = fault.AsError(err)
	}
	output, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return output
}

// programOf has a confined process bundle a program.
func programOf(ctx context.Context, run Runner, in Interpreter, s Source) ([]byte, error) {
	q, err := json.Marshal(question{in.Name, s.Main})
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	job := worker.Job{Argument: reexec.Bundler.Word, MemoryBytes: bundlerMemory, Time: bundlerTime, OutputBytes: maxOutput}
	output, err := run.Do(ctx, job, q, (&shown{files: s.Files}).answer)
	var known *fault.Error
	switch {
	case errors.Is(err, worker.ErrDied):
		return nil, fault.Errorf(fault.KindLimit, "%s: the program cannot be read within the limits of a build: it is too large, or nested too deeply", s.Main).
			WithHint("a build may take %s and %d MB, %d MB of that for what is nested", bundlerTime, bundlerMemory>>20, maxStack>>20)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &known):
		return nil, err
	}
	var r reply
	if err == nil {
		err = json.Unmarshal(output, &r)
	}
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, fmt.Errorf("bundle %s: %w", s.Main, err))
	}
	if r.Error != nil {
		return nil, r.Error
	}
	return r.Program, nil
}

// An answer begins with whether there is the file; its bytes follow.
const (
	absent  = 0
	present = 1
)

// shown are the files of a program as a process that bundles may see them.
type shown struct {
	files fs.FS
	bytes int
}

// answer returns a file for its path. That there is none is an answer, too.
func (s *shown) answer(name []byte) ([]byte, error) {
	if !fs.ValidPath(string(name)) {
		return []byte{absent}, nil
	}
	b, err := readFile(s.files, string(name))
	if errors.Is(err, errTooLarge) {
		return nil, fault.Wrap(fault.KindLimit, err)
	}
	if err != nil {
		return []byte{absent}, nil
	}
	if s.bytes += len(b); s.bytes > maxFiles {
		return nil, fault.Errorf(fault.KindLimit, "%s: the program imports more than %d bytes", name, maxFiles)
	}
	return append([]byte{present}, b...), nil
}

var errTooLarge = errors.New("too large")

// readFile reads a regular file that is not too large. It opens nothing else.
func readFile(files fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxProgram+1))
	if err == nil && len(b) > MaxProgram {
		err = fmt.Errorf("%s: %w: it has %d bytes, at most %d", name, errTooLarge, max(info.Size(), MaxProgram+1), MaxProgram)
	}
	return b, err
}

// asked is the files of a program in a process that has none and asks for each,
// once.
type asked struct {
	ask func([]byte) []byte

	mu    sync.Mutex
	known Tree // nil for what there is not
}

// Open opens a file.
func (a *asked) Open(name string) (fs.File, error) {
	a.mu.Lock()
	b, seen := a.known[name]
	a.mu.Unlock()
	if !seen && fs.ValidPath(name) {
		if text := a.ask([]byte(name)); len(text) > 0 && text[0] == present {
			b = text[1:]
		}
		a.mu.Lock()
		a.known[name] = b
		a.mu.Unlock()
	}
	if b == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{Reader: bytes.NewReader(b), name: path.Base(name), size: int64(len(b))}, nil
}
