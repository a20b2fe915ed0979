package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func (t *terminal) packCommand() *cli.Command {
	return &cli.Command{
		Name:        "pack",
		Usage:       "make a .skill file of a directory: the same bytes every time",
		ArgsUsage:   "DIR",
		Description: "Examples:\n  skillet pack ./skills/text\n  skillet pack ./skills/text --output dist",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: ".", Usage: "the `DIR` or FILE.skill to write"}},
		Action:      t.withoutHome(t.pack),
	}
}

// packed is what --json prints of pack.
type packed struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	Path    string           `json:"path"`
	Files   []bundle.File    `json:"files"`
}

func (t *terminal) pack(_ context.Context, c *cli.Context) error {
	args, err := need(c, 1, "one directory")
	if err != nil {
		return err
	}
	p, path, err := packTo(args[0], c.String("output"))
	if err != nil {
		return err
	}
	m := p.Manifest()
	return t.answer(packed{m.Name, m.Version, p.Digest(), path, p.Files()}, func() {
		t.say("%s", path)
		t.note("%s@%s sha256:%s, %d files", plain(m.Name), plain(m.Version), p.Digest().Short(), len(p.Files()))
	})
}

// withoutHome is a command that needs no home.
func (t *terminal) withoutHome(do func(context.Context, *cli.Context) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		t.json = c.Bool("json")
		return do(c.Context, c)
	}
}

// packTo packs a directory to a file, or into a directory, which it makes.
func packTo(dir, out string) (*bundle.Package, string, error) {
	if err := packable(dir); err != nil {
		return nil, "", err
	}
	if filepath.Ext(out) != bundle.Extension {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return nil, "", fmt.Errorf("make the output directory: %w", err)
		}
	}
	p, err := bundle.Pack(dir, out)
	if err != nil {
		return nil, "", err
	}
	if filepath.Ext(out) != bundle.Extension {
		out = filepath.Join(out, p.FileName())
	}
	return p, out, nil
}

// packable refuses what would make a package that nobody can run.
func packable(dir string) error {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return task.Errorf(task.KindUsage, "pack %s: it is not a directory", dir).WithHint("name the directory with the skill.json")
	}
	_, err := bundle.ReadDir(dir)
	if errors.Is(err, bundle.ErrNoModule) {
		return task.Wrap(task.KindUsage, err).WithHint("build the module first, where \"command\" says it is")
	}
	return err
}
