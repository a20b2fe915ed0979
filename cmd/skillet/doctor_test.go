package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEscapeAtATerminal shows a person how far it is, and then the table alone.
func TestEscapeAtATerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.sit("doctor", "--escape", "--only", "endless-loop", "--only", "sleep", "--only", "cookie")
	s.sees("(1/3)")
	got := s.ends(0)
	for _, want := range []string{"endless-loop", "(2/3)", "\r\nendless-loop", "all 3 attempts were contained"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%q", want, got)
		}
	}
	s = p.sit("doctor", "--escape", "--json", "--only", "cookie")
	if got := s.ends(0); strings.Contains(got, "\x1b") || strings.Contains(got, "/1)") {
		t.Errorf("progress among JSON:\n%q", got)
	}
}

func TestCtrlCEndsTheAttempts(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := p.sit("doctor", "--escape")
	s.sees("(2/")
	s.types(ctrlC)
	s.ends(interrupted)
}

// TestEscapeReports has attempts that are not contained: in a directory that
// policies protect no guest can do what it may, which shows nothing.
func TestEscapeReports(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	tmp := filepath.Join(p.work, ".ssh")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, json := range []bool{false, true} {
		args := []string{"doctor", "--escape", "--only", "symlink-read", "--only", "cookie"}
		if json {
			args = append(args, "--json")
		}
		cmd := p.command(t.Context(), args...)
		cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 7 {
			t.Errorf("exit code %d", code)
		}
		for _, want := range []string{
			"not contained: symlink-read: the guest could not read what it may", "1 of 2 attempts were not contained",
			"SECURITY.md", "skillet doctor --escape --json --only symlink-read\n",
		} {
			if !strings.Contains(errs.String(), want) {
				t.Errorf("no %q in\n%s", want, errs.String())
			}
		}
		if json != strings.Contains(out.String(), `"contained": false`) || json == strings.Contains(out.String(), "  NO") {
			t.Errorf("printed\n%s", out.String())
		}
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
