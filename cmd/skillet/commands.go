package main

import (
	"context"
	_ "embed"
	"strings"

	"github.com/urfave/cli/v2"
)

// commandTexts says what each command does. A section begins with a line of "= ", the path
// of the command and, after " : ", its arguments. Its first line is the summary; the text of
// its help follows an empty line.
//
//go:embed commands.txt
var commandTexts string

// A commandText is what is said about a command.
type commandText struct{ summary, args, text string }

// textsOfCommands are the sections of [commandTexts] by the paths of their commands.
func textsOfCommands() map[string]commandText {
	all := map[string]commandText{}
	for section := range strings.SplitSeq(strings.TrimPrefix(commandTexts, "= "), "\n= ") {
		head, body, _ := strings.Cut(section, "\n")
		path, args, _ := strings.Cut(head, " : ")
		summary, text, _ := strings.Cut(strings.TrimSuffix(body, "\n"), "\n\n")
		all[path] = commandText{summary, args, strings.TrimSuffix(text, "\n")}
	}
	return all
}

// describe gives commands below a path their texts, unless they have some of their own.
func describe(cs []*cli.Command, path string, texts map[string]commandText) {
	for _, c := range cs {
		below := path + c.Name
		if x, ok := texts[below]; ok {
			c.Usage, c.ArgsUsage = x.summary, x.args
			if c.Description == "" {
				c.Description = x.text
			}
		}
		describe(c.Subcommands, below+" ", texts)
	}
}

// command is a command that does something. names are its name, and others that it has
// too, with spaces between them; what is said about it is in commands.txt.
func command(names string, flags []cli.Flag, do cli.ActionFunc) *cli.Command {
	all := strings.Fields(names)
	return &cli.Command{Name: all[0], Aliases: all[1:], Flags: flags, Action: do}
}

// group is a command of commands.
func group(name string, below ...*cli.Command) *cli.Command {
	return &cli.Command{Name: name, Subcommands: below}
}

// one is a command that takes exactly one argument; what names it.
func one[On any](what string, do func(ctx context.Context, c *cli.Context, on On, arg string) error) func(context.Context, *cli.Context, On) error {
	return func(ctx context.Context, c *cli.Context, on On) error {
		args, err := need(c, 1, what)
		if err != nil {
			return err
		}
		return do(ctx, c, on, args[0])
	}
}

// answered prints the result of a call: show does so for people.
func answered[T any](t *terminal, v T, err error, show func(T)) error {
	return t.answered(v, err, func() { show(v) })
}
