package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
)

// answerStep is the ID of the step that makes one answer of what the others came to.
const answerStep = "answer"

// plan makes the steps: one for the agent, or those of a plan.
func (w *work) plan() (task.Phase, error) {
	p, note, err := w.planned()
	if err != nil {
		return "", err
	}
	if p == nil {
		p = w.single(w.now().Agent)
	}
	steps, err := w.steps(*p, "")
	if err != nil {
		return "", err
	}
	risk, why := w.risk(*p, steps)
	err = w.update(func(r *task.Run) error {
		r.Steps, r.Stop, r.Risk, r.RiskReason = steps, p.Stop, risk, why
		r.Planned = len(steps) > 1 || steps[0].Agent == "" || w.wantsPlan(r)
		if note != "" {
			r.Notes = append(r.Notes, note)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	w.tell(event.TaskPlanned, fmt.Sprintf("%d steps, %s risk", len(steps), risk), event.Planned{Steps: steps, Risk: risk, Note: note})
	return task.PhaseAct, nil
}

// single is a plan of one step: the agent decides as it goes.
func (w *work) single(name string) *agent.Plan {
	return &agent.Plan{Steps: []agent.Step{{ID: "goal", Title: w.task.Title(), Agent: name}}}
}

// wantsPlan reports whether a plan is to be made first.
func (w *work) wantsPlan(r *task.Run) bool {
	switch w.task.Planning {
	case task.PlanAlways, task.PlanOnly:
		return true
	case task.PlanNever:
		return false
	}
	return r.Complexity != task.Simple && w.task.Type == task.TypeGoal && w.task.Agent == ""
}

// planned is the plan that an agent made; nil when none is to be made, or none could
// be. note says why.
func (w *work) planned() (p *agent.Plan, note string, err error) {
	r := w.now()
	if !w.wantsPlan(&r) {
		return nil, "", nil
	}
	name, err := w.planner(w.soft, r.Agent)
	if err != nil {
		return nil, "", err
	}
	made, problem := w.askPlan(name, "plan", w.task.Goal, nil, nil)
	if stop := cmp.Or(w.stopped(), hard(problem)); stop != nil {
		return nil, "", stop
	}
	if problem != nil {
		return nil, "no plan could be made, so the agent " + r.Agent + " decides as it goes: " + line(problem.Error()), nil
	}
	return made, "", nil
}

// hard is an error that nothing else can be tried after.
func hard(err error) error {
	if errors.Is(err, ErrDiverged) || errors.Is(err, errWaiting) {
		return err
	}
	return nil
}

// planner is the name of the agent that plans: one that the task names plans itself.
func (w *work) planner(ctx context.Context, routed string) (string, error) {
	if w.task.Agent != "" {
		return w.task.Agent, nil
	}
	defs, err := w.o.ports.Agents.Definitions(ctx)
	if err != nil {
		return "", fmt.Errorf("list the agents: %w", err)
	}
	if slices.ContainsFunc(defs, func(d Definition) bool { return d.Name == w.o.settings.Planner }) {
		return w.o.settings.Planner, nil
	}
	return routed, nil
}

// planTries is how often a plan is asked for.
const planTries = 2

// askPlan has an agent plan, in a scope of that name. A plan that cannot be followed
// is asked for once more, with what is wrong with it.
func (w *work) askPlan(name, scopeName, goal string, known []agent.Passage, constraints []string) (*agent.Plan, error) {
	var problem error
	for try := range planTries {
		at := scopeName
		if try > 0 {
			at = fmt.Sprintf("%s-%d", scopeName, try+1)
			constraints = append(slices.Clone(constraints), "The plan before this one cannot be followed: "+line(problem.Error()))
		}
		b := brief{agent: name, goal: goal, known: known, constraints: constraints, planning: true}
		var p agent.Plan
		err := w.withAgent(at, b, func(ctx context.Context, a agent.Agent, t agent.Task, h agent.Host) (err error) {
			if p, err = a.Plan(ctx, t, h); err == nil {
				p, err = w.checked(p, t)
			}
			return err
		})
		var unfit *planError
		if err == nil {
			return &p, nil
		}
		if problem = err; !errors.As(err, &unfit) {
			break
		}
	}
	return nil, problem
}

// maxPlan is how many bytes a plan may have as JSON: it is part of the run.
const maxPlan = 64 << 10

// planError says that a plan cannot be followed.
type planError struct{ problems []string }

func (e *planError) Error() string {
	return "the plan cannot be followed: " + strings.Join(e.problems, "; ")
}

// checked is a plan that can be followed: each step waits for those it refers to, and
// inputs without references fit.
func (w *work) checked(p agent.Plan, t agent.Task) (agent.Plan, error) {
	var problems []string
	if text, err := encode(p); err != nil || len(text) > maxPlan {
		return p, &planError{[]string{fmt.Sprintf("the plan has %d bytes, and may have %d: let agents find long texts", len(text), maxPlan)}}
	}
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		s := &p.Steps[i]
		refs, err := stepReferences(*s)
		if err != nil {
			problems = append(problems, "step "+cut(s.ID, 64)+": "+err.Error())
			continue
		}
		s.After = slices.Clone(s.After)
		for _, id := range refs {
			if !slices.Contains(s.After, id) {
				s.After = append(s.After, id)
			}
		}
		if tool := w.toolOf(s.Tool); tool != nil && len(refs) == 0 {
			if err := w.schemas.check(*tool, string(s.Input)); err != nil {
				problems = append(problems, fmt.Sprintf("step %s: the input of %s: %s", cut(s.ID, 64), s.Tool, line(err.Error())))
			}
		}
	}
	if problems = append(problems, p.Problems(t)...); len(problems) > 0 {
		return p, &planError{problems[:min(len(problems), 10)]}
	}
	return p, nil
}

// stepReferences are the steps that a step refers to.
func stepReferences(s agent.Step) ([]string, error) {
	all, err := texts(s.Input)
	if err != nil {
		return nil, err
	}
	return references(append(all, s.Goal)...)
}

// toolOf is the task's tool of a name; nil when it has none.
func (w *work) toolOf(name string) *Tool {
	i := slices.IndexFunc(w.tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &w.tools[i]
}

// steps are those of a plan, with a prefix before their IDs, and one that makes an
// answer of what they came to where the plan does not end in one agent.
func (w *work) steps(p agent.Plan, prefix string) ([]task.Step, error) {
	routed := w.now().Agent
	waitedFor := map[string]bool{}
	steps := make([]task.Step, 0, len(p.Steps)+1)
	for _, s := range p.Steps {
		name := s.Agent
		if name == w.o.settings.Planner && name != w.task.Agent { // who plans does not act
			name = routed
		}
		def, err := w.definition(cmp.Or(name, routed))
		if err != nil {
			return nil, err
		}
		step := task.Step{
			ID: prefix + s.ID, Title: line(s.Title), Tool: s.Tool, Input: prefixed(s.Input, prefix), Agent: name, Goal: s.Goal,
			Approval: s.Approval && w.askFrom() != task.RiskNever || name != "" && def.ApprovalRequired || w.needsPerson(s.Tool), State: task.StepPending,
		}
		for _, id := range s.After {
			step.After = append(step.After, prefix+id)
			waitedFor[prefix+id] = true
		}
		steps = append(steps, step)
	}
	var last []string
	for _, s := range steps {
		if !waitedFor[s.ID] {
			last = append(last, s.ID)
		}
	}
	if end := steps[len(steps)-1]; len(last) == 1 && last[0] == end.ID && end.Agent != "" {
		return steps, nil
	}
	return append(steps, w.answering(prefix, last, steps)), nil
}

// prefixed is an input whose references are to steps with a prefix.
func prefixed(input []byte, prefix string) []byte {
	if prefix == "" || len(input) == 0 {
		return input
	}
	return []byte(strings.ReplaceAll(string(input), opening, opening+prefix))
}

// answering is the step that makes one answer of what the others came to. It begins
// also when they failed.
func (w *work) answering(prefix string, after []string, steps []task.Step) task.Step {
	id := prefix + answerStep
	for slices.ContainsFunc(steps, func(s task.Step) bool { return s.ID == id }) {
		id += "_"
	}
	return task.Step{
		ID: id, Title: "answer", Agent: w.now().Agent, After: after,
		Always: true, State: task.StepPending,
	}
}

// needsPerson reports whether a person has to agree to the call of a step. Which tools
// an agent will call nobody knows before: its calls wait when it makes them.
func (w *work) needsPerson(tool string) bool {
	t := w.toolOf(tool)
	return t != nil && w.askFrom().Asks(t.risk())
}

// stepRisk is what a step can do: that of its tool, or of the worst tool that its
// agent may call.
func (w *work) stepRisk(tool string, d Definition) task.Risk {
	if t := w.toolOf(tool); t != nil {
		return t.risk()
	}
	worst := task.RiskLow
	for _, t := range w.tools {
		if d.allows(t) && t.risk().Above(worst) {
			worst = t.risk()
		}
	}
	return worst
}

// risk is that of a plan: the worst of its steps, or what the plan itself says if that
// is worse.
func (w *work) risk(p agent.Plan, steps []task.Step) (task.Risk, string) {
	worst, why := task.RiskLow, "it changes nothing"
	for _, s := range steps {
		if s.ID == answerStep {
			continue
		}
		d, err := w.definition(s.Agent)
		if err != nil {
			continue
		}
		if r := w.stepRisk(s.Tool, d); r.Above(worst) {
			worst = r
			why = fmt.Sprintf("%s in the step %s may change something", cmp.Or(s.Tool, "the agent "+s.Agent), s.ID)
		}
	}
	if task.Risk(p.Risk).Above(worst) {
		return task.Risk(p.Risk), line(p.Reason)
	}
	return worst, why
}

// definition is that of an agent; the zero value for no name.
func (w *work) definition(name string) (Definition, error) {
	if name == "" {
		return Definition{}, nil
	}
	defs, err := w.o.ports.Agents.Definitions(w.soft)
	if err != nil {
		return Definition{}, fmt.Errorf("list the agents: %w", err)
	}
	for _, d := range defs {
		if d.Name == name {
			return d, nil
		}
	}
	return Definition{}, fault.Errorf(fault.KindNotFound, "agent %s not found", name).WithHint("%s shows those there are", fault.List(fault.Agents))
}
