package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) removeCommand() *cli.Command {
	return command("remove rm", []cli.Flag{
		yesFlag("remove it"),
		&cli.BoolFlag{Name: "purge", Usage: "delete what it keeps, too"},
		&cli.BoolFlag{Name: "prune", Usage: "remove what nobody needs any more, too"},
		&cli.BoolFlag{Name: "force", Usage: "remove it although others need it"},
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would go"},
	}, t.withState(t.remove))
}

func (t *terminal) remove(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() && !c.Bool("prune") {
		return fault.Errorf(fault.KindUsage, "remove takes the name of a skill").WithHint("`skillet list` shows what is installed")
	}
	change := admit.Removal{Skills: c.Args().Slice(), Purge: c.Bool("purge"), Prune: c.Bool("prune"), Force: c.Bool("force")}
	p, err := h.Admit().Plan(ctx, t.person(), change)
	switch {
	case err != nil:
		return err
	case c.Bool("dry-run"):
		return t.showRemoved("would remove", *p.Removal)
	case p.Removal.IsEmpty():
		return t.answer([]admit.Skill{}, func() { t.note("everything that is installed is needed") })
	}
	consent := admit.Beforehand
	if !c.Bool("yes") {
		if err := t.confirm("remove", removing(c, *p.Removal)); err != nil {
			return err
		}
		consent = admit.Shown
	}
	r, err := h.Admit().Commit(ctx, t.person(), p, consent)
	if err != nil {
		return err
	}
	return t.showRemoved("removed", *r.Removal)
}

// removing is the question that a removal puts.
func removing(c *cli.Context, r admit.Removed) string {
	switch {
	case len(r.All()) == 0:
		return "Delete what the removed skill kept?"
	case c.Bool("purge"):
		return "Remove " + plain(names(r.All())) + ", end all grants and delete what it keeps?"
	}
	return "Remove " + plain(names(r.All())) + " and end all grants?"
}

func (t *terminal) showRemoved(verb string, r admit.Removed) error {
	skills := append([]admit.Skill{}, r.All()...)
	return t.answer(skills, func() {
		for _, s := range r.Gone {
			t.note("%s %s", verb, plain(s.Ref()))
		}
		for _, s := range r.Pruned {
			t.note("%s %s, which nobody needs any more", verb, plain(s.Ref()))
		}
		for _, s := range r.Broken {
			t.note("  %s needs it, and is left without", plain(s.Ref()))
		}
		for _, name := range r.Purged {
			t.note("%s what %s kept", map[bool]string{true: "deleted", false: "would delete"}[verb == "removed"], plain(name))
		}
		for _, name := range r.Left {
			t.note("  what %s keeps is still there; `skillet remove %s --purge` deletes it", plain(name), plain(name))
		}
		if len(r.Unneeded) > 0 {
			t.note("  nobody needs %s any more; `skillet remove --prune` removes that, too", plain(names(r.Unneeded)))
		}
	})
}
