package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/replay"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

func (t *terminal) updateCommand() *cli.Command {
	return &cli.Command{
		Name:      "update",
		Usage:     "update skills to the newest version at the place they came from",
		ArgsUsage: "SKILL...",
		Description: "Shows what is different in words: what the new version asks for more or less, its limits,\n" +
			"tools and schemas, what its module calls, who signed it. You are asked about what is new\n" +
			"when the same trusted signer made both versions, and about everything otherwise. Without\n" +
			"a terminal, and without --yes, what has to be asked about waits as a proposal (exit code 6).\n" +
			"A pinned skill is left alone, and one that went back from a version until there is a later one:\n" +
			"--to names the version to go to all the same. So it is for what an update needs, which --again\n" +
			"lets go there. What needs others is updated before them. With --canary the new version gets a share of the calls, and\n" +
			"is promoted, or rolled back by itself when it fails or costs more.\n\n" +
			"Examples:\n" +
			"  skillet update text\n" +
			"  skillet update --all --preview\n" +
			"  skillet update --all --preview --fail-on-new-capabilities\n" +
			"  skillet update csv --from ./csv-1.3.0.skill --yes\n" +
			"  skillet update csv --to 1.3.0\n" +
			"  skillet update csv --to 1.3.0 --again text\n" +
			"  skillet update csv --canary 10%\n" +
			"  skillet update csv --promote",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Usage: "all installed skills"},
			&cli.BoolFlag{Name: "preview", Aliases: []string{"dry-run"}, Usage: "only show what would change"},
			&cli.BoolFlag{Name: "fail-on-new-capabilities", Usage: "do not update what asks for more than before: exit code 3"},
			&cli.BoolFlag{Name: "fail-on-difference", Usage: "do not update what does otherwise than before on recorded calls: exit code 1"},
			&cli.StringFlag{Name: "canary", Usage: "try the new version with this `SHARE` of the calls, such as 10%"},
			&cli.IntFlag{Name: "canary-calls", Usage: "promote it after `N` of its calls", DefaultText: strconv.Itoa(install.DefaultCanaryCalls)},
			&cli.BoolFlag{Name: "promote", Usage: "make the version on trial the active one now"},
			&cli.StringFlag{Name: "from", Usage: "take the new version from this `PLACE` instead"},
			&cli.StringFlag{Name: "to", Usage: "go to this later `VERSION`, also to one that you went back from"},
			&cli.StringSliceFlag{Name: "again", Usage: "let this `SKILL`, which is needed, go to a version that it went back from; may be repeated"},
			yesFlag("grant what the new version asks for"),
			fullFlag(), trustSignerFlag(), acceptSourceFlag(), allowUnsignedFlag(), despiteFlag(), noTestsFlag(), allowFailingFlag(),
			workspaceFlag(),
		},
		Action: t.withState(t.update),
	}
}

// What became of a skill that was to be updated.
const (
	statusUpdated  = "updated"
	statusTrial    = "on_trial"
	statusPromoted = "promoted"
	statusPreview  = "available"
	statusCurrent  = "current"
	statusPinned   = "pinned"
	statusSkipped  = "skipped"
	statusFailed   = "failed"
)

// updated is what --json prints of one skill.
type updated struct {
	OK     bool   `json:"ok"`
	Skill  string `json:"skill"`
	Status string `json:"status"`
	From   string `json:"from"`
	To     string `json:"to,omitempty"`
	// Why says why it was left alone.
	Why string `json:"why,omitempty"`
	install.Outcome
	Plan *planned `json:"plan,omitempty"`
	// Replays are what the new version did on recorded calls; nil when there are
	// none.
	Replays *replay.Shadow `json:"replays,omitempty"`
	// Needs are the packages that change with it.
	Needs []needed `json:"needs,omitempty"`
	// Moved are the other skills whose active version became another with it.
	Moved []move       `json:"moved,omitempty"`
	Error *fault.Error `json:"error,omitempty"`
}

// A move is a change of the active version of a skill.
type move struct {
	Skill string `json:"skill"`
	From  string `json:"from"`
	To    string `json:"to"`
	// with is the skill that was updated.
	with string
}

func (t *terminal) update(ctx context.Context, c *cli.Context, h *host.Host) error {
	share, err := checkUpdate(c)
	if err != nil {
		return err
	}
	skills, err := t.toUpdate(ctx, c, h)
	if err == nil {
		skills, err = inTurn(ctx, h, skills)
	}
	if err != nil {
		return err
	}
	all := []updated{}
	var failed *fault.Error
	moved := map[string]move{}
	for _, s := range skills {
		u, err := t.updateNow(ctx, c, h, s, share, moved)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		u.OK, u.Skill = err == nil, s.Name
		if u.Error = explain(err); err != nil {
			u.Status, failed = statusFailed, cmp.Or(failed, u.Error)
		}
		all = append(all, u)
		t.showUpdated(u)
	}
	return t.answerEach(all, failed)
}

// updateNow updates a skill as it is now: what was updated before it may have moved
// it, and it may move others.
func (t *terminal) updateNow(ctx context.Context, c *cli.Context, h *host.Host, s registry.Skill, share install.Share, moved map[string]move) (updated, error) {
	before, err := h.Registry.List(ctx)
	if err != nil {
		return updated{From: s.Version}, err
	}
	i := slices.IndexFunc(before, func(o registry.Skill) bool { return o.Name == s.Name && o.Active })
	if i < 0 {
		return updated{From: s.Version}, fault.Errorf(fault.KindConflict, "%s has no active version any more", s.Name).WithHint("`skillet list --all` shows its versions")
	}
	u, err := t.updateOne(ctx, c, h, before[i], before, share)
	u.From = before[i].Version
	if m, ok := moved[s.Name]; ok && err == nil && u.Status == statusCurrent {
		u.Status, u.From, u.To, u.Why = statusUpdated, m.From, m.To, "with "+m.with
	}
	after, lerr := h.Registry.List(ctx)
	for _, m := range moves(before, after, s.Name) {
		if u.Moved = append(u.Moved, m); moved[m.Skill].From != "" {
			m.From = moved[m.Skill].From
		}
		moved[m.Skill] = m
	}
	return u, cmp.Or(err, lerr)
}

// moves are the skills, but the one that was updated, whose active version is another
// than before.
func moves(before, after []registry.Skill, with string) []move {
	var all []move
	for _, s := range before {
		i := slices.IndexFunc(after, func(o registry.Skill) bool { return o.Name == s.Name && o.Active })
		if s.Active && s.Name != with && i >= 0 && after[i].Version != s.Version {
			all = append(all, move{Skill: s.Name, From: s.Version, To: after[i].Version, with: with})
		}
	}
	return all
}

// checkUpdate refuses flags that do not go together, and reads the share.
func checkUpdate(c *cli.Context) (install.Share, error) {
	s := install.Share{Calls: c.Int("canary-calls")}
	switch {
	case c.Bool("all") == c.Args().Present():
		return s, fault.Errorf(fault.KindUsage, "update takes names of skills, or --all").WithHint("`skillet list` shows what is installed")
	case c.Bool("promote") && (c.IsSet("canary") || c.IsSet("from") || c.IsSet("again") || c.Bool("preview")):
		return s, fault.Errorf(fault.KindUsage, "--promote goes with no other way to update").WithHint("`skillet update SKILL --promote`")
	case c.IsSet("from") && c.NArg() != 1:
		return s, fault.Errorf(fault.KindUsage, "--from is for one skill").WithHint("`skillet update SKILL --from PLACE`")
	case c.IsSet("to") && (c.NArg() != 1 || c.String("to") == "" || c.IsSet("from") || c.Bool("promote")):
		return s, fault.Errorf(fault.KindUsage, "--to names the version of one skill, and goes with neither --from nor --promote").WithHint("`skillet update SKILL --to VERSION`")
	case c.IsSet("again") && c.NArg() != 1:
		return s, fault.Errorf(fault.KindUsage, "--again is for what one skill needs").WithHint("`skillet update SKILL --again NAME`")
	case c.IsSet("canary-calls") && !c.IsSet("canary"):
		return s, fault.Errorf(fault.KindUsage, "--canary-calls goes with --canary")
	case !c.IsSet("canary"):
		return s, nil
	}
	text := strings.TrimSuffix(c.String("canary"), "%")
	var err error
	if s.Percent, err = strconv.Atoi(text); err != nil || s.Percent < 1 || s.Percent > 99 {
		return s, fault.Errorf(fault.KindUsage, "--canary %s: it must be a whole number of percent, 1%% to 99%%", c.String("canary")).WithHint("such as --canary 10%%")
	}
	return s, nil
}

// toUpdate are the active versions of the skills that a command names.
func (t *terminal) toUpdate(ctx context.Context, c *cli.Context, h *host.Host) ([]registry.Skill, error) {
	var found []registry.Skill
	for _, name := range c.Args().Slice() {
		s, err := t.lookup(ctx, h, name)
		if err != nil {
			return nil, err
		}
		if strings.Contains(name, "@") {
			return nil, fault.Errorf(fault.KindUsage, "update takes names without versions, and got %q", name).
				WithHint("a later version: `skillet update %s --to VERSION`; an earlier one: `skillet rollback %s --to VERSION`", s.Name, s.Name)
		}
		found = append(found, s)
	}
	if !c.Bool("all") {
		return found, nil
	}
	all, err := h.Registry.List(ctx)
	for _, s := range all {
		if s.Active {
			found = append(found, s)
		}
	}
	return found, err
}

// inTurn are skills in the order in which they are updated: what needs others before
// those, which it may take along.
func inTurn(ctx context.Context, h *host.Host, skills []registry.Skill) ([]registry.Skill, error) {
	all, err := h.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	neededBy := map[string][]string{}
	for _, s := range all {
		neededBy[s.Name] = append(neededBy[s.Name], "")
		for _, d := range s.Dependencies {
			neededBy[d.Chosen()] = append(neededBy[d.Chosen()], s.Name)
		}
	}
	order := visited(neededBy)
	slices.SortStableFunc(skills, func(a, b registry.Skill) int { return order[a.Name] - order[b.Name] })
	return skills, nil
}

func (t *terminal) updateOne(ctx context.Context, c *cli.Context, h *host.Host, s registry.Skill, others []registry.Skill, share install.Share) (updated, error) {
	switch {
	case c.Bool("promote"):
		return t.promote(ctx, h, s)
	case s.Pinned != nil:
		return updated{Status: statusPinned, Why: "pinned by " + s.Pinned.By + because(s.Pinned.Reason, nil) + "; `skillet unpin " + s.Name + "` lets it be updated"}, nil
	case s.Disabled != nil && c.Bool("all"):
		return updated{Status: statusSkipped, Why: "disabled; `skillet update " + s.Name + "` updates it all the same"}, nil
	case s.Canary != nil:
		return updated{Status: statusSkipped, To: s.Canary.Version, Why: s.Canary.Version + " is on trial; `skillet info " + s.Name + "` shows how it stands"}, nil
	}
	if c.IsSet("to") || c.IsSet("again") || t.tied(s, others) {
		return t.updateTied(ctx, c, h, s, others, share)
	}
	done := t.waiting("looking for a newer %s", s.Name)
	next, err := newer(ctx, h, s, c.String("from"))
	done()
	if err != nil || next == nil {
		return updated{Status: statusCurrent}, err
	}
	if len(next.got.Package.Manifest().Dependencies) > 0 {
		return t.updateTied(ctx, c, h, s, others, share)
	}
	if why := unwanted(s, others, next.got.Version); why != "" {
		return updated{Status: statusSkipped, To: next.got.Version, Why: why}, nil
	}
	plan, err := t.plan(ctx, c, h, *next, closure.Step{})
	if err != nil {
		return updated{To: next.got.Version}, err
	}
	return t.updateTo(ctx, c, h, plan, *next, share)
}

// unwanted says why an update does not go to a version by itself; empty when it
// does.
func unwanted(s registry.Skill, others []registry.Skill, version string) string {
	again := "; `skillet update " + s.Name + " --to " + version + "` goes to it all the same"
	if tr := s.Trial; tr != nil && tr.Verdict == registry.VerdictRolledBack && tr.Version == version {
		return version + " was on trial and rolled back: " + tr.Reason + again
	}
	if s.Avoids(version) {
		return "it went back from " + s.Avoided.Version + " by " + s.Avoided.By + ", and no later version fits" + again
	}
	for _, o := range others {
		if d := o.Disabled; o.Name == s.Name && o.Version == version && d != nil && !d.All {
			return version + " is disabled by " + d.By + because(d.Reason, nil) + "; `skillet enable " + o.Ref() + "` allows it again"
		}
	}
	return ""
}

func (t *terminal) promote(ctx context.Context, h *host.Host, s registry.Skill) (updated, error) {
	now, err := h.Installer.EndCanary(ctx, t.person(), s.Name, registry.VerdictPromoted)
	return updated{Status: statusPromoted, To: now.Version}, err
}

// updateTo shows a plan, asks, and carries it out.
func (t *terminal) updateTo(ctx context.Context, c *cli.Context, h *host.Host, plan install.Plan, next incoming, share install.Share) (updated, error) {
	u := updated{Status: statusUpdated, To: plan.Version}
	ask := plan.Waits() && !c.Bool("yes") && t.canAsk() && plan.Origin != registry.OriginGenerated
	if c.Bool("preview") || ask {
		p, err := t.show(ctx, c, h, plan, next)
		if u.Plan = &p; err != nil {
			return u, err
		}
		u.Replays = p.Replays
		t.summarize(p)
	} else if err := t.shadowUpdate(ctx, h, next, &u); err != nil {
		return u, err
	}
	if c.Bool("fail-on-difference") && u.Replays != nil && u.Replays.Different > 0 {
		return u, differs(plan, u.Replays)
	}
	if c.Bool("fail-on-new-capabilities") && plan.Upgrade != nil && plan.Upgrade.Grows() {
		return u, grows(plan)
	}
	if c.Bool("preview") {
		u.Status = statusPreview
		return u, nil
	}
	if ask {
		if err := t.confirm("update "+plan.Skill, "Update and grant this?"); err != nil {
			return u, err
		}
		plan = plan.Despite()
	}
	if u.Replays != nil {
		share.Replays = u.Replays.Summary()
	}
	var err error
	u.Outcome, u.Status, err = t.carryOut(ctx, h, plan, share, ask || c.Bool("yes"))
	return u, err
}

// carryOut installs a planned version; agreed says that the person was asked, or
// did not want to be.
func (t *terminal) carryOut(ctx context.Context, h *host.Host, plan install.Plan, share install.Share, agreed bool) (install.Outcome, string, error) {
	agreed = (agreed || !plan.Waits()) && plan.Origin != registry.OriginGenerated
	switch {
	case share.Percent > 0 && !agreed:
		return install.Outcome{}, "", fault.Errorf(fault.KindApproval, "%s@%s asks for something, and a canary cannot wait as a proposal", plan.Skill, plan.Version).
			WithHint("look at it with --preview, then add --yes")
	case share.Percent > 0:
		out, err := h.Installer.AcceptCanary(ctx, t.person(), plan, share)
		return out, statusTrial, err
	case agreed && plan.Effect == policies.Ask.String():
		out, err := h.Installer.Accept(ctx, t.person(), plan)
		return out, statusUpdated, err
	}
	out, err := h.Installer.Submit(ctx, plan)
	return out, statusUpdated, err
}

// grows is the error of an update that asks for more.
func grows(p install.Plan) error {
	var more []string
	if p.Upgrade == nil { // it is new, and comes with what is updated
		for _, a := range p.Asks {
			more = append(more, a.Words)
		}
		return fault.Errorf(fault.KindDenied, "%s@%s comes with it and wants: %s", p.Skill, p.Version, strings.Join(more, "; ")).
			WithHint("look at it with --preview; without --fail-on-new-capabilities you are asked about it")
	}
	for _, s := range p.Upgrade.Capabilities {
		if line := s.Words; s.Change == "added" || s.Change == "widened" {
			more = append(more, line)
		}
	}
	return fault.Errorf(fault.KindDenied, "%s@%s wants more than %s: %s", p.Skill, p.Version, p.Replaces, strings.Join(more, "; ")).
		WithHint("look at it with --preview; without --fail-on-new-capabilities you are asked about it")
}

func (t *terminal) showUpdated(u updated) {
	if t.json {
		return
	}
	name := plain(u.Skill)
	switch u.Status {
	case statusFailed:
		t.tell(u.Error)
	case statusCurrent:
		t.note("%s %s is the newest%s", name, u.From, plain(u.Why))
	case statusPinned, statusSkipped:
		t.note("%s %s: left alone: %s", name, u.From, plain(u.Why))
	case statusPreview:
		t.note("%s %s: would be updated to %s", name, u.From, plain(u.To))
	case statusTrial:
		c := u.Outcome.Skill.Canary
		t.note("%s %s is on trial with %d%% of the calls, and promoted after %d good ones; `skillet info %s` shows how it stands", name, plain(u.To), c.Percent, c.Calls, name)
	case statusPromoted:
		t.note("%s: %s is the active version now", name, plain(u.To))
	case statusUpdated:
		if u.Outcome.Skill == nil {
			t.note("%s was updated from %s to %s %s", name, u.From, plain(u.To), plain(u.Why))
			break
		}
		t.note("updated %s from %s to %s (sha256:%s); `skillet rollback %s` goes back", name, u.From, plain(u.To), u.Outcome.Skill.Digest.Short(), name)
		t.noteGranted(u.Outcome.Granted)
	}
	for _, m := range u.Moved {
		t.note("  with it, %s went from %s to %s", plain(m.Skill), m.From, plain(m.To))
	}
}

// isNewer reports whether a version is one to update to: later, and a release
// unless the one before was none.
func isNewer(version, than string) bool {
	return manifests.CompareVersions(version, than) > 0 && (!strings.Contains(version, "-") || strings.Contains(than, "-"))
}
