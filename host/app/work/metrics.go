package work

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/internal/histogram"
)

// What is counted in a process.
type (
	// SkillMetrics are of the calls of one skill, AgentMetrics of the tasks of one agent.
	SkillMetrics = runner.SkillMetrics
	AgentMetrics = orchestrator.Metrics
	// ModelMetrics are of the requests to one model, in one tier.
	ModelMetrics = llm.Use
	// A Histogram counts values by size.
	Histogram = histogram.Histogram
)

// Metrics are what this process counted since it began, and how things stand now. What
// other processes do with the home is not among them; [Usage.Figures] has that.
type Metrics struct {
	Skills []SkillMetrics `json:"skills"`
	Agents []AgentMetrics `json:"agents"`
	Models []ModelMetrics `json:"models"`
	// Providers says of each provider that was asked whether it answered the last time.
	Providers map[string]bool `json:"providers"`
	// Groups has how many records of calls were signed and acknowledged together.
	Groups Histogram  `json:"audit_groups"`
	Queue  QueueStats `json:"queue"`
}

// Metrics returns what was counted.
func (u *Usage) Metrics(ctx context.Context, by approval.Principal) (m Metrics, err error) {
	if m.Queue, err = u.Queue(ctx, by); err != nil {
		return Metrics{}, err
	}
	m.Skills, m.Groups = u.s.parts.Metrics().Skills, u.s.parts.Groups()
	m.Models, m.Providers = u.s.parts.Models.counted()
	slices.SortFunc(m.Models, func(a, b ModelMetrics) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Tier, b.Tier))
	})
	u.s.mu.Lock()
	o := u.s.orchestrator
	u.s.mu.Unlock()
	if o != nil {
		m.Agents = o.Metrics()
	}
	return m, nil
}

// ProviderNames are the names of the providers that were asked, sorted.
func (m Metrics) ProviderNames() []string { return slices.Sorted(maps.Keys(m.Providers)) }
