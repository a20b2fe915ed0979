package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/manifests/lockfile"
)

func (t *terminal) lockCommand() *cli.Command {
	return &cli.Command{
		Name:  "lock",
		Usage: "write down exactly what is installed, with what it needs",
		Description: "The lock has what you asked for, and of everything that needs: the version, the digests, the\n" +
			"source and the signer. `skillet sync` makes another home the same.\n\n" +
			"Examples:\n  skillet lock\n  skillet lock -o tools.lock\n  skillet lock -o -",
		Flags: []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: lockfile.FileName, Usage: "the `FILE` to write; - for the terminal"}},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			home, err := homeOf(ctx, h)
			if err != nil {
				return err
			}
			l, err := home.Lock()
			if err != nil {
				return err
			}
			return t.writeLock(ctx, c.String("output"), l)
		}),
	}
}

// homeOf is what is installed, as a graph.
func homeOf(ctx context.Context, h *host.Host) (*closure.Home, error) {
	catalog, err := h.Catalog(ctx, closure.Settings{})
	if err != nil {
		return nil, err
	}
	return catalog.Home(ctx)
}

// locked is what --json prints of lock.
type locked struct {
	Path     string `json:"path"`
	Roots    int    `json:"roots"`
	Packages int    `json:"packages"`
}

func (t *terminal) writeLock(ctx context.Context, path string, l *lockfile.Lock) error {
	b, err := l.Encode()
	if err != nil {
		return fault.Wrap(fault.KindConflict, fmt.Errorf("lock: %w", err)).WithHint("`skillet tree` shows what is installed; a skill without a source cannot be locked")
	}
	if path == "-" {
		_, err := t.out.Write(b)
		return err
	}
	var changes lockfile.Changes
	if old, err := readLock(ctx, path); err == nil {
		changes = lockfile.Compare(old, l)
	}
	if err := replaceFile(path, b); err != nil {
		return err
	}
	return t.answer(locked{Path: path, Roots: len(l.Roots), Packages: len(l.Packages)}, func() {
		if !changes.IsEmpty() {
			t.sayLines(changes.String())
		}
		t.note("wrote %s: %s, %s", plain(path), count(len(l.Packages), "package"), count(len(l.Roots), "root"))
	})
}

// replaceFile replaces a file: it is the old one or the new one at any time.
func replaceFile(path string, content []byte) error {
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		os.Remove(part)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readLock(ctx context.Context, path string) (*lockfile.Lock, error) {
	b, err := openfile.Read(ctx, path, lockfile.MaxBytes)
	switch {
	case errors.Is(err, openfile.ErrTooLarge):
		return nil, fault.Errorf(fault.KindUsage, "read lock %s: it is longer than %d bytes", path, lockfile.MaxBytes).WithHint("name a file that `skillet lock` wrote")
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap(fault.KindNotFound, fmt.Errorf("read lock: %w", err)).WithHint("`skillet lock` writes one")
	case err != nil:
		return nil, fmt.Errorf("read lock: %w", err)
	}
	l, err := lockfile.Parse(b)
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, fmt.Errorf("%s: %w", path, err)).WithHint("undo what was changed by hand, or `skillet lock` again")
	}
	return l, nil
}
