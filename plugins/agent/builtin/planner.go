package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/schema"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// maxProblems is how many problems of an answer a model is told.
const maxProblems = 12

// makePlan asks for a plan, and once more with what is wrong with it. A plan that
// is still wrong is given up for one step that decides on the way.
func makePlan(ctx context.Context, w *work) (agent.Plan, error) {
	q := planRequest{}
	for {
		r, err := w.askPlan(ctx, q)
		if errors.Is(err, context.Canceled) {
			return agent.Plan{}, fmt.Errorf("plan task %s: %w", w.task.ID, err)
		}
		again := w.thoughts < w.limit
		if err != nil && again && !q.inWords && refusedAsInvalid(err) {
			q.inWords = true
			continue
		}
		if err != nil {
			return w.fallback("no plan could be had: " + err.Error()), nil
		}
		p, problems := readPlan(r.Text, w.task)
		if len(problems) == 0 {
			return p, nil
		}
		if q.note != "" || !again {
			return w.fallback("no plan that can be followed could be had: " + strings.Join(problems, "; ")), nil
		}
		q = planRequest{len(r.Calls) > 0, repairNote("A plan for this was sent back", problems, "the plan", r.Text)}
	}
}

// planRequest is how a plan is asked for.
type planRequest struct {
	// inWords describes the tools among the instructions instead of offering them.
	// Some models cannot be offered tools and a schema at once, and some call the
	// tools that they are to plan with.
	inWords bool
	note    string
}

// refusedAsInvalid reports whether a provider cannot be asked like that.
func refusedAsInvalid(err error) bool {
	var e *provider.Error
	return errors.As(err, &e) && e.Class == provider.ClassInvalid
}

func (w *work) askPlan(ctx context.Context, q planRequest) (provider.Response, error) {
	r := provider.Request{Messages: w.opening(shownPlain), Tools: w.task.Tools, Schema: schema.Plan()}
	notes := []string{"Agents a step may name:\n" + w.agents()}
	if q.inWords && len(r.Tools) > 0 {
		notes, r.Tools = append(notes, "Tools a step may name, each with the JSON Schema of its input:\n"+described(r.Tools)), nil
	}
	if q.note != "" {
		notes = append(notes, q.note)
	}
	r.System = w.system(notes...)
	return w.think(ctx, "plan", r)
}

func described(tools []provider.Tool) string {
	lines := make([]string, len(tools))
	for i, t := range tools {
		lines[i] = "- " + t.Name + ": " + brief(t.Description) + " " + compact(t.InputSchema)
	}
	return strings.Join(lines, "\n")
}

// repairNote tells a model what was wrong with an answer of its own.
func repairNote(what string, problems []string, name, text string) string {
	if len(problems) > maxProblems {
		problems = append(slices.Clone(problems[:maxProblems]), fmt.Sprintf("and %d more", len(problems)-maxProblems))
	}
	return what + ". What is wrong with it:\n- " + strings.Join(problems, "\n- ") +
		"\nWrite it again, whole and right. This was it:\n" + provider.MarkData(name, clip(text))
}

func (w *work) agents() string {
	if len(w.task.Agents) == 0 {
		return "- " + w.task.Agent + ": decides on the way"
	}
	lines := make([]string, len(w.task.Agents))
	for i, a := range w.task.Agents {
		lines[i] = "- " + a.Name + ": " + brief(a.Description)
	}
	return strings.Join(lines, "\n")
}

// fallback is the plan of one step, by the agent that fits any goal.
func (w *work) fallback(reason string) agent.Plan {
	name := w.task.Agent
	if i := slices.IndexFunc(w.task.Agents, func(a agent.Info) bool { return a.Name == General }); i >= 0 {
		name = General
	}
	p := w.oneStep(name)
	p.Reason = brief(reason)
	return p
}

// readPlan reads the answer of a model. Problems are what is wrong with it; the
// plan can be followed when there are none.
func readPlan(text string, t agent.Task) (agent.Plan, []string) {
	var p agent.Plan
	object, err := findObject(text)
	if err == nil {
		err = json.Unmarshal(object, &p)
	}
	if err != nil {
		return agent.Plan{}, []string{"it is not the JSON that was asked for: " + brief(err.Error())}
	}
	for i := range p.Steps {
		p.Steps[i] = mended(p.Steps[i])
	}
	problems := p.Problems(t)
	if len(problems) == 0 {
		problems = misfits(p, t)
	}
	return p, problems
}

// mended is a step without what needs nobody's thoughts to put right: an empty input
// of an agent, and answers that are used and not waited for.
func mended(s agent.Step) agent.Step {
	if s.Agent != "" && s.Tool == "" {
		s.Input = nil
	}
	for _, id := range s.References() {
		if !slices.Contains(s.After, id) {
			s.After = append(s.After, id)
		}
	}
	return s
}

// misfits says which inputs do not fit the schemas of their tools. What stands for
// the answer of another step is not known yet, so of an input with such only the
// names of its members are looked at.
func misfits(p agent.Plan, t agent.Task) (problems []string) {
	for _, s := range p.Steps {
		i := slices.IndexFunc(t.Tools, func(tool provider.Tool) bool { return tool.Name == s.Tool })
		if i < 0 {
			continue
		}
		check := wholeInput
		if len(s.References()) > 0 {
			check = namesOfInput
		}
		if err := check(t.Tools[i].InputSchema, s.Input); err != nil {
			problems = append(problems, fmt.Sprintf("step %s: its input does not fit %s: %s", s.ID, s.Tool, brief(err.Error())))
		}
	}
	return problems
}

func wholeInput(schema, input json.RawMessage) error {
	s, err := manifests.CompileSchema(schema)
	if err != nil {
		return nil // the fault of the tool, which says so itself when it is called
	}
	return s.Check(input)
}

func namesOfInput(schema, input json.RawMessage) error {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil || json.Unmarshal(input, &fields) != nil {
		return nil
	}
	for _, name := range s.Required {
		if _, ok := fields[name]; !ok {
			return fmt.Errorf("%s is missing", name)
		}
	}
	if string(s.Additional) != "false" {
		return nil
	}
	for _, name := range sortedKeys(fields) {
		if _, ok := s.Properties[name]; !ok {
			return fmt.Errorf("%s not found", name)
		}
	}
	return nil
}
