package main

import (
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/resolve"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) treeCommand() *cli.Command {
	return &cli.Command{
		Name:        "tree",
		Usage:       "show what you asked for, with what that needs",
		ArgsUsage:   "[SKILL]",
		Description: "What several skills need is shown once with all that it needs in turn.\n\nExamples:\n  skillet tree\n  skillet tree app --json",
		Action:      t.withState(t.tree),
	}
}

// A twig is what --json prints of a skill in the tree.
type twig struct {
	Skill     string `json:"skill,omitempty"`
	Version   string `json:"version,omitempty"`
	Needs     string `json:"asked_for"`          // name and constraint
	Closure   string `json:"closure,omitempty"`  // when it is one of its own
	LeftOut   string `json:"left_out,omitempty"` // why; then there is no skill
	Repeated  bool   `json:"repeated,omitempty"` // shown before, with what it needs
	Optional  bool   `json:"optional,omitempty"`
	Interface string `json:"interface,omitempty"` // the version of it, when it is one
	Branches  []twig `json:"needs,omitempty"`
}

func (t *terminal) tree(ctx context.Context, c *cli.Context, h *host.Host) error {
	home, err := homeOf(ctx, h)
	if err != nil {
		return err
	}
	g := home.Graph
	switch c.NArg() {
	case 0:
	case 1:
		if g, err = asIfAsked(home, c.Args().First()); err != nil {
			return err
		}
	default:
		return fault.Errorf(fault.KindUsage, "tree takes one skill, and %q is one too many", c.Args().Get(1))
	}
	twigs := twigsOf(g.Tree())
	return t.answer(twigs, func() {
		if len(twigs) == 0 {
			t.note("no skills are installed; `skillet install PATH` installs one")
		}
		for _, b := range twigs {
			t.say("%s", b.words())
			t.showTwigs(b.Branches, "")
		}
		t.showBroken(home)
	})
}

// asIfAsked is the graph as if only a skill had been asked for.
func asIfAsked(home *closure.Home, name string) (*resolve.Graph, error) {
	i := slices.IndexFunc(home.Graph.Nodes, func(n resolve.Node) bool { return n.Name == name })
	if i < 0 {
		return nil, notTied(home, name)
	}
	g := *home.Graph
	g.Roots = nil
	for _, e := range home.Graph.Roots {
		if e.Name == name && e.To >= 0 {
			g.Roots = append(g.Roots, e)
		}
	}
	for n := range g.Nodes {
		for _, e := range g.Nodes[n].Edges {
			known := slices.ContainsFunc(g.Roots, func(r resolve.Edge) bool { return r.To == e.To })
			if e.To >= 0 && g.Nodes[e.To].Name == name && !known {
				g.Roots = append(g.Roots, e)
			}
		}
	}
	return &g, nil
}

// notTied says of a skill that is not in the graph how it stands.
func notTied(home *closure.Home, name string) error {
	for _, s := range home.Installed() {
		if s.Name == name {
			return fault.Errorf(fault.KindNotFound, "nobody asked for %s, and nobody needs it any more", s.Ref()).
				WithHint("`skillet remove --prune` removes what nobody needs")
		}
	}
	var names []string
	for _, s := range home.Installed() {
		names = append(names, s.Name)
	}
	e := fault.Errorf(fault.KindNotFound, "skill %s is %w", name, registry.ErrNotFound)
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean %s? `skillet list` shows what is installed", best)
	}
	return e.WithHint("`skillet list` shows what is installed")
}

func twigsOf(branches []resolve.Branch) []twig {
	all := make([]twig, 0, len(branches))
	for _, b := range branches {
		w := twig{Needs: b.Name + " " + b.Range.Text(), LeftOut: b.Omitted, Repeated: b.Repeated, Optional: b.Optional}
		if b.To >= 0 {
			w.Skill, w.Version = b.Node.Name, b.Node.Version.String()
			if b.Isolated {
				w.Closure = b.Node.Closure
			}
		}
		if b.To < 0 && !b.Optional { // it was removed by force
			w.LeftOut = ""
		}
		if b.Interface != nil {
			w.Interface = b.Interface.String()
		}
		w.Branches = twigsOf(b.Branches)
		all = append(all, w)
	}
	return all
}

func (w twig) words() string {
	if w.Skill == "" {
		first, _, _ := strings.Cut(w.LeftOut, "\n")
		if first == "" {
			return plain(w.Needs) + ": missing"
		}
		return plain(w.Needs) + ": left out: " + plain(first)
	}
	text := plain(w.Skill+"@"+w.Version) + "  (" + plain(w.Needs)
	for _, more := range []struct {
		is   bool
		text string
	}{
		{w.Interface != "", ", which it provides as " + w.Interface},
		{w.Optional, ", optional"}, {w.Closure != "", ", a closure of its own"},
	} {
		if more.is {
			text += plain(more.text)
		}
	}
	text += ")"
	if w.Repeated && len(w.Branches) == 0 {
		text += " as above"
	}
	return text
}

func (t *terminal) showTwigs(twigs []twig, indent string) {
	for i, w := range twigs {
		edge, rest := "├─ ", "│  "
		if i == len(twigs)-1 {
			edge, rest = "└─ ", "   "
		}
		t.say("%s%s%s", indent, edge, w.words())
		t.showTwigs(w.Branches, indent+rest)
	}
}

func (t *terminal) showBroken(home *closure.Home) {
	for _, b := range home.Broken {
		t.note("skillet: %s", plain(b))
	}
}

func (t *terminal) whyCommand() *cli.Command {
	return &cli.Command{
		Name:        "why",
		Usage:       "say why a skill is installed",
		ArgsUsage:   "SKILL",
		Description: "Each line is one way from what you asked for to the skill; also to who provides it, when it\nis the name of an interface.\n\nExamples:\n  skillet why text\n  skillet why rows --json",
		Action:      t.withState(t.why),
	}
}

// A step is what --json prints of a step on the way to a skill.
type step struct {
	Skill   string `json:"skill"`
	Version string `json:"version"`
	Needs   string `json:"asked_for"`
	Closure string `json:"closure,omitempty"`
}

func (t *terminal) why(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one skill")
	if err != nil {
		return err
	}
	home, err := homeOf(ctx, h)
	if err != nil {
		return err
	}
	ref, err := manifests.ParseRef(args[0])
	if err != nil || ref.Version != "" || ref.Tool != "" {
		return fault.Errorf(fault.KindUsage, "why takes the name of a skill, and got %q", args[0])
	}
	paths := home.Graph.Why(ref.Name)
	if len(paths) == 0 {
		return notTied(home, ref.Name)
	}
	all := make([][]step, len(paths))
	for i, p := range paths {
		for _, s := range p {
			all[i] = append(all[i], step{s.Node.Name, s.Node.Version.String(), s.Name + " " + s.Range.Text(), s.Node.Closure})
		}
	}
	return t.answer(all, func() {
		for _, p := range all {
			t.say("%s", plain(pathWords(p)))
		}
		t.showBroken(home)
	})
}

// pathWords says a way in a line.
func pathWords(p []step) string {
	text := "you asked for " + p[0].Needs + ": " + p[0].Skill + "@" + p[0].Version
	for _, s := range p[1:] {
		text += ", which needs " + s.Needs + ": " + s.Skill + "@" + s.Version
	}
	return text
}

func (t *terminal) outdatedCommand() *cli.Command {
	return &cli.Command{
		Name:  "outdated",
		Usage: "show which skills have newer versions",
		Description: "Wanted is what updating everything would choose, so that all still fits; latest is the newest\n" +
			"that is published.\n\nExamples:\n  skillet outdated\n  skillet outdated --json",
		Action: t.withState(t.outdated),
	}
}

// An outdatedSkill is what --json prints of a skill that is not the newest.
type outdatedSkill struct {
	Skill   string `json:"skill"`
	Closure string `json:"closure,omitempty"`
	Current string `json:"current"`
	Wanted  string `json:"wanted"`
	Latest  string `json:"latest"`
	Gone    bool   `json:"gone,omitempty"`
}

func (t *terminal) outdated(ctx context.Context, c *cli.Context, h *host.Host) error {
	catalog, err := h.Catalog(ctx, closure.Settings{})
	if err != nil {
		return err
	}
	done := t.waiting("looking for newer versions")
	updates, err := catalog.Outdated(ctx)
	done()
	if err != nil {
		return err
	}
	all := []outdatedSkill{}
	for _, u := range updates {
		all = append(all, outdatedSkill{u.Name, u.Closure, u.Current.String(), u.Wanted.String(), u.Latest.String(), u.Gone})
	}
	return t.answer(all, func() {
		if len(all) == 0 {
			t.note("everything is the newest")
			return
		}
		var rows [][]string
		for _, u := range all {
			wanted := u.Wanted
			if u.Gone {
				wanted = "not needed any more"
			}
			rows = append(rows, []string{strings.TrimSpace(u.Skill + "  " + map[bool]string{true: "(" + u.Closure + ")"}[u.Closure != ""]), u.Current, wanted, u.Latest})
		}
		t.table("NAME\tCURRENT\tWANTED\tLATEST", rows)
	})
}
