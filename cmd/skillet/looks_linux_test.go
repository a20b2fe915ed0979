package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/edge/lines"
)

// sees runs a command to its end at a terminal of a size, with colours, and returns what was shown.
func (p *person) sees(columns, rows uint16, env []string, args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := p.command(ctx, args...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return v == "NO_COLOR=1" || v == "PAGER=cat" })
	cmd.Env = append(append(cmd.Env, "TERM=xterm-256color"), env...)
	return p.sitSized(cmd, columns, rows).ends(0)
}

// sitSized starts a command at a terminal that has a size before it begins.
func (p *person) sitSized(cmd *exec.Cmd, columns, rows uint16) *session {
	p.t.Helper()
	hands, terminal := openPTY(p.t)
	if err := unix.IoctlSetWinsize(int(hands.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		p.t.Fatal(err)
	}
	return p.sitBetween(cmd, hands, terminal)
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Results are in lines and colours at a terminal, and raw in a pipe.
func TestResultsAtATerminal(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", "")
	p.must(0, "install", "./echo", "--yes")
	const answer = `{"text":"two\nlines","n":[1,true]}`
	run := []string{"run", "echo", "--input", answer}

	if got := p.must(0, run...); got != answer {
		t.Errorf("in a pipe it is %q", got)
	}
	got := p.sees(80, 40, nil, run...)
	if !colours.MatchString(got) {
		t.Errorf("no colours in %q", got)
	}
	want := "{\r\n  \"text\": \"two\\nlines\",\r\n  \"n\": [\r\n    1,\r\n    true\r\n  ]\r\n}\r\n"
	if plain := colours.ReplaceAllString(got, ""); !strings.HasSuffix(plain, want) {
		t.Errorf("it is %q", plain)
	}
	for _, env := range []string{"NO_COLOR=1", "TERM=dumb", "CLICOLOR=0"} {
		if got := p.sees(80, 40, []string{env}, run...); colours.MatchString(got) || !strings.HasSuffix(got, want) {
			t.Errorf("with %s it is %q", env, got)
		}
	}
	if got := p.sees(80, 40, nil, append(run, "--field", "text")...); !strings.HasSuffix(got, "two\r\nlines\r\n") {
		t.Errorf("the field is %q", got)
	}

	// Into a pipe, texts are as they are, and anything else is in one line.
	for query, want := range map[string]string{"text": "two\nlines\n", "n.0": "1\n", "n": "[1,true]\n"} {
		if got := p.must(0, append(run, "--field", query)...); got != want {
			t.Errorf("--field %s is %q", query, got)
		}
	}
	if got := p.must(0, append(run, "-q", ".n[], .text")...); got != "1\ntrue\ntwo\nlines\n" {
		t.Errorf("-q is %q", got)
	}
	if got := p.must(0, append(run, "--json", "-q", ".ok")...); got != "true\n" {
		t.Errorf("of the whole call -q is %q", got)
	}
	if got := p.must(0, "list", "-q", ".[].name"); got != "echo\n" {
		t.Errorf("of the list -q is %q", got)
	}
	if got := p.must(0, "list", "--field", "version"); got != "1.0.0\n" {
		t.Errorf("of the list --field is %q", got)
	}
	if got, want := p.must(0, "list", "-o", "json"), p.must(0, "list", "--json"); got != want {
		t.Errorf("-o json is %q", got)
	}
	p.must(5, append(run, "--field", "txet")...)
	p.must(2, append(run, "-q", ".[")...)
	p.must(2, append(run, "-q", ".n", "--field", "n")...)
	p.must(2, "list", "--format", "xml")
	p.must(2, "run", "echo", "--input", "no JSON", "--field", "n")
	if _, _, errs := p.run("list", "--home", p.home+"/none/at all", "-q", ".x", "--set", "nothing=1"); strings.Contains(errs, "{") {
		t.Errorf("an error is %s", errs)
	}
}

// What a skill answers cannot do anything to a terminal, whatever is picked of it.
func TestPickedTextIsHarmless(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write("echo.wasm", echo())
	p.write("answer", []byte(`{"text":"a\u001b[2J\u001b]0;owned\u0007\u009b2J\u202eevil\u2066\rskillet: ok\b\u007f"}`))
	for _, args := range [][]string{{"--field", "text"}, {"-q", ".text"}, {"-q", "[.text]"}, {}} {
		shown := p.sit(append([]string{"run", "./echo.wasm", "--input", "@answer"}, args...)...).ends(0)
		clean(t, strings.Join(args, " "), shown)
	}
}

// Tables fit terminals of every width; into a pipe nothing is cut.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", `"kv":{"reason":"r"}`)
	p.must(0, "install", "./echo", "--yes")
	p.pack("gen", "gen", "1.0.0", `"kv":{"reason":"r"}`)
	p.must(6, "install", "./gen", "--generated-by", "some-model")
	p.must(0, "run", "echo", "--input", "hello")
	for _, columns := range []uint16{60, 80, 120, 200} {
		for _, args := range [][]string{{"list"}, {"config", "list", "--no-pager"}, {"approvals", "list"}, {"explain", "--no-pager"}, {"stats", "skills"}} {
			shown := p.sees(columns, 100, nil, args...)
			if !colours.MatchString(shown) && args[0] != "stats" {
				t.Errorf("%v has no colours", args)
			}
			for line := range strings.Lines(colours.ReplaceAllString(shown, "")) {
				if line = strings.TrimRight(line, "\r\n"); lines.Width(line) > int(columns) {
					t.Errorf("%v at %d columns: %q", args, columns, line)
				}
			}
		}
	}
	whole := p.must(0, "config", "list")
	if strings.Contains(whole, "…") || colours.MatchString(whole) {
		t.Errorf("into a pipe, it is\n%s", whole)
	}
	if wide := colours.ReplaceAllString(p.sees(60, 40, nil, "config", "list", "-o", "wide", "--no-pager"), ""); strings.ReplaceAll(wide, "\r", "") != whole {
		t.Errorf("-o wide is not what a pipe has:\n%s", wide)
	}
	set := p.command(t.Context(), "secret", "set", "github")
	set.Stdin = strings.NewReader("hunter2hunter2")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := p.sees(120, 40, nil, "secret", "list"); !strings.Contains(got, "now") && !strings.Contains(got, "ago") {
		t.Errorf("times are not told from now:\n%s", got)
	}
}

// What is longer than the screen is in the pager, and nothing is that a person did not want there.
func TestPager(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.write("pager", []byte("#!/bin/sh\necho THE PAGER $LESS $1\ncat\n"))
	if err := os.Chmod(filepath.Join(p.work, "pager"), 0o755); err != nil {
		t.Fatal(err)
	}
	pager := []string{"PAGER=" + filepath.Join(p.work, "pager") + " -x"}
	help := []string{"help", "--all"}
	if got := p.sees(100, 20, pager, help...); !strings.Contains(got, "THE PAGER FRX -x") || !strings.Contains(got, "exit-codes") {
		t.Errorf("it is not in the pager:\n%s", got)
	}
	for name, got := range map[string]string{
		"a high screen": p.sees(100, 300, pager, help...),
		"--no-pager":    p.sees(100, 20, pager, append(help, "--no-pager")...),
		"PAGER=cat":     p.sees(100, 20, []string{"PAGER=cat"}, help...),
		"a dumb one":    p.sees(100, 20, append(pager, "TERM=dumb"), help...),
		"JSON":          p.sees(100, 20, pager, append(help, "--json")...),
		"no such pager": p.sees(100, 20, []string{"PAGER=/none/at/all"}, "help", "gc"),
		"a pipe":        p.must(0, help...),
	} {
		if strings.Contains(got, "THE PAGER") || len(got) == 0 {
			t.Errorf("%s: it shows %q", name, got)
		}
	}
}

// Checks are shown while others are still made.
func TestDoctorShowsEachCheck(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.must(0, "list")
	got := p.sees(100, 60, nil, "doctor")
	if !strings.Contains(got, "\x1b[32mok\x1b[0m") {
		t.Errorf("no colours in %q", got)
	}
	if plain := colours.ReplaceAllString(got, ""); !strings.Contains(plain, "  ok    store") || strings.Count(plain, "  ok    sandbox") != 1 {
		t.Errorf("it shows %q", plain)
	}
}
