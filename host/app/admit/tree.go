package admit

import (
	"context"
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/resolve"
	"github.com/skillet-run/skillet/host/install/closure"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/internal/nearest"
)

// A Tree is what people asked for, with what that needs.
type Tree struct {
	Branches []Branch
	// Broken says what does not fit together, one line each.
	Broken []string
}

// A Branch is a skill in a tree, or the place of one that is not there.
type Branch struct {
	Skill     string   `json:"skill,omitempty"`
	Version   string   `json:"version,omitempty"`
	Needs     string   `json:"asked_for"`          // name and constraint
	Closure   string   `json:"closure,omitempty"`  // when it is one of its own
	LeftOut   string   `json:"left_out,omitempty"` // why; then Skill is empty
	Repeated  bool     `json:"repeated,omitempty"` // shown before, with what it needs
	Optional  bool     `json:"optional,omitempty"`
	Interface string   `json:"interface,omitempty"` // the version of it, when it is one
	Branches  []Branch `json:"needs,omitempty"`
}

// A TreeRequest says whose tree is wanted; the zero value wants that of all that was
// asked for.
type TreeRequest struct {
	// Skill is the name of one that is shown as if only it had been asked for.
	Skill string
}

// Tree returns what was asked for, with what that needs.
func (s *Service) Tree(ctx context.Context, by approval.Principal, r TreeRequest) (Tree, error) {
	home, err := s.home(ctx, by)
	if err != nil {
		return Tree{}, err
	}
	g := home.Graph
	if r.Skill != "" {
		if g, err = asIfAsked(home, r.Skill); err != nil {
			return Tree{}, err
		}
	}
	return Tree{branches(g.Tree()), home.Broken}, nil
}

// home is what is installed, as a graph.
func (s *Service) home(ctx context.Context, by approval.Principal) (*closure.Home, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	catalog, err := s.catalog(ctx, closure.Settings{})
	if err != nil {
		return nil, err
	}
	return catalog.Home(ctx)
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
				WithHint("%s removes what nobody needs", fault.RemoveUnneeded())
		}
	}
	var names []string
	for _, s := range home.Installed() {
		names = append(names, s.Name)
	}
	e := fault.Errorf(fault.KindNotFound, "skill %s is %w", name, registry.ErrNotFound)
	if best, ok := nearest.Name(name, names); ok {
		return e.WithHint("did you mean %s? %s shows what is installed", fault.Choose(best), fault.List(fault.Skills))
	}
	return e.WithHint("%s shows what is installed", fault.List(fault.Skills))
}

func branches(all []resolve.Branch) []Branch {
	views := make([]Branch, 0, len(all))
	for _, b := range all {
		v := Branch{Needs: b.Name + " " + b.Range.Text(), LeftOut: b.Omitted, Repeated: b.Repeated, Optional: b.Optional}
		if b.To >= 0 {
			v.Skill, v.Version = b.Node.Name, b.Node.Version.String()
			if b.Isolated {
				v.Closure = b.Node.Closure
			}
		}
		if b.To < 0 && !b.Optional { // it was removed by force
			v.LeftOut = ""
		}
		if b.Interface != nil {
			v.Interface = b.Interface.String()
		}
		v.Branches = branches(b.Branches)
		views = append(views, v)
	}
	return views
}

// Ways say why a skill is installed.
type Ways struct {
	// Paths lead from what was asked for to the skill, or to who provides it.
	Paths [][]Step
	// Broken is as in a [Tree].
	Broken []string
}

// A Step is one on the way to a skill.
type Step struct {
	Skill   string `json:"skill"`
	Version string `json:"version"`
	Needs   string `json:"asked_for"` // name and constraint
	Closure string `json:"closure,omitempty"`
}

// Why says why a skill is installed, or who provides it when it is the name of an
// interface. It fails with a [fault.KindNotFound] error for one that is not.
func (s *Service) Why(ctx context.Context, by approval.Principal, skill string) (Ways, error) {
	home, err := s.home(ctx, by)
	if err != nil {
		return Ways{}, err
	}
	found := home.Graph.Why(skill)
	if len(found) == 0 {
		return Ways{}, notTied(home, skill)
	}
	w := Ways{Paths: make([][]Step, len(found)), Broken: home.Broken}
	for i, path := range found {
		for _, p := range path {
			w.Paths[i] = append(w.Paths[i], Step{p.Node.Name, p.Node.Version.String(), p.Name + " " + p.Range.Text(), p.Node.Closure})
		}
	}
	return w, nil
}

// An Outdated is a skill that is not the newest.
type Outdated struct {
	Skill   string `json:"skill"`
	Closure string `json:"closure,omitempty"`
	Current string `json:"current"`
	// Wanted is what updating everything would choose, and Latest the newest that is
	// published.
	Wanted string `json:"wanted"`
	Latest string `json:"latest"`
	// Gone is true when updating everything would leave it without use.
	Gone bool `json:"gone,omitempty"`
	// Held says what keeps it from Latest; empty for nothing.
	Held []Hold `json:"held,omitempty"`
	// Hint says what would move it, with {0} for the first of Remedies, and so on. That was tried
	// with the versions that are published; who signed them, and what policies say of them, is
	// seen when they are fetched. It is empty when nothing would, and when that was not tried.
	Hint     string         `json:"hint,omitempty"`
	Remedies []fault.Remedy `json:"remedies,omitempty"`
	// Moves are the skills that would go along.
	Moves []closure.LatestMove `json:"moves,omitempty"`
	// Untried is true when it was not tried what would move it, because of how many there are.
	Untried bool `json:"untried,omitempty"`
}

// A Hold is a reason for which a skill stays behind a version that is published.
type Hold = closure.Hold

// Outdated lists what of the installed skills is not the newest. It asks the places that
// they came from.
func (s *Service) Outdated(ctx context.Context, by approval.Principal) ([]Outdated, error) {
	if err := s.ready(ctx, by); err != nil {
		return nil, err
	}
	catalog, err := s.catalog(ctx, closure.Settings{})
	if err != nil {
		return nil, err
	}
	behind, err := catalog.Outdated(ctx)
	if err != nil {
		return nil, err
	}
	all := []Outdated{}
	for _, b := range behind {
		if err := s.revoked(ctx, &b); err != nil {
			return nil, err
		}
		all = append(all, Outdated{
			Skill: b.Name, Closure: b.Closure, Current: b.Current.String(), Wanted: b.Wanted.String(), Latest: b.Latest.String(), Gone: b.Gone,
			Held: b.Holds, Hint: b.Way.Text, Remedies: b.Way.Remedies, Moves: b.Moves, Untried: b.Untried,
		})
	}
	return all, nil
}

// revoked says of a latest version that is revoked that this holds the skill: nothing moves it then.
func (s *Service) revoked(ctx context.Context, b *closure.Behind) error {
	if b.Digest == "" {
		return nil
	}
	known, err := s.parts.Trust.Known(ctx, b.Name)
	if err != nil {
		return err
	}
	t, err := s.parts.Trust.TargetOf(ctx, b.Name, b.Digest, "")
	if err != nil {
		return err
	}
	t.Owner = known.Skill.Signer
	r, ok, err := s.parts.Trust.Revocation(ctx, t)
	if ok {
		b.Holds = append(b.Holds, Hold{Kind: closure.HeldByRevocation, Skill: b.Name, Version: b.Latest.String(), By: r.By, Reason: r.Reason})
		b.Way, b.Moves = fault.Hint{}, nil
	}
	return err
}
