package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/evidence"
	"github.com/skillet-run/skillet/host/findings"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/replay"
	"github.com/skillet-run/skillet/host/review"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) installCommand() *cli.Command {
	return &cli.Command{
		Name:      "install",
		Usage:     "install skills from directories, .skill files, registries, git or addresses",
		ArgsUsage: "PATH | NAME[@CONSTRAINT] | ADDRESS...",
		Description: "Checks each package and its module, shows what it asks for, and installs it when you\n" +
			"agree, together with what it needs: all of that or nothing. Its own test cases are run\n" +
			"first, with mocks and nothing real behind what they are granted; when one fails, it is\n" +
			"not installed (exit code 7). Without a terminal, and without --yes, it waits as a\n" +
			"proposal (exit code 6). A package that a model wrote always waits. Of several packages,\n" +
			"one that cannot be installed does not keep the others out; the exit code is its own.\n\n" +
			"Examples:\n" +
			"  skillet install ./skills/text\n" +
			"  skillet install text-1.0.0.skill csv-1.0.0.skill --yes\n" +
			"  skillet install csv@^1.2\n" +
			"  skillet install ./count-vowels.json       (the manifest of an Extism plug-in)\n" +
			"  skillet install oci://registry.example/skills/csv:1.2.0\n" +
			"  skillet install 'git+https://git.example/tools#v1.0.0:skills/csv'\n" +
			"  skillet install ./weather --dry-run\n" +
			"  skillet install ./weather --generated-by gpt-x --rationale 'asked for the weather thrice'",
		Flags: []cli.Flag{
			yesFlag("grant what the package asks for"),
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
			fullFlag(),
			fromFlag(),
			trustSignerFlag(), acceptSourceFlag(), allowUnsignedFlag(), despiteFlag(), noTestsFlag(), allowFailingFlag(),
			&cli.BoolFlag{Name: "isolated", Usage: "give it versions of its own of what it needs, beside those that other skills use"},
			&cli.StringFlag{Name: "generated-by", Usage: "the package was written by this `MODEL`: it waits for approval whatever it asks for"},
			&cli.StringFlag{Name: "rationale", Usage: "why it should be installed, shown to who decides"},
			workspaceFlag(),
		},
		Action: t.withState(t.install),
	}
}

func yesFlag(what string) cli.Flag {
	return &cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask: " + what}
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

// installed is what --json prints of one package.
type installed struct {
	OK   bool   `json:"ok"`
	Path string `json:"path"`
	install.Outcome
	Plan *planned `json:"plan,omitempty"`
	// Needs are the packages that come with it, because it needs them.
	Needs []needed     `json:"needs,omitempty"`
	Error *fault.Error `json:"error,omitempty"`
}

// planned is a plan with the limits as they hold on this host, beside the
// version that is active.
type planned struct {
	install.Plan
	Limits     manifests.ResolvedLimits `json:"limits"`
	Cut        []host.Cut               `json:"limits_cut"`
	Difference comparison               `json:"difference"`
	Findings   findings.Report          `json:"findings"`
	// Summary is what should not be missed.
	Summary []evidence.Point `json:"summary"`
	// Read is what models read of a new skill; nil for what replaces a version.
	Read *readByModels `json:"read_by_models,omitempty"`
	// rest says where all is shown of what is cut short.
	rest string
	// Replays are what it did on recorded calls; nil when there are none.
	Replays *replay.Shadow `json:"replays,omitempty"`
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
	var all []installed
	var failed *fault.Error
	b := &batch{c: c, args: names}
	for next := range t.arrivals(ctx, h, names) {
		in, err := t.installOne(ctx, h, b, next)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if in.Error = explain(err); err != nil && failed == nil {
			failed = in.Error
		}
		in.OK, in.Path = err == nil, next.path
		all = append(all, in)
		if err != nil && !t.json {
			t.tell(in.Error)
		}
	}
	return t.sumUp(all, failed, dry)
}

// sumUp says what became of several packages. One that cannot be installed does
// not keep the others out; the first of them decides the exit code.
func (t *terminal) sumUp(all []installed, failed *fault.Error, dry bool) error {
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

func (t *terminal) installOne(ctx context.Context, h *host.Host, b *batch, next incoming) (installed, error) {
	c := b.c
	if more, err := t.concerns(ctx, h, c, next); err != nil || more {
		if err != nil {
			return installed{}, err
		}
		return t.withNeeds(ctx, h, b, next)
	}
	done := t.waiting("checking %s", filepath.Base(next.path))
	plan, err := t.plan(ctx, c, h, next, closure.Step{Asked: asked(next)})
	done()
	if err != nil {
		return installed{}, err
	}
	if c.Bool("dry-run") {
		p, err := t.show(ctx, c, h, plan, next)
		if err == nil {
			t.summarize(p)
		}
		return installed{Plan: &p}, err
	}
	out, err := t.submit(ctx, c, h, plan, next)
	if err == nil {
		t.showOutcome(plan, out)
	}
	return installed{Outcome: out}, err
}

// plan plans the installation of a package; as says how it is wanted.
func (t *terminal) plan(ctx context.Context, c *cli.Context, h *host.Host, next incoming, as closure.Step) (install.Plan, error) {
	req, err := t.request(c, next, as)
	if err != nil {
		return install.Plan{}, err
	}
	plan, err := h.Installer.Plan(ctx, req)
	if err == nil {
		t.tellTrust(plan.Trust)
	}
	return plan, err
}

// request is what is asked of the installer for a package.
func (t *terminal) request(c *cli.Context, next incoming, as closure.Step) (install.Request, error) {
	p, err := next.open()
	if err != nil {
		return install.Request{}, err
	}
	ws, err := workspace(c)
	if err != nil {
		return install.Request{}, err
	}
	req := install.Request{
		Package: p, Source: next.got.Source, SourceKind: string(next.got.Kind), Artifact: next.got.Artifact,
		Origin: registry.OriginUser, ProposedBy: t.person().Actor(), Person: t.person(),
		Rationale: c.String("rationale"), Workspace: ws, Notes: next.got.Notes,
		Directory: next.got.MadeHere(), Archive: next.got.Archive, Signatures: next.got.Signatures, Accepted: accepted(c), Despite: c.StringSlice("despite"),
		Dependencies: as.Dependencies, Needed: as.Needed, Asked: as.Asked, Beside: as.Beside, Tests: testsOf(c),
	}
	if model := c.String("generated-by"); model != "" {
		req.ProposedBy = "model:" + model
		if !as.Needed { // what is needed was not written by the model
			req.Origin = registry.OriginGenerated
		}
	}
	return req, nil
}

// submit installs a plan, asking the person at the terminal if somebody has to
// be asked and this person may answer.
func (t *terminal) submit(ctx context.Context, c *cli.Context, h *host.Host, p install.Plan, next incoming) (install.Outcome, error) {
	ask := p.Waits() && p.Origin != registry.OriginGenerated
	switch {
	case p.Carried && !p.Installed: // nothing is asked about that was not answered before
		return h.Installer.Accept(ctx, t.person(), p)
	case !ask || !c.Bool("yes") && !t.canAsk():
		return h.Installer.Submit(ctx, p)
	}
	if !c.Bool("yes") {
		shown, err := t.show(ctx, c, h, p, next)
		if err != nil {
			return install.Outcome{}, err
		}
		t.summarize(shown)
		if err := t.confirm("install "+p.Skill, "Install and grant this?"); err != nil {
			return install.Outcome{}, err
		}
		p = p.Despite()
	}
	return h.Installer.Accept(ctx, t.person(), p)
}

// show shows a plan, and what is different from the active version.
func (t *terminal) show(ctx context.Context, c *cli.Context, h *host.Host, plan install.Plan, next incoming) (planned, error) {
	p := planned{Plan: plan}
	pkg, err := next.open()
	if err != nil {
		return p, err
	}
	p.Limits, p.Cut = h.Enforced(plan.Limits)
	p.rest = "`skillet install " + next.path + " --dry-run --full`"
	if plan.Replaces == "" {
		p.Read = readBy(pkg.Manifest())
	}
	p.Difference, err = t.compare(ctx, h, pkg, c.Bool("full"), p.rest+" shows them")
	if err == nil && plan.Replaces != "" && !plan.Installed {
		p.Replays, err = t.shadow(ctx, h, pkg)
	}
	if err == nil {
		p.Findings, err = findings.Scan(ctx, pkg)
	}
	if err != nil {
		return p, err
	}
	p.Summary = evidence.Subject{
		Kind: p.Kind, Asks: p.Asks, Replaces: p.Replaces, Signer: p.Signer, Upgrade: p.Upgrade, Findings: p.Findings, Tests: p.Tests, Replays: p.Replays,
	}.Summary()
	if !t.json {
		t.showPlan(p)
	}
	return p, nil
}

// showPlan prints all that is known about a package.
func (t *terminal) showPlan(p planned) {
	t.note("%s@%s (%s, sha256:%s) from %s", plain(p.Skill), plain(p.Version), p.Origin, p.Digest.Short(), plain(p.Source))
	if p.Replaces != "" {
		t.note("  replaces %s as the active version", p.Replaces)
	}
	if p.Difference.With != "" && !p.Installed || p.Difference.full {
		p.Difference.show(t.note)
	}
	showShadow(t.note, p.Replays, p.Difference.full)
	t.showAsks(p.Kind, p.Asks)
	if p.Kind.IsCode() {
		bounds{p.Limits, p.Cut}.show(t.note, "  limits:")
	}
	t.showUpgrade(t.note, p.Upgrade)
	if p.Read != nil {
		p.Read.show(t.note, p.Difference.full, p.rest)
	}
	if p.Tests != nil {
		t.note("  its test cases: %s", tally(*p.Tests))
	}
	for _, w := range p.Warnings {
		t.note("  note: %s", plain(w))
	}
	if l := p.Forgets; l != nil {
		t.note("  what another skill of this name kept is deleted: the one from %s", plain(l.Source))
	}
	t.note("  policies say: %s%s", p.Effect, because(p.Reason, p.Policies))
	if p.Carried {
		t.note("  the same signer: what %s was granted is carried over", p.Replaces)
	}
}

// summarize prints what should not be missed of plans that were shown, as the last
// thing before a person is asked about them.
func (t *terminal) summarize(plans ...planned) {
	if t.json {
		return
	}
	for _, p := range plans {
		title := "install " + p.Skill + "@" + p.Version
		if p.Replaces != "" {
			title = "replace " + p.Skill + "@" + p.Replaces + " by " + p.Version
		}
		showSummary(t.note, title, p.Summary)
	}
}

// showUpgrade says all that becomes different from the version that is replaced.
func (t *terminal) showUpgrade(print printer, u *review.Upgrade) {
	if u == nil || u.IsEmpty() {
		return
	}
	print("  what becomes different:")
	for _, line := range u.Lines() {
		print("    %s", plain(line))
	}
}

func because(reason string, ids []string) string {
	if reason == "" && len(ids) == 0 {
		return ""
	}
	s := " (" + reason
	if len(ids) > 0 {
		s += ": " + strings.Join(ids, ", ")
	}
	return s + ")"
}

// showAsks lists capabilities in words, the new ones marked.
func (t *terminal) showAsks(k manifests.Kind, asks []approval.Ask) {
	if len(asks) == 0 {
		t.note("  asks for nothing: %s", evidence.Unaided(k))
		return
	}
	t.note("  asks to:")
	for _, a := range asks {
		mark := " "
		if a.New {
			mark = "+"
		}
		t.note("  %s %s", mark, plain(a.Words))
		if a.Reason != "" {
			t.note("      because: %s", plain(a.Reason))
		}
		t.note("      %s", plain(a.Capability.String()))
	}
}

// noteGranted says what a skill may do from now on.
func (t *terminal) noteGranted(gs []approval.Grant) {
	for _, g := range gs {
		t.note("  granted: %s", grantLine(g))
	}
}

func (t *terminal) showOutcome(p install.Plan, out install.Outcome) {
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
