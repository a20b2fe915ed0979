package admit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/fetch/skillset"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// Import is the wish to have the skills of a set installed, as [Service.Export] wrote it,
// and stand as they did there. What was granted there is not granted here.
//
// A set with a package that lacks something that nobody accepted is refused whole. Apart
// from that, one package that cannot be installed does not keep the others out. The plan
// has packages only where somebody will look at them, see [Terms.Look]: each is planned
// again when it is its turn, as what came before it has changed what is installed. One that
// a person has to be asked about, and that the plan did not show, waits then.
type Import struct {
	// Set is the path of the file.
	Set string
	Terms
}

// Imported is what became of one package of a set.
type Imported struct {
	Installed
	// Wanted are the capabilities that were granted where the set comes from, and are
	// not here.
	Wanted []capability.Capability `json:"granted_elsewhere"`
	// Name and Version are those of the package.
	Name    string `json:"-"`
	Version string `json:"-"`
	// Change is the plan for it and Result what became of that; nil when it was there
	// before, or could not be planned.
	Change *Plan  `json:"-"`
	Result Result `json:"-"`
}

// importing is an import on its way.
type importing struct {
	Import
	set   skillset.Set
	there bool // all of it is installed already
	plan  *Plan
	since *install.State
	shown map[manifests.Digest]bool // packages that the plan shows
}

func (c Import) plan(ctx context.Context, s *Service, p *Plan) error {
	p.Kind, p.terms = "import", c.Terms
	_, person := p.by.(approval.Human)
	p.Proposed = !person
	f, r, err := openSet(ctx, c.Set)
	if err != nil {
		return err
	}
	defer f.Close()
	m := &importing{Import: c, set: r.Set(), plan: p, since: p.since, shown: map[manifests.Digest]bool{}}
	if err := m.acceptable(ctx, s, r); err != nil {
		return err
	}
	m.there = s.isThere(ctx, m.set)
	p.Waits, p.commit = !m.there, m.commit
	if c.Look == LookNever || c.Look == LookIfAsked && !person {
		return nil
	}
	return m.look(ctx, s, r)
}

// openSet opens a set, and reads it to its end.
func openSet(ctx context.Context, path string) (*openfile.File, *skillset.Reader, error) {
	f, err := openfile.Open(ctx, path)
	if err != nil {
		return nil, nil, fmt.Errorf("read set: %w", err)
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		f.Close()
		return nil, nil, fault.Errorf(fault.KindUsage, "read set: %s is a directory, not a set", path).
			WithHint("%s installs what is in a directory", fault.Install(path))
	}
	r, err := skillset.NewReader(f)
	if err != nil {
		f.Close()
		return nil, nil, notASet(err)
	}
	return f, r, nil
}

func notASet(err error) error {
	if errors.Is(err, skillset.ErrMalformed) || errors.Is(err, bundle.ErrDamaged) {
		return fault.Wrap(fault.KindVerification, err).WithHint("it is not an export of skills, or was damaged on its way: get it again")
	}
	return err
}

// maxNamed is how many packages are named in one message.
const maxNamed = 5

// acceptable refuses a set with packages that lack what could be accepted and is not, all
// of them at once, before any is installed.
func (m *importing) acceptable(ctx context.Context, s *Service, r *skillset.Reader) error {
	var words []string
	var flags []Flag
	for content, err := range r.All() {
		if err != nil {
			return notASet(err)
		}
		v, err := s.parts.Installer.Judge(ctx, m.plan.request(m.arrival(content).got, false))
		if err != nil {
			return err
		}
		if missing := v.Missing(m.Accepted...); len(missing) > 0 {
			words, flags = append(words, v.Refusal(m.Accepted...).Error()), append(flags, missing...)
		}
	}
	if len(words) == 0 {
		return nil
	}
	if more := len(words) - maxNamed; more > 0 {
		words = append(words[:maxNamed], "and "+text.Count(more, "more package"))
	}
	slices.Sort(flags)
	flags = slices.Compact(flags)
	hint := "if that is meant, add"
	for _, f := range flags {
		hint += " " + string(f)
	}
	if slices.Contains(flags, trust.AllowUnsigned) {
		hint = "what was installed from a directory has no signature in a set; " + hint
	}
	return fault.Errorf(fault.KindVerification, "nothing of %s is imported: %s", m.Set, strings.Join(words, "; ")).WithHint("%s", hint)
}

// arrival is a package of a set as one that was fetched. A set is believed in
// nothing: only what names the package by its digest counts.
func (m *importing) arrival(content skillset.Content) *Arrival {
	from := cmp.Or(content.Source, m.Set)
	return &Arrival{Name: content.File(), got: &source.Fetched{
		Package: content.Package, Kind: source.KindFile, Source: from, Location: from, Version: content.Version,
		Artifact: content.Digest, Signatures: content.Signatures,
	}}
}

// isThere reports whether all of a set is installed already, and active where it says so.
func (s *Service) isThere(ctx context.Context, set skillset.Set) bool {
	return !slices.ContainsFunc(set.Skills, func(e skillset.Entry) bool {
		has, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: e.Name, Version: e.Version})
		return err != nil || has.Digest != e.Digest || has.Active != e.Active
	})
}

// look plans each package as if the others were at hand, for who looks at it.
func (m *importing) look(ctx context.Context, s *Service, r *skillset.Reader) error {
	together := &Batch{s: s, looked: true}
	var entries []skillset.Content
	for content, err := range r.All() {
		if err != nil {
			return notASet(err)
		}
		a := m.arrival(content)
		a.batch = together
		together.named, entries = append(together.named, a), append(entries, content)
	}
	p := m.plan
	p.Waits = false
	for i, a := range together.named {
		one, err := m.planned(ctx, s, entries[i], a)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		p.Imports = append(p.Imports, one)
		if one.Change == nil {
			continue
		}
		p.Waits = p.Waits || one.Change.Waits
		for _, pkg := range one.Change.Packages {
			if pkg.Looked && !m.shown[pkg.Digest] {
				m.shown[pkg.Digest], p.Packages = true, append(p.Packages, pkg)
			}
		}
	}
	return nil
}

// planned is what would become of one package; what is wrong with it is in there, too.
func (m *importing) planned(ctx context.Context, s *Service, content skillset.Content, a *Arrival) (Imported, error) {
	if m.there {
		return s.importedBefore(ctx, content)
	}
	sub, err := m.sub(ctx, s, a, m.Look)
	one := imported(content, sub, Result{}, err)
	if err == nil {
		one.Wanted, err = s.wanted(ctx, content)
	}
	return one, err
}

// imported is what became of a package by its plan, which is nil when there is none.
func imported(content skillset.Content, sub *Plan, r Result, err error) Imported {
	ref := content.Name + "@" + content.Version
	return Imported{
		Installed: Installation(ref, sub, r, fault.AsError(err)), Wanted: []capability.Capability{},
		Name: content.Name, Version: content.Version, Change: sub, Result: r,
	}
}

// sub plans the installation of one package.
func (m *importing) sub(ctx context.Context, s *Service, a *Arrival, look Look) (*Plan, error) {
	since, err := s.parts.Installer.State(ctx)
	if err != nil {
		return nil, err
	}
	terms := m.Terms
	terms.Look = look
	p := &Plan{by: m.plan.by, since: since, commit: nothing}
	if err := (Install{Arrival: a, Terms: terms}).plan(ctx, s, p); err != nil {
		return nil, err
	}
	return p, nil
}

// commit installs one package after the other, in the order of the set. The error is the
// first that one of them met.
func (m *importing) commit(ctx context.Context, s *Service, by approval.Principal, c Consent) (Result, error) {
	var r Result
	if err := s.parts.Installer.Unmoved(ctx, m.since); err != nil {
		return r, err
	}
	f, in, err := openSet(ctx, m.Set)
	if err != nil {
		return r, err
	}
	defer f.Close()
	if !reflect.DeepEqual(in.Set(), m.set) {
		return r, fault.Errorf(fault.KindConflict, "%s %w", m.Set, ErrMoved).WithHint("%s", fault.PlanAgain())
	}
	var failed error
	for content, err := range in.All() {
		if err != nil {
			return r, notASet(err)
		}
		one, err := m.one(ctx, s, by, c, content)
		if ctx.Err() != nil || errors.Is(err, ErrMoved) {
			return r, cmp.Or(err, ctx.Err())
		}
		failed, r.Imports = cmp.Or(failed, err), append(r.Imports, one)
	}
	if person, ok := by.(approval.Human); ok {
		r.Settled, err = m.settle(ctx, s, person)
	}
	return r, cmp.Or(err, failed)
}

// one installs a package of a set. Where all of the set is there nothing is: to install
// what is not active would make it the active version for a while, which others of the set
// may not fit.
func (m *importing) one(ctx context.Context, s *Service, by approval.Principal, c Consent, content skillset.Content) (Imported, error) {
	if m.there {
		return s.importedBefore(ctx, content)
	}
	sub, err := m.sub(ctx, s, m.arrival(content), LookNever)
	if err != nil {
		return imported(content, nil, Result{}, err), err
	}
	r, err := s.Commit(ctx, by, sub, m.consent(c, sub))
	one := imported(content, sub, r, err)
	if err != nil || r.Skill == nil {
		return one, err
	}
	if person, ok := by.(approval.Human); ok && content.Needed {
		err = s.unasked(ctx, person, content.Name)
	}
	if err == nil {
		one.Wanted, err = s.wanted(ctx, content)
	}
	one.OK, one.Error = err == nil, fault.AsError(err)
	return one, err
}

// consent is what a person said to a package and what comes with it: who said yes to what
// was shown said nothing to what was not.
func (m *importing) consent(c Consent, sub *Plan) Consent {
	if c != Shown {
		return c
	}
	for i := range sub.Packages {
		if !m.shown[sub.Packages[i].Digest] {
			return NotAsked
		}
		sub.Packages[i].Looked = true
	}
	return Shown
}

// importedBefore says that a package of a set is there, and which grants are not.
func (s *Service) importedBefore(ctx context.Context, content skillset.Content) (Imported, error) {
	v, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: content.Name, Version: content.Version})
	if err != nil {
		return imported(content, nil, Result{}, err), err
	}
	one := imported(content, nil, Result{Outcome: Outcome{Skill: &v, Unchanged: true}}, nil)
	one.Wanted, err = s.wanted(ctx, content)
	return one, err
}

// unasked notes that nobody asked for a skill of a set: others needed it.
func (s *Service) unasked(ctx context.Context, by approval.Human, skill string) error {
	since, err := s.parts.Installer.State(ctx)
	if err != nil {
		return err
	}
	v, err := s.parts.Registry.Lookup(ctx, manifests.Ref{Name: skill})
	if err != nil || v.Needed {
		return err
	}
	_, err = s.parts.Installer.AcceptGroup(ctx, by, install.Group{Kind: "import", Subject: v.Ref(), Asked: map[string]*registry.Asked{skill: nil}, Since: since})
	return err
}

// wanted are the grants of a set that do not hold here.
func (s *Service) wanted(ctx context.Context, content skillset.Content) ([]capability.Capability, error) {
	gs, err := s.parts.Approvals.Grants(ctx, content.Digest)
	if err != nil {
		return nil, err
	}
	var have []capability.Capability
	for _, g := range lasting(gs) {
		have = append(have, g.Capability)
	}
	set, all := capability.NewSet(have...), []capability.Capability{}
	for _, g := range content.Grants {
		if !set.Covers(g.Capability) {
			all = append(all, g.Capability)
		}
	}
	return all, nil
}

// settle has what was imported stand as it did where the set comes from, when all of it is
// there: what one package needs may have made another version of the next the active one.
func (m *importing) settle(ctx context.Context, s *Service, by approval.Human) ([]string, error) {
	var all []install.VersionState
	for _, e := range m.set.Skills {
		w := install.VersionState{
			Skill: e.Name, Version: e.Version, Digest: e.Digest, Active: e.Active, Avoided: e.Avoided, Pinned: e.Pinned, PinReason: e.Reason,
		}
		if e.Stopped != nil {
			w.Stopped = &registry.Stop{All: e.Stopped.All, Reason: e.Stopped.Reason}
		}
		all = append(all, w)
	}
	return s.parts.Installer.RestoreStates(ctx, by, m.Set, all)
}
