package orchestrator

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/internal/histogram"
)

// Metrics are what a process counted of the tasks of one agent that ended.
type Metrics struct {
	// Agent is its name; [OtherAgents] for those beyond the first hundred.
	Agent string `json:"agent"`
	// States counts tasks by how they ended, ToolCalls the calls made in them.
	States    map[task.State]uint64 `json:"states"`
	ToolCalls uint64                `json:"tool_calls"`
	// Seconds is how long tasks were worked on, and Thoughts how often models were asked in each.
	Seconds  histogram.Histogram `json:"seconds"`
	Thoughts histogram.Histogram `json:"thoughts"`
}

// OtherAgents is the name in [Metrics] that stands for many.
const OtherAgents = "(other)"

const maxAgents = 100

// Metrics returns what was counted so far, by the names of agents.
func (o *Orchestrator) Metrics() []Metrics {
	o.meter.mu.Lock()
	defer o.meter.mu.Unlock()
	all := []Metrics{}
	for _, name := range slices.Sorted(maps.Keys(o.meter.agents)) {
		m := *o.meter.agents[name]
		m.States, m.Seconds, m.Thoughts = maps.Clone(m.States), m.Seconds.Clone(), m.Thoughts.Clone()
		all = append(all, m)
	}
	return all
}

// A meter counts tasks. The zero value is ready.
type meter struct {
	mu     sync.Mutex
	agents map[string]*Metrics
}

// count counts a task that has ended.
func (m *meter) count(r task.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := cmp.Or(r.Agent, "none")
	if m.agents[name] == nil && len(m.agents) >= maxAgents {
		name = OtherAgents
	}
	if m.agents == nil {
		m.agents = map[string]*Metrics{}
	}
	a := m.agents[name]
	if a == nil {
		a = &Metrics{Agent: name, States: map[task.State]uint64{}, Seconds: histogram.New(-2, 4), Thoughts: histogram.New(0, 2)}
		m.agents[name] = a
	}
	a.States[r.State]++
	a.ToolCalls += uint64(r.Telemetry.ToolCalls)
	a.Seconds.Add(r.Telemetry.ActiveMS / 1000)
	a.Thoughts.Add(float64(r.Telemetry.ModelCalls))
}
