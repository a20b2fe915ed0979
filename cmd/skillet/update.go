package main

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) updateCommand() *cli.Command {
	return command("update", packageFlags(
		&cli.BoolFlag{Name: "all", Usage: "all installed skills"},
		&cli.BoolFlag{Name: "dry-run", Aliases: []string{"preview"}, Usage: "only show what would change"},
		&cli.BoolFlag{Name: "fail-on-new-capabilities", Usage: "do not update what asks for more than before: exit code 3"},
		&cli.BoolFlag{Name: "fail-on-difference", Usage: "do not update what answers recorded calls differently: exit code 1"},
		&cli.StringFlag{Name: "canary", Usage: "try the new version with this `SHARE` of the calls, such as 10%"},
		&cli.IntFlag{Name: "canary-calls", Usage: "promote it after `N` of its calls", DefaultText: strconv.Itoa(admit.DefaultTrialCalls)},
		&cli.BoolFlag{Name: "promote", Usage: "make the version on trial the active one now"},
		&cli.StringFlag{Name: "from", Usage: "take the new version from this `PLACE` instead"},
		&cli.StringFlag{Name: "to", Usage: "go to this later `VERSION`, also to one that you went back from"},
		&cli.BoolFlag{Name: "latest", Usage: "go to the newest version that is published, past the ranges that keep it from there; what needs it moves along"},
		&cli.StringSliceFlag{Name: "again", Usage: "let this `SKILL`, which is needed, go to a version that it went back from; may be repeated"},
		shadowFlag(), overrideFlag(),
		yesFlag("grant what the new version asks for"),
	), t.withState(t.update))
}

func (t *terminal) update(ctx context.Context, c *cli.Context, h *host.Host) error {
	share, err := checkUpdate(c)
	if err != nil {
		return err
	}
	ws, err := workspace(c)
	if err != nil {
		return err
	}
	updates, err := h.Admit().Updates(ctx, t.person(), c.Args().Slice()...)
	if err != nil {
		return err
	}
	if err := t.refreshServers(ctx, c, h, updates.Skills); err != nil {
		return err
	}
	all := []admit.Updated{}
	var failed *fault.Error
	var down failedSources
	for _, skill := range updates.Skills {
		p, r, err := t.updateOne(ctx, c, h, admit.Update{
			Skill: skill, To: c.String("to"), Latest: c.Bool("latest"), From: c.String("from"), Again: c.StringSlice("again"), EvenDisabled: !c.Bool("all"), Share: share, Promote: c.Bool("promote"),
			NothingNew: c.Bool("fail-on-new-capabilities"), NothingDifferent: c.Bool("fail-on-difference"), Terms: t.terms(c, ws, c.Bool("dry-run")),
		})
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		u := updates.Became(skill, p, r, explain(err))
		u.Why, failed = t.way(u.Why, u.Remedies), cmp.Or(failed, u.Error)
		all = append(all, u)
		if !down.take(u.Skill, u.Error) {
			t.showUpdated(u)
		}
	}
	t.tellDown(down)
	return t.answerEach(all, failed)
}

// updateOne plans the update of one skill, shows it to whom it is to be shown, asks, and
// carries it out.
func (t *terminal) updateOne(ctx context.Context, c *cli.Context, h *host.Host, change admit.Update) (*admit.Plan, admit.Result, error) {
	return t.carryOut(ctx, c, h, change, c.Bool("dry-run"), func(p *admit.Plan, s lines.Style) ([]string, string) {
		return updatePage(p, s, c.Bool("dry-run")), grantQuestion(p, "Update")
	})
}

// updatePage is what an update comes to: all of it to who looks at it, and otherwise what the
// new version did on recorded calls.
func updatePage(p *admit.Plan, s lines.Style, preview bool) (page []string) {
	main := p.Main()
	looked := main != nil && main.Looked
	if looked || preview && len(p.Activate) > 0 {
		page = packagePages(p, s)
	}
	if preview {
		for _, up := range p.Upgrades {
			page = append(page, lines.Upgrade(up)...)
		}
	}
	if p.Replays != nil && !looked {
		page = append(page, plain(p.Skill)+" "+plain(p.To)+":")
		page = append(page, lines.Shadow(lines.Style{All: "--full"}, p.Replays)...)
	}
	return page
}

// checkUpdate refuses flags that do not go together, and reads the share.
func checkUpdate(c *cli.Context) (admit.Share, error) {
	s := admit.Share{Calls: c.Int("canary-calls")}
	switch {
	case c.Bool("all") == c.Args().Present():
		return s, fault.Errorf(fault.KindUsage, "update takes names of skills, or --all").WithHint("`skillet list` shows what is installed")
	case c.Bool("promote") && (c.IsSet("canary") || c.IsSet("from") || c.IsSet("again") || c.Bool("dry-run")):
		return s, fault.Errorf(fault.KindUsage, "--promote goes with no other way to update").WithHint("`skillet update SKILL --promote`")
	case c.IsSet("from") && c.NArg() != 1:
		return s, fault.Errorf(fault.KindUsage, "--from is for one skill").WithHint("`skillet update SKILL --from PLACE`")
	case c.IsSet("to") && (c.NArg() != 1 || c.String("to") == "" || c.IsSet("from") || c.Bool("promote")):
		return s, fault.Errorf(fault.KindUsage, "--to names the version of one skill, and goes with neither --from nor --promote").WithHint("`skillet update SKILL --to VERSION`")
	case c.Bool("latest") && (c.IsSet("to") || c.IsSet("from") || c.IsSet("again") || c.Bool("promote")):
		return s, fault.Errorf(fault.KindUsage, "--latest goes with none of --to, --from, --again and --promote").WithHint("`skillet update SKILL --latest`")
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

func (t *terminal) showUpdated(u admit.Updated) {
	if t.json {
		return
	}
	name := plain(u.Skill)
	switch u.Status {
	case admit.StatusFailed:
		t.tell(u.Error)
	case admit.StatusCurrent:
		t.note("%s %s is the newest%s", name, u.From, plain(u.Why))
	case admit.StatusPinned, admit.StatusSkipped:
		t.note("%s %s: left alone: %s", name, u.From, plain(u.Why))
	case admit.StatusPreview:
		t.note("%s %s: would be updated to %s", name, u.From, plain(u.To))
	case admit.StatusTrial:
		c := u.Outcome.Skill.Canary
		t.note("%s %s is on trial with %d%% of the calls, and promoted after %d good ones; `skillet info %s` shows how it stands", name, plain(u.To), c.Percent, c.Calls, name)
	case admit.StatusPromoted:
		t.note("%s: %s is the active version now", name, plain(u.To))
	case admit.StatusUpdated:
		if u.Outcome.Skill == nil {
			t.note("%s was updated from %s to %s %s", name, u.From, plain(u.To), plain(u.Why))
			break
		}
		t.note("updated %s from %s to %s (sha256:%s); %s goes back", name, u.From, plain(u.To), u.Outcome.Skill.Digest.Short(), t.here("`skillet rollback "+name+"`"))
		t.noteGranted(u.Outcome.Granted)
	}
	t.showPast(u)
	for _, m := range u.Moved {
		t.note("  with it, %s went from %s to %s", plain(m.Skill), m.From, plain(m.To))
	}
}

// showPast says past which ranges an update goes.
func (t *terminal) showPast(u admit.Updated) {
	if u.Status == admit.StatusFailed {
		return
	}
	for _, b := range u.Broken {
		t.note("  %s@%s needs %s %s, which does not take %s: it moves along", plain(b.Skill), plain(b.Version), plain(u.Skill), plain(b.Constraint), plain(u.To))
	}
	for _, a := range u.AskedOtherwise {
		t.note("  you ask for %s %s from now on, and not for %s", plain(a.Skill), plain(a.After), plain(a.Before))
	}
}
