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

	"github.com/skillet-run/skillet/cmd/skillet/internal/cmdline"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// run runs one command line and returns its exit code.
func run(ctx context.Context, t *terminal, args []string) int {
	app := newApp(t)
	l := t.updating(app, takeApart(app, args), args)
	t.ctx, t.ended = ctx, ctx.Done()
	err := t.readOutput(l)
	if err == nil {
		err = t.start(ctx, app, l)
	}
	if failed := t.out.Failed; err == nil && failed != nil {
		err = fmt.Errorf("print the answer: %w", failed)
	}
	return t.end(ctx, err)
}

// updating is a line in which upgrade names skills, as the line of update that it means.
func (t *terminal) updating(app *cli.App, l cmdline.Line, args []string) cmdline.Line {
	i := slices.Index(args, "upgrade")
	if l.Command() != "upgrade" || i < 0 || len(l.Words) == 0 && !l.Has("all") {
		return l
	}
	args = slices.Clone(args)
	args[i] = "update"
	if t.errTTY && !l.Has("json") {
		t.note("skillet: this is `skillet update`; `skillet upgrade --check` is about skillet itself")
	}
	return takeApart(app, args)
}

// start runs the command that a line names, or explains it.
func (t *terminal) start(ctx context.Context, app *cli.App, l cmdline.Line) error {
	switch {
	case l.Has("help", "h"):
		return t.help(app, l.Names)
	case len(l.Chain) > 0 && len(l.Words) > 0 && l.Words[0] == "help" && len(l.Chain[len(l.Chain)-1].Subcommands) > 0:
		return t.help(app, append(l.Names, l.Words[1:]...)) // `skillet permission help grant`
	case len(l.Names) == 0 && l.Has("version", "v"):
		l.Names, l.Flags = []string{"version"}, nil
	}
	if err := unknownIn(app, l); err != nil {
		return err
	}
	if l.Missing != "" {
		return l.MissingValue()
	}
	return app.RunContext(ctx, l.Args())
}

// unknownIn refuses a line that names a command that does not exist. Without it, the library
// would say of the flags of that command that the one before has none of them.
func unknownIn(app *cli.App, l cmdline.Line) error {
	commands, path := app.Commands, l.Command()
	if n := len(l.Chain); n > 0 {
		commands = l.Chain[n-1].Subcommands
	}
	if len(commands) == 0 || len(l.Words) == 0 {
		return nil
	}
	return unknownName(strings.TrimSpace(path+" command"), l.Words[0], commands, listedBy(path))
}

// end says why a command failed, unless it said so itself, and returns the
// exit code.
func (t *terminal) end(ctx context.Context, err error) int {
	if err == nil {
		return 0
	}
	e := explain(err)
	said, code := reported{}, exited{}
	ended := ctx.Err() != nil && errors.Is(err, context.Canceled)
	switch {
	case errors.As(err, &code):
		return code.code
	case errors.As(err, &said):
		e = &fault.Error{Kind: said.kind}
		ended = ctx.Err() != nil
	case ended: // what was going on, and how the program says that it was told to stop, help nobody
		t.fail(fault.Errorf(e.Kind, "interrupted").Hinted(e.Way()))
	default:
		t.fail(e)
	}
	if ended {
		return interrupted
	}
	return e.Kind.ExitCode()
}

// explain says what an error means, and always how to get out of it.
func explain(err error) *fault.Error {
	e := meaning.Of(err)
	if e == nil || !e.Way().IsZero() {
		return e
	}
	return e.WithHint("%s", lastHints[e.Kind])
}

// lastHints are the hints for errors that nobody had a better one for.
var lastHints = map[fault.Kind]string{
	fault.KindSkill:        "this is the skill's own answer; --json shows all of the call",
	fault.KindUsage:        "`skillet help` lists the commands, and explains each with examples",
	fault.KindDenied:       "`skillet audit --denied` shows what was refused, and why",
	fault.KindLimit:        "`skillet config list` shows the limits of this host",
	fault.KindNotFound:     "check the spelling, and that it exists",
	fault.KindApproval:     "`skillet approvals list` shows what waits",
	fault.KindVerification: "`skillet doctor` checks the home",
	fault.KindConflict:     "look at what is there now, and decide again",
	fault.KindFull:         "make room on the disk; `skillet gc` removes what is not needed",
	fault.KindInternal:     "`skillet doctor` checks the home",
	fault.KindUnreachable:  "check the network and the address, and try again",
}

// interrupted is the exit code of a command that was ended by a signal, as
// shells have it: 128 and the number of SIGINT.
const interrupted = 130

// reported is a failure that was printed already.
type reported struct{ kind fault.Kind }

func (reported) Error() string { return "reported" }

// exited is the end of a script that was run as a shell would, with its exit code.
type exited struct{ code int }

func (exited) Error() string { return "exited" }

func newApp(t *terminal) *cli.App {
	return &cli.App{
		Name:            "skillet",
		Usage:           "run untrusted skills that can do nothing they were not granted",
		HelpName:        "skillet",
		HideHelp:        true,
		HideHelpCommand: true,
		HideVersion:     true,
		// A comma is part of a capability: http:GET,POST.
		DisableSliceFlagSeparator: true,
		Reader:                    t.in,
		Writer:                    t.out,
		ErrWriter:                 t.err,
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              func(c *cli.Context, err error, _ bool) error { return cmdline.FlagError(c, "", err) },
		Action:                    t.unknownCommand,
		Flags:                     commonFlags(),
		Commands:                  t.commands(),
		Description: "A skill is a WebAssembly module with tools. It starts with no rights at all: no files,\n" +
			"no network, no clock. What it may do is granted by a person, and every refusal says\n" +
			"how to grant it.\n\n" +
			"`skillet help COMMAND` explains a command with examples; `skillet help exit-codes` lists\n" +
			"the exit codes.\n\n" +
			"Examples:\n" +
			"  skillet install ./skills/text\n" +
			"  skillet run text:statistics text='How many words are these?'\n" +
			"  skillet permission grant files \"fs.read:$PWD/docs/**\"\n" +
			"  skillet audit",
	}
}

// commands are all commands, with their texts, in the order of the help.
func (t *terminal) commands() []*cli.Command {
	cs := t.list()
	describe(cs, "", textsOfCommands())
	for _, c := range cs {
		t.prepare(c, c.Name)
	}
	return cs
}

// prepare gives a command, and its subcommands, what all of them have.
func (t *terminal) prepare(c *cli.Command, path string) {
	c.OnUsageError = func(ctx *cli.Context, err error, _ bool) error { return cmdline.FlagError(ctx, path, err) }
	c.HideHelp, c.HideHelpCommand = true, true
	c.Flags = withCommon(c.Flags)
	for _, s := range c.Subcommands {
		t.prepare(s, path+" "+s.Name)
	}
	do := c.Action
	c.Action = func(ctx *cli.Context) error {
		switch {
		case do == nil:
			return t.help(ctx.App, strings.Fields(path))
		case c.ArgsUsage == "" && ctx.Args().Present():
			return fault.Errorf(fault.KindUsage, "%s takes no arguments; it got %q", path, ctx.Args().First()).WithHint("%s", helpFor(path))
		}
		if err := checkNumbers(ctx, path); err != nil {
			return err
		}
		for _, a := range takes {
			if slices.Contains(a.commands, path) {
				if _, err := need(ctx, a.n, a.what); err != nil {
					return err
				}
			}
		}
		if t.isLong(ctx, path) {
			return t.inPager(func() error { return hinted(do(ctx), path) })
		}
		return hinted(do(ctx), path)
	}
}

// withCommon adds to the flags of a command those that all of them have. -o is a file where
// one is written.
func withCommon(flags []cli.Flag) []cli.Flag {
	writes := cmdline.LookFor(flags, "o") != nil
	for _, f := range commonFlags() {
		if f.Names()[0] != "format" || !writes {
			flags = append(flags, f)
		}
	}
	return flags
}

// hinted makes sure that an error of usage says how to get out of it.
func hinted(err error, path string) error {
	e := (*fault.Error)(nil)
	if errors.As(err, &e) && e.Kind == fault.KindUsage && e.Way().IsZero() {
		return fault.AsError(err).WithHint("%s", helpFor(path))
	}
	return err
}

// commonFlags are the flags that every command takes.
func commonFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "home", Usage: "the `DIR` that holds everything; without it $SKILLET_HOME, or ~/.skillet"},
		&cli.StringSliceFlag{Name: "set", Usage: "set `KEY=VALUE` this time; may be repeated"},
		&cli.StringFlag{Name: "env-file", Usage: "read settings from `FILE` rather than from the environment file of the home"},
	}, outputFlags()...)
}

func (t *terminal) unknownCommand(c *cli.Context) error {
	if !c.Args().Present() {
		return t.help(c.App, nil)
	}
	return unknownName("command", c.Args().First(), c.App.Commands, listedBy(""))
}

// action is a command that works on an opened home.
type action func(ctx context.Context, c *cli.Context, h *host.Host) error

// withHost opens the home for a command.
func (t *terminal) withHost(do action) cli.ActionFunc {
	return t.withHostFor(func(*cli.Context) host.Expectation { return host.ExpectNothing }, do)
}

// withHostFor does so for one that says what it will run.
func (t *terminal) withHostFor(expect func(*cli.Context) host.Expectation, do action) cli.ActionFunc {
	return func(c *cli.Context) error {
		home, err := t.home(c)
		if err != nil {
			return err
		}
		o := t.options(c, home)
		o.Expect = expect(c)
		if slices.Contains(looking, strings.TrimPrefix(c.Command.HelpName, "skillet ")) && !exists(home) {
			done, err := emptyHome(&o)
			if err != nil {
				return err
			}
			defer done()
		}
		h, err := host.Open(c.Context, o)
		if err != nil {
			return err
		}
		return errors.Join(t.offerReview(c.Context, c, h, do(c.Context, c, h)), h.Close(c.Context))
	}
}

// looking are commands that only show what there is. They make no home: where there is
// none, they show what an empty one has.
var looking = []string{
	"list", "info", "tree", "why", "outdated", "stats", "audit", "logs", "events", "permission show", "policy list", "secret list", "session list",
	"trust list", "token list", "approvals list", "approvals show", "agent list", "agent show", "task list", "task show", "audit show", "memory list", "memory search", "memory show",
}

// emptyHome makes a home for one command, which opens it. done removes the home.
func emptyHome(o *host.Options) (done func(), err error) {
	if o.Home, err = os.MkdirTemp("", "skillet-empty-"); err != nil {
		return nil, fmt.Errorf("make an empty home: %w", err)
	}
	// A key in the keyring would stay.
	o.Flags = append(slices.Clone(o.Flags), "secret_key=file")
	dir := o.Home
	return func() { os.RemoveAll(dir) }, nil
}

// options are how a command opens a home.
func (t *terminal) options(c *cli.Context, home string) host.Options {
	return host.Options{
		Home: home, Environ: t.environ, EnvFile: c.String("env-file"), Flags: c.StringSlice("set"),
		LogOutput: t.err, Notifier: t, System: t.system, Keyring: t.keyring, Catalog: builtinCatalog(),
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
	if !c.IsSet("home") {
		return upkeep.DefaultHome(t.getenv)
	}
	if c.String("home") == "" {
		return "", fault.Errorf(fault.KindUsage, "--home is empty").WithHint("name a directory: --home DIR")
	}
	if c.Command.Name != "dev" { // which tells of interpreters, and those are in the person's own home
		t.elsewhere = "--home " + quoteWord(c.String("home"))
	}
	return absolute(c.String("home"))
}

// commandInHint is a command of this program that a hint names.
var commandInHint = lazyregexp.New("(^|`)skillet ([a-z])")

// here is a hint whose commands act on the home that this one acts on.
func (t *terminal) here(hint string) string {
	if t.elsewhere == "" || strings.Contains(hint, "--home") {
		return hint
	}
	return commandInHint().ReplaceAllStringFunc(hint, func(at string) string {
		return at[:len(at)-1] + t.elsewhere + " " + at[len(at)-1:]
	})
}

func (t *terminal) getenv(name string) string {
	value, _ := lookEnv(t.environ, name)
	return value
}

// lookEnv is the last value of a variable.
func lookEnv(environ []string, name string) (value string, named bool) {
	for _, v := range slices.Backward(environ) {
		if value, named = strings.CutPrefix(v, name+"="); named {
			return value, true
		}
	}
	return "", false
}

// person is whoever sits at this terminal: the account the process runs as.
// What the environment says is not asked, because anything can have set it.
func (t *terminal) person() principal.Human {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return principal.NewHuman(strings.ReplaceAll(plain(u.Username), "\n", " "))
	}
	return principal.NewHuman(fmt.Sprintf("uid-%d", os.Getuid()))
}

// takes says how many arguments commands take, where that is one number, and what they are.
var takes = []struct {
	n        int
	what     string
	commands []string
}{
	{1, "one file", []string{"import", "trust revocations export", "key import"}},
	{1, "one skill", []string{"why", "rollback", "pin", "unpin", "enable", "disable", "permission show", "permission reset"}},
	{1, "one skill or path", []string{"info"}},
	{1, "one package", []string{"pull"}},
	{2, "a package and a place to publish it to", []string{"push"}},
	{1, "one registry", []string{"login", "logout"}},
	{1, "the name of an MCP server", []string{"mcp login", "mcp logout"}},
	{1, "one signer, skill or trust root", []string{"trust remove"}},
	{1, "one package, artifact or signer", []string{"trust revoke"}},
	{1, "one file, reference or address", []string{"trust revocations import"}},
	{1, "one place to publish to", []string{"trust revocations push"}},
	{2, "a policy.yaml and a skill", []string{"permission import"}},
	{2, "a skill and a request", []string{"policy explain"}},
	{1, "one id", []string{"approvals show"}},
	{1, "one name, and its value from the prompt or standard input", []string{"secret set"}},
	{1, "one name", []string{"secret remove"}},
	{1, "the name of a token", []string{"token create", "token revoke"}},
	{1, "one session", []string{"session show"}},
	{2, "a skill and the name of a session", []string{"session open"}},
	{1, "the name of a shell", []string{"completion"}},
}

// need returns the arguments of a command that takes exactly n of them.
func need(c *cli.Context, n int, usage string) ([]string, error) {
	args := c.Args().Slice()
	if len(args) == n {
		return args, nil
	}
	path := strings.TrimPrefix(c.Command.HelpName, "skillet ")
	if len(args) > n {
		return nil, fault.Errorf(fault.KindUsage, "%s takes %s; %q is too many", path, usage, args[n]).WithHint("%s", helpFor(path))
	}
	return nil, fault.Errorf(fault.KindUsage, "%s takes %s", path, usage).WithHint("%s", helpFor(path))
}
