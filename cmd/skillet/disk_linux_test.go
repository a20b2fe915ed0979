package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullAndReadOnlyDisks: on a disk that takes nothing more, no decision is made, not
// even in part, and what only reads does so.
func TestFullAndReadOnlyDisks(t *testing.T) {
	p := newPerson(t)
	disk := filepath.Join(p.work, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprint("size=", 120<<20)); err != nil {
		t.Skip("mounting a small disk needs a privilege:", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p.home = filepath.Join(disk, "home")
	p.pack("echo", "echo", "1.0.0", `"kv":{"reason":"r"}`)
	p.pack("other", "other", "1.0.0", "")
	p.must(0, "install", "./echo", "--yes")
	p.must(0, "run", "echo", "--input", "x")
	state := func() string {
		return p.must(0, "permission", "show", "echo") + p.must(0, "list", "--all") + p.must(0, "secret", "list") + p.must(0, "config", "list")
	}
	before := state()
	undecided := func() {
		t.Helper()
		for _, args := range []string{
			"permission grant echo notify", "permission revoke echo kv", "install ./other --yes", "pin echo", "disable echo",
			"remove echo --yes", "config set max_memory_mb 32 --yes",
		} {
			p.must(9, strings.Fields(args)...)
		}
		if code, _, errs := p.shell("echo value | skillet secret set token"); code != 9 {
			t.Errorf("secret set: exit code %d: %s", code, errs)
		}
		for _, args := range []string{"info echo", "audit", "audit verify", "gc", "approvals list"} {
			p.must(0, strings.Fields(args)...)
		}
		if got := state(); got != before {
			t.Errorf("something was decided:\n%s\nbefore:\n%s", got, before)
		}
	}
	sound := func() {
		t.Helper()
		p.must(0, "store", "verify")
		if _, out, _ := p.run("doctor"); !regexp.MustCompile(`(?m)^ +ok +store `).MatchString(out) {
			t.Errorf("doctor does not say that the store is sound:\n%s", out)
		}
	}
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 80<<20), 0o600); err != nil { // less than min_free_mb is left
		t.Fatal(err)
	}
	undecided()
	last, err := os.Create(filepath.Join(disk, "last"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // not a byte is left
		_, err = last.Write(make([]byte, 1<<10))
	}
	undecided()
	sound()
	if err := errors.Join(last.Close(), os.Remove(last.Name()), os.Remove(filler)); err != nil {
		t.Fatal(err)
	}
	p.must(0, "audit", "verify")
	// What a process that died has left of a copy is in nobody's way.
	if err := os.Mkdir(filepath.Join(p.home, "store", "db.next"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	undecided()
	sound()
	if err := unix.Mount("", disk, "", unix.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != before {
		t.Errorf("with room again:\n%s\nbefore:\n%s", got, before)
	}
	p.must(0, "permission", "grant", "echo", "notify")
	p.must(0, "doctor")
}
