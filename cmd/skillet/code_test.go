package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A codeShelf is the compiled code that the homes of tests share: to compile
// the same modules in each of a hundred homes takes longer than all the rest. A
// home begins with links to what is on the shelf, sealed with the same key, and
// what it compiles itself is put there when its test is over.
//
// TEST_CODE_CACHE names a directory that keeps it from one run of the tests
// to the next.
type codeShelf struct{ dir, key, kept string }

// keptCode is how many bytes of code are kept between runs.
const keptCode = 2 << 30

// shelved is the shelf of this test binary; runs deletes it.
var shelved = sync.OnceValues(func() (c codeShelf, err error) {
	if c.dir, err = os.MkdirTemp("", "skillet-shelf-"); err != nil {
		return c, err
	}
	c.key = filepath.Join(c.dir, "key")
	if cache := os.Getenv("TEST_CODE_CACHE"); cache != "" {
		c.kept = filepath.Join(cache, "homes")
		return c, c.fetch()
	}
	return c, newKey(c.key)
})

// newKey writes a new key, unless there is one.
func newKey(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	key := make([]byte, 32)
	rand.Read(key)
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(key)
	if err = errors.Join(err, f.Close()); err == nil {
		if err = os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil // another test binary was first
		}
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// fetch fills the shelf with what former runs have kept. Whoever can write there
// could have the tests run code of theirs.
func (c codeShelf) fetch() error {
	if err := os.MkdirAll(c.kept, 0o700); err != nil {
		return err
	}
	if info, err := os.Lstat(c.kept); err != nil || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has to be a directory that only you can enter: %v", c.kept, err)
	}
	if err := newKey(filepath.Join(c.kept, "key")); err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(c.kept, "key"))
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(c.key, key, 0o600), link(filepath.Join(c.kept, "compiled"), filepath.Join(c.dir, "compiled")))
}

// keep keeps what is on the shelf, if that is wanted, and deletes the shelf.
func (c codeShelf) keep() error {
	if c.kept == "" {
		return os.RemoveAll(c.dir)
	}
	to := filepath.Join(c.kept, "compiled")
	return errors.Join(link(filepath.Join(c.dir, "compiled"), to), shrink(to, keptCode), os.RemoveAll(c.dir))
}

// shrink deletes what was not used for longest, until so many bytes are left.
func shrink(dir string, budget int64) (err error) {
	kept, err := filepath.Glob(filepath.Join(dir, "packed-*", "*.code"))
	used := map[string]time.Time{}
	size := map[string]int64{}
	for _, f := range kept {
		if info, err := os.Stat(f); err == nil { // else another test binary has deleted it
			used[f], size[f] = info.ModTime(), info.Size()
		}
	}
	slices.SortFunc(kept, func(a, b string) int { return used[b].Compare(used[a]) })
	for _, f := range kept {
		if budget -= size[f]; budget < 0 {
			os.Remove(f)
		}
	}
	return err
}

// lend fills a home that is not there yet.
func (c codeShelf) lend(home string) error {
	key, err := os.ReadFile(c.key)
	if err != nil {
		return err
	}
	keys := filepath.Join(home, "keys")
	err = errors.Join(os.MkdirAll(keys, 0o700), os.Chmod(home, 0o700), os.WriteFile(filepath.Join(keys, "cache"), key, 0o600))
	return errors.Join(err, link(filepath.Join(c.dir, "compiled"), filepath.Join(home, "cache", "compiled")))
}

// take puts on the shelf what a home has compiled. A home with a key of its own
// has nothing for others.
func (c codeShelf) take(home string) error {
	ours, err := os.ReadFile(c.key)
	theirs, homeErr := os.ReadFile(filepath.Join(home, "keys", "cache"))
	if err != nil || homeErr != nil || string(ours) != string(theirs) {
		return err
	}
	return link(filepath.Join(home, "cache", "compiled"), filepath.Join(c.dir, "compiled"))
}

// link links the finished files of compiled code from one directory into
// another. Nobody writes to them: they are replaced, and deleted.
func link(from, to string) error {
	kept, err := filepath.Glob(filepath.Join(from, "packed-*", "*.code"))
	for _, f := range kept {
		dir := filepath.Join(to, filepath.Base(filepath.Dir(f)))
		err = errors.Join(err, os.MkdirAll(dir, 0o700))
		if e := place(f, filepath.Join(dir, filepath.Base(f))); e != nil && !errors.Is(e, fs.ErrExist) && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// place links a file, or copies it to another file system, with the time when it was last used.
func place(from, to string) error {
	err := os.Link(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(to), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = errors.Join(os.Chtimes(f.Name(), info.ModTime(), info.ModTime()), os.Rename(f.Name(), to))
	}
	return err
}

// warm fills the home of a script.
func (c codeShelf) warm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: warm")
	}
	ts.Check(c.lend(ts.Getenv("SKILLET_HOME")))
}

// borrow fills a home, and puts on the shelf what is in it at the end of a test.
func borrow(t *testing.T, home string) {
	t.Helper()
	c, err := shelved()
	if err == nil {
		err = c.lend(home)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.take(home); err != nil {
			t.Error(err)
		}
	})
}

// compileFirst compiles modules, two at a time, before tests that begin at once
// would each do so.
func compileFirst(t *testing.T, modules ...string) {
	t.Helper()
	p := newPerson(t)
	borrow(t, p.home)
	var all sync.WaitGroup
	turns := make(chan struct{}, 2)
	for _, m := range modules {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if out, err := p.command(t.Context(), "inspect", m).CombinedOutput(); err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Errorf("inspect %s: %v: %s", m, err, strings.TrimSpace(string(out)))
			}
		})
	}
	all.Wait()
	if c, err := shelved(); err != nil || c.take(p.home) != nil {
		t.Error(err)
	}
}
