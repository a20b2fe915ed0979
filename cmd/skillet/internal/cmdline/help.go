package cmdline

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/internal/nearest"
	"github.com/skillet-run/skillet/internal/text"
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
			d.Commands = append(d.Commands, commandData{c.Name, Names(c.Names())[1:], c.Usage})
		}
	}
	for _, f := range p.Flags {
		value, usage, usually := flagWords(f)
		d.Flags = append(d.Flags, flagData{f.Names()[0], Names(f.Names())[1:], value, usage, usually})
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
	// Groups are the commands in their order, where they are too many for one list.
	Groups []Group
	// All shows what each of the commands of all groups does; otherwise only those of the
	// first group do, and the others are named.
	All bool
}

// A Group is commands that belong together.
type Group struct {
	Title    string
	Commands []*cli.Command
}

// Of is the topic of a command with that path.
func Of(path string, c *cli.Command) Topic {
	return Topic{Path: path, Usage: c.Usage, Args: c.ArgsUsage, Text: c.Description, Commands: c.Subcommands, Flags: c.Flags}
}

// WriteHelp prints a topic.
func WriteHelp(out io.Writer, p Topic) error {
	fmt.Fprintf(out, "%s: %s\n\nUsage:\n  %s\n", p.Path, p.Usage, p.Synopsis())
	if p.Text != "" {
		fmt.Fprintf(out, "\n%s\n", p.Text)
	}
	w := tabwriter.NewWriter(out, 0, 4, 3, ' ', 0)
	switch {
	case len(p.Groups) > 0:
		p.writeGroups(w)
	case len(p.Commands) > 0:
		writeCommands(w, "Commands", p.Commands)
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

// writeCommands writes what each of some commands does.
func writeCommands(w io.Writer, title string, cs []*cli.Command) {
	fmt.Fprintf(w, "\n%s:\n", title)
	for _, c := range cs {
		if !c.Hidden {
			fmt.Fprintf(w, "  %s\t%s\n", strings.Join(Names(c.Names()), ", "), c.Usage)
		}
	}
}

// namesWidth is how wide the names of the commands of a group are written.
const namesWidth = 76

// writeGroups writes the first group in full, and of the others all or only the names.
func (p Topic) writeGroups(w io.Writer) {
	for i, g := range p.Groups {
		if i == 0 || p.All {
			writeCommands(w, g.Title, g.Commands)
			continue
		}
		var names []string
		for _, c := range g.Commands {
			names = append(names, c.Name)
		}
		fmt.Fprintf(w, "\n%s:\n", g.Title)
		for _, line := range text.Wrapped(strings.Join(names, ", "), namesWidth) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	if !p.All {
		fmt.Fprint(w, "\n`skillet help --all` says what each of them does.\n")
	}
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
	for _, n := range Names(f.Names()) {
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

// UnknownName is the error for a command that does not exist.
func UnknownName(what, name string, among []*cli.Command, otherwise string) error {
	var names []string
	for _, c := range among {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	if what == "command" {
		names = slices.AppendSeq(names, maps.Keys(synonyms))
	}
	e := fault.Errorf(fault.KindUsage, "unknown %s %q", what, name)
	if meant := likely[name]; meant != "" && what == "command" {
		return e.WithHint("did you mean %s? %s", meant, otherwise)
	}
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean %q? %s", best, otherwise)
	}
	return e.WithHint("%s", otherwise)
}
