package agenttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agenttest"
	"github.com/skillet-run/skillet/plugins/provider"
)

// small is a small agent that is right, unless it is told to be wrong in one way.
type small struct{ wrong string }

func (s small) Info(context.Context) (agent.Info, error) {
	if s.wrong == "Info" {
		return agent.Info{}, nil
	}
	return agent.Info{Name: "small", Version: "1", Description: "d"}, nil
}

func (s small) Health(context.Context) error { return nil }

func (s small) Plan(_ context.Context, t agent.Task, _ agent.Host) (agent.Plan, error) {
	if s.wrong == "Plan" {
		return agent.Plan{Steps: []agent.Step{{ID: "a", Tool: "none", Input: json.RawMessage(`{}`)}}}, nil
	}
	return agent.Plan{Steps: []agent.Step{{ID: "a", Agent: t.Agent, Goal: t.Goal}}}, nil
}

var runs atomic.Int64

func (s small) Run(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	tools := t.Tools
	system := t.SystemPrompt
	if s.wrong == "Replay" {
		system += fmt.Sprint(runs.Add(1))
	}
	if s.wrong == "Offered" {
		tools = append(tools[:len(tools):len(tools)], provider.Tool{Name: "admin__grant"})
	}
	messages := []provider.Message{{Role: provider.RoleUser, Text: t.Goal}}
	for _, p := range t.Context {
		text := provider.MarkData(p.Source, p.Text)
		if s.wrong == "Data" {
			text = p.Text
		}
		messages = append(messages, provider.Message{Role: provider.RoleUser, Text: text})
	}
	failed := false
	for n := 0; n < t.Iterations || s.wrong == "Iterations"; n++ {
		thinking := ctx
		if s.wrong == "Cancel" {
			thinking = context.WithoutCancel(ctx)
		}
		r, err := h.Think(thinking, agent.Thought{Purpose: "act", Request: provider.Request{System: system, Messages: messages, Tools: tools}})
		if err != nil {
			if ctx.Err() != nil {
				return agent.Report{}, ctx.Err()
			}
			return agent.Report{Done: s.wrong == "Refused", Problem: err.Error()}, nil
		}
		if len(r.Calls) == 0 {
			report := agent.Report{Done: r.Text != "", Answer: r.Text, Confidence: 0.9, Problem: "none"}
			if failed && s.wrong != "FailingTools" {
				report.Confidence = 0.5
			}
			return report, nil
		}
		messages = append(messages, provider.Message{Role: provider.RoleAssistant, Calls: r.Calls})
		for i := range r.Calls {
			c := r.Calls[i]
			if s.wrong == "SideBySide" {
				c = r.Calls[len(r.Calls)-1-i]
			}
			result, err := h.Call(ctx, agent.Call{Tool: c.Name, Input: c.Input})
			if err != nil {
				return agent.Report{Problem: err.Error()}, nil
			}
			failed = failed || !result.OK
			messages = append(messages, provider.Message{Role: provider.RoleTool, CallID: c.ID, Text: result.Text})
		}
	}
	return agent.Report{Problem: "too long"}, nil
}

// TestSuite runs the suite on an agent that is right, or is wrong in the way that
// the environment says.
func TestSuite(t *testing.T) {
	wrong := os.Getenv("AGENTTEST_WRONG")
	var s agenttest.Settings
	if wrong != "" {
		s.Patience = 300 * time.Millisecond
	}
	agenttest.Test(t, func(*testing.T) agent.Agent { return small{wrong} }, s)
}

// TestSuiteFindsWhatIsWrong runs this test again, with an agent that is wrong.
func TestSuiteFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for wrong, part := range map[string]string{
		"Info": "Info", "Plan": "Plan", "Replay": "Replay", "Iterations": "Iterations", "Cancel": "Cancel",
		"Refused": "Refused", "FailingTools": "FailingTools", "Data": "Data", "SideBySide": "SideBySide", "Offered": "Run",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestSuite$", "-test.timeout=30s")
			cmd.Env = append(os.Environ(), "AGENTTEST_WRONG="+wrong)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestSuite/"+part+" ") {
				t.Errorf("it was not found: %v\n%s", err, out)
			}
		})
	}
}
