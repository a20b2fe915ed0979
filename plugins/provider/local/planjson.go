package local

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	cut "github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// isPlan says whether a schema is that of a plan.
func isPlan(schema json.RawMessage) bool {
	var s struct {
		ID string `json:"$id"`
	}
	return json.Unmarshal(schema, &s) == nil && strings.HasSuffix(s.ID, "/plan.schema.json")
}

// json is the plan as an agent reads it. A clause that no tool fits is a step for an
// agent, if there are any.
func (p *planner) json(goal string, agents []string) (string, error) {
	out := agent.Plan{Risk: "low", Reason: made}
	for i := range p.steps {
		s, err := p.planStep(i)
		if err != nil {
			return "", refuse(provider.ClassInternal, "write the plan: %v", err)
		}
		if s.Approval {
			out.Risk, out.Reason = "medium", "It changes files. "+made
		}
		out.Steps = append(out.Steps, s)
	}
	if len(agents) > 0 {
		out.Steps = append(out.Steps, p.forAgent(goal, agents)...)
	}
	if len(out.Steps) == 0 {
		return "", refuse(provider.ClassRefused, "the words of no tool fit the goal %q, and no agent can take it", brief(goal))
	}
	b, err := json.Marshal(out)
	if err != nil {
		return "", refuse(provider.ClassInternal, "write the plan: %v", err)
	}
	return string(b), nil
}

func stepID(i int) string { return fmt.Sprintf("s%d", i+1) }

// restID is the step for the n-th clause that no tool fits, from 1.
func restID(n int) string { return fmt.Sprintf("rest%d", n) }

// planStep is a step with references in place of what is not known yet.
func (p *planner) planStep(i int) (agent.Step, error) {
	s := p.steps[i]
	out := agent.Step{ID: stepID(i), Title: p.title(i), Tool: s.tool.Name, Approval: s.tool.writes}
	known := step{tool: s.tool}
	for _, f := range s.fields {
		f.value = json.RawMessage(strings.ReplaceAll(string(f.value), "${", "$${"))
		known.fields = append(known.fields, f)
	}
	var err error
	out.Input, err = known.input(func(r *ref) (json.RawMessage, error) {
		if id := stepID(r.step); !slices.Contains(out.After, id) {
			out.After = append(out.After, id)
		}
		if r.field == "" {
			return json.Marshal("${steps." + stepID(r.step) + ".text}")
		}
		return json.Marshal("${steps." + stepID(r.step) + ".json." + r.field + "}")
	})
	return out, err
}

// title says what a step does: the words of the clause that it is for, or what it
// reads for one.
func (p *planner) title(i int) string {
	s := p.steps[i]
	if o := p.done[s.clause]; slices.Contains(o.made, i) {
		return cut.Head(brief(o.clause.text()), 180)
	}
	for _, f := range s.fields {
		var name string
		if f.ref == nil && json.Unmarshal(f.value, &name) == nil {
			return cut.Head(s.tool.Name+": "+brief(name), 180)
		}
	}
	return s.tool.Name
}

// forAgent are steps for what no tool fits: all of a goal, or the clauses that are
// left, one after the other behind everything else.
func (p *planner) forAgent(goal string, agents []string) []agent.Step {
	name := agents[0]
	if slices.Contains(agents, "general") {
		name = "general"
	}
	if len(p.steps) == 0 {
		return []agent.Step{{ID: "goal", Title: cut.Head(brief(goal), 180), Agent: name, Goal: goal}}
	}
	var after []string
	for i := range p.steps {
		after = append(after, stepID(i))
	}
	var all []agent.Step
	for _, o := range p.done {
		if len(o.made) == 0 && len(p.steps)+len(all) < maxSteps {
			id := restID(len(all) + 1)
			all = append(all, agent.Step{ID: id, Title: cut.Head(brief(o.clause.text()), 180), Agent: name, Goal: o.clause.text(), After: slices.Clone(after)})
			after = append(after, id)
		}
	}
	return all
}
