package main

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A codeShelf is the compiled code that the homes of tests share: to compile
// the same modules in each of a hundred homes takes longer than all the rest. A
// home begins with links to what is on the shelf, sealed with the same key, and
// what it compiles itself is put there when its test is over.
type codeShelf struct{ dir, key string }

// shelved is the shelf of this test binary; runs deletes it.
var shelved = sync.OnceValues(func() (c codeShelf, err error) {
	if c.dir, err = os.MkdirTemp("", "skillet-shelf-"); err != nil {
		return c, err
	}
	key := make([]byte, 32)
	rand.Read(key)
	c.key = filepath.Join(c.dir, "key")
	return c, os.WriteFile(c.key, key, 0o600)
})

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
		if e := os.Link(f, filepath.Join(dir, filepath.Base(f))); e != nil && !errors.Is(e, fs.ErrExist) && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
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
