//go:build unix

package builtin_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/agent/builtin"
	"github.com/skillet-run/skillet/plugins/provider"
)

// TestMain is the agent's own main when this program is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve-agent" {
		plugins.ServeAgent(builtin.New(nil, "1.0.0"))
		return
	}
	os.Exit(m.Run())
}

func process(t *testing.T) (*plugins.Supervisor, agent.Agent) {
	t.Helper()
	s := plugins.New(hclog.NewNullLogger(), plugins.Settings{Dir: t.TempDir()})
	t.Cleanup(s.Close)
	a, err := s.Agent(t.Context(), plugins.Spec{Name: "builtin", Args: []string{"serve-agent"}})
	if err != nil {
		t.Fatal(err)
	}
	return s, a
}

// In a process of its own the agent keeps the contract, too.
func TestContractOfAProcess(t *testing.T) {
	t.Parallel()
	_, a := process(t)
	agenttest.Test(t, func(*testing.T) agent.Agent { return a }, agenttest.Settings{Task: agent.Task{Agent: builtin.General}})
}

// TestKilledAgentsGoOn kills the process of an agent at each thing that it asks, and
// runs it again: it asks the same and reports the same.
func TestKilledAgentsGoOn(t *testing.T) {
	t.Parallel()
	_, a := process(t)
	task := agent.Task{ID: "t", Agent: builtin.Research, Goal: "How far is the moon?", Tools: tools()}
	whole := fetches("Far.", "Far [2].")
	want, err := a.Run(t.Context(), task, whole)
	if err != nil {
		t.Fatal(err)
	}
	asked := len(whole.Records())
	for at := range asked {
		s, a := process(t) // one that was not killed before is started again at once
		h := fetches("Far.", "Far [2].")
		model, tool := h.Model, h.Tool
		kill := func() {
			if len(h.Records()) == at+1 {
				if err := syscall.Kill(s.Status()[0].PID, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			}
		}
		h.Model = func(ctx context.Context, n int, th agent.Thought) (provider.Response, error) {
			kill()
			return model(ctx, n, th)
		}
		h.Tool = func(ctx context.Context, n int, c agent.Call) (agent.ToolResult, error) {
			kill()
			return tool(ctx, n, c)
		}
		if _, err := a.Run(t.Context(), task, h); !errors.Is(err, agent.ErrExited) {
			t.Fatalf("killed at %d: %v", at+1, err)
		}
		again := fetches("Far.", "Far [2].")
		got, err := a.Run(t.Context(), task, again)
		if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(again.Records(), whole.Records()) {
			t.Errorf("killed at %d: %+v, %v", at+1, got, err)
		}
	}
}
