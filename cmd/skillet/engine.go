package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/script"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func (t *terminal) engineCommand() *cli.Command {
	return &cli.Command{
		Name:  "engine",
		Usage: "get the interpreters that run scripts",
		Description: "A script is run by an interpreter, which is a skill itself: its package is made here, of an\n" +
			"engine from the npm registry whose SHA-512 this program knows. No compiler is needed, and\n" +
			"the registry only once.\n\n" +
			"Examples:\n" +
			"  skillet engine list\n" +
			"  skillet engine add qjs\n" +
			"  skillet engine build qjs --output dist",
		Subcommands: []*cli.Command{t.engineListCommand(), t.engineAddCommand(), t.engineBuildCommand()},
	}
}

func (t *terminal) engineListCommand() *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "list the interpreters, and which of them are installed",
		Description: "Examples:\n  skillet engine list\n  skillet engine list --json",
		Action:      t.withState(t.engineList),
	}
}

func (t *terminal) engineAddCommand() *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "build interpreters and install them",
		ArgsUsage: "NAME...",
		Description: "Builds the package of an interpreter and installs it as any other. It asks for nothing: what\n" +
			"a script may do is what the script was granted. The npm registry is npm_config_registry, or\n" +
			"that of npm; what npm has in its cache is taken from there.\n\n" +
			"Examples:\n" +
			"  skillet engine add qjs",
		Flags: []cli.Flag{
			despiteFlag(),
			// It was made here, of what this program has pinned, and it is what was asked for.
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Value: true, Hidden: true},
		},
		Action: t.withState(t.engineAdd),
	}
}

func (t *terminal) engineBuildCommand() *cli.Command {
	return &cli.Command{
		Name:      "build",
		Usage:     "build interpreters as .skill files, without installing them",
		ArgsUsage: "NAME...",
		Description: "The same version of this program makes the same files, byte for byte.\n\n" +
			"Examples:\n" +
			"  skillet engine build qjs\n" +
			"  skillet engine build qjs --output dist",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: ".", Usage: "write the files to `DIR`"}},
		Action: t.withHost(t.engineBuild),
	}
}

// engine is what --json prints of an interpreter.
type engine struct {
	Name      string `json:"name"`
	Source    string `json:"source"`
	Integrity string `json:"integrity"`
	// Files are the endings of scripts it runs.
	Files []string `json:"files"`
	// Installed is the skill that provides it; empty when none does.
	Installed string `json:"installed,omitempty"`
	// Error says why what provides it is not run.
	Error *fault.Error `json:"error,omitempty"`
}

func (t *terminal) engineList(ctx context.Context, _ *cli.Context, h *host.Host) error {
	var all []engine
	var rows [][]string
	for _, in := range script.Interpreters() {
		provider, err := h.Scripts().Provider(ctx, in.Name)
		e := engine{Name: in.Name, Source: "npm:" + in.Source.String(), Integrity: in.Source.Integrity, Files: in.Extensions, Installed: provider}
		if e.Error = explain(err); err != nil && e.Error.Kind != fault.KindDenied {
			return err
		}
		all = append(all, e)
		rows = append(rows, []string{e.Name, strings.Join(e.Files, " "), e.Source, cmp.Or(e.Installed, "-")})
	}
	return t.answer(all, func() {
		t.table("NAME\tRUNS\tENGINE\tINSTALLED", rows)
		for _, e := range all {
			if e.Error != nil {
				t.note("%s is not run: %s", e.Name, plain(e.Error.Message))
			}
		}
	})
}

func (t *terminal) engineAdd(ctx context.Context, c *cli.Context, h *host.Host) error {
	names := c.Args().Slice()
	if len(names) == 0 {
		return errNoEngine()
	}
	var from []string
	for _, name := range names {
		if _, ok := script.Find(name); !ok {
			_, err := h.Scripts().Engine(ctx, name) // says which there are
			return err
		}
		from = append(from, "engine:"+name)
	}
	return t.installEach(ctx, c, h, from, false)
}

func errNoEngine() error {
	return fault.Errorf(fault.KindUsage, "name an interpreter").WithHint("there are %s", strings.Join(script.Names(), " and "))
}

// engineBuilt is what --json prints of an interpreter that was built.
type engineBuilt struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Path    string `json:"path"`
}

func (t *terminal) engineBuild(ctx context.Context, c *cli.Context, h *host.Host) error {
	dir := c.String("output")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("build engines: %w", err)
	}
	made, err := t.buildEngines(ctx, c, h, dir)
	if err != nil {
		return err
	}
	return t.answer(made, func() {
		for _, m := range made {
			t.say("%s  %s@%s  %s", m.Path, m.Name, m.Version, m.Digest)
		}
	})
}

// buildEngines writes the packages of the named interpreters to a directory.
func (t *terminal) buildEngines(ctx context.Context, c *cli.Context, h *host.Host, dir string) ([]engineBuilt, error) {
	names := c.Args().Slice()
	if len(names) == 0 {
		return nil, errNoEngine()
	}
	var made []engineBuilt
	for _, name := range names {
		done := t.waiting("building %s", name)
		files, err := h.Scripts().Engine(ctx, name)
		done()
		if err != nil {
			return nil, err
		}
		m, err := packFiles(files, dir)
		if err != nil {
			return nil, err
		}
		made = append(made, m)
	}
	return made, nil
}

// packFiles packs files as NAME-VERSION.skill in a directory.
func packFiles(files map[string][]byte, dir string) (engineBuilt, error) {
	p, err := bundle.FromFiles(files)
	if err != nil {
		return engineBuilt{}, err
	}
	out, err := writeBuilt(p, filepath.Join(dir, p.FileName()))
	return engineBuilt{p.Manifest().Name, p.Manifest().Version, string(p.Digest()), out}, err
}

// engineNames are the interpreters there are.
func engineNames(question) ([]candidate, error) {
	var found []candidate
	for _, in := range script.Interpreters() {
		found = append(found, candidate{Word: in.Name, About: "runs " + strings.Join(in.Extensions, " ")})
	}
	return found, nil
}
