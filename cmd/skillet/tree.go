package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) treeCommand() *cli.Command {
	return command("tree", nil, t.withHost(t.tree))
}

func (t *terminal) tree(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.NArg() > 1 {
		return fault.Errorf(fault.KindUsage, "tree takes one skill; %q is too many", c.Args().Get(1))
	}
	tree, err := h.Admit().Tree(ctx, t.person(), admit.TreeRequest{Skill: c.Args().First()})
	return t.answered(tree.Branches, err, func() {
		if len(tree.Branches) == 0 {
			t.note("no skills are installed; `skillet install PATH` installs one")
		}
		printAll(t.say, lines.Tree(tree.Branches))
		t.showBroken(tree.Broken)
	})
}

func (t *terminal) showBroken(broken []string) {
	for _, b := range broken {
		t.note("skillet: %s", plain(b))
	}
}

func (t *terminal) whyCommand() *cli.Command {
	return command("why", nil, t.withHost(t.why))
}

func (t *terminal) why(ctx context.Context, c *cli.Context, h *host.Host) error {
	ref, err := manifests.ParseRef(c.Args().First())
	if err != nil || ref.Version != "" || ref.Tool != "" {
		return fault.Errorf(fault.KindUsage, "why takes the name of a skill; it got %q", c.Args().First())
	}
	ways, err := h.Admit().Why(ctx, t.person(), ref.Name)
	return t.answered(ways.Paths, err, func() {
		printAll(t.say, lines.Ways(ways.Paths))
		t.showBroken(ways.Broken)
	})
}

func (t *terminal) outdatedCommand() *cli.Command {
	return command("outdated", []cli.Flag{
		&cli.BoolFlag{Name: "exit-code", Usage: "end with 1 when a skill is not the newest"},
	}, t.withHost(t.outdated))
}

func (t *terminal) outdated(ctx context.Context, c *cli.Context, h *host.Host) error {
	done := t.waiting("looking for newer versions")
	all, err := h.Admit().Outdated(ctx, t.person())
	done()
	err = t.answered(all, err, func() { t.showOutdated(all) })
	if err == nil && len(all) > 0 && c.Bool("exit-code") {
		err = exited{code: 1}
	}
	return err
}

func (t *terminal) showOutdated(all []admit.Outdated) {
	if len(all) == 0 {
		t.note("everything is the newest")
		return
	}
	t.listing(lines.OutdatedListing(all))
	untried := 0
	for _, u := range all {
		if u.Untried {
			untried++
		}
		if u.Hint == "" {
			continue
		}
		to := u.Wanted
		if to == u.Current || len(u.Held) > 0 {
			to = u.Latest
		}
		t.note("%s: %s %s%s", plain(u.Skill), t.way(u.Hint+" goes to", u.Remedies), plain(to), plain(admit.Along(u.Moves)))
	}
	if untried > 0 {
		t.note("%s: what would move them was not tried; `skillet update NAME --latest --dry-run` does", count(untried, "more skill"))
	}
}
