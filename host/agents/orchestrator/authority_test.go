package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// wishes are names of tools that a model may come up with to get more than it has.
func wishes() []string {
	all := []string{
		"", "grant", "approve", "approvals__approve", "skillet__grant", "skillet", "permission__add", "permission", "policy__allow", "install",
		"lab", "lab:send", "lab.send", "LAB__LOOK", "lab__look ", " lab__look", "lab__look\x00", "lab__lооk" /* Cyrillic */, "lab__unknown",
		"other__look", "files__write_text", "../lab__look", "lab__look/../send", "config__set", "agent__add", "secret__get", "audit", "task__approve",
		"exec", "bash", "sh -c id", "system", "admin__look", "human:ada", strings.Repeat("x", 10_000), "lab__send",
	}
	of := reflect.TypeFor[*Orchestrator]()
	for i := range of.NumMethod() { // and everything that can be asked of an orchestrator
		all = append(all, of.Method(i).Name, "orchestrator__"+of.Method(i).Name)
	}
	return all
}

// An agent that asks for anything but the tools of its task gets nothing, through
// whatever it can call back, and nobody else is asked.
func TestAgentsCannotReachMore(t *testing.T) {
	inputs := []string{`{}`, `{"approve":true}`, `{"grant":"fs.read:/**"}`, `[]`, `"x"`, `null`, ``, `{"n":1,"caller":"human:ada"}`}
	tried := map[string]func(h agent.Host, wish string) error{
		"Call": func(h agent.Host, wish string) error {
			for _, in := range inputs {
				res, err := call(h, wish, in)
				if err != nil || res.OK {
					return fmt.Errorf("call %.40q with %s: %+v, %w", wish, in, res, err)
				}
			}
			return nil
		},
		"Calls": func(h agent.Host, wish string) error {
			results, err := agent.CallAll(context.Background(), h, []agent.Call{{Tool: wish, Input: json.RawMessage(`{}`)}, {Tool: wish}})
			if err != nil || results[0].OK || results[1].OK {
				return fmt.Errorf("calls %.40q: %+v, %w", wish, results, err)
			}
			return nil
		},
		"Think": func(h agent.Host, wish string) error {
			_, err := h.Think(context.Background(), agent.Thought{Purpose: wish, Tier: wish, Request: provider.Request{Model: wish}})
			return err
		},
		"Recall": func(h agent.Host, wish string) error {
			_, err := h.Recall(context.Background(), wish, 1_000_000)
			return err
		},
		"Remember": func(h agent.Host, wish string) error {
			_ = h.Remember(context.Background(), agent.Memory{Area: wish, Text: "grant " + wish, Tags: []string{wish}}) // refused or kept as data
			return nil
		},
		"Progress": func(h agent.Host, wish string) error {
			return h.Progress(context.Background(), agent.Progress{Message: wish})
		},
		"Propose": func(h agent.Host, wish string) error {
			_, err := h.Propose(context.Background(), agent.Skill{Files: map[string][]byte{"skill.json": []byte(wish)}, Rationale: wish})
			return err
		},
	}
	methods := reflect.TypeFor[agent.Host]()
	for i := range methods.NumMethod() {
		if tried[methods.Method(i).Name] == nil {
			t.Errorf("nobody tried %s", methods.Method(i).Name)
		}
	}
	for name, try := range tried {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{MaxCalls: 5000})
			l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
				for _, w := range wishes() {
					if err := try(h, w); err != nil {
						t.Errorf("%v", err)
					}
				}
				return agent.Report{Done: true, Answer: "tried", Confidence: 1}, nil
			}})
			l.define("general", func(d *Definition) { d.MaxIterations = 1000 })
			id := l.submit(func(t *task.Task) { t.Tools = []string{"lab:look"} })
			r := l.run(id)
			wantState(t, r, task.Completed)
			if len(l.called()) != 0 {
				t.Errorf("called %v", l.calls)
			}
			if len(r.Approvals) != 0 {
				t.Errorf("%+v", r.Approvals)
			}
			for _, a := range l.asks {
				if a.Request.Model != "" || a.Model != "" || !a.Tier.Known() || a.Lease == nil || a.Task != id {
					t.Errorf("%+v", a)
				}
			}
			if name == "Call" && (len(r.Report.Denials) == 0 || r.Telemetry.Denials == 0) {
				t.Error("nothing is reported")
			}
		})
	}
}

// Whatever an agent puts into the call of a tool that it has, the call is made in the
// agent's name, for its task, with the task's directories.
func TestCallsKeepToTheTask(t *testing.T) {
	l := newLab(t, nil, Settings{})
	inputs := []string{`{"text":"/etc/passwd"}`, `{"text":"../../etc/passwd"}`, `{"text":"human:ada"}`, `{"text":"${steps.x.text}"}`}
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		for _, in := range inputs {
			if _, err := call(h, "lab__look", in); err != nil {
				return agent.Report{}, err
			}
		}
		return agent.Report{Done: true, Confidence: 1}, nil
	}})
	id := l.submit(func(t *task.Task) { t.Offline = true })
	wantState(t, l.run(id), task.Completed)
	for i, c := range l.calls {
		if string(c.Args) != inputs[i] || c.Caller != "agent:general" || c.Task != id || len(c.Roots) != 1 || c.Roots[0] != "/work" || c.AllowNetwork {
			t.Errorf("%+v", c)
		}
	}
	l = newLab(t, nil, Settings{})
	l.plans(agent.Plan{Steps: []agent.Step{{ID: "a", Title: "a", Tool: "lab__look", Input: json.RawMessage(`{}`)}}})
	wantState(t, l.run(l.submit(func(t *task.Task) { planned(t); t.Roots = nil })), task.Completed)
	if c := l.calls[0]; c.AllowFS || len(c.Roots) != 0 || !strings.HasPrefix(c.Caller, "agent:") {
		t.Errorf("%+v", c)
	}
}

// While a plan is made nothing is called that changes something.
func TestPlannersChangeNothing(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.agent("planner", script{plan: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Plan, error) {
		for _, tool := range []string{"lab__look", "lab__put", "lab__send"} {
			if _, err := call(h, tool, `{}`); err != nil {
				return agent.Plan{}, err
			}
		}
		return agent.Plan{Steps: []agent.Step{{ID: "a", Title: "a", Agent: "general", Goal: "g"}}}, nil
	}})
	wantState(t, l.run(l.submit(planned)), task.Completed)
	if got := strings.Join(l.called(), " "); got != "look" {
		t.Errorf("called %s", got)
	}
}

// After its step is over an agent reaches nothing any more.
func TestNothingAfterTheStep(t *testing.T) {
	l := newLab(t, nil, Settings{})
	var late agent.Host
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		late = h
		return agent.Report{Done: true, Confidence: 1}, nil
	}})
	wantState(t, l.run(l.submit(nil)), task.Completed)
	ctx := context.Background()
	_, thinkErr := late.Think(ctx, agent.Thought{})
	_, callErr := late.Call(ctx, agent.Call{Tool: "lab__look"})
	_, recallErr := late.Recall(ctx, "x", 1)
	_, proposeErr := late.Propose(ctx, agent.Skill{})
	for name, err := range map[string]error{
		"think": thinkErr, "call": callErr, "recall": recallErr, "propose": proposeErr,
		"remember": late.Remember(ctx, agent.Memory{Text: "x"}), "progress": late.Progress(ctx, agent.Progress{}),
	} {
		if err == nil {
			t.Errorf("%s after the end", name)
		}
	}
	if len(l.calls)+len(l.asks)+len(l.props) != 0 {
		t.Errorf("%v %v %v", l.calls, l.asks, l.props)
	}
}

// Models are told of no tools but those of the task.
func TestThoughtsNameOnlyTools(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.agent("general", script{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		_, err := h.Think(ctx, agent.Thought{Request: provider.Request{Tools: []provider.Tool{{Name: "approve"}}}})
		return agent.Report{Done: err == nil, Confidence: 1}, err
	}})
	r := l.run(l.submit(func(t *task.Task) { t.Tools = []string{"lab:look"} }))
	wantState(t, r, task.Failed)
	if r.Steps[0].Error.Kind != fault.KindDenied || len(l.asks) != 0 {
		t.Errorf("%+v", r.Steps[0].Error)
	}
}

// No port has a word for a grant or an approval, and no method of a port takes or
// gives a person.
func TestPortsKnowNoGrants(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "orchestrator.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, im := range f.Imports {
		if strings.Contains(im.Path.Value, "approval") {
			t.Error("the ports know package approval")
		}
	}
	found := 0
	ast.Inspect(f, func(n ast.Node) bool {
		spec, isType := n.(*ast.TypeSpec)
		if !isType {
			return true
		}
		ports, isPort := spec.Type.(*ast.InterfaceType)
		if !isPort {
			return true
		}
		for _, m := range ports.Methods.List {
			found++
			for _, word := range []string{"Grant", "Approve", "Allow", "Decide", "Human"} {
				if strings.Contains(m.Names[0].Name, word) {
					t.Errorf("%s.%s", spec.Name, m.Names[0].Name)
				}
			}
		}
		return true
	})
	if found < 10 {
		t.Errorf("%d methods of ports", found)
	}
}
