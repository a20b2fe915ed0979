package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/internal/nearest"
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
		return t.writeHelp(programTopic(app))
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
	return t.writeHelp(topic{path, c.Usage, c.ArgsUsage, c.Description, c.Subcommands, c.Flags})
}

// writeHelp prints a topic.
func (t *terminal) writeHelp(p topic) error {
	if t.json {
		return t.printJSON(p.data())
	}
	return writeHelp(t.out, p)
}

// helpData is what --json prints of a topic.
type helpData struct {
	Command  string        `json:"command"`
	Usage    string        `json:"usage"`
	Synopsis string        `json:"synopsis"`
	Text     string        `json:"text,omitempty"`
	Commands []commandData `json:"commands"`
	Flags    []flagData    `json:"flags"`
}

type commandData struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Usage   string   `json:"usage"`
}

type flagData struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Takes is what its value is; empty for a flag that takes none.
	Takes string `json:"takes,omitempty"`
	Usage string `json:"usage"`
	// Default is what it is when it is not given, if that says something.
	Default string `json:"default,omitempty"`
}

func (p topic) data() helpData {
	d := helpData{p.path, p.usage, p.synopsis(), p.text, []commandData{}, []flagData{}}
	for _, c := range p.commands {
		if !c.Hidden {
			d.Commands = append(d.Commands, commandData{c.Name, c.Aliases, c.Usage})
		}
	}
	for _, f := range p.flags {
		value, usage, usually := flagWords(f)
		d.Flags = append(d.Flags, flagData{f.Names()[0], f.Names()[1:], value, usage, usually})
	}
	return d
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
	value, usage, usually := flagWords(f)
	if value != "" {
		line += " " + value
	}
	line += "\t" + usage
	if usually != "" {
		line += " (usually " + usually + ")"
	}
	return line
}

// flagWords are what a flag takes, empty for nothing; what it does; and what it is
// when it is not given, empty for nothing worth saying.
func flagWords(f cli.Flag) (value, usage, usually string) {
	d, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return "", "", ""
	}
	usage = d.GetUsage()
	if d.TakesValue() {
		value = "TEXT"
		if m := quoted().FindStringSubmatch(usage); m != nil {
			value = m[1]
		}
	}
	if v := d.GetValue(); d.TakesValue() && v != "0" && v != "0s" && v != "[]" {
		usually = v
	}
	return value, strings.ReplaceAll(usage, "`", ""), usually
}

// synonyms are what other programs call our commands.
var synonyms = map[string]string{
	"add":       "`skillet install`",
	"allow":     "`skillet permission grant`",
	"approve":   "`skillet approvals approve`",
	"delete":    "`skillet remove`",
	"deny":      "`skillet permission revoke`",
	"exec":      "`skillet run`",
	"grant":     "`skillet permission grant`",
	"history":   "`skillet audit`",
	"init":      "`skillet new`",
	"log":       "`skillet audit`, or `skillet task logs`",
	"logs":      "`skillet task logs`, or `skillet audit`",
	"ps":        "`skillet task list`, or `skillet list`",
	"reject":    "`skillet approvals reject`",
	"revoke":    "`skillet permission revoke`, or `skillet trust revoke`",
	"show":      "`skillet info`",
	"undo":      "`skillet rollback`, or `skillet approvals revert`",
	"uninstall": "`skillet remove`",
	"upgrade":   "`skillet update`",
}

// unknownName is the error for a command that does not exist.
func unknownName(what, name string, among []*cli.Command, otherwise string) error {
	var names []string
	for _, c := range among {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	e := fault.Errorf(fault.KindUsage, "there is no %s %q", what, name)
	if meant := synonyms[name]; meant != "" && what == "command" {
		return e.WithHint("did you mean %s? %s", meant, otherwise)
	}
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean %q? %s", best, otherwise)
	}
	return e.WithHint("%s", otherwise)
}
