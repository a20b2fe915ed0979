package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host/base/fault"
)

// TestCommandPage compares the page about the command line with the commands.
func TestCommandPage(t *testing.T) {
	const path, begin, end = "../../docs/cli.md", "-update -->\n", "<!-- end -->"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no place for the commands", path)
	}
	want := head + begin + commandPage() + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(b) != want {
		t.Errorf("%s does not have the commands as they are: run go test ./cmd/skillet -run TestCommandPage -update", path)
	}
}

func commandPage() string {
	app := newApp(&terminal{})
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| code | kind | meaning |\n| --- | --- | --- |\n")
	for _, o := range fault.Outcomes() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", o.Code, o.Kind, o.Meaning)
	}
	fmt.Fprintf(&b, "| %d | | ended by Ctrl-C |\n", interrupted)
	b.WriteString("\n## Flags of every command\n\n")
	writeFlags(&b, app.Flags)
	b.WriteString("\n## All commands\n\n| command | does |\n| --- | --- |\n")
	var sections strings.Builder
	everyCommand("skillet", app.Commands, func(path string, c *cli.Command) {
		writeCommand(&sections, path, c, app.Flags)
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", path, strings.ReplaceAll(path, " ", "-"), c.Usage)
	})
	return b.String() + sections.String()
}

// everyCommand calls f with each command that people are told of, in the order of the help.
func everyCommand(prefix string, cs []*cli.Command, f func(path string, c *cli.Command)) {
	for _, c := range cs {
		if !c.Hidden && c.Usage != "" { // without: TestEveryCommandHasExampleAndScript
			f(prefix+" "+c.Name, c)
			everyCommand(prefix+" "+c.Name, c.Subcommands, f)
		}
	}
}

// writeCommand writes the section of a command: the flags of every command are left out.
func writeCommand(b *strings.Builder, path string, c *cli.Command, common []cli.Flag) {
	synopsis := cmdline.Of(path, c).Synopsis()
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n    %s\n", path, strings.ToUpper(c.Usage[:1])+c.Usage[1:], synopsis)
	if c.Description != "" {
		fmt.Fprintf(b, "\n%s\n", asMarkdown(c.Description))
	}
	var own []cli.Flag
	for _, f := range c.Flags {
		if cmdline.LookFor(common, f.Names()[0]) == nil {
			own = append(own, f)
		}
	}
	if len(own) > 0 {
		b.WriteString("\n")
		writeFlags(b, own)
	}
}

func writeFlags(b *strings.Builder, flags []cli.Flag) {
	b.WriteString("| flag | does |\n| --- | --- |\n")
	for _, f := range flags {
		if cmdline.Shown(f) {
			name, does, _ := strings.Cut(strings.TrimSpace(cmdline.FlagHelp(f)), "\t")
			fmt.Fprintf(b, "| `%s` | %s |\n", name, strings.ReplaceAll(does, "|", "\\|"))
		}
	}
}

// indented is a line of a description that is shown as it is.
var indented = regexp.MustCompile(`(?m)^ {2}(\S| )`)

// asMarkdown is a description as Markdown: indented lines are code.
func asMarkdown(text string) string {
	text = indented.ReplaceAllString(text, "    $1")
	return regexp.MustCompile(`(?m)^([^ \n].*)\n {4}`).ReplaceAllString(text, "$1\n\n    ")
}
