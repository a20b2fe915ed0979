package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) installCommand() *cli.Command {
	return command("install", packageFlags(
		yesFlag("grant what the package asks for"),
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
		fromFlag(),
		&cli.BoolFlag{Name: "isolated", Usage: "give it its own versions of its dependencies, separate from those that other skills use"},
		&cli.StringFlag{Name: "generated-by", Usage: "the package was written by this `MODEL`: it waits for approval whatever it asks for"},
		&cli.StringFlag{Name: "rationale", Usage: "why it should be installed, shown to whoever decides"},
	), t.withState(t.install))
}

func yesFlag(what string) cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask: " + what}
}

func fromFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "find", Usage: "look in this `PLACE` for what is needed before any registry is asked: a directory of .skill files, oci://HOST/PREFIX or oci-layout:DIR; may be repeated"}
}

func workspaceFlag() cli.Flag {
	return &cli.StringFlag{Name: "workspace", Usage: "the `DIR` that relative paths mean (default: the current one)"}
}

// workspace is the directory that relative paths mean, without symbolic links:
// what a guest opens is checked by the path that it really has.
func workspace(c *cli.Context) (string, error) {
	dir := "."
	if c.IsSet("workspace") {
		dir = c.String("workspace")
	}
	st, err := os.Stat(dir)
	if err != nil || !st.IsDir() {
		return "", fault.Errorf(fault.KindUsage, "the workspace %q is not a directory", dir).WithHint("name one with --workspace DIR, or run the command in one")
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("find the workspace: %w", err)
	}
	return absolute(dir)
}

func (t *terminal) install(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "install takes a path, a name or an address of a package").WithHint("`skillet help install` shows examples")
	}
	if c.Bool("yes") && c.IsSet("generated-by") {
		return fault.Errorf(fault.KindUsage, "--yes does not go with --generated-by").
			WithHint("what a model wrote is looked at first: install it without --yes, then `skillet approvals show`")
	}
	return t.installEach(ctx, c, h, c.Args().Slice(), c.Bool("dry-run"))
}

// installEach installs what is named, one after the other, and says how each
// went. The first failure is the one that counts.
func (t *terminal) installEach(ctx context.Context, c *cli.Context, h *host.Host, names []string, dry bool) error {
	progress := t.downloading(names)
	b, err := h.Admit().Fetch(ctx, t.person(), admit.Fetch{Names: names, Progress: progress.of})
	if err != nil {
		return err
	}
	defer b.Close()
	var all []admit.Installed
	var failed *fault.Error
	var down failedSources
	for i, name := range names {
		done := progress.show(i)
		arrival := b.Next(ctx)
		done()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		in, err := t.installOne(ctx, c, h, arrival)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if in.Path = name; failed == nil {
			failed = in.Error
		}
		all = append(all, in)
		if in.Error != nil && !t.json && !down.take(name, in.Error) {
			t.tell(in.Error)
		}
	}
	t.tellDown(down)
	return t.sumUp(all, failed, dry)
}

// sumUp says what became of several packages. One that cannot be installed does
// not keep the others out; the first of them decides the exit code.
func (t *terminal) sumUp(all []admit.Installed, failed *fault.Error, dry bool) error {
	var err error
	switch {
	case t.json && len(all) == 1:
		err = t.printJSON(all[0])
	case t.json:
		err = t.printJSON(all)
	case len(all) > 1 && failed != nil && !dry:
		n := 0
		for _, in := range all {
			if in.OK {
				n++
			}
		}
		if n == 0 {
			t.note("skillet: none of %s is installed", count(len(all), "package"))
		} else {
			t.note("skillet: %d of %s installed; those stay installed", n, count(len(all), "package"))
		}
	}
	if err != nil || failed == nil {
		return err
	}
	return reported{failed.Kind}
}

// installOne plans the installation of one package, shows it to whom it is to be shown,
// asks, and carries it out.
func (t *terminal) installOne(ctx context.Context, c *cli.Context, h *host.Host, a *admit.Arrival) (admit.Installed, error) {
	ws, err := workspace(c)
	if err != nil {
		return admit.Installation(a.Name, nil, admit.Result{}, explain(err)), err
	}
	change := admit.Install{
		Arrival: a, Find: c.StringSlice("find"), Isolated: c.Bool("isolated"), GeneratedBy: c.String("generated-by"), Rationale: c.String("rationale"),
		Terms: t.terms(c, ws, c.Bool("dry-run")),
	}
	plan, r, err := t.carryOut(ctx, c, h, change, c.Bool("dry-run"), showInstallation)
	if err == nil && !c.Bool("dry-run") {
		t.noteInstalled(plan, r)
	}
	return admit.Installation(a.Name, plan, r, explain(err)), err
}

// showInstallation is a [shower] of what would be installed.
func showInstallation(p *admit.Plan, s lines.Style) ([]string, string) {
	return packagePages(p, s), grantQuestion(p, "Install")
}

// grantQuestion is what a person is asked about the packages of a plan; verb is what
// becomes of one alone.
func grantQuestion(p *admit.Plan, verb string) string {
	if n := len(p.Packages); n > 1 {
		return fmt.Sprintf("Install and grant all of this, %s?", count(n, "package"))
	}
	return verb + " and grant this?"
}

// terms are what the flags say about all packages of a change.
func (t *terminal) terms(c *cli.Context, workspace string, dry bool) admit.Terms {
	look := admit.LookNever
	switch {
	case dry:
		look = admit.LookAlways
	case t.canAsk() && !c.Bool("yes"):
		look = admit.LookIfAsked
	}
	return admit.Terms{
		Workspace: workspace, Accepted: accepted(c), Despite: c.StringSlice("despite"), Tests: testsOf(c),
		Look: look, Whole: c.Bool("full"), Progress: t.doing(),
	}
}

// doing shows what the planning of a change is busy with.
func (t *terminal) doing() func(admit.Doing) {
	words := map[admit.Stage]string{
		admit.StageNewer: "looking for a newer %s", admit.StageResolve: "looking for what %s needs",
		admit.StageCheck: "checking %s", admit.StageReplay: "trying %s on recorded calls", admit.StageFetch: "fetching %s",
		admit.StageCompile: "compiling %s", admit.StageTest: "testing %s",
	}
	done := func() {}
	var shown atomic.Pointer[string]
	return func(d admit.Doing) {
		begins := shown.Load() == nil
		if d.Stage == "" {
			shown.Store(nil)
			done()
			return
		}
		text := plain(fmt.Sprintf(words[d.Stage], d.Skill))
		if d.Of > 0 {
			text += fmt.Sprintf(": %d of %s", d.Done, count(d.Of, "case"))
		}
		if shown.Store(&text); begins {
			done = t.watching(func() string {
				if s := shown.Load(); s != nil {
					return *s
				}
				return ""
			})
		}
	}
}

// maxAgain is how often a change is planned again because others changed the same.
const maxAgain = 10

// style is how a command shows things; all is the command that leaves nothing out.
func (t *terminal) style(c *cli.Context, all string) lines.Style {
	s := lines.Style{Detail: lines.Usual, All: all, Way: t.inWords}
	if c.Bool("full") {
		s.Detail = lines.Full
	}
	return s
}

// inWords is a hint in the words of the command line.
func (t *terminal) inWords(h fault.Hint) string { return t.way(h.Text, h.Remedies) }

// A shower is what a person decides on about a plan, in lines, and the question about it.
type shower func(*admit.Plan, lines.Style) (page []string, question string)

// carryOut plans a change, asks who has to be asked, and commits it. show is called for
// plans that are looked at. With dry, nothing is committed. What
// nobody was asked about is planned again when others changed the same meanwhile.
func (t *terminal) carryOut(ctx context.Context, c *cli.Context, h *host.Host, change admit.Change, dry bool, show shower) (*admit.Plan, admit.Result, error) {
	for n := 0; ; n++ {
		p, err := h.Admit().Plan(ctx, t.person(), change)
		if err != nil {
			return nil, admit.Result{}, err
		}
		if n == 0 {
			t.tellTrust(p)
		}
		ask := p.Asks() && !c.Bool("yes") && t.canAsk() && !dry
		question := ""
		if dry || ask || p.Kind == "update" {
			s := t.style(c, "")
			if ask && s.Detail != lines.Full {
				s.Detail = lines.Brief
			}
			var page []string
			if page, question = show(p, s); !t.json {
				printAll(t.note, page)
			}
		}
		switch {
		case p.Refused != nil:
			return p, admit.Result{}, p.Refused
		case dry:
			return p, admit.Result{}, nil
		}
		consent := admit.NotAsked
		switch {
		case ask:
			if err := t.confirmDetailed(strings.TrimSpace(p.Kind+" "+p.Skill), question, func() ([]string, error) {
				err := h.Admit().Whole(ctx, t.person(), p)
				page, _ := show(p, lines.Style{Detail: lines.Full, Way: t.inWords})
				return page, err
			}); err != nil {
				return p, admit.Result{}, err
			}
			consent = admit.Shown
		case c.Bool("yes"):
			consent = admit.Beforehand
		}
		r, err := h.Admit().Commit(ctx, t.person(), p, consent)
		if errors.Is(err, admit.ErrMoved) && !ask && n < maxAgain {
			continue
		}
		return p, r, err
	}
}

// tellTrust says who is met for the first time, and what was accepted.
func (t *terminal) tellTrust(p *admit.Plan) {
	for _, pkg := range p.Packages {
		for _, known := range pkg.Trust {
			if known.Noted && !t.json {
				t.note("%s@%s: %s", plain(pkg.Skill), plain(pkg.Version), plain(known.Words))
			}
		}
	}
}

// moreBehind says what the page in brief leaves out.
const moreBehind = "answer d to see the rest first: tools, limits, what models read, what is different"

// packagePages are all that would be installed, and what else changes.
func packagePages(p *admit.Plan, s lines.Style) []string {
	page := lines.Plan(s, p, func(one *admit.Package) string { return "`skillet install " + one.Name + " --dry-run --full`" })
	if s.Detail == lines.Brief {
		page = append(page, moreBehind)
	}
	return append(page, lines.Summary(p.Packages)...)
}

// noteInstalled says what was installed.
func (t *terminal) noteInstalled(p *admit.Plan, r admit.Result) {
	for _, b := range r.Became {
		t.showOutcome(b.Package, b.Outcome)
		if who := b.Package.For; who != "" && !t.json {
			t.note("  needed by %s", plain(who))
		}
	}
	if !t.json {
		printAll(t.note, lines.Rest(p))
	}
}

// noteGranted says what a skill may do from now on.
func (t *terminal) noteGranted(gs []admit.Grant) {
	for _, g := range gs {
		t.note("  granted: %s", lines.Granted(g))
	}
}

func (t *terminal) showOutcome(p *admit.Package, out admit.Outcome) {
	if t.json || out.Skill == nil {
		return
	}
	verb := "installed"
	if out.Unchanged {
		verb = "already installed:"
	}
	tools := "tools: " + strings.Join(out.Skill.Tools, ", ")
	switch {
	case p.Kind.IsPlugin():
		tools = "a plugin: `skillet provider list` and `skillet agent list` show plugins"
	case p.Kind.IsPrompt():
		tools = fmt.Sprintf("a prompt: `skillet run %s --render` prints it", p.Skill)
	}
	t.note("%s %s (sha256:%s), %s", verb, plain(out.Skill.Ref()), out.Skill.Digest.Short(), plain(tools))
	t.noteGranted(out.Granted)
	if p.Kind.IsPrompt() && len(p.Asks) == 0 { // otherwise they were shown with what it asks for
		for _, w := range p.Warnings {
			t.note("  note: %s", plain(w))
		}
	}
	if p.Replaces != "" && p.Replaces != p.Version {
		moved := ""
		switch {
		case !p.HadGrants():
		case p.Carried:
			moved = "; its grants were carried over: the same signer"
		default:
			moved = "; its grants did not move along"
		}
		t.note("  %s@%s stays installed%s", plain(p.Skill), p.Replaces, moved)
	}
}
