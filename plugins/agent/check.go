package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/plugins/provider"
)

// MaxSteps is the most steps of a plan.
const MaxSteps = 64

var (
	stepID    = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)
	reference = lazyregexp.New(`\$\{steps\.([^}]*)\}`)
)

// References are the steps whose answers are used in the input or the goal of a
// step, in the order of their first mention.
func (s Step) References() []string {
	var ids []string
	for _, m := range reference().FindAllStringSubmatch(string(s.Input)+s.Goal, -1) {
		id, _, _ := strings.Cut(m[1], ".") // the rest says what of the answer
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Problems says what is wrong with a plan for a task, each in a line that names
// the step; none means that it can be followed. It does not look whether inputs
// fit the schemas of their tools.
func (p Plan) Problems(t Task) []string {
	c := planCheck{plan: p, task: t, index: map[string]int{}}
	switch n := len(p.Steps); {
	case n == 0:
		return []string{"the plan has no steps"}
	case n > MaxSteps:
		return []string{fmt.Sprintf("the plan has %d steps, and may have %d", n, MaxSteps)}
	}
	if !slices.Contains([]string{"", "low", "medium", "high"}, p.Risk) {
		c.say("the risk is %q, and must be low, medium or high", p.Risk)
	}
	c.ids()
	for _, s := range p.Steps {
		c.step(s)
	}
	if len(c.problems) == 0 {
		c.order()
	}
	return c.problems
}

type planCheck struct {
	plan     Plan
	task     Task
	index    map[string]int
	problems []string
}

func (c *planCheck) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *planCheck) ids() {
	for i, s := range c.plan.Steps {
		if !stepID().MatchString(s.ID) {
			c.say("step %d: its id %q must be 1 to 64 letters, digits, _ or -", i+1, clip(s.ID))
		} else if _, twice := c.index[s.ID]; twice {
			c.say("step %d: the id %s is used twice", i+1, s.ID)
		} else {
			c.index[s.ID] = i
		}
	}
}

func (c *planCheck) step(s Step) {
	switch {
	case s.Tool != "" && (s.Agent != "" || s.Goal != ""):
		c.say("step %s: names a tool and an agent; one of them is meant", clip(s.ID))
	case s.Tool != "":
		c.tool(s)
	case s.Agent != "":
		c.agent(s)
	default:
		c.say("step %s: names neither a tool nor an agent", clip(s.ID))
	}
	for _, id := range s.After {
		if _, ok := c.index[id]; !ok || id == s.ID {
			c.say("step %s: waits for %q, which is not another step", clip(s.ID), clip(id))
		}
	}
}

func (c *planCheck) tool(s Step) {
	if !slices.ContainsFunc(c.task.Tools, func(t provider.Tool) bool { return t.Name == s.Tool }) {
		c.say("step %s: unknown tool %q", clip(s.ID), clip(s.Tool))
	}
	if !isObject(s.Input) {
		c.say("step %s: its input is not a JSON object", clip(s.ID))
	}
}

func (c *planCheck) agent(s Step) {
	known := s.Agent == c.task.Agent || slices.ContainsFunc(c.task.Agents, func(i Info) bool { return i.Name == s.Agent })
	if !known {
		c.say("step %s: unknown agent %q", clip(s.ID), clip(s.Agent))
	}
	if strings.TrimSpace(s.Goal) == "" {
		c.say("step %s: gives the agent no goal", clip(s.ID))
	}
	if len(s.Input) > 0 && !emptyJSON(s.Input) {
		c.say("step %s: has an input, which only tools have", clip(s.ID))
	}
}

// order finds steps that wait for each other, and references to steps that are not
// waited for.
func (c *planCheck) order() {
	const open, done = 1, 2
	state := make([]int, len(c.plan.Steps))
	before := make([]map[string]bool, len(c.plan.Steps))
	var visit func(i int) bool
	visit = func(i int) bool {
		if state[i] != 0 {
			return state[i] == done
		}
		state[i], before[i] = open, map[string]bool{}
		for _, id := range c.plan.Steps[i].After {
			if !visit(c.index[id]) {
				return false
			}
			before[i][id] = true
			for b := range before[c.index[id]] {
				before[i][b] = true
			}
		}
		state[i] = done
		return true
	}
	for i, s := range c.plan.Steps {
		if !visit(i) {
			c.say("step %s: waits for itself, over the steps it waits for", s.ID)
			return
		}
		for _, id := range s.References() {
			if !before[i][id] {
				c.say("step %s: uses what step %q answers, and does not wait for it", s.ID, clip(id))
			}
		}
	}
}

func emptyJSON(b json.RawMessage) bool {
	text := strings.Join(strings.Fields(string(b)), "")
	return text == "null" || text == "{}"
}

// clip shortens a foreign text for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 64 {
		return string(r[:64]) + "…"
	}
	return s
}
