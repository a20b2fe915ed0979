package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/store/badgerstore"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
)

// instant answers at once.
type instant struct{ killPorts }

func (instant) Call(_ context.Context, c task.ToolCall, _ *budget.Lease, begins func() error) task.Result {
	if err := begins(); err != nil {
		return failing(fault.KindInternal, err.Error())
	}
	return ok(string(c.Args))
}

func (instant) Generate(context.Context, llm.Ask) (llm.Answer, error) { return said("ok"), nil }

func (instant) Agent(context.Context, string) (agent.Agent, error) {
	return script{plan: func(context.Context, agent.Task, agent.Host) (agent.Plan, error) {
		var p agent.Plan
		for i := range 10 {
			s := agent.Step{ID: fmt.Sprintf("s%d", i), Title: "step", Tool: "lab__send", Input: json.RawMessage(`{}`)}
			if i > 0 {
				s.After = []string{fmt.Sprintf("s%d", i-1)}
			}
			p.Steps = append(p.Steps, s)
		}
		return p, nil
	}}, nil
}

// What a task of ten steps, one after the other, costs when its tools and agents answer
// at once: all of it is the orchestrator and the store.
func BenchmarkTenSteps(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) store.Store{
		"memory": func(*testing.B) store.Store { return store.Memory() },
		"badger": func(b *testing.B) store.Store {
			s, err := badgerstore.Open(nil, filepath.Join(b.TempDir(), "store"), badgerstore.Options{FreeBytes: -1})
			if err != nil {
				b.Fatal(err)
			}
			return s
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			defer s.Close()
			log := hclog.NewNullLogger()
			f := instant{}
			o := New(log, s, event.NewBus(log, s), Ports{Models: f, Tools: f, Agents: f}, Settings{})
			for b.Loop() {
				r, err := o.Submit(b.Context(), task.Task{Goal: "ten steps", Owner: "human:ada", Planning: task.PlanAlways})
				if err == nil {
					r, err = o.Run(b.Context(), r.TaskID)
				}
				if err != nil || r.State != task.Completed {
					b.Fatal(r.State, err)
				}
				if err := o.Delete(b.Context(), r.TaskID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One checkpoint: the run of a task with ten steps is read, changed and written.
func BenchmarkCheckpoint(b *testing.B) {
	s, err := badgerstore.Open(nil, filepath.Join(b.TempDir(), "store"), badgerstore.Options{FreeBytes: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	log := hclog.NewNullLogger()
	o := New(log, s, event.NewBus(log, s), Ports{}, Settings{})
	r, err := o.Submit(b.Context(), task.Task{Goal: "ten steps", Owner: "human:ada"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, err := o.change(b.Context(), r.TaskID, func(r *task.Run) error {
			r.Steps = r.Steps[:0]
			for i := range 10 {
				r.Steps = append(r.Steps, task.Step{ID: fmt.Sprintf("s%d", i), Title: "step", Tool: "lab__send", State: task.StepDone, Output: "an answer"})
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
