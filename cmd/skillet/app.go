package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/task"
)

// run runs one command line and returns its exit code.
func run(ctx context.Context, t *terminal, args []string) int {
	app := newApp(t)
	err := app.RunContext(ctx, interleave(app, args))
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		t.fail(host.Explain(err))
		return interrupted
	}
	if e := (reported{}); errors.As(err, &e) { // the command printed it itself
		return e.kind.ExitCode()
	}
	e := host.Explain(err)
	t.fail(e)
	return e.Kind.ExitCode()
}

// interrupted is the exit code of a command that was ended by a signal, as
// shells have it: 128 and the number of SIGINT.
const interrupted = 130

// reported is a failure that was printed already.
type reported struct{ kind task.Kind }

func (reported) Error() string { return "reported" }

func newApp(t *terminal) *cli.App {
	app := &cli.App{
		Name:                 "skillet",
		Usage:                "run untrusted skills that can do nothing they were not granted",
		HelpName:             "skillet",
		Version:              version(),
		HideVersion:          true,
		Reader:               t.in,
		Writer:               t.out,
		ErrWriter:            t.err,
		EnableBashCompletion: true,
		ExitErrHandler:       func(*cli.Context, error) {},
		OnUsageError:         usageError,
		Action:               t.unknownCommand,
		Flags:                commonFlags(),
		Commands:             t.commands(),
		Description: "A skill is a WebAssembly module with tools. It starts with no rights at all: no files,\n" +
			"no network, no clock. What it may do is granted by a person, and every refusal says\n" +
			"how to grant it.\n\n" +
			"`skillet help COMMAND` explains a command with examples; `skillet help exit-codes` lists\nthe exit codes.",
	}
	return app
}

// commands are all commands, in the order of the help.
func (t *terminal) commands() []*cli.Command {
	cs := []*cli.Command{
		t.installCommand(), t.runCommand(), t.listCommand(), t.infoCommand(), t.removeCommand(),
		t.permissionCommand(), t.secretCommand(), t.approvalsCommand(), t.auditCommand(),
		t.packCommand(), t.storeCommand(), t.configCommand(), t.doctorCommand(),
		t.completionCommand(), t.versionCommand(), exitCodesCommand(),
	}
	for _, c := range cs {
		prepare(c)
	}
	return cs
}

// prepare gives a command, and its subcommands, what all of them have.
func prepare(c *cli.Command) {
	c.OnUsageError = usageError
	c.HideHelpCommand = true
	c.Flags = append(c.Flags, commonFlags()...)
	if len(c.Subcommands) == 0 {
		return
	}
	for _, s := range c.Subcommands {
		prepare(s)
	}
	alone := c.Action
	c.Action = func(ctx *cli.Context) error {
		if ctx.Args().Present() {
			return unknownName(c.Name+" command", ctx.Args().First(), c.Subcommands, "`skillet help "+c.Name+"` lists them")
		}
		if alone != nil {
			return alone(ctx)
		}
		return cli.ShowSubcommandHelp(ctx)
	}
}

// commonFlags are the flags that every command takes.
func commonFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "home", Usage: "the `DIR` that holds everything (default: $SKILLET_HOME, or ~/.skillet)"},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON object, for programs"},
	}
}

func usageError(_ *cli.Context, err error, _ bool) error {
	return task.Wrap(task.KindUsage, err).WithHint("`skillet help COMMAND` shows its flags")
}

func (t *terminal) unknownCommand(c *cli.Context) error {
	if !c.Args().Present() {
		return cli.ShowAppHelp(c)
	}
	return unknownName("command", c.Args().First(), c.App.Commands, "`skillet help` lists the commands")
}

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

// interleave moves the flags of a command before its arguments, so that
// `skillet run text --json` means what it says; the library takes flags only
// in front. What follows "--" stays where it is.
func interleave(app *cli.App, args []string) []string {
	if len(args) < 2 {
		return args
	}
	out := []string{args[0]}
	rest := args[1:]
	commands, flags := app.Commands, app.Flags
	for len(rest) > 0 {
		n := flagWidth(flags, rest)
		if n == 0 { // a word: a command's name, or the first argument
			c := find(commands, rest[0])
			if c == nil {
				break
			}
			out, rest = append(out, rest[0]), rest[1:]
			commands, flags = c.Subcommands, c.Flags
			continue
		}
		out, rest = append(out, rest[:n]...), rest[n:]
	}
	return append(out, flagsFirst(flags, rest)...)
}

func find(cs []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(cs, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return cs[i]
}

func flagsFirst(flags []cli.Flag, args []string) []string {
	var front, words []string
	for len(args) > 0 {
		if args[0] == "--" {
			return slices.Concat(front, []string{"--"}, words, args[1:])
		}
		n := flagWidth(flags, args)
		if n == 0 {
			words, args = append(words, args[0]), args[1:]
			continue
		}
		front, args = append(front, args[:n]...), args[n:]
	}
	if len(words) > 0 && len(front) > 0 {
		// A word that looks like a flag must stay a word.
		front = append(front, "--")
	}
	return append(front, words...)
}

// flagWidth is how many of args the flag at their beginning takes: 0 when
// there is none, 2 when its value is a word of its own.
func flagWidth(flags []cli.Flag, args []string) int {
	name, ok := strings.CutPrefix(args[0], "-")
	if !ok || name == "" || args[0] == "--" {
		return 0
	}
	name, _, inline := strings.Cut(strings.TrimPrefix(name, "-"), "=")
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		if _, isBool := f.(*cli.BoolFlag); isBool || inline || len(args) == 1 {
			return 1
		}
		return 2
	}
	return 1
}

// action is a command that works on an opened home.
type action func(ctx context.Context, c *cli.Context, h *host.Host) error

// withHost opens the home for a command.
func (t *terminal) withHost(do action) cli.ActionFunc {
	return func(c *cli.Context) error {
		t.json = c.Bool("json")
		home, err := t.home(c)
		if err != nil {
			return err
		}
		h, err := host.Open(c.Context, host.Options{Home: home, Environ: t.environ, LogOutput: t.err, Notifier: t})
		if err != nil {
			return err
		}
		return errors.Join(do(c.Context, c, h), h.Close(c.Context))
	}
}

// withState opens the home and brings its state up to date.
func (t *terminal) withState(do action) cli.ActionFunc {
	return t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if err := h.CatchUp(ctx); err != nil {
			return err
		}
		return do(ctx, c, h)
	})
}

func (t *terminal) home(c *cli.Context) (string, error) {
	for _, l := range c.Lineage() {
		if l.IsSet("home") {
			return absolute(l.String("home"))
		}
	}
	return host.DefaultHome(t.getenv)
}

func (t *terminal) getenv(name string) string {
	for _, v := range slices.Backward(t.environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// person is whoever sits at this terminal.
func (t *terminal) person() approval.Human {
	for _, v := range []string{"SUDO_USER", "USER", "LOGNAME"} {
		if name := t.getenv(v); name != "" {
			return approval.NewHuman(name)
		}
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return approval.NewHuman(u.Username)
	}
	return approval.NewHuman(fmt.Sprintf("uid-%d", os.Getuid()))
}

// need returns the arguments of a command that takes exactly n of them.
func need(c *cli.Context, n int, usage string) ([]string, error) {
	args := c.Args().Slice()
	if len(args) != n {
		return nil, task.Errorf(task.KindUsage, "%s takes %s, not %d", c.Command.HelpName, usage, len(args)).
			WithHint("`skillet help %s` shows examples", strings.Fields(strings.TrimPrefix(c.Command.HelpName, "skillet "))[0])
	}
	return args, nil
}
