package work

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
)

// TaskCount counts tasks. Those that are neither completed, failed nor cancelled go on or wait.
type TaskCount struct {
	Tasks     int `json:"tasks"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	// InputTokens, OutputTokens and MicroUSD are what models took for them.
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	MicroUSD     int64 `json:"micro_usd"`
}

func (c *TaskCount) add(r task.Run) {
	c.Tasks++
	switch r.State {
	case task.Completed:
		c.Completed++
	case task.Failed:
		c.Failed++
	case task.Cancelled:
		c.Cancelled++
	}
	c.InputTokens += r.Telemetry.InputTokens
	c.OutputTokens += r.Telemetry.OutputTokens
	c.MicroUSD += r.Telemetry.MicroUSD
}

// TasksOf are the tasks of one agent, of one day of UTC, or for which one model was asked,
// PROVIDER/MODEL.
type TasksOf struct {
	Name string `json:"name"`
	TaskCount
}

// TaskStats are figures of the tasks that were taken in. Agents and Days each add up to Total;
// a task counts for each of its models.
type TaskStats struct {
	Total  TaskCount `json:"total"`
	Agents []TasksOf `json:"agents" nullable:"false"`
	Days   []TasksOf `json:"days" nullable:"false"`
	Models []TasksOf `json:"models" nullable:"false"`
}

// noAgent is the name under which tasks are counted that no agent was chosen for so far.
const noAgent = "none"

// Tasks counts the tasks that were taken in since a time; the zero time means all.
func (u *Usage) Tasks(ctx context.Context, by approval.Principal, since time.Time) (TaskStats, error) {
	s := TaskStats{}
	if err := notAgent(by); err != nil {
		return s, err
	}
	o, err := u.s.open(ctx)
	if err != nil {
		return s, err
	}
	all, err := o.List(ctx, orchestrator.Filter{})
	agents, days, models := map[string]*TaskCount{}, map[string]*TaskCount{}, map[string]*TaskCount{}
	for _, r := range all {
		if r.CreatedAt.Before(since) {
			continue
		}
		s.Total.add(r)
		count(agents, cmp.Or(r.Agent, noAgent)).add(r)
		count(days, r.CreatedAt.UTC().Format(time.DateOnly)).add(r)
		for _, m := range r.Telemetry.Models {
			count(models, m).add(r)
		}
	}
	s.Agents, s.Days, s.Models = named(agents), named(days), named(models)
	return s, err
}

func count(all map[string]*TaskCount, name string) *TaskCount {
	if all[name] == nil {
		all[name] = &TaskCount{}
	}
	return all[name]
}

// named are counts by name.
func named(all map[string]*TaskCount) []TasksOf {
	list := []TasksOf{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, TasksOf{name, *all[name]})
	}
	return list
}
