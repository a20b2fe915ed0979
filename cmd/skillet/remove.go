package main

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) removeCommand() *cli.Command {
	return &cli.Command{
		Name: "remove", Aliases: []string{"rm"},
		Usage:     "remove a skill, or one version of it, and end its grants",
		ArgsUsage: "SKILL[@VERSION]...",
		Description: "What a skill keeps stays behind for when it is installed again, by the same signer or from\n" +
			"the same place; --purge deletes it, also later. What other skills need is not removed,\n" +
			"except by --force (exit code 8); --prune also removes what came because others needed it,\n" +
			"and nobody needs any more.\n\n" +
			"Examples:\n  skillet remove text\n  skillet rm csv@1.0.0 --yes\n  skillet remove notes --purge\n  skillet remove weather --prune --dry-run\n  skillet remove --prune",
		Flags: []cli.Flag{
			yesFlag("remove it"),
			&cli.BoolFlag{Name: "purge", Usage: "delete what it keeps, too"},
			&cli.BoolFlag{Name: "prune", Usage: "remove what nobody needs any more, too"},
			&cli.BoolFlag{Name: "force", Usage: "remove it although others need it"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would go"},
		},
		Action: t.withState(t.remove),
	}
}

func (t *terminal) remove(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() && !c.Bool("prune") {
		return fault.Errorf(fault.KindUsage, "remove takes the name of a skill").WithHint("`skillet list` shows what is installed")
	}
	names, left, err := leftBehind(ctx, c, h)
	if err != nil {
		return err
	}
	refs, going, err := t.leaving(ctx, h, names)
	if err != nil {
		return t.orPurge(ctx, h, names, err)
	}
	if err := wholeSkills(c, refs, going); err != nil {
		return err
	}
	what := install.Removing{Refs: refs, Force: c.Bool("force"), Prune: c.Bool("prune")}
	r, err := h.Installer.PlanRemoval(ctx, what)
	if err != nil {
		return err
	}
	left = append(left, purged(c, refs)...)
	if c.Bool("dry-run") {
		return t.showRemoved(ctx, h, "would remove", r, left)
	}
	if len(r.All())+len(left) == 0 {
		return t.answer([]registry.Skill{}, func() { t.note("there is nothing that nobody needs") })
	}
	if err := t.confirmRemoval(c, r.All(), left); err != nil {
		return err
	}
	if len(r.All()) > 0 {
		if r, err = h.Installer.RemoveAll(ctx, t.person().Actor(), what); err != nil {
			return err
		}
	}
	for _, name := range left {
		if err := h.Installer.Purge(ctx, t.person().Actor(), name); err != nil {
			return err
		}
		if err := h.Recordings.Forget(name); err != nil {
			return err
		}
	}
	return t.showRemoved(ctx, h, "removed", r, left)
}

// leftBehind splits the arguments of remove --purge into skills that are
// installed, and those that were removed and left something behind.
func leftBehind(ctx context.Context, c *cli.Context, h *host.Host) (names, left []string, err error) {
	for _, arg := range c.Args().Slice() {
		ref, err := manifests.ParseRef(arg)
		if err == nil && c.Bool("purge") && ref.Version == "" {
			_, lerr := h.Registry.Lookup(ctx, ref)
			_, ok, err := h.Registry.Left(ctx, ref.Name)
			if err != nil {
				return nil, nil, err
			}
			if ok && errors.Is(lerr, registry.ErrNotFound) {
				left = append(left, ref.Name)
				continue
			}
		}
		names = append(names, arg)
	}
	return names, left, nil
}

// purged are the skills that remove --purge leaves nothing of.
func purged(c *cli.Context, refs []manifests.Ref) []string {
	var names []string
	for _, ref := range refs {
		if c.Bool("purge") {
			names = append(names, ref.Name)
		}
	}
	return names
}

// wholeSkills refuses to purge what other versions of a skill use.
func wholeSkills(c *cli.Context, refs []manifests.Ref, going []registry.Skill) error {
	for _, ref := range refs {
		if c.Bool("purge") && ref.Version != "" {
			return fault.Errorf(fault.KindUsage, "--purge is about a whole skill, and %s is one version of it", ref).
				WithHint("`skillet remove %s --purge` removes all versions and what they keep", ref.Name)
		}
	}
	return nil
}

func (t *terminal) confirmRemoval(c *cli.Context, going []registry.Skill, left []string) error {
	if c.Bool("yes") {
		return nil
	}
	question := "Remove " + plain(names(going)) + " and end all grants?"
	switch {
	case len(going) == 0:
		question = "Delete what the removed skill kept?"
	case c.Bool("purge"):
		question = "Remove " + plain(names(going)) + ", end all grants and delete what it keeps?"
	}
	return t.confirm("remove", question)
}

// orPurge says of a skill that is not installed any more that it left something.
func (t *terminal) orPurge(ctx context.Context, h *host.Host, args []string, err error) error {
	if !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	for _, arg := range args {
		ref, perr := manifests.ParseRef(arg)
		if perr != nil {
			continue
		}
		if _, left, lerr := h.Registry.Left(ctx, ref.Name); lerr == nil && left {
			return fault.AsError(err).WithHint("it was removed before; `skillet remove %s --purge` deletes what it kept", ref.Name)
		}
	}
	return err
}

func (t *terminal) showRemoved(ctx context.Context, h *host.Host, verb string, r install.Removal, purged []string) error {
	skills := append([]registry.Skill{}, r.All()...)
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
		for _, name := range purged {
			t.note("%s what %s kept", map[bool]string{true: "deleted", false: "would delete"}[verb == "removed"], plain(name))
		}
		if len(purged) == 0 {
			t.noteLeft(ctx, h, skills)
		}
		if len(r.Unneeded) > 0 {
			t.note("  nobody needs %s any more; `skillet remove --prune` removes that, too", plain(names(r.Unneeded)))
		}
	})
}

// noteLeft says which of the skills that are gone left something behind.
func (t *terminal) noteLeft(ctx context.Context, h *host.Host, skills []registry.Skill) {
	seen := map[string]bool{}
	for _, s := range skills {
		_, left, err := h.Registry.Left(ctx, s.Name)
		keeps, kerr := h.Runner.Keeps(ctx, s.Name)
		if err != nil || kerr != nil || !left || !keeps || seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		t.note("  what %s keeps is still there; `skillet remove %s --purge` deletes it", plain(s.Name), plain(s.Name))
	}
}
