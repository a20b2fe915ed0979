package orchestrator

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/skillet-run/skillet/host/base/task"
)

// acting are the steps that may change something: calls of tools that do not only read,
// and agents that may make such calls.
func (w *work) acting(steps []task.Step) (map[string]bool, error) {
	acts := map[string]bool{}
	for _, s := range steps {
		if s.Always { // it only answers
			continue
		}
		name := ""
		if s.Tool == "" {
			name = cmp.Or(s.Agent, w.now().Agent)
		}
		d, err := w.definition(name)
		if err != nil {
			return nil, err
		}
		acts[s.ID] = w.stepRisk(s.Tool, d) != task.RiskLow
	}
	return acts, nil
}

// inTurn reports whether a step may begin as far as the order of a plan says: steps that
// may change something are done one after the other, and one that reads what another
// names waits for it.
func inTurn(steps []task.Step, s *task.Step, acts map[string]bool) bool {
	for _, b := range inOrder(steps) {
		if b.ID == s.ID {
			return true
		}
		if b.State.Final() || !acts[s.ID] && !acts[b.ID] {
			continue
		}
		if acts[s.ID] && acts[b.ID] || b.Tool != "" && s.Tool != "" && shareText(b, *s) {
			return false
		}
	}
	return true
}

// inOrder are steps in the order of the plan, each after those that it waits for.
func inOrder(steps []task.Step) []task.Step {
	var all []task.Step
	placed := map[string]bool{}
	for len(all) < len(steps) {
		i := slices.IndexFunc(steps, func(s task.Step) bool {
			return !placed[s.ID] && !slices.ContainsFunc(s.After, func(id string) bool {
				return !placed[id] && slices.ContainsFunc(steps, func(b task.Step) bool { return b.ID == id })
			})
		})
		if i < 0 { // they wait for each other, which no plan may have
			return all
		}
		placed[steps[i].ID] = true
		all = append(all, steps[i])
	}
	return all
}

// shareText reports whether the inputs of two calls have a text in common, such as the
// name of a file.
func shareText(a, b task.Step) bool {
	if len(a.Input) == 0 || bytes.Equal(a.Input, []byte("{}")) {
		return false
	}
	of, _ := texts(a.Input)
	in, _ := texts(b.Input)
	return slices.ContainsFunc(of, func(t string) bool { return t != "" && slices.Contains(in, t) })
}
