package cmdline

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

// A Help is what --json prints of a topic.
type Help struct {
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

// Data is the topic for programs.
func (p Topic) Data() Help {
	d := Help{p.Path, p.Usage, p.Synopsis(), p.Text, []commandData{}, []flagData{}}
	for _, c := range p.Commands {
		if !c.Hidden {
			d.Commands = append(d.Commands, commandData{c.Name, c.Aliases, c.Usage})
		}
	}
	for _, f := range p.Flags {
		value, usage, usually := flagWords(f)
		d.Flags = append(d.Flags, flagData{f.Names()[0], f.Names()[1:], value, usage, usually})
	}
	return d
}

// ListedBy is the hint that says where the commands below a path are listed.
func ListedBy(path string) string {
	return "`" + strings.TrimSpace("skillet help "+strings.TrimSpace(path)) + "` lists the commands"
}

// A Topic is what there is to say about a command.
type Topic struct {
	Path, Usage, Args, Text string
	Commands                []*cli.Command
	Flags                   []cli.Flag
}

// Of is the topic of a command with that path.
func Of(path string, c *cli.Command) Topic {
	return Topic{path, c.Usage, c.ArgsUsage, c.Description, c.Subcommands, c.Flags}
}

// Program is the topic of the program as a whole.
func Program(app *cli.App) Topic {
	return Topic{"skillet", app.Usage, "", app.Description, app.Commands, app.Flags}
}

// WriteHelp prints a topic.
func WriteHelp(out io.Writer, p Topic) error {
	fmt.Fprintf(out, "%s: %s\n\nUsage:\n  %s\n", p.Path, p.Usage, p.Synopsis())
	if p.Text != "" {
		fmt.Fprintf(out, "\n%s\n", p.Text)
	}
	w := tabwriter.NewWriter(out, 0, 4, 3, ' ', 0)
	if len(p.Commands) > 0 {
		fmt.Fprint(w, "\nCommands:\n")
	}
	for _, c := range p.Commands {
		if !c.Hidden {
			fmt.Fprintf(w, "  %s\t%s\n", strings.Join(c.Names(), ", "), c.Usage)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nFlags:\n")
	for _, f := range p.Flags {
		if Shown(f) {
			fmt.Fprintln(w, FlagHelp(f))
		}
	}
	fmt.Fprint(w, "  --help, -h\tshow this help\n")
	return w.Flush()
}

// Synopsis is how the command is typed.
func (p Topic) Synopsis() string {
	switch {
	case len(p.Commands) > 0:
		return p.Path + " COMMAND [FLAGS] [ARGUMENTS]"
	case p.Args != "":
		return p.Path + " [FLAGS] " + p.Args
	}
	return p.Path + " [FLAGS]"
}

// Shown reports whether people are told of a flag.
func Shown(f cli.Flag) bool {
	v, ok := f.(cli.VisibleFlag)
	return !ok || v.IsVisible()
}

var quoted = lazyregexp.New("`([^`]+)`")

// FlagHelp is one line of help: the names of the flag, what it takes, what it
// does, and what it is when it is not given.
func FlagHelp(f cli.Flag) string {
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
	"ps":        "`skillet task list`, or `skillet list`",
	"reject":    "`skillet approvals reject`",
	"revoke":    "`skillet permission revoke`, or `skillet trust revoke`",
	"show":      "`skillet info`",
	"undo":      "`skillet rollback`, or `skillet approvals revert`",
	"uninstall": "`skillet remove`",
}

// UnknownName is the error for a command that does not exist.
func UnknownName(what, name string, among []*cli.Command, otherwise string) error {
	var names []string
	for _, c := range among {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	e := fault.Errorf(fault.KindUsage, "unknown %s %q", what, name)
	if meant := synonyms[name]; meant != "" && what == "command" {
		return e.WithHint("did you mean %s? %s", meant, otherwise)
	}
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean %q? %s", best, otherwise)
	}
	return e.WithHint("%s", otherwise)
}
