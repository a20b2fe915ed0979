// Package cmdline takes command lines apart, and explains commands and their flags.
package cmdline

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/internal/nearest"
)

// A Line is a command line taken apart. Flags may stand anywhere in it, so
// that `skillet run text --json` and `skillet --json run text` mean the same;
// the library under it takes flags only in front of the arguments.
type Line struct {
	Program string
	Names   []string       // the commands that are named: permission, grant
	Chain   []*cli.Command // the same, found
	Flags   []string       // flags with their values, in order
	Words   []string       // arguments, and everything behind "--"
	Missing string         // a flag at the end that lacks its value
}

// TakeApart reads a command line. args[0] is the program.
func TakeApart(app *cli.App, args []string) Line {
	var l Line
	if len(args) == 0 {
		return l
	}
	l.Program = args[0]
	commands, scope := app.Commands, FlagsBelow(app.Flags, app.Commands)
	for rest := args[1:]; len(rest) > 0; {
		if rest[0] == "--" {
			l.Words = append(l.Words, rest[1:]...)
			break
		}
		if n := flagWidth(scope, rest); n > 0 {
			l.flag(scope, rest[:n])
			rest = rest[n:]
			continue
		}
		c := Find(commands, rest[0])
		if meant := Synonym(rest[0]); c == nil && len(l.Chain) == 0 && len(l.Words) == 0 && len(meant) > 0 {
			rest = append(meant, rest[1:]...)
			continue
		}
		if c != nil && len(l.Words) == 0 {
			l.Names, l.Chain = append(l.Names, rest[0]), append(l.Chain, c)
			commands, scope = c.Subcommands, FlagsBelow(c.Flags, c.Subcommands)
		} else {
			l.Words = append(l.Words, rest[0])
		}
		rest = rest[1:]
	}
	return l
}

// flag takes one flag, with its value when that is a word of its own.
func (l *Line) flag(scope []cli.Flag, words []string) {
	if len(words) == 1 && !strings.Contains(words[0], "=") && takesValue(LookFor(scope, FlagName(words[0]))) {
		l.Missing = words[0]
		return
	}
	if _, ok := LookFor(scope, FlagName(words[0])).(*cli.DurationFlag); ok {
		words = withoutDays(words)
	}
	l.Flags = append(l.Flags, words...)
}

// withoutDays writes the days and weeks of a flag with a time in hours: the library knows
// neither.
func withoutDays(words []string) []string {
	words = slices.Clone(words)
	last := &words[len(words)-1]
	name, text := "", *last
	if len(words) == 1 {
		name, text, _ = strings.Cut(*last, "=")
		name += "="
	}
	if _, err := time.ParseDuration(text); err == nil {
		return words
	}
	if d, err := Span(text); err == nil {
		*last = name + d.String()
	}
	return words
}

// Args puts the line together again in the order the library wants.
func (l Line) Args() []string {
	out := append([]string{l.Program}, l.Names...)
	out = append(out, l.Flags...)
	if len(l.Words) > 0 {
		// A word that looks like a flag must stay a word.
		out = append(append(out, "--"), l.Words...)
	}
	return out
}

// Has reports whether one of the names is given as a flag that is not "=false".
func (l Line) Has(names ...string) bool {
	return slices.ContainsFunc(l.Flags, func(f string) bool {
		return strings.HasPrefix(f, "-") && slices.Contains(names, FlagName(f)) && !strings.HasSuffix(f, "=false")
	})
}

// Value is what the last flag of one of the names is given; empty for none.
func (l Line) Value(names ...string) (value string) {
	for i, f := range l.Flags {
		if !strings.HasPrefix(f, "-") || !slices.Contains(names, FlagName(f)) {
			continue
		}
		if _, v, ok := strings.Cut(f, "="); ok {
			value = v
		} else if i+1 < len(l.Flags) {
			value = l.Flags[i+1]
		}
	}
	return value
}

// FlagsBelow are the flags of a command and of all commands below it: before a
// subcommand is named, its flags may already have been given.
func FlagsBelow(flags []cli.Flag, commands []*cli.Command) []cli.Flag {
	all := slices.Clone(flags)
	for _, c := range commands {
		all = append(all, FlagsBelow(c.Flags, c.Subcommands)...)
	}
	return all
}

func Find(cs []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(cs, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return cs[i]
}

func LookFor(flags []cli.Flag, name string) cli.Flag {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

// FlagName is the name in --name, -name and --name=value.
func FlagName(word string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	return name
}

// flagWidth is how many of args the flag at their beginning takes: 0 when
// there is none, 2 when its value is a word of its own.
func flagWidth(flags []cli.Flag, args []string) int {
	if !strings.HasPrefix(args[0], "-") || args[0] == "-" || args[0] == "--" {
		return 0
	}
	if strings.Contains(args[0], "=") || len(args) == 1 || !takesValue(LookFor(flags, FlagName(args[0]))) {
		return 1
	}
	return 2
}

// Command is the path of the command a line names: "permission grant".
func (l Line) Command() string {
	var names []string
	for _, c := range l.Chain {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// HelpFor is the hint that points to the help of a command.
func HelpFor(command string) string {
	return "`" + strings.TrimSpace("skillet help "+command) + "` shows its flags, with examples"
}

var (
	notDefined   = lazyregexp.New(`^flag provided but not defined: -(.*)$`)
	invalidValue = lazyregexp.New(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-(\S+): `)
)

// FlagError says in our words what the library says about a flag.
func FlagError(c *cli.Context, command string, err error) error {
	if m := notDefined().FindStringSubmatch(err.Error()); m != nil {
		return noFlag(c, command, m[1])
	}
	if m := invalidValue().FindStringSubmatch(err.Error()); m != nil {
		return fault.Errorf(fault.KindUsage, "--%s does not take %q", m[2], m[1]).
			WithHint("%s; %s", wanted(LookFor(c.Command.Flags, m[2])), HelpFor(command))
	}
	return fault.Wrap(fault.KindUsage, err).WithHint("%s", HelpFor(command))
}

func noFlag(c *cli.Context, command, name string) error {
	var names []string
	for _, f := range c.Command.Flags {
		names = append(names, f.Names()[0])
	}
	what := strings.TrimSpace("skillet " + command)
	e := fault.Errorf(fault.KindUsage, "%s has no flag --%s", what, name)
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean --%s? %s", best, HelpFor(command))
	}
	return e.WithHint("%s; to pass an argument that begins with a dash, put it after --", HelpFor(command))
}

// wanted says what a flag takes.
func wanted(f cli.Flag) string {
	switch f.(type) {
	case *cli.DurationFlag:
		return "write a time with its unit, such as 500ms, 30s, 24h or 7d"
	case *cli.IntFlag, *cli.Uint64Flag:
		return "write a whole number"
	case *cli.BoolFlag:
		return "it takes no value"
	}
	return "write another value"
}

// MissingValue is the error of a flag at the end of a line.
func (l Line) MissingValue() error {
	return fault.Errorf(fault.KindUsage, "%s needs a value", l.Missing).WithHint("%s", HelpFor(l.Command()))
}
