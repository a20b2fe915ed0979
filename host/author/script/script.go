// Package script makes WebAssembly modules of scripts: it bundles a program, has
// its interpreter run the top-level code once in the sandbox, and writes what is
// in memory then as a module that exports the program's tools. It also builds
// the interpreters themselves, from packages of registries.
//
// The same interpreter and the same files give the same module, byte for byte:
// nothing that runs here sees a clock, randomness, a file or the network.
//
// It refuses to know installed skills, homes and grants: it is given bytes and
// something that runs them. An interpreter is a row of [Interpreters].
package script

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
)

// Revision changes whenever the same interpreter and files give another module
// than before. It is part of the key of what is kept of a build.
const Revision = "3"

// Interpreter is how scripts of a kind of language become modules, and how the
// interpreter's own package is made.
type Interpreter struct {
	// Name is the command that a manifest names, and the interface that the
	// interpreter's package provides.
	Name string
	// Extensions are the endings of a program's first file.
	Extensions []string
	// Origin is the package that the engine is taken from; Engine and Licence are files
	// in its archive.
	Origin  Origin
	Engine  []string
	Licence string
	// Licences are texts of licences that the archive does not have.
	Licences []Licence
	// Link joins the engine with what connects it to the host. The result exports
	// Start, which is called once with Prelude as its input; load, which takes a
	// program as its input and writes the names of its tools to the output, as a
	// list in JSON; and the tools.
	Link    func(engine [][]byte) ([]byte, error)
	Start   string
	Prelude []byte
	// Keep are exports of the linked module that stay exports of the interpreter,
	// besides those of tools: the tools of its own package.
	Keep []string
	// Tool is the export that runs a program's tool by its number, below Tools.
	Tool  func(i int) string
	Tools int
	// Memory is how much a build may take, in bytes; zero means what scripts usually may.
	Memory uint64
	// Alike has the module of each program export all that the interpreter does, so that
	// all have its code, which is then compiled once: see wasmbin.Skeleton. It takes
	// a Start that is load itself, and a link that exports what exports lists, in its
	// order.
	Alike bool
	// Program turns files into the input of load. main is the path of the first.
	// Errors are [fault.Error]s that name file, line and column. It runs in a process
	// that is confined, see [RunBundler].
	Program func(files fs.FS, main string) ([]byte, error)
	// Manifest and Readme are files of the interpreter's package.
	Manifest, Readme []byte
}

// A Licence is the text of a licence in the archive of a package.
type Licence struct {
	Origin Origin
	// File is its path in the archive. One in JSON has the text in the member
	// licenseText, as the package spdx-license-list writes it.
	File string
	// As is its name in assets of the interpreter's package.
	As string
}

// Interpreters lists all there are, in order of their names.
func Interpreters() []Interpreter {
	return []Interpreter{cpythonRow(), officeRow(), pythonRow(), javaScript()}
}

// Find returns the interpreter of a name.
func Find(name string) (Interpreter, bool) {
	all := Interpreters()
	i := slices.IndexFunc(all, func(in Interpreter) bool { return in.Name == name })
	if i < 0 {
		return Interpreter{}, false
	}
	return all[i], true
}

// ForFile returns the interpreter of a program by the name of its first file.
func ForFile(name string) (Interpreter, bool) {
	for _, in := range Interpreters() {
		if slices.ContainsFunc(in.Extensions, func(e string) bool { return strings.HasSuffix(name, e) }) {
			return in, true
		}
	}
	return Interpreter{}, false
}

// Names lists the names of the interpreters.
func Names() (names []string) {
	for _, in := range Interpreters() {
		names = append(names, in.Name)
	}
	return names
}

// A Runner does what a build takes of the machine.
type Runner interface {
	// Run loads a module and runs one of its exports, here or in another process.
	Run(ctx context.Context, wasm []byte, c sandbox.Call) (sandbox.Result, error)
	// Do is that of [worker.Pool].
	Do(ctx context.Context, j worker.Job, input []byte, answer func(question []byte) ([]byte, error)) ([]byte, error)
}

// limits bounds what runs while something is built.
func (in Interpreter) limits(wall time.Duration) sandbox.Limits {
	l := sandbox.PreinitLimits(cmp.Or(in.Memory, buildMemory))
	l.Fuel = buildFuel * uint64(max(1, wall/buildTime))
	l.Wall = wall
	l.InputBytes = MaxProgram
	return l
}

const (
	buildMemory = 64 << 20
	buildFuel   = 20_000_000_000
	buildTime   = 10 * time.Second
	// folderTime is how long the files of a folder may take, of which only their compiling
	// runs.
	folderTime = time.Minute
	// engineTime is how long a prelude may take: it is that of this program.
	engineTime = 2 * time.Minute
	// MaxProgram is the largest program, in bytes: all of its files together.
	MaxProgram = 8 << 20
)

// explain makes an error of a person's out of what ended an initialisation.
func (in Interpreter) explain(what string, err error) error {
	var guest *sandbox.GuestError
	switch {
	case errors.As(err, new(*sandbox.LimitError)):
		return fault.Errorf(fault.KindLimit, "%s: the code outside of functions does not end within the limits of a build: %w", what, err).
			WithHint("do the work in a tool, or do less of it: a build may take %s and %d MB", buildTime, cmp.Or(in.Memory, buildMemory)>>20)
	case errors.As(err, &guest):
		return fault.Errorf(fault.KindVerification, "%s: %w", what, guest).WithHint("correct the script; what is outside of functions runs when it is built")
	case errors.As(err, new(*sandbox.TrapError)):
		return fault.Errorf(fault.KindVerification, "%s: the interpreter gave up: %w", what, err)
	}
	return fault.Wrap(fault.KindInternal, fmt.Errorf("build %s: %w", what, err))
}
