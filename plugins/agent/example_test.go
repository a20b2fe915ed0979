package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/skillet-run/skillet/plugins/agent"
)

// A shouter calls one tool with the goal, and reports its answer.
type shouter struct{}

func (shouter) Info(context.Context) (agent.Info, error) {
	return agent.Info{Name: "shouter", Description: "repeats a goal in capitals"}, nil
}

func (shouter) Plan(context.Context, agent.Task, agent.Host) (agent.Plan, error) {
	return agent.Plan{Steps: []agent.Step{{ID: "shout", Goal: "shout", Agent: "shouter"}}}, nil
}

func (shouter) Run(ctx context.Context, t agent.Task, h agent.Host) (agent.Report, error) {
	input, err := json.Marshal(map[string]string{"text": t.Goal})
	if err != nil {
		return agent.Report{}, err
	}
	r, err := h.Call(ctx, agent.Call{Tool: "text.upper", Input: input})
	return agent.Report{Done: r.OK, Answer: r.Text}, err
}

func (shouter) Health(context.Context) error { return nil }

// fakeHost answers for the host. The methods that are not written here are not called.
type fakeHost struct{ agent.Host }

func (fakeHost) Call(_ context.Context, c agent.Call) (agent.ToolResult, error) {
	fmt.Println("called", c.Tool, string(c.Input))
	return agent.ToolResult{OK: true, Text: "PAINT THE BOAT"}, nil
}

// An agent is tested without a host and without a process. Its main function is one call of
// plugins.ServeAgent.
func Example() {
	report, err := shouter{}.Run(context.Background(), agent.Task{Goal: "paint the boat"}, fakeHost{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Done, report.Answer)
	// Output:
	// called text.upper {"text":"paint the boat"}
	// true PAINT THE BOAT
}
