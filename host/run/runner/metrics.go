package runner

import (
	"maps"
	"slices"
	"sync"

	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/internal/histogram"
)

// Metrics are what a process counted of its calls. It is a copy: nothing changes
// it any more.
type Metrics struct {
	// Skills are in order of their names.
	Skills []SkillMetrics `json:"skills"`
}

// SkillMetrics are those of one skill, all its versions together.
type SkillMetrics struct {
	// Skill is its name; [UninstalledSkills] for all that were run from paths,
	// and [OtherSkills] for those beyond the first [MaxSkills].
	Skill string `json:"skill"`
	// Outcomes counts calls: "ok", or the kind of the error.
	Outcomes map[string]uint64 `json:"outcomes"`
	// Reasons counts failed calls by their reason, as in [Verdict].
	Reasons map[string]uint64 `json:"reasons"`
	// Denials is how much was refused to it, Cached are answers that were given again, Retries the attempts after the
	// first, Fallbacks the calls that a fallback command answered, and Pooled the
	// calls that found an instance ready.
	Denials   uint64 `json:"denials"`
	Cached    uint64 `json:"cached"`
	Retries   uint64 `json:"retries"`
	Fallbacks uint64 `json:"fallbacks"`
	Pooled    uint64 `json:"pooled"`
	// Seconds is the wall time of calls and Fuel what they used.
	Seconds Histogram `json:"seconds"`
	Fuel    Histogram `json:"fuel"`
}

// A Histogram counts values by size.
type Histogram = histogram.Histogram

// Names of skills in [Metrics] that stand for many.
const (
	UninstalledSkills = "(path)"
	OtherSkills       = "(other)"
	// MaxSkills is how many skills are counted each by themselves.
	MaxSkills = 1000
)

// Metrics returns what was counted so far.
func (r *Runner) Metrics() Metrics { return r.meter.snapshot() }

// A meter counts calls. The zero value is ready.
type meter struct {
	mu     sync.Mutex
	skills map[string]*SkillMetrics
}

// count counts a call that is over. What ran for another run counts like any
// other.
func (m *meter) count(a *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, res := m.skill(a), a.result
	outcome := "ok"
	if !res.OK {
		outcome = string(res.Error.Kind)
		s.Reasons[a.reason]++
	}
	s.Outcomes[outcome]++
	for _, d := range res.Denials {
		s.Denials += uint64(max(d.Count, 1))
	}
	s.Cached += one(res.Cached)
	s.Fallbacks += one(res.OK && res.Fallback != nil)
	s.Pooled += one(res.Figures.Pooled)
	s.Retries += uint64(max(len(a.tries)-1, 0))
	s.Seconds.Add(res.DurationMS / 1000)
	if res.Figures.Attempts > 0 {
		s.Fuel.Add(float64(res.Fuel))
	}
}

func one(yes bool) uint64 {
	if yes {
		return 1
	}
	return 0
}

func (m *meter) skill(a *run) *SkillMetrics {
	name := a.manifest.Name
	if a.call.Target.Origin == registry.OriginPath {
		name = UninstalledSkills
	}
	if m.skills[name] == nil && len(m.skills) >= MaxSkills {
		name = OtherSkills
	}
	if m.skills == nil {
		m.skills = map[string]*SkillMetrics{}
	}
	if m.skills[name] == nil {
		m.skills[name] = &SkillMetrics{
			Skill: name, Outcomes: map[string]uint64{}, Reasons: map[string]uint64{},
			Seconds: histogram.New(-6, 2), Fuel: histogram.New(3, 12),
		}
	}
	return m.skills[name]
}

func (m *meter) snapshot() Metrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := Metrics{Skills: []SkillMetrics{}}
	for _, name := range slices.Sorted(maps.Keys(m.skills)) {
		s := *m.skills[name]
		s.Outcomes, s.Reasons = maps.Clone(s.Outcomes), maps.Clone(s.Reasons)
		s.Seconds, s.Fuel = s.Seconds.Clone(), s.Fuel.Clone()
		all.Skills = append(all.Skills, s)
	}
	return all
}
