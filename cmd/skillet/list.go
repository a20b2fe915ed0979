package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func (t *terminal) listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list the installed skills",
		Description: "Examples:\n  skillet list\n  skillet ls --all\n  skillet list --json",
		Flags:       []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "also versions that are not active"}},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if _, err := need(c, 0, "no arguments"); err != nil {
				return err
			}
			all, err := h.Registry.List(ctx)
			if err != nil {
				return err
			}
			skills := []registry.Skill{}
			for _, s := range all {
				if s.Active || c.Bool("all") {
					skills = append(skills, s)
				}
			}
			return t.answer(skills, func() { t.showSkills(skills) })
		}),
	}
}

func (t *terminal) showSkills(skills []registry.Skill) {
	if len(skills) == 0 {
		t.note("no skills are installed; `skillet install PATH` installs one")
		return
	}
	var rows [][]string
	for _, s := range skills {
		active := ""
		if s.Active {
			active = "*"
		}
		rows = append(rows, []string{s.Name, s.Version + active, s.Digest.Short(), strings.Join(s.Tools, " "), s.Description})
	}
	t.table("NAME\tVERSION\tDIGEST\tTOOLS\tDESCRIPTION", rows)
}

func (t *terminal) infoCommand() *cli.Command {
	return &cli.Command{
		Name:        "info",
		Usage:       "show everything about a skill: tools, schemas, what it asks for, limits",
		ArgsUsage:   "SKILL[@VERSION] | PATH",
		Description: "Examples:\n  skillet info text\n  skillet info csv@1.0.0 --json\n  skillet info ./my-skill",
		Action:      t.withState(t.info),
	}
}

// about is what info shows.
type about struct {
	Digest    manifests.Digest         `json:"digest"`
	Installed *registry.Skill          `json:"installed,omitempty"`
	Manifest  *manifests.Manifest      `json:"manifest"`
	Files     []bundle.File            `json:"files"`
	Limits    manifests.ResolvedLimits `json:"limits"`
	Grants    []approval.Grant         `json:"grants"`
}

func (t *terminal) info(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one skill or path")
	if err != nil {
		return err
	}
	p, s, err := t.look(ctx, h, args[0])
	if err != nil {
		return err
	}
	a := about{Digest: p.Digest(), Installed: s, Manifest: p.Manifest(), Files: p.Files(), Limits: p.Manifest().Limits(), Grants: []approval.Grant{}}
	if s != nil {
		if a.Grants, err = h.Desk.Grants(ctx, s.Digest); err != nil {
			return err
		}
	}
	ws, err := workspace(c)
	if err != nil {
		return err
	}
	asks, err := a.Manifest.Requests(ws)
	if err != nil {
		return err
	}
	return t.answer(a, func() { t.showAbout(a, asks) })
}

// look finds a package by reference, or by path.
func (t *terminal) look(ctx context.Context, h *host.Host, arg string) (*bundle.Package, *registry.Skill, error) {
	if path, _, ok := asPath(arg); ok {
		target, err := pathTarget(path)
		return target.Package, nil, err
	}
	s, err := t.lookup(ctx, h, arg)
	if err != nil {
		return nil, nil, err
	}
	p, err := h.Registry.Package(ctx, s.Digest)
	return p, &s, err
}

func (t *terminal) lookup(ctx context.Context, h *host.Host, arg string) (registry.Skill, error) {
	ref, err := manifests.ParseRef(arg)
	if err != nil {
		return registry.Skill{}, task.Wrap(task.KindUsage, err)
	}
	if ref.Tool != "" {
		return registry.Skill{}, task.Errorf(task.KindUsage, "%s names a tool; name the skill alone: %s", arg, ref.Name)
	}
	return h.Registry.Lookup(ctx, ref)
}

func (t *terminal) showAbout(a about, asks []manifests.RequestedCapability) {
	m := a.Manifest
	t.say("%s@%s  %s", plain(m.Name), plain(m.Version), a.Digest)
	t.say("%s", plain(m.Description))
	for _, f := range [][2]string{{"kind", string(m.Type)}, {"author", m.Author}, {"license", m.License}, {"homepage", m.Homepage}, {"aliases", strings.Join(m.Aliases, ", ")}, {"tags", strings.Join(m.Metadata.Tags, ", ")}} {
		if f[1] != "" {
			t.say("%-9s %s", f[0]+":", plain(f[1]))
		}
	}
	if s := a.Installed; s != nil {
		t.say("installed: %s by %s from %s (%s)", s.InstalledAt.Format("2006-01-02 15:04"), plain(s.InstalledBy), plain(s.Source), s.Origin)
	}
	l := a.Limits
	t.say("limits:   %d MiB memory, %g s, %d fuel, %d KiB output, %d host calls", l.MemoryBytes>>20, l.Seconds, l.Fuel, l.OutputBytes>>10, l.HostCalls)
	t.showTools(m)
	t.say("asks for:%s", none(len(asks)))
	for _, r := range asks {
		t.say("  %s  (%s)%s", plain(r.Capability.Words()), plain(r.Capability.String()), because(plain(r.Reason), nil))
	}
	t.say("granted:%s", none(len(a.Grants)))
	for _, g := range a.Grants {
		t.say("  %s", grantLine(g))
	}
}

func none(n int) string {
	if n == 0 {
		return " nothing"
	}
	return ""
}

func (t *terminal) showTools(m *manifests.Manifest) {
	t.say("tools:")
	for _, tool := range m.Tools {
		t.say("  %s:%s  %s", plain(m.Name), plain(tool.Name), plain(tool.Description))
		for _, p := range tool.Properties() {
			need := ""
			if p.Required {
				need = ", required"
			}
			t.say("      %s (%s%s) %s", plain(p.Name), plain(p.Type), need, plain(p.Description))
		}
	}
}

func (t *terminal) removeCommand() *cli.Command {
	return &cli.Command{
		Name: "remove", Aliases: []string{"rm"},
		Usage:       "remove a skill, or one version of it, and end its grants",
		ArgsUsage:   "SKILL[@VERSION]...",
		Description: "Examples:\n  skillet remove text\n  skillet rm csv@1.0.0 --yes\n  skillet remove weather --dry-run",
		Flags:       []cli.Flag{yesFlag("remove it"), &cli.BoolFlag{Name: "dry-run", Usage: "only show what would go"}},
		Action:      t.withState(t.remove),
	}
}

func (t *terminal) remove(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return task.Errorf(task.KindUsage, "remove takes the name of a skill").WithHint("`skillet list` shows what is installed")
	}
	gone := []registry.Skill{}
	for _, arg := range c.Args().Slice() {
		g, err := t.removeOne(ctx, c, h, arg)
		if err != nil {
			return err
		}
		gone = append(gone, g...)
	}
	return t.answer(gone, func() {
		for _, s := range gone {
			t.note("%s %s", map[bool]string{true: "would remove", false: "removed"}[c.Bool("dry-run")], plain(s.Ref()))
		}
	})
}

func (t *terminal) removeOne(ctx context.Context, c *cli.Context, h *host.Host, arg string) ([]registry.Skill, error) {
	s, err := t.lookup(ctx, h, arg)
	if err != nil {
		return nil, err
	}
	ref, err := manifests.ParseRef(arg)
	if err != nil {
		return nil, err
	}
	ref.Name = s.Name
	going, err := h.Registry.Versions(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	if ref.Version != "" {
		going = []registry.Skill{s}
	}
	if c.Bool("dry-run") {
		return going, nil
	}
	if !c.Bool("yes") {
		if err := t.confirm("remove", "Remove "+plain(names(going))+" and end its grants?"); err != nil {
			return nil, err
		}
	}
	return h.Installer.Remove(ctx, t.person().Actor(), ref)
}

func names(skills []registry.Skill) string {
	var refs []string
	for _, s := range skills {
		refs = append(refs, s.Ref())
	}
	return strings.Join(refs, ", ")
}

// confirm asks the person at the terminal; without one, it refuses.
func (t *terminal) confirm(what, question string) error {
	if !t.canAsk() || t.json {
		return task.Errorf(task.KindUsage, "%s needs a yes, and nobody can be asked here", what).WithHint("add --yes")
	}
	ok, err := t.ask(question)
	if err == nil && !ok {
		return task.Errorf(task.KindDenied, "nothing was changed: you said no")
	}
	return err
}
