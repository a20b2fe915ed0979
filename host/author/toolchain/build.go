package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
)

// Scripts makes modules of scripts, which takes an interpreter.
type Scripts interface {
	// Script builds the module of a script project. What is wrong with the source
	// is an error that wraps a [*SourceError].
	Script(ctx context.Context, p Project) (wasm []byte, err error)
}

// Settings say what a build may use.
type Settings struct {
	// Environ is the environment that the listed variables are taken from, in the
	// form of [os.Environ].
	Environ []string
	// Tools is a directory with compilers, beside those on PATH and those in
	// .tools of a project; empty for none.
	Tools string
	// Timeout bounds one build; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Scripts builds scripts; nil refuses them.
	Scripts Scripts
}

// DefaultTimeout bounds a build. The first one of a language builds its library,
// too.
const DefaultTimeout = 5 * time.Minute

// Built is what a build has made.
type Built struct {
	Dir      string   `json:"dir"`
	Language Language `json:"language,omitempty"`
	// Module is the path of the module in Dir; empty when an interpreter runs the
	// source as it is.
	Module string `json:"module,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	// Changed is true when the module is not what it was before.
	Changed bool `json:"changed"`
	// DurationMS is the wall time of the build in milliseconds; 0 when there was
	// nothing to build.
	DurationMS float64 `json:"duration_ms"`
}

// A SourceError is a build that failed because of the source.
type SourceError struct {
	Language Language
	// Output is what the compiler said, with paths relative to the project.
	Output string
	Err    error
}

// Error is one line; Output has the rest.
func (e *SourceError) Error() string {
	return fmt.Sprintf("%s does not compile: %v", e.Language.Title(), e.Err)
}

// Unwrap returns Err.
func (e *SourceError) Unwrap() error { return e.Err }

// Build builds the project in dir in place, or does nothing when there is
// nothing to build. Errors are those of [Recognise], [Toolchain.Missing] and
// [Project.Build].
func Build(ctx context.Context, dir string, s Settings) (Built, error) {
	p, err := Recognise(dir)
	if err != nil {
		return Built{}, err
	}
	return p.Build(ctx, s)
}

// Build builds the module where the manifest has it. A module that comes out the
// same is left as it is. Errors: a [fault.Error] of [fault.KindNotFound] for
// programs that are missing, of [fault.KindLimit] for a build that does not end,
// one of [fault.KindSkill] that wraps a [*SourceError].
func (p Project) Build(ctx context.Context, s Settings) (Built, error) {
	b := Built{Dir: p.Dir, Language: p.Language, Module: p.Module}
	if p.Language == "" || p.Module == "" {
		return b, nil
	}
	began := time.Now()
	wasm, err := p.Compile(ctx, s)
	b.DurationMS = float64(time.Since(began).Microseconds()) / 1000
	if err != nil {
		return b, fmt.Errorf("build %s: %w", p.Dir, err)
	}
	b.Bytes = int64(len(wasm))
	if b.Changed, err = replace(filepath.Join(p.Dir, filepath.FromSlash(p.Module)), wasm); err != nil {
		return b, fmt.Errorf("build %s: %w", p.Dir, err)
	}
	p.keepBuiltOf(wasm)
	return b, nil
}

// Compile makes the module and returns it, without putting it anywhere.
func (p Project) Compile(ctx context.Context, s Settings) ([]byte, error) {
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var wasm []byte
	var err error
	if p.Language.IsScript() {
		wasm, err = p.script(ctx, s)
	} else {
		wasm, err = p.compile(ctx, s)
	}
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, fault.Errorf(fault.KindLimit, "%s did not end within %v", p.Language.Title(), timeout).
			WithHint("give it more time with %s", fault.SetField(fault.FieldTimeout))
	}
	if wrong := (*SourceError)(nil); errors.As(err, &wrong) {
		return nil, fault.Wrap(fault.KindSkill, err).WithHint("correct the source, then build again")
	}
	return wasm, err
}

func (p Project) script(ctx context.Context, s Settings) ([]byte, error) {
	if s.Scripts == nil {
		return nil, fault.Errorf(fault.KindNotFound, "building %s needs an interpreter, and there is none here", p.Language.Title())
	}
	return s.Scripts.Script(ctx, p)
}

func (p Project) compile(ctx context.Context, s Settings) ([]byte, error) {
	t, f := find(ctx, p.Language, p.Dir, s)
	if err := cmp.Or(ctx.Err(), t.Missing()); err != nil { // a program that was ended is not missing
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "skillet-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "main.wasm")
	r, _ := rowOf(p.Language)
	env := environ(r, s.Environ)
	for _, st := range r.build(p, out, f) {
		stdout, err := p.run(ctx, st, env)
		if err != nil {
			return nil, err
		}
		if st.artifact != nil {
			if out, err = st.artifact(stdout); err != nil {
				return nil, &SourceError{p.Language, "", err}
			}
		}
	}
	wasm, err := os.ReadFile(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &SourceError{p.Language, "", errors.New("the compiler wrote no module")}
	}
	return wasm, err
}

// Test runs the tests of the language itself, such as those of go test. Errors:
// a [fault.Error] of [fault.KindUsage] for a language that has none, else those of
// [Project.Compile].
func (p Project) Test(ctx context.Context, s Settings) error {
	r, _ := rowOf(p.Language)
	if r.test == nil {
		return fault.Errorf(fault.KindUsage, "%s has no tests that could be run here", p.Language.Title()).
			WithHint("leave unit_tests out of the manifest; cases in tests/ are run in every language")
	}
	t, f := find(ctx, p.Language, p.Dir, s)
	if err := cmp.Or(ctx.Err(), t.Missing()); err != nil { // a program that was ended is not missing
		return err
	}
	for _, st := range r.test(f) {
		if _, err := p.run(ctx, st, environ(r, s.Environ)); err != nil {
			return fault.Wrap(fault.KindSkill, err).WithHint("correct the source, or the test")
		}
	}
	return nil
}

// run runs one command in the project.
func (p Project) run(ctx context.Context, st step, env []string) (stdout []byte, err error) {
	var out, both bounded
	cmd := command(ctx, st.words)
	cmd.Dir, cmd.Env = p.Dir, slices.Concat(env, st.environ)
	cmd.Stdout, cmd.Stderr = tee{&out, &both}, &both
	if st.artifact != nil {
		cmd.Stdout = &out // for programs, not for people
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &SourceError{p.Language, p.relative(string(both.b)), fmt.Errorf("%s: %w", st.program, err)}
	}
	return out.b, nil
}

// relative has what a compiler says name files as the person does.
func (p Project) relative(text string) string {
	text = strings.ReplaceAll(text, p.Dir+string(filepath.Separator), "")
	return strings.TrimRight(strings.ReplaceAll(text, p.Dir, "."), "\n")
}

// maxOutput bounds what is kept of what a compiler says: the beginning, where the
// first error is.
const maxOutput = 4 << 20

// bounded is a buffer that takes everything and keeps the beginning.
type bounded struct {
	mu sync.Mutex // guards b: both streams of a program are written to it
	b  []byte
}

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b = append(b.b, p[:min(len(p), max(maxOutput-len(b.b), 0))]...)
	return len(p), nil
}

// tee is two buffers that are written to alike.
type tee struct{ a, b *bounded }

func (t tee) Write(p []byte) (int, error) {
	_, _ = t.a.Write(p)
	return t.b.Write(p)
}

// cargoArtifact finds the module in the messages of cargo, which are lines of
// JSON (cargo's external tools documentation).
func cargoArtifact(stdout []byte) (string, error) {
	var last string
	for line := range bytes.Lines(stdout) {
		var m struct {
			Reason    string   `json:"reason"`
			Filenames []string `json:"filenames"`
		}
		if json.Unmarshal(line, &m) != nil || m.Reason != "compiler-artifact" {
			continue
		}
		for _, f := range m.Filenames {
			if filepath.Ext(f) == ".wasm" {
				last = f
			}
		}
	}
	if last == "" {
		return "", errors.New(`cargo made no module: the crate needs crate-type = ["cdylib"]`)
	}
	return last, nil
}

// replace puts a file in the place of another in one step, unless they are the
// same.
func replace(path string, b []byte) (changed bool, err error) {
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, b) {
		return false, nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".skillet-build-*")
	if err != nil {
		return false, err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return false, errors.Join(err, os.Remove(f.Name()))
	}
	return true, nil
}
