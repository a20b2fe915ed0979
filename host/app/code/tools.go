package code

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/host/agents/memory/text"
	"github.com/skillet-run/skillet/host/agents/memory/vector"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// A Tool is a tool that scripts may call.
type Tool struct {
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// Call is how a script names it, such as tools.csv.stats.
	Call        string `json:"call"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"read_only,omitempty"`
	Idempotent  bool   `json:"idempotent,omitempty"`
	// Types are its input and output as the language of the search writes them.
	Types string `json:"types,omitempty"`

	of manifests.Tool
}

// A catalog is what is installed, in one epoch.
type catalog struct {
	at      uint64
	tools   []Tool // by name
	words   *text.Index
	vectors *vector.Index
}

// toolsOf are the tools of a skill that scripts may call: not those for the host alone.
func toolsOf(m *manifests.Manifest) []manifests.Tool {
	var all []manifests.Tool
	kv := m.Security.Permissions.KV
	for _, t := range m.Tools {
		_, script := m.Script(t.Name)
		if (m.Type.IsCode() || script) && (kv == nil || kv.Migrate != t.Name) {
			all = append(all, t)
		}
	}
	return all
}

func namesOf(m *manifests.Manifest) []string {
	var names []string
	for _, t := range toolsOf(m) {
		names = append(names, t.Name)
	}
	return names
}

// catalog is what is installed and runs now.
func (s *Service) catalog(ctx context.Context) (*catalog, error) {
	at := s.parts.Decided()
	if c := s.found.Load(); c != nil && c.at == at {
		return c, nil
	}
	if err := s.parts.CatchUp(ctx); err != nil {
		return nil, err
	}
	c := &catalog{at: at, words: text.New(text.Settings{Stop: text.English()})}
	var err error
	if c.vectors, err = vector.New(vector.Settings{Dimensions: hashing.DefaultDimensions}); err != nil {
		return nil, err
	}
	all, err := s.parts.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, skill := range all {
		if !skill.Active || skill.CheckEnabled() != nil {
			continue
		}
		m, err := s.parts.Registry.Manifest(ctx, skill.Digest)
		if err != nil {
			return nil, err
		}
		if err := c.add(ctx, m); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(c.tools, func(a, b Tool) int { return strings.Compare(a.Call, b.Call) })
	s.found.Store(c)
	return c, nil
}

func (c *catalog) add(ctx context.Context, m *manifests.Manifest) error {
	for _, t := range toolsOf(m) {
		one := Tool{
			Skill: m.Name, Tool: t.Name, Call: callOf(m.Name, t.Name), Description: cmp.Or(t.Description, m.Description),
			ReadOnly: t.ReadOnly, Idempotent: t.Idempotent || t.ReadOnly, of: t,
		}
		c.tools = append(c.tools, one)
		about := strings.Join([]string{m.Name, t.Name, t.Name, t.Description, m.Description, strings.Join(m.Metadata.Tags, " "), wordsIn(t)}, "\n")
		about = clip(about, text.MaxText/2)
		vs, err := hashing.New(0).Embed(ctx, []string{about})
		if err == nil {
			err = c.vectors.Put(one.Call, vs[0])
		}
		if err == nil {
			err = c.words.Put(one.Call, about)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// callOf is how a script names a tool.
func callOf(skill, tool string) string {
	name := strings.ReplaceAll(skill, "-", "_")
	if !isName(name) {
		return fmt.Sprintf("tools[%q].%s", skill, tool)
	}
	return "tools." + name + "." + tool
}

func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) && (s[0] < '0' || s[0] > '9')
}

// A Search asks for tools.
type Search struct {
	// Query says what they are for; empty for all, by name.
	Query string
	// Language is that in which types are written; empty for the first of [Languages].
	Language string
	// Limit is how many there are at most; 0 for 5, at most 50.
	Limit int
	// Names leaves descriptions and types out.
	Names bool
	// May refuses a tool that the caller may not call. Nil refuses all.
	May func(skill, tool string) error
}

// Found are tools that were found, the best first.
type Found struct {
	Tools []Tool `json:"tools" nullable:"false"`
	// More says how many tools there are beside, which the caller may call too.
	More int `json:"more,omitempty"`
}

// Tools searches the tools that the caller may call: by words, and by likeness of letters.
func (s *Service) Tools(ctx context.Context, by approval.Principal, q Search) (Found, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Found{}, err
	}
	l, ok := languageOf(q.Language)
	if !ok {
		return Found{}, fault.Errorf(fault.KindUsage, "the language %q is not known", q.Language).WithHint("it is %s", orWords(Languages()))
	}
	c, err := s.catalog(ctx)
	if err != nil {
		return Found{}, err
	}
	if q.Limit <= 0 {
		q.Limit = 5
	}
	all, err := c.ranked(ctx, q)
	if err != nil {
		return Found{}, err
	}
	n := min(len(all), q.Limit, 50)
	f := Found{Tools: slices.Clone(all[:n]), More: len(all) - n}
	for i := range f.Tools {
		t := &f.Tools[i]
		if q.Names {
			t.Description = ""
			continue
		}
		t.Description, t.Types = clip(t.Description, 500), typesOf(l.name, *t)
	}
	return f, nil
}

// rankConstant is that of reciprocal rank fusion.
const rankConstant = 60

// ranked are the tools that may be called, the best for the query first. Ranks of both
// searches are joined.
func (c *catalog) ranked(ctx context.Context, q Search) ([]Tool, error) {
	may := map[string]Tool{}
	var all []Tool
	for _, t := range c.tools {
		if q.May != nil && q.May(t.Skill, t.Tool) == nil {
			may[t.Call] = t
			all = append(all, t)
		}
	}
	query := clip(strings.TrimSpace(q.Query), 1000)
	if query == "" || len(all) == 0 {
		return all, nil
	}
	keep := func(id string) bool { _, ok := may[id]; return ok }
	score := map[string]float64{}
	for i, h := range c.words.Search(text.Subject(query), 50, keep) {
		score[h.ID] += 1 / float64(rankConstant+i)
	}
	vs, err := hashing.New(0).Embed(ctx, []string{query})
	if err != nil {
		return nil, err
	}
	near, err := c.vectors.Search(vs[0], 50, keep)
	if err != nil {
		return nil, err
	}
	for i, h := range near {
		if h.Score > 0 {
			score[h.ID] += 1 / float64(rankConstant+i)
		}
	}
	all = slices.DeleteFunc(all, func(t Tool) bool { return score[t.Call] == 0 })
	slices.SortStableFunc(all, func(a, b Tool) int { return cmp.Compare(score[b.Call], score[a.Call]) })
	return all, nil
}

// An Offer is what edges tell of scripts.
type Offer struct {
	// Languages are those that an installed interpreter runs now; none when scripts are not run
	// here.
	Languages []string
	// Plain are the interpreters of them whose own tool, [EvalTool], does nothing that a script
	// does not: nothing was granted to them.
	Plain []string
	// ToolsBudget is that of [Settings].
	ToolsBudget int
}

// Offer says what there is now.
func (s *Service) Offer(ctx context.Context, by approval.Principal) (Offer, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Offer{}, err
	}
	o := Offer{ToolsBudget: s.set.ToolsBudget}
	if !s.set.Enabled {
		return o, nil
	}
	return o, s.offered(ctx, &o)
}
