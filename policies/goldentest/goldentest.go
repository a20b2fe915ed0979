// Package goldentest compares what is computed with files in testdata, and
// writes those anew when a test runs with -update. It is for tests, and knows
// nothing of what it compares.
package goldentest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// File compares got with the file at path.
func File(tb testing.TB, path, got string) {
	tb.Helper()
	if *update {
		write(tb, path, got)
		return
	}
	if want := read(tb, path); got != want {
		tb.Errorf("%s differs:\n got %s\nwant %s", path, got, want)
	}
}

// Table reads testdata/name, a table of "input => output" lines, computes every
// output and compares. Blank lines and lines that begin with "#" stay as they
// are; a line without an output gets one. White space around an input is for the
// eye alone.
func Table(tb testing.TB, name string, compute func(input string) string) {
	tb.Helper()
	path := filepath.Join("testdata", name)
	var out strings.Builder
	for i, line := range lines(tb, path) {
		input, want, ok := split(line)
		if !ok {
			fmt.Fprintln(&out, line)
			continue
		}
		got := compute(strings.TrimSpace(input))
		fmt.Fprintf(&out, "%s%s%s\n", input, arrow, got)
		if got != want && !*update {
			tb.Errorf("%s:%d: %s\n got %s\nwant %s", path, i+1, input, got, want)
		}
	}
	if *update {
		write(tb, path, out.String())
	}
}

// Inputs returns the inputs of a table, as seeds of a fuzz target.
func Inputs(tb testing.TB, name string) []string {
	tb.Helper()
	var all []string
	for _, line := range lines(tb, filepath.Join("testdata", name)) {
		if input, _, ok := split(line); ok {
			all = append(all, strings.TrimSpace(input))
		}
	}
	return all
}

const arrow = "=> "

// split takes a line of a table apart; ok is false for one that has no input.
func split(line string) (input, output string, ok bool) {
	if line == "" || strings.HasPrefix(line, "#") {
		return "", "", false
	}
	input, output, found := strings.Cut(line, arrow)
	if !found {
		input += " "
	}
	return input, output, true
}

func lines(tb testing.TB, path string) []string {
	tb.Helper()
	return strings.Split(strings.TrimSuffix(read(tb, path), "\n"), "\n")
}

func read(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

func write(tb testing.TB, path, text string) {
	tb.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}
