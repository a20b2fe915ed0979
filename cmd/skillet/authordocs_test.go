package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/scaffold"
	"github.com/skillet-run/skillet/host/toolchain"
)

// A consoleBlock is a fenced block of a page that shows commands and what they
// print.
type consoleBlock struct {
	language toolchain.Language
	commands []shownCommand
}

// A shownCommand is a line behind "$ ", with the lines that it prints, in which …
// stands for anything.
type shownCommand struct {
	line, text string
	code       string
	prints     []string
}

var (
	consoleFence = regexp.MustCompile("(?ms)^```console lang=(\\w+)\n(.*?)^```$")
	exitComment  = regexp.MustCompile(`\s*# exit code (\d+)$`)
)

// consoleBlocks are those of a page.
func consoleBlocks(t *testing.T, page string) []consoleBlock {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("```console")); n != len(consoleFence.FindAll(b, -1)) {
		t.Fatalf("%s: not each of %d console blocks names its language", page, n)
	}
	var all []consoleBlock
	for _, m := range consoleFence.FindAllStringSubmatch(string(b), -1) {
		block := consoleBlock{language: toolchain.Language(m[1])}
		for line := range strings.Lines(m[2]) {
			line = strings.TrimSuffix(line, "\n")
			text, ok := strings.CutPrefix(line, "$ ")
			switch {
			case ok:
				c := shownCommand{line: line, text: exitComment.ReplaceAllString(text, ""), code: "0"}
				if code := exitComment.FindStringSubmatch(text); code != nil {
					c.code = code[1]
				}
				block.commands = append(block.commands, c)
			case len(block.commands) == 0:
				t.Fatalf("%s: a block begins with %q, which is no command", page, line)
			default:
				last := &block.commands[len(block.commands)-1]
				last.prints = append(last.prints, line)
			}
		}
		all = append(all, block)
	}
	return all
}

// TestAuthoringPages runs each command of the pages for authors, in order, those of
// a language in a shell of their own.
func TestAuthoringPages(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("it runs compilers, and only other programs")
	}
	pages, err := filepath.Glob("../../docs/authoring/*.md")
	if err != nil || len(pages) < 4 {
		t.Fatalf("%q, %v", pages, err)
	}
	for _, page := range append(pages, "../../docs/authoring.md") {
		byLanguage := map[toolchain.Language][]shownCommand{}
		for _, b := range consoleBlocks(t, page) {
			byLanguage[b.language] = append(byLanguage[b.language], b.commands...)
		}
		if len(byLanguage) == 0 {
			t.Errorf("%s shows no command", page)
		}
		for l, commands := range byLanguage {
			t.Run(filepath.Base(page)+"/"+string(l), func(t *testing.T) {
				t.Parallel()
				if !slices.Contains(scaffold.Languages(), l) {
					t.Skipf("there is no SDK of %s", l)
				}
				ready(t, l)
				a := newAuthor(t)
				a.engine(l)
				a.follow(commands)
			})
		}
	}
}

// follow runs commands in one shell, and compares what they print.
func (a author) follow(commands []shownCommand) {
	a.t.Helper()
	const mark = "=== the end of a command: "
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "%s\ncode=$?; echo; echo '%s'$code\n", c.text, mark)
	}
	ctx, cancel := context.WithTimeout(a.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script.String())
	cmd.Dir, cmd.Env = a.work, authorEnviron(a.work)
	for i, v := range cmd.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			cmd.Env[i] = "PATH=" + filepath.Dir(a.program) + string(filepath.ListSeparator) + path
		}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.t.Fatalf("%v\n%s", err, out)
	}
	rest := string(out)
	for _, c := range commands {
		printed, after, ok := strings.Cut(rest, mark)
		code, next, _ := strings.Cut(after, "\n")
		if !ok || code != c.code {
			a.t.Fatalf("%s\nends with %q, and not with %s; it prints\n%s", c.line, code, c.code, printed)
		}
		if !shows(printed, c.prints) {
			a.t.Errorf("%s\nprints\n%s\nand the page says\n%s", c.line, printed, strings.Join(c.prints, "\n"))
		}
		rest = next
	}
}

// shows reports whether lines are printed in this order, perhaps among others.
func shows(printed string, lines []string) bool {
	var want strings.Builder
	for _, l := range lines {
		parts := strings.Split(l, "…")
		for i, p := range parts {
			parts[i] = regexp.QuoteMeta(p)
		}
		want.WriteString(`(?s:.*?)` + strings.Join(parts, `(?s:.*?)`))
	}
	return regexp.MustCompile(want.String()).MatchString(printed)
}
