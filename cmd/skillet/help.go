package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
)

// Command lines and help: see package cmdline.
var (
	takeApart   = cmdline.TakeApart
	find        = cmdline.Find
	flagName    = cmdline.FlagName
	helpFor     = cmdline.HelpFor
	listedBy    = cmdline.ListedBy
	unknownName = cmdline.UnknownName
)

func (t *terminal) helpCommand() *cli.Command {
	return command("help", []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "say of every command what it does"}}, func(c *cli.Context) error {
		if c.Bool("all") && !c.Args().Present() {
			return t.writeHelp(programTopic(c.App, true))
		}
		return t.help(c.App, c.Args().Slice())
	})
}

// help explains the command that names name; the program when there are none.
func (t *terminal) help(app *cli.App, names []string) error {
	if len(names) == 0 {
		return t.writeHelp(programTopic(app, false))
	}
	if names[0] == "json" {
		return t.helpJSON(names[1:])
	}
	if meant := cmdline.Synonym(names[0]); len(meant) > 0 {
		names = append(meant, names[1:]...)
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
	return t.writeHelp(cmdline.Of(path, c))
}

// writeHelp prints a topic.
func (t *terminal) writeHelp(p cmdline.Topic) error {
	if t.json {
		return t.printJSON(p.Data())
	}
	return cmdline.WriteHelp(t.out, p)
}
