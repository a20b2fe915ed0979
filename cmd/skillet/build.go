package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/toolchain"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func (t *terminal) buildCommand() *cli.Command {
	return &cli.Command{
		Name:      "build",
		Usage:     "build the module of a skill where it is, and check what came out",
		ArgsUsage: "[DIR | main.js | main.ts | main.py]",
		Description: "Finds out what the directory is written in, builds the module that its manifest names, and\n" +
			"compares it with the manifest as `skillet install` does. Go, Rust, C, C++, Zig and AssemblyScript\n" +
			"take a compiler, and what is missing is named with how to get it; `skillet new --list` shows what is\n" +
			"here. JavaScript, TypeScript and Python take none. Of a script without a manifest a package is made,\n" +
			"whose tools are the functions that it exports.\n\n" +
			"A compiler runs with your rights: build a stranger's project only when you trust it. A built package\n" +
			"that you were given needs no building, and runs in the sandbox.\n\n" +
			"Examples:\n  skillet build\n  skillet build ./word-count\n  skillet build ./word-count -o word-count.skill\n" +
			"  skillet build main.js -o greeter.skill",
		Flags: append(buildFlags(),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "also write the module to this `FILE`.wasm, or the package, not signed, to FILE.skill"}),
		Action: t.withoutHome(t.build),
	}
}

// buildFlags are those of every command that builds.
func buildFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "timeout", Value: toolchain.DefaultTimeout, Usage: "end the compiler after this `TIME`"},
	}
}

// built is what --json prints of build.
type built struct {
	OK bool `json:"ok"`
	toolchain.Built
	// Problems are what is wrong with the package, and what is worth knowing.
	Problems []toolchain.Problem `json:"problems"`
	// Output is what was written beside the module; empty for nothing.
	Output string `json:"output,omitempty"`
	// Compiler is what the compiler said of source that does not compile.
	Compiler string       `json:"compiler,omitempty"`
	Error    *fault.Error `json:"error,omitempty"`
}

func (t *terminal) build(ctx context.Context, c *cli.Context) error {
	at, err := oneDir(c)
	if err != nil {
		return err
	}
	out, err := t.buildAt(ctx, c, at)
	if out.Error = explain(err); err == nil {
		out.OK = true
		return t.answer(out, func() { t.showBuilt(out) })
	}
	if !t.json {
		return err
	}
	if err := t.printJSON(out); err != nil {
		return err
	}
	return reported{out.Error.Kind}
}

// oneDir is the argument of a command that works on a directory, the current one
// when there is none.
func oneDir(c *cli.Context) (string, error) {
	switch c.NArg() {
	case 0:
		return ".", nil
	case 1:
		return c.Args().First(), nil
	}
	return "", fault.Errorf(fault.KindUsage, "%s takes one directory, and %q is one too many", c.Command.Name, c.Args().Get(1))
}

// buildAt builds a directory or a script, checks what came out, and writes what
// -o asks for.
func (t *terminal) buildAt(ctx context.Context, c *cli.Context, at string) (built, error) {
	if isScript(at) {
		return t.buildScript(ctx, c, at)
	}
	b := t.builders(c)
	defer b.close(ctx)
	made, p, err := t.buildPackage(ctx, b, at)
	out := built{Built: made, Problems: []toolchain.Problem{}, Compiler: compilerOutput(err)}
	if err != nil {
		return out, err
	}
	if p == nil {
		if out.Output = c.String("output"); out.Output == "" {
			return out, nil
		}
		return out, writeModule(filepath.Join(made.Dir, filepath.FromSlash(made.Module)), out.Output)
	}
	if out.Problems, err = t.checkBuilt(p); err != nil {
		return out, err
	}
	out.Output, err = writeBuilt(p, c.String("output"))
	return out, err
}

// buildPackage builds a directory in place and reads the package in it; nil when
// it has no manifest. What the compiler says is shown.
func (t *terminal) buildPackage(ctx context.Context, b builder, dir string) (toolchain.Built, *bundle.Package, error) {
	made, err := t.buildModule(ctx, b, dir)
	if err != nil {
		return made, nil, err
	}
	p, err := bundle.ReadDir(made.Dir)
	if errors.Is(err, bundle.ErrNoManifest) {
		return made, nil, nil
	}
	return made, p, err
}

// buildModule builds a directory in place, and does nothing for one that has no
// source. What the compiler says is shown; it is an error already then.
func (t *terminal) buildModule(ctx context.Context, b builder, dir string) (toolchain.Built, error) {
	done := t.waiting("building %s", filepath.Base(dir))
	made, err := toolchain.Build(ctx, dir, b.Settings)
	done()
	if text := compilerOutput(err); text != "" && !t.json {
		t.note("%s", plainLines(text))
	}
	return made, err
}

// A builder is what builds may use. Close it.
type builder struct {
	toolchain.Settings
	*scripts
}

// builders are what builds may use: the compilers of this machine, and the
// interpreters of the home.
func (t *terminal) builders(c *cli.Context) builder {
	s := &scripts{t: t, c: c}
	return builder{toolchain.Settings{Environ: t.environ, Tools: t.getenv("SKILLET_TOOLS"), Timeout: c.Duration("timeout"), Scripts: s}, s}
}

// compilerOutput is what the compiler said, when that is why err is.
func compilerOutput(err error) string {
	wrong := (*toolchain.SourceError)(nil)
	if errors.As(err, &wrong) {
		return wrong.Output
	}
	return ""
}

// checkBuilt compares a package with itself, shows what is worth knowing, and
// refuses what could not be installed.
func (t *terminal) checkBuilt(p *bundle.Package) ([]toolchain.Problem, error) {
	all := toolchain.Check(p, host.Offered())
	for _, found := range all {
		if !found.Refused && !t.json {
			t.note("  note: %s", plain(found.Words))
		}
	}
	return all, toolchain.Refusal(p.Manifest().Name, all)
}

// writeBuilt writes a package, or its module, to a file; "" writes nothing.
func writeBuilt(p *bundle.Package, out string) (string, error) {
	switch {
	case out == "":
		return "", nil
	case filepath.Ext(out) == ".wasm":
		_, wasm, err := p.Module()
		if err != nil {
			return "", err
		}
		return out, os.WriteFile(out, wasm, 0o644)
	case filepath.Ext(out) == bundle.Extension:
		return out, writePackage(p, out)
	}
	return "", fault.Errorf(fault.KindUsage, "--output %s: it is neither a .wasm nor a %s file", out, bundle.Extension)
}

func writePackage(p *bundle.Package, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("write the package: %w", err)
	}
	return errors.Join(p.WriteArchive(f), f.Close())
}

func writeModule(from, to string) error {
	if filepath.Ext(to) != ".wasm" {
		return fault.Errorf(fault.KindUsage, "--output %s: without a manifest there is no package to write", to).
			WithHint("write a skill.json, or name a .wasm file")
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("write the module: %w", err)
	}
	return os.WriteFile(to, b, 0o644)
}

func (t *terminal) showBuilt(b built) {
	switch {
	case b.Language == "" && b.Module == "":
		t.say("%s: it has no code, and there is nothing to build", plain(filepath.Base(b.Dir)))
	case b.Language == "":
		t.say("%s: there is no source to build; the module is there", plain(b.Module))
	case b.Module == "":
		t.say("%s is run by an interpreter: there is nothing to build", b.Language.Title())
	default:
		same := ""
		if !b.Changed {
			same = ", the same as before"
		}
		t.say("%s: %s from %s in %s%s", plain(b.Module), size(b.Bytes), b.Language.Title(), millis(b.DurationMS), same)
	}
	if b.Output != "" {
		t.say("%s", plain(b.Output))
	}
}

// millis is a time in milliseconds as people read it.
func millis(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f µs", ms*1000)
}
