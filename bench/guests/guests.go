// Package guests lists the modules of the benchmark, their inputs and the
// answers they must give. Modules in Go are built from the folders beside it
// when they are asked for; the others are files of testdata, which `make
// testdata` builds. It knows nothing of what runs them.
package guests

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/skillet-run/skillet/bench/guests/go/figures"
	"github.com/skillet-run/skillet/bench/guests/go/work"
)

// ABI is how a guest takes its input and gives its output.
type ABI string

const (
	// Extism is extism:host/env: blocks, moved eight bytes a call.
	Extism ABI = "extism"
	// Bulk is skillet:host/v1: the whole input and output in one call each.
	Bulk ABI = "bulk"
)

// A Guest is one module.
type Guest struct {
	Name     string // as in reports
	Language string // "c", "rust", "as", "go" or "js"
	ABI      ABI
	file     string // in testdata
	command  string // folder of package main, for Go
}

// Text are the guests that count words and echo: one per language and ABI.
func Text() []Guest {
	var list []Guest
	for _, language := range []string{"c", "rust", "as", "go", "js"} {
		for _, abi := range []ABI{Bulk, Extism} {
			g := Guest{Name: language + "/" + string(abi), Language: language, ABI: abi,
				file: fmt.Sprintf("text-%s-%s.wasm", language, abi)}
			if language == "go" {
				g.command = map[ABI]string{Bulk: "text", Extism: "extism"}[abi]
			}
			list = append(list, g)
		}
	}
	return list
}

// Compute are the guests of work without host calls.
func Compute() []Guest {
	return []Guest{
		{Name: "rust/compute", Language: "rust", ABI: Bulk, file: "compute-rust.wasm"},
		{Name: "go/compute", Language: "go", ABI: Bulk, command: "compute"},
	}
}

// ErrAbsent is matched by the error of Module when a file of testdata is not
// there.
var ErrAbsent = errors.New("not built: make testdata builds it where its toolchain can be had")

// Module returns the guest's bytes. dir is the folder of this package, and
// tmp a folder for what has to be built. Errors: [ErrAbsent]; what the Go
// command says.
func (g Guest) Module(dir, tmp string) ([]byte, error) {
	path := filepath.Join(dir, "..", "testdata", g.file)
	if g.command != "" {
		path = filepath.Join(tmp, g.command+".wasm")
		if err := buildGo(dir, g.command, path, "GOOS=wasip1", "GOARCH=wasm"); err != nil {
			return nil, fmt.Errorf("build guest %s: %w", g.Name, err)
		}
	}
	wasm, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("guest %s: %w", g.Name, err)
	}
	return wasm, nil
}

// Native builds the text guest in Go as a program for this machine, into tmp,
// and returns its path. It is count from standard input to standard output.
func Native(dir, tmp string) (string, error) {
	path := filepath.Join(tmp, "text-native")
	if err := buildGo(dir, "text", path); err != nil {
		return "", fmt.Errorf("build the native text guest: %w", err)
	}
	return path, nil
}

// buildGo builds a command of this folder: a reactor for wasip1, else a
// program.
func buildGo(dir, command, out string, env ...string) error {
	args := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", out}
	if len(env) > 0 {
		args = append(args, "-buildmode=c-shared")
	}
	cmd := exec.Command("go", append(args, "./go/"+command)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(text))
	}
	return nil
}

// A Task is one call and the answer it must give.
type Task struct {
	Export string
	Name   string // of the input, as in reports: "100 B", or the tool's name
	Input  []byte
	Want   []byte
}

// Counts are the calls of count, for inputs of 100 B, 10 kB and 1 MB.
func Counts() []Task {
	var list []Task
	for _, t := range inputs() {
		t.Export, t.Want = "count", figures.Of(t.Input)
		list = append(list, t)
	}
	return list
}

// Echo is the call of echo with 1 MB.
func Echo() Task {
	t := inputs()[2]
	t.Export, t.Want = "echo", t.Input
	return t
}

func inputs() []Task {
	return []Task{{Name: "100 B", Input: text(100)}, {Name: "10 kB", Input: text(10_000)}, {Name: "1 MB", Input: text(1_000_000)}}
}

// text is n bytes of English words, the same every time.
func text(n int) []byte {
	words := [...]string{"a", "sandbox", "is", "no", "place", "to", "keep", "what", "you", "would", "rather", "not", "lose", "but", "every", "guest", "brings", "something"}
	var b []byte
	for state := uint32(1); len(b) < n; {
		state = state*1664525 + 1013904223
		b = append(b, words[(state>>16)%uint32(len(words))]...)
		b = append(b, " \n"[state>>28/15])
	}
	return b[:n]
}

// Work are the calls of the compute guests; each takes some milliseconds.
func Work() []Task {
	var list []Task
	for _, w := range []struct {
		name   string
		amount uint64
		run    func(uint64) uint64
	}{
		{"spin", 4_000_000, work.Spin},
		{"calls", 27, work.Calls},
		{"sha256", 300, work.SHA256},
		{"sort", 60_000, work.Sort},
		{"matrix", 160, work.Matrix},
		{"json", 3_000, work.JSON},
		{"regex", 2_000, work.Regex},
	} {
		list = append(list, Task{
			Export: w.name, Name: w.name,
			Input: strconv.AppendUint(nil, w.amount, 10),
			Want:  strconv.AppendUint(nil, w.run(w.amount), 10),
		})
	}
	return list
}
