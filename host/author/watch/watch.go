// Package watch tells when files of a directory change: all that were saved
// together as one change, and nothing of what is not source.
//
// It knows what an editor and a compiler leave behind, and nothing of skills.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// MaxDirs is how many directories are watched at most: each takes a place in a
// table of the system, which is small.
const MaxDirs = 2000

// ErrTooMany means that a directory has more than [MaxDirs] below it.
var ErrTooMany = errors.New("too many directories to watch")

// Settings say what is left out.
type Settings struct {
	// Ignore are paths in the directory, with slashes, that do not count: what a
	// build writes. Hidden files and directories never count.
	Ignore []string
	// Quiet is how long nothing must change until a change is told: an editor saves
	// a file in several steps. 0 means [DefaultQuiet].
	Quiet time.Duration
}

// DefaultQuiet is short enough not to be felt, and longer than the steps of an
// editor take.
const DefaultQuiet = 30 * time.Millisecond

// A Change is what was saved together.
type Change struct {
	// Paths are the files, relative to the directory, with slashes, sorted.
	Paths []string
	// At is when the first of them was saved.
	At time.Time

	made map[string]bool // those that were not there before
}

// A Watcher watches one directory.
type Watcher struct {
	dir      string
	settings Settings
	fs       *fsnotify.Watcher
	dirs     int
}

// Open watches a directory and all below it. Close it. The error wraps
// [ErrTooMany], or is the system's.
func Open(dir string, s Settings) (*Watcher, error) {
	if s.Quiet <= 0 {
		s.Quiet = DefaultQuiet
	}
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	w := &Watcher{dir: dir, settings: s, fs: inner}
	if err := w.add(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %w", dir, err), inner.Close())
	}
	return w, nil
}

// Close ends the watching.
func (w *Watcher) Close() error { return w.fs.Close() }

// add watches a directory and those below.
func (w *Watcher) add(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case path != w.dir && w.ignored(w.relative(path)):
			return fs.SkipDir
		}
		if w.dirs++; w.dirs > MaxDirs {
			return ErrTooMany
		}
		return w.fs.Add(path)
	})
}

func (w *Watcher) relative(path string) string {
	rel, err := filepath.Rel(w.dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

// leftovers are directories that are never source, wherever they are.
var leftovers = []string{"node_modules", "target", "__pycache__", "zig-out"}

// ignored reports whether a path does not count.
func (w *Watcher) ignored(rel string) bool {
	for _, name := range strings.Split(rel, "/") {
		if strings.HasPrefix(name, ".") || slices.Contains(leftovers, name) {
			return true
		}
	}
	base := rel[strings.LastIndex(rel, "/")+1:]
	// What editors write beside a file: backups, locks, and vim's test file.
	if strings.HasSuffix(base, "~") || strings.HasPrefix(base, "#") || strings.HasSuffix(base, ".swp") || strings.HasSuffix(base, ".tmp") || base == "4913" {
		return true
	}
	return slices.ContainsFunc(w.settings.Ignore, func(p string) bool {
		if ending, ok := strings.CutPrefix(p, "*"); ok {
			return strings.HasSuffix(base, ending)
		}
		return rel == p || strings.HasPrefix(rel, p+"/")
	})
}

// Next waits for the next change. The error is that of ctx, or of the system.
func (w *Watcher) Next(ctx context.Context) (Change, error) {
	c := Change{made: map[string]bool{}}
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case err, ok := <-w.fs.Errors:
			if !ok {
				return c, fs.ErrClosed
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) { // something changed all the same
				return c, fmt.Errorf("watch %s: %w", w.dir, err)
			}
			c.note(".", time.Now())
			quiet.Reset(w.settings.Quiet)
		case e, ok := <-w.fs.Events:
			if !ok {
				return c, fs.ErrClosed
			}
			if w.take(&c, e) {
				quiet.Reset(w.settings.Quiet)
			}
		case <-quiet.C:
			if w.settle(&c); len(c.Paths) > 0 {
				return c, nil
			}
		}
	}
}

// settle leaves out what came and went: editors write beside a file, and put that
// in its place.
func (w *Watcher) settle(c *Change) {
	c.Paths = slices.DeleteFunc(c.Paths, func(p string) bool {
		_, err := os.Lstat(filepath.Join(w.dir, filepath.FromSlash(p)))
		return c.made[p] && errors.Is(err, fs.ErrNotExist)
	})
	slices.Sort(c.Paths)
}

// take adds an event to a change; false for one that does not count.
func (w *Watcher) take(c *Change, e fsnotify.Event) bool {
	rel := w.relative(e.Name)
	if e.Op == fsnotify.Chmod || rel == "." || w.ignored(rel) {
		return false
	}
	st, err := os.Lstat(e.Name)
	if err == nil && st.IsDir() {
		if e.Has(fsnotify.Create) {
			_ = w.add(e.Name) // what cannot be watched is only not told
		}
		return w.inside(c, e.Name)
	}
	at := time.Now()
	if err == nil && at.Sub(st.ModTime()) < time.Second && at.After(st.ModTime()) {
		at = st.ModTime()
	}
	if e.Has(fsnotify.Create) && !slices.Contains(c.Paths, rel) {
		c.made[rel] = true
	}
	c.note(rel, at)
	return true
}

// inside adds the files of a directory that came with it.
func (w *Watcher) inside(c *Change, dir string) bool {
	before := len(c.Paths)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if rel := w.relative(path); err == nil && !d.IsDir() && !w.ignored(rel) {
			c.note(rel, time.Now())
		}
		return nil
	})
	return len(c.Paths) > before
}

func (c *Change) note(path string, at time.Time) {
	if c.At.IsZero() || at.Before(c.At) {
		c.At = at
	}
	if !slices.Contains(c.Paths, path) {
		c.Paths = append(c.Paths, path)
	}
}
