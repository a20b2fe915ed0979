package code

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/casetest"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Propose asks for a skill that is made of the run of a script.
type Propose struct {
	// Run is the id of the run, or [LastRun].
	Run string
	// Name, Version and Description are those of the skill. Where they are empty the name is
	// made of the script, the version is 1.0.0, and the description says what it calls.
	Name, Version, Description string
	// Choose is asked for the name and the description, with those that there would be; nil
	// takes those.
	Choose func(name, description string) (string, string, error)
	// Rationale is why, for whoever decides.
	Rationale string
	// Dry makes it, and proposes nothing.
	Dry bool
}

// A Made is a skill that was made of the run of a script.
type Made struct {
	RunID   string           `json:"run_id"`
	Skill   string           `json:"skill"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	// Calls are the tools that it calls, as SKILL@VERSION:TOOL.
	Calls []string `json:"calls" nullable:"false"`
	// Files are those of the package, by their paths, when nothing was proposed.
	Files []File `json:"files,omitempty" nullable:"false"`
	// Proposal is what waits for a person; empty when nothing was proposed.
	Proposal string `json:"proposal,omitempty"`
}

// A File is a file of a package.
type File struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// A Proposer proposes a package that was made of something, as of says, so that it waits for a
// person. With dry it only says whether that could be done. A proposal that waits comes with an
// error of [fault.KindApproval], as that of an installation does; none is returned where the
// package is installed already.
type Proposer interface {
	Propose(ctx context.Context, by approval.Principal, p *bundle.Package, of, rationale string, dry bool) (*approval.Proposal, error)
}

// Propose makes a skill of a script that ran, and proposes it: it waits for a person, and nothing
// of it can be called before. The skill gives the script the same functions and its input as data;
// what the run did is its first test case, which has to pass.
//
// Errors are of [fault.KindNotFound] when nothing is kept of the run, of [fault.KindConflict] when
// it did not end well, or what it called is another by now, and of [fault.KindVerification] when
// the skill does not do what the run did.
func (s *Service) Propose(ctx context.Context, by approval.Principal, req Propose) (Made, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Made{}, err
	}
	if req.Run == "" {
		return Made{}, fault.Errorf(fault.KindUsage, "the run of a script is needed")
	}
	if err := s.parts.CatchUp(ctx); err != nil {
		return Made{}, err
	}
	m, err := s.maker(ctx, by, req)
	if err != nil {
		return Made{}, err
	}
	p, files, err := m.pack()
	if err != nil {
		return Made{}, err
	}
	if err := s.passes(ctx, p); err != nil {
		return Made{}, err
	}
	out := Made{RunID: m.k.ID, Skill: m.name, Version: m.version, Digest: p.Digest(), Calls: m.calls()}
	if req.Dry {
		out.Files = fileList(files)
	}
	proposal, err := s.parts.Proposals.Propose(ctx, by, p, "code:"+m.k.ID, cmp.Or(req.Rationale, "made of the script that ran as "+m.k.ID), req.Dry)
	switch {
	case proposal != nil && (err == nil || fault.AsError(err).Kind == fault.KindApproval):
		out.Proposal = proposal.ID
	case err != nil:
		return out, err
	case !req.Dry:
		return out, fault.Errorf(fault.KindConflict, "%s@%s is installed already, with these bytes", m.name, m.version)
	}
	return out, nil
}

func fileList(files map[string][]byte) (all []File) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		all = append(all, File{path, string(files[path])})
	}
	return all
}

// maker looks whether a skill can be made of a run.
func (s *Service) maker(ctx context.Context, by approval.Principal, req Propose) (*maker, error) {
	k, t, err := s.ran(ctx, by, req.Run)
	if err != nil {
		return nil, err
	}
	m := &maker{k: k, t: t, called: map[manifests.Ref]manifests.Tool{}, name: req.Name, version: req.Version, description: req.Description}
	l, _ := languageOf(k.Language)
	if m.engine, m.interpreter, err = s.engine(ctx, l); err != nil {
		return nil, err
	}
	if m.interpreter.Package.Digest() != k.Digest {
		return nil, moved(k.ID, k.Engine, m.interpreter.Label)
	}
	for i, c := range t.Calls {
		if err := s.stands(ctx, by, m, i, c); err != nil {
			return nil, err
		}
	}
	m.usually()
	if req.Choose != nil {
		m.name, m.description, err = req.Choose(m.name, m.description)
	}
	return m, err
}

// stands refuses a call whose tool is not the one that was called.
func (s *Service) stands(ctx context.Context, by approval.Principal, m *maker, i int, c taped) error {
	if c.Version == "" {
		return fault.Errorf(fault.KindConflict, "call %d of the run reached no tool: %s", i+1, c.Told).WithHint("take it out of the script, and run it again")
	}
	t, err := s.parts.Invoke.Find(ctx, by, invoke.Address{Ref: manifests.Ref{Name: c.Skill}, Tool: c.Tool}, nil)
	if err != nil {
		return fmt.Errorf("the run called %s@%s:%s: %w", c.Skill, c.Version, c.Tool, err)
	}
	if t.Package().Digest() != c.Digest {
		return moved(m.k.ID, c.Skill+"@"+c.Version, t.Label())
	}
	m.called[manifests.Ref{Name: c.Skill, Tool: c.Tool}], _ = t.Describe()
	return nil
}

func moved(run, then, now string) error {
	return fault.Errorf(fault.KindConflict, "the run %s was with %s, and %s is another", run, then, now).WithHint("run the script again, and make the skill of that run")
}

// passes refuses a package that does not do what the run did.
func (s *Service) passes(ctx context.Context, p *bundle.Package) error {
	r, err := s.parts.Tester.Run(ctx, p, casetest.Options{})
	if err != nil || r.OK() {
		return err
	}
	why := ""
	for _, x := range r.Results {
		if x.Outcome == casetest.Failed {
			why = x.Detail
		}
	}
	for _, problem := range r.Problems {
		why = cmp.Or(why, problem)
	}
	return fault.Errorf(fault.KindVerification, "the skill does not do what the run did: %s", why).
		WithHint("a skill sees no time and draws other random numbers; hand what the script takes from those over as data")
}
