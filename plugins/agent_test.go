//go:build unix

package plugins

import (
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providertest"
)

func TestAgent(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	a, err := v.Agent(t.Context(), spec("agent"))
	if err != nil {
		t.Fatal(err)
	}
	task := agent.Task{ID: "t", Goal: "say something", Agent: builtin.General}
	host := &agenttest.Host{}
	if r, err := a.Run(t.Context(), task, host); err != nil || !r.Done || len(host.Thoughts()) == 0 {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := a.Plan(t.Context(), task, host); err != nil {
		t.Error(err)
	}
	if i, err := a.Info(t.Context()); err != nil || i.Name == "" || a.Health(t.Context()) != nil {
		t.Errorf("%+v %v", i, err)
	}
	task.Goal = deadly
	if _, err := a.Run(t.Context(), task, host); !errors.Is(err, agent.ErrExited) || !strings.Contains(err.Error(), `exit status 5; it said last: "of that goal"`) {
		t.Errorf("%v, want ErrExited and why", err)
	}
	task.Goal = "say something again"
	if r, err := a.Run(t.Context(), task, host); err != nil || !r.Done {
		t.Errorf("%+v %v", r, err)
	}
	if s := v.Status()[0]; s.Kind != KindAgent || s.Starts != 2 {
		t.Errorf("%+v", s)
	}
}

// A provider in a process of its own keeps the contract as it does in this one.
func TestConformance(t *testing.T) {
	long(t)
	t.Parallel()
	p := start(t, newSupervisor(t, quick()), spec("lender"))
	providertest.Run(t, func(*testing.T) provider.Provider { return p }, providertest.Options{
		Slow: providertest.ReferenceSlow, Alike: [3]string{"abc abc", "cab cab", "xyz"},
	})
}
