package upkeep

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/capability"
)

// A Candidate is one word that a person may be about to type, and what it is.
type Candidate struct{ Word, About string }

// A Source is where candidates are found.
type Source string

// The sources.
const (
	SourceSkills    Source = "skills"    // names of skills, with their versions where there are several
	SourceTools     Source = "tools"     // tools of active skills, and behind one the names of its inputs
	SourceGrants    Source = "grants"    // what the skill that was typed was granted
	SourceProposals Source = "proposals" // ids of all proposals
	SourceWaiting   Source = "waiting"   // ids of those that wait for a decision
	SourceSessions  Source = "sessions"  // sessions, with their skill
	SourceSession   Source = "session"   // names of the sessions of the skill that was typed
	SourceOwners    Source = "owners"    // skills that have sessions
	SourceSecrets   Source = "secrets"
	SourcePolicies  Source = "policies"
	SourceTasks     Source = "tasks" // the newest
	SourceAgents    Source = "agents"
	SourceProviders Source = "providers"
	SourceMemories  Source = "memories" // the latest
	SourceTokens    Source = "tokens"
)

// sources is the table of what each source looks at.
var sources = map[Source]func(*Service, context.Context, CompletionRequest) ([]Candidate, error){
	SourceSkills:    (*Service).skillNames,
	SourceTools:     (*Service).tools,
	SourceGrants:    (*Service).grants,
	SourceProposals: proposals(false),
	SourceWaiting:   proposals(true),
	SourceSessions:  sessions(func(i session.Info) string { return i.Key().String() }),
	SourceSession:   (*Service).sessionNames,
	SourceOwners:    sessions(func(i session.Info) string { return i.Skill }),
	SourceSecrets:   (*Service).secretNames,
	SourcePolicies:  (*Service).policyIDs,
	SourceTasks:     named(func(p Parts) Names { return p.Tasks }),
	SourceAgents:    named(func(p Parts) Names { return p.Agents }),
	SourceProviders: named(func(p Parts) Names { return p.Providers }),
	SourceMemories:  (*Service).memoryIDs,
	SourceTokens:    (*Service).tokenNames,
}

// A CompletionRequest asks how a line goes on.
type CompletionRequest struct {
	Source Source
	// Words were typed before, after the name of the command. Last is what was typed of
	// the word.
	Words []string
	Last  string
}

// Complete returns the words of a source that may come next. Those that do not begin with
// what was typed may be among them. An unknown source has none.
func (s *Service) Complete(ctx context.Context, by approval.Principal, q CompletionRequest) ([]Candidate, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	look := sources[q.Source]
	if look == nil {
		return nil, nil
	}
	if err := s.CatchUp(ctx); err != nil {
		return nil, err
	}
	return look(s, ctx, q)
}

// first is the first word; empty when there is none.
func (q CompletionRequest) first() string {
	if len(q.Words) == 0 {
		return ""
	}
	return q.Words[0]
}

// Names says the names of things, each with what it is.
type Names func(ctx context.Context, say func(word, about string)) error

// named asks one of the parts.
func named(of func(Parts) Names) func(*Service, context.Context, CompletionRequest) ([]Candidate, error) {
	return func(s *Service, ctx context.Context, _ CompletionRequest) ([]Candidate, error) {
		var found []Candidate
		err := of(s.Parts)(ctx, func(word, about string) { found = append(found, Candidate{word, about}) })
		return found, err
	}
}

func (s *Service) skillNames(ctx context.Context, _ CompletionRequest) ([]Candidate, error) {
	skills, err := s.Registry.List(ctx)
	var found []Candidate
	for _, k := range skills {
		if k.Active {
			found = append(found, Candidate{k.Name, k.Description})
		}
		if several(skills, k.Name) {
			found = append(found, Candidate{k.Ref(), k.Description})
		}
	}
	return found, err
}

func several(skills []registry.Skill, name string) bool {
	n := 0
	for _, k := range skills {
		if k.Name == name {
			n++
		}
	}
	return n > 1
}

func (s *Service) tools(ctx context.Context, q CompletionRequest) ([]Candidate, error) {
	if q.first() != "" {
		return s.inputs(ctx, q)
	}
	skills, err := s.Registry.List(ctx)
	var found []Candidate
	for _, k := range skills {
		switch {
		case !k.Active:
		case len(k.Tools) == 1 && !strings.HasPrefix(q.Last, k.Name+":"):
			found = append(found, Candidate{k.Name, k.Description})
		default:
			about := s.aboutTools(ctx, q, k)
			for _, tool := range k.Tools {
				found = append(found, Candidate{k.Name + ":" + tool, cmp.Or(about[tool], k.Description)})
			}
		}
	}
	return found, err
}

// aboutTools are the descriptions of a skill's tools once its name is typed: they are
// in its package, and not all packages are read for one key.
func (s *Service) aboutTools(ctx context.Context, q CompletionRequest, k registry.Skill) map[string]string {
	about := map[string]string{}
	if !strings.HasPrefix(q.Last, k.Name) {
		return about
	}
	if p, err := s.Registry.Package(ctx, k.Digest); err == nil {
		for _, tool := range p.Manifest().Tools {
			about[tool.Name] = tool.Description
		}
	}
	return about
}

// skill is the installed skill that the first word names.
func (s *Service) skill(ctx context.Context, q CompletionRequest) (manifests.Ref, registry.Skill, error) {
	ref, err := manifests.ParseRef(q.first())
	if err != nil {
		return ref, registry.Skill{}, err
	}
	k, err := s.Registry.Lookup(ctx, ref)
	return ref, k, err
}

func (s *Service) inputs(ctx context.Context, q CompletionRequest) ([]Candidate, error) {
	ref, k, err := s.skill(ctx, q)
	if err != nil {
		return nil, err
	}
	p, err := s.Registry.Package(ctx, k.Digest)
	if err != nil {
		return nil, err
	}
	tool, ok := p.Manifest().DefaultTool()
	if ref.Tool != "" {
		tool, ok = p.Manifest().Tool(ref.Tool)
	}
	var found []Candidate
	for _, property := range tool.Properties() {
		if ok && !slices.ContainsFunc(q.Words, func(w string) bool { return strings.HasPrefix(w, property.Name+"=") }) {
			found = append(found, Candidate{property.Name + "=", property.Description})
		}
	}
	return found, nil
}

// A SettingsSource is where candidates are found in the settings of a home.
type SettingsSource func(*config.Config) []Candidate

// CompleteSettings returns the words of a source. The home need not be there, and is not
// made.
func CompleteSettings(ctx context.Context, home string, environ []string, from SettingsSource) ([]Candidate, error) {
	c, err := config.Load(ctx, home, config.Layers{Environ: environ})
	if err != nil {
		return nil, err
	}
	return from(c), nil
}

// SettingNames are the settings.
func SettingNames(c *config.Config) (found []Candidate) {
	for _, v := range c.List() {
		found = append(found, Candidate{v.Key, v.Doc})
	}
	return found
}

// RegistryNames are the registries that the settings name.
func RegistryNames(c *config.Config) (found []Candidate) {
	for _, r := range c.Settings().Registries {
		found = append(found, Candidate{r.Name, r.URL})
	}
	return found
}

// CapabilityStarts are how capabilities begin. It needs no home.
func CapabilityStarts() []Candidate {
	var starts []Candidate
	for _, k := range capability.Kinds() {
		start := string(k.Action)
		if k.Shape != capability.ShapeNone {
			start += ":"
		}
		starts = append(starts, Candidate{start, k.Help})
	}
	return starts
}

func (s *Service) grants(ctx context.Context, q CompletionRequest) ([]Candidate, error) {
	_, k, err := s.skill(ctx, q)
	if err != nil {
		return nil, err
	}
	grants, err := s.Approvals.Grants(ctx, k.Digest)
	var found []Candidate
	for _, g := range grants {
		found = append(found, Candidate{g.Capability.String(), g.Capability.Words()})
	}
	return found, err
}

// proposals are ids: of all proposals, or of those that wait.
func proposals(waiting bool) func(*Service, context.Context, CompletionRequest) ([]Candidate, error) {
	return func(s *Service, ctx context.Context, _ CompletionRequest) ([]Candidate, error) {
		all, err := s.Approvals.Proposals(ctx)
		var found []Candidate
		for _, p := range all {
			if !waiting || p.Status == approval.StatusPending {
				found = append(found, Candidate{p.ID, p.Title + ", proposed by " + p.ProposedBy})
			}
		}
		return found, err
	}
}

// sessions are words for sessions, each once.
func sessions(word func(session.Info) string) func(*Service, context.Context, CompletionRequest) ([]Candidate, error) {
	return func(s *Service, ctx context.Context, _ CompletionRequest) ([]Candidate, error) {
		all, err := s.Sessions.List(ctx)
		var found []Candidate
		for _, i := range all {
			about := "has sessions"
			if word(i) != i.Skill {
				about = aboutSession(i)
			}
			found = append(found, Candidate{word(i), about})
		}
		return slices.Compact(found), err
	}
}

// sessionNames are those of the skill that was typed, or of all.
func (s *Service) sessionNames(ctx context.Context, q CompletionRequest) ([]Candidate, error) {
	all, err := s.Sessions.List(ctx)
	var found []Candidate
	for _, i := range all {
		if q.first() == "" || strings.HasPrefix(q.first(), i.Skill) {
			found = append(found, Candidate{i.Name, "of " + i.Skill + ", " + aboutSession(i)})
		}
	}
	return slices.Compact(found), err
}

func aboutSession(i session.Info) string {
	calls := "calls"
	if i.Calls == 1 {
		calls = "call"
	}
	return fmt.Sprintf("%d %s, idle %s", i.Calls, calls, duration.OfSeconds(i.IdleSeconds).Round(time.Second))
}

func (s *Service) secretNames(ctx context.Context, _ CompletionRequest) ([]Candidate, error) {
	infos, err := s.Secrets.List(ctx)
	var found []Candidate
	for _, i := range infos {
		found = append(found, Candidate{i.Name, "changed " + text.When(i.UpdatedAt)})
	}
	return found, err
}

func (s *Service) policyIDs(context.Context, CompletionRequest) ([]Candidate, error) {
	var found []Candidate
	for _, p := range s.Policies.List() {
		found = append(found, Candidate{p.ID, p.Reason})
	}
	return found, nil
}

// memoryIDs are those of what is remembered, the latest.
func (s *Service) memoryIDs(ctx context.Context, _ CompletionRequest) ([]Candidate, error) {
	m, err := s.Memory(ctx)
	if err != nil {
		return nil, err
	}
	all, err := m.List(ctx, memory.Filter{}, mostNames)
	var found []Candidate
	for _, r := range all {
		found = append(found, Candidate{r.ID[:8], memory.Shown(r.Text)})
	}
	return found, err
}

// mostNames is how many memories are candidates.
const mostNames = 50

func (s *Service) tokenNames(ctx context.Context, _ CompletionRequest) ([]Candidate, error) {
	all, err := s.Tokens.List(ctx)
	var found []Candidate
	for _, t := range all {
		found = append(found, Candidate{Word: t.Name, About: string(t.Role)})
	}
	return found, err
}
