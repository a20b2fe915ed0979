package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

func (t *terminal) helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "explain a command, with examples",
		ArgsUsage: "[COMMAND...]",
		Description: "Examples:\n  skillet help run\n  skillet help permission grant\n" +
			"  skillet help exit-codes",
		Action: func(c *cli.Context) error { return t.help(c.App, c.Args().Slice()) },
	}
}

// help explains the command that names name; the program when there are none.
func (t *terminal) help(app *cli.App, names []string) error {
	if len(names) == 0 {
		return writeHelp(t.out, programTopic(app))
	}
	commands, path := app.Commands, "skillet"
	var c *cli.Command
	for _, name := range names {
		if c != nil && len(commands) == 0 { // an argument of the command: `skillet help run text`
			break
		}
		next := find(commands, name)
		if next == nil {
			return unknownName(strings.TrimPrefix(path+" command", "skillet "), name, commands, listedBy(strings.TrimPrefix(path, "skillet")))
		}
		c, path, commands = next, path+" "+next.Name, next.Subcommands
	}
	if c.Name == "exit-codes" {
		return t.exitCodes()
	}
	return writeHelp(t.out, topic{path, c.Usage, c.ArgsUsage, c.Description, c.Subcommands, c.Flags})
}

// listedBy is the hint that says where the commands below a path are listed.
func listedBy(path string) string {
	return "`" + strings.TrimSpace("skillet help "+strings.TrimSpace(path)) + "` lists the commands"
}

// A topic is what there is to say about a command.
type topic struct {
	path, usage, args, text string
	commands                []*cli.Command
	flags                   []cli.Flag
}

func programTopic(app *cli.App) topic {
	return topic{"skillet", app.Usage, "", app.Description, app.Commands, app.Flags}
}

func writeHelp(out io.Writer, p topic) error {
	fmt.Fprintf(out, "%s: %s\n\nUsage:\n  %s\n", p.path, p.usage, p.synopsis())
	if p.text != "" {
		fmt.Fprintf(out, "\n%s\n", p.text)
	}
	w := tabwriter.NewWriter(out, 0, 4, 3, ' ', 0)
	if len(p.commands) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
	}
	for _, c := range p.commands {
		if !c.Hidden {
			fmt.Fprintf(w, "  %s\t%s\n", strings.Join(c.Names(), ", "), c.Usage)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nFlags:\n")
	for _, f := range p.flags {
		if shown(f) {
			fmt.Fprintln(w, flagHelp(f))
		}
	}
	fmt.Fprint(w, "  --help, -h\tshow this help\n")
	return w.Flush()
}

func (p topic) synopsis() string {
	switch {
	case len(p.commands) > 0:
		return p.path + " COMMAND [FLAGS] [ARGUMENTS]"
	case p.args != "":
		return p.path + " [FLAGS] " + p.args
	}
	return p.path + " [FLAGS]"
}

// shown reports whether people are told of a flag.
func shown(f cli.Flag) bool {
	v, ok := f.(cli.VisibleFlag)
	return !ok || v.IsVisible()
}

var quoted = lazyregexp.New("`([^`]+)`")

// flagHelp is one line of help: the names of the flag, what it takes, what it
// does, and what it is when it is not given.
func flagHelp(f cli.Flag) string {
	var names []string
	for _, n := range f.Names() {
		names = append(names, "--"+n)
		if len(n) == 1 {
			names[len(names)-1] = "-" + n
		}
	}
	line := "  " + strings.Join(names, ", ")
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return line
	}
	usage := d.GetUsage()
	if d.TakesValue() {
		value := "TEXT"
		if m := quoted().FindStringSubmatch(usage); m != nil {
			value = m[1]
		}
		line += " " + value
	}
	line += "\t" + strings.ReplaceAll(usage, "`", "")
	if v := d.GetValue(); d.TakesValue() && v != "" && v != "0" && v != "0s" && v != "[]" {
		line += " (usually " + v + ")"
	}
	return line
}

// unknownName is the error for a command that does not exist.
func unknownName(what, name string, among []*cli.Command, otherwise string) error {
	var names []string
	for _, c := range among {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	e := task.Errorf(task.KindUsage, "there is no %s %q", what, name)
	if best, ok := task.Nearest(name, names); ok {
		return e.WithHint("did you mean %q? %s", best, otherwise)
	}
	return e.WithHint("%s", otherwise)
}
