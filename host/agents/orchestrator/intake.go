package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
)

// intake finds the tools of the task and the agent that does it.
func (w *work) intake() (task.Phase, error) {
	listed, err := w.o.ports.Tools.List(w.soft, w.task)
	if err != nil {
		return "", fmt.Errorf("list the tools of the task: %w", err)
	}
	listed = slices.DeleteFunc(listed, func(t Tool) bool { return !permitted(w.task, t) })
	w.tools = withNames(listed)
	if err := w.checkTools(); err != nil {
		return "", err
	}
	defs, err := w.o.ports.Agents.Definitions(w.soft)
	if err != nil {
		return "", fmt.Errorf("list the agents: %w", err)
	}
	name := route(w.task, defs, w.o.settings)
	if !slices.ContainsFunc(defs, func(d Definition) bool { return d.Name == name }) {
		return "", fault.Errorf(fault.KindNotFound, "agent %s not found", name).WithHint("%s shows those there are", fault.List(fault.Agents))
	}
	if text, err := encode(w.tools); err != nil || len(text) > store.MaxValue {
		return "", fault.Errorf(fault.KindLimit, "the descriptions of %d tools have %d bytes; at most %d can be kept", len(w.tools), len(text), store.MaxValue).
			WithHint("name the tools that the task needs")
	}
	if err := w.keepDoc("tools", w.tools); err != nil {
		return "", fmt.Errorf("keep the tools of the task: %w", err)
	}
	return task.PhaseRetrieve, w.update(func(r *task.Run) error { r.Agent = name; return nil })
}

// checkTools refuses a task that names a tool which is not there.
func (w *work) checkTools() error {
	for _, named := range w.task.Tools {
		skill, tool, one := strings.Cut(named, ":")
		if !slices.ContainsFunc(w.tools, func(t Tool) bool { return t.Skill == skill && (!one || t.Tool == tool) }) {
			return fault.Errorf(fault.KindNotFound, "tool %s not found", named).WithHint("%s shows the skills that are installed", fault.List(fault.Skills))
		}
	}
	return nil
}

// memoryQuery is a search among all memories.
func memoryQuery(text string, limit int) memory.Query {
	return memory.Query{Text: cut(text, memory.MaxText), Limit: limit}
}

// retrieve finds what is known about the goal: memories, by importance, and what was
// submitted with the task.
func (w *work) retrieve() (task.Phase, error) {
	var passages []agent.Passage
	if len(w.task.Inputs) > 0 {
		passages = append(passages, agent.Passage{Source: "inputs", Text: string(w.task.Inputs)})
	}
	for _, a := range w.task.Attachments {
		passages = append(passages, agent.Passage{Source: "file:" + a.Name, Text: a.Text})
	}
	ctx, done := context.WithTimeout(w.soft, recallTime)
	defer done()
	query := strings.Join(append([]string{w.task.Goal}, w.task.ContextHints...), "\n")
	remembered, err := w.recall(ctx, query, w.o.settings.Memories)
	if err != nil { // a task can be done without
		if w.soft.Err() != nil {
			return "", err
		}
		w.o.log.Warn("a task begins without memories", "task", w.task.ID, "err", err)
	}
	if err := w.keepDoc("context", append(passages, remembered...)); err != nil {
		return "", fmt.Errorf("keep what is known about the goal: %w", err)
	}
	return task.PhasePlan, nil
}

// recallTime bounds the search for memories.
const recallTime = 20 * time.Second
