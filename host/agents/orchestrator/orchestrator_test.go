package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A simple task is done by one agent, and leaves a report, a memory, a figure for
// estimates and a notice.
func TestOneAgent(t *testing.T) {
	l := newLab(t, nil, Settings{})
	if _, err := l.mem.Add(t.Context(), memory.Draft{Text: "the page is at page.md and has words"}); err != nil {
		t.Fatal(err)
	}
	var given agent.Task
	l.agent("general", script{run: func(_ context.Context, at agent.Task, h agent.Host) (agent.Report, error) {
		given = at
		if _, err := thought(h, "what to do"); err != nil {
			return agent.Report{}, err
		}
		res, err := call(h, "lab__look", `{"n":1}`)
		if err != nil || !res.OK {
			return agent.Report{}, fmt.Errorf("%v %v", res, err)
		}
		if err := h.Remember(context.Background(), agent.Memory{Text: "the page is long"}); err != nil {
			return agent.Report{}, err
		}
		return agent.Report{
			Done: true, Answer: "7 words", Confidence: 0.8, Decisions: []string{"counted"}, NextSteps: []string{"read it"},
			Sources: []agent.Passage{{Source: "step:x", Text: "long"}},
		}, h.Progress(context.Background(), agent.Progress{Message: "half"})
	}})
	id := l.submit(func(t *task.Task) {
		t.Inputs, t.Attachments = json.RawMessage(`{"page":"page.md"}`), []task.Attachment{{Name: "note", Text: "a note"}}
		t.Constraints = []string{"be exact"}
	})
	r := l.run(id)
	wantState(t, r, task.Completed)
	rep := r.Report
	if rep.Answer != "7 words" || rep.Partial || rep.Confidence != 0.8 || rep.Error != nil || !slices.Contains(rep.Decisions, "counted") || rep.Sources[0] != "step:x" {
		t.Errorf("%+v", rep)
	}
	if tel := rep.Telemetry; tel.InputTokens != 10 || tel.OutputTokens != 5 || tel.ModelCalls != 1 || tel.ToolCalls != 1 || tel.Models[0] != "lab/m" || tel.Attempts != 1 {
		t.Errorf("%+v", tel)
	}
	var sources []string
	for _, p := range given.Context {
		sources = append(sources, p.Source)
	}
	if len(sources) != 3 || sources[0] != "inputs" || sources[1] != "file:note" || !strings.HasPrefix(sources[2], "memory:") {
		t.Errorf("given %v", sources)
	}
	if given.SystemPrompt != "You are general." || given.Constraints[0] != "be exact" || len(given.Tools) != 4 || given.Iterations != agentdef.DefaultIterations {
		t.Errorf("%+v", given)
	}
	if c := l.calls[0]; c.Caller != "agent:general" || c.Task != id || c.Roots[0] != "/work" || !c.AllowFS || !c.AllowNetwork || c.Key != id+"/goal/000002" {
		t.Errorf("%+v", c)
	}
	if a := l.asks[0]; a.Task != id || a.Step != "goal" || a.Agent != "general" || a.Lease == nil || a.Tier != llm.Balanced || a.Principal != "human:ada" {
		t.Errorf("%+v", a)
	}
	want := "task.created task.queued task.started task.phase task.planned task.phase step.started step.called task.progress step.completed task.phase task.completed"
	if got := strings.Join(l.eventTypes(id), " "); got != want {
		t.Errorf("events\n%s\nwant\n%s", got, want)
	}
	found, err := l.mem.List(t.Context(), memory.Filter{Types: []memory.Type{memory.TaskExecution}}, 0)
	if err != nil || len(found) != 1 || found[0].Failed || !strings.Contains(found[0].Text, "7 words") || found[0].Task != id {
		t.Errorf("%+v, %v", found, err)
	}
	if h, err := l.history(t.Context()); err != nil || len(h) != 1 || h[0].Tokens != 5 {
		t.Errorf("%+v, %v", h, err)
	}
	if len(l.told) != 1 || l.told[0].State != task.Completed || l.told[0].Owner != "human:ada" {
		t.Errorf("%+v", l.told)
	}
	if s, err := l.Status(t.Context(), id); err != nil || s.Percent != 100 || *s.LeftMS != 0 || s.Telemetry.ToolCalls != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := l.Run(t.Context(), id); fault.AsError(err).Kind != fault.KindConflict {
		t.Error(err)
	}
}

// A plan's steps are done side by side where they do not wait for each other, later
// ones with what earlier ones answered, and an agent makes one answer of it all.
func TestPlan(t *testing.T) {
	l := newLab(t, nil, Settings{})
	var together sync.WaitGroup
	together.Add(2)
	l.answer = func(c task.ToolCall) task.Result {
		if c.Step == "a" || c.Step == "b" { // each waits until the other is called
			together.Done()
			together.Wait()
			return ok(`{"n":` + map[string]string{"a": "2", "b": "3"}[c.Step] + `,"say":"ha"}`)
		}
		return ok(string(c.Args))
	}
	l.plans(agent.Plan{Steps: []agent.Step{
		{ID: "c", Title: "both", Tool: "lab__put", Input: json.RawMessage(`{"n":"${steps.a.json.n}","text":"${steps.b.json.say} ${steps.b.json.n}","list":["${steps.a.json}"]}`)},
		{ID: "a", Title: "one", Tool: "lab__look", Input: json.RawMessage(`{"n":1}`)},
		{ID: "b", Title: "two", Tool: "lab__page", Input: json.RawMessage(`{"n":1}`)},
	}, Risk: "low", Reason: "it says so"})
	l.think = func(llm.Ask) (llm.Answer, error) { return said("all of it"), nil }
	r := l.run(l.submit(planned))
	wantState(t, r, task.Completed)
	if r.Report.Answer != "all of it" || r.Report.Confidence != sureAnswer || len(r.Steps) != 4 || r.Risk != task.RiskMedium || !strings.Contains(r.RiskReason, "lab__put in the step c") {
		t.Errorf("%+v %s %s", r.Steps, r.Risk, r.RiskReason)
	}
	if args := string(l.calls[2].Args); l.calls[2].Step != "c" || args != `{"list":[{"n":2,"say":"ha"}],"n":2,"text":"ha 3"}` {
		t.Errorf("%+v %s", l.calls[2], args)
	}
	ask := l.asks[len(l.asks)-1]
	if m := ask.Request.Messages; ask.Purpose != "answer" || len(m) != 5 || m[0].Text != "count the words of the page" || len(m[1].Calls) != 3 ||
		m[1].Calls[0].ID != "t1-c" || string(m[1].Calls[0].Input) != `{"list":[{"n":2,"say":"ha"}],"n":2,"text":"ha 3"}` || m[2].CallID != "t1-c" || !strings.Contains(m[2].Text, "not instructions") {
		t.Errorf("%+v", ask.Request)
	}
	// c waits for a and b although the plan only refers to them.
	if c := r.Find("c"); len(c.After) != 2 || c.Untrusted || !r.Find("b").Untrusted {
		t.Errorf("%+v", c)
	}
}

// Plans that cannot be followed are asked for once more, with what is wrong, and then
// the agent decides as it goes.
func TestUnfitPlan(t *testing.T) {
	step := func(id, tool, input string, after ...string) agent.Step {
		return agent.Step{ID: id, Title: id, Tool: tool, Input: json.RawMessage(input), After: after}
	}
	for name, steps := range map[string][]agent.Step{
		"empty":       nil,
		"no tool":     {step("a", "grant", `{}`)},
		"wide input":  {step("a", "lab__look", `{"grant":"all"}`)},
		"circle":      {step("a", "lab__look", `{"text":"${steps.b.text}"}`), step("b", "lab__look", `{}`, "a")},
		"itself":      {step("a", "lab__look", `{"text":"${steps.a.text}"}`)},
		"nobody":      {step("a", "lab__look", `{"text":"${steps.x.text}"}`)},
		"reference":   {step("a", "lab__look", `{"text":"${steps.x}"}`)},
		"twice":       {step("a", "lab__look", `{}`), step("a", "lab__look", `{}`)},
		"name":        {step("../a", "lab__look", `{}`)},
		"agent":       {{ID: "a", Title: "a", Agent: "root", Goal: "g"}},
		"both":        {{ID: "a", Title: "a", Agent: "general", Goal: "g", Tool: "lab__look"}},
		"agent input": {{ID: "a", Title: "a", Agent: "general", Goal: "g", Input: json.RawMessage(`{"n":1}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{})
			var constraints []string
			l.agent("planner", script{plan: func(_ context.Context, at agent.Task, _ agent.Host) (agent.Plan, error) {
				constraints = at.Constraints
				return agent.Plan{Steps: steps}, nil
			}})
			r := l.run(l.submit(planned))
			wantState(t, r, task.Completed)
			if len(r.Steps) != 1 || r.Steps[0].ID != "goal" || len(r.Notes) != 1 || len(constraints) != 1 || !strings.Contains(constraints[0], "cannot be followed") {
				t.Errorf("%+v %v %v", r.Steps, r.Notes, constraints)
			}
		})
	}
}

// What a step needs a person for waits, others go on, and the step is done or not as
// the person says.
func TestApprovalGate(t *testing.T) {
	for _, c := range []struct {
		name   string
		decide func(l *lab, id string) (task.Run, error)
		want   task.State
		called string
	}{
		{"approved", func(l *lab, id string) (task.Run, error) {
			return l.Approve(l.t.Context(), approval.NewHuman("ada"), id, "b", "go")
		}, task.Completed, "look send"},
		{"refused", func(l *lab, id string) (task.Run, error) {
			return l.Refuse(l.t.Context(), approval.NewHuman("ada"), id, "", "no")
		}, task.Failed, "look"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{})
			l.plans(agent.Plan{Steps: []agent.Step{
				{ID: "b", Title: "send it", Tool: "lab__send", Input: json.RawMessage(`{}`), Approval: true},
				{ID: "a", Title: "look", Tool: "lab__look", Input: json.RawMessage(`{}`)},
			}})
			id := l.submit(planned)
			r := l.run(id)
			wantState(t, r, task.WaitingApproval)
			if !slices.Equal(l.called(), []string{"look"}) || !strings.Contains(r.Reason, "send it") || len(l.told) != 1 {
				t.Errorf("%v %s %v", l.called(), r.Reason, l.told)
			}
			if _, err := l.Approve(t.Context(), approval.Human{}, id, "b", ""); fault.AsError(err).Kind != fault.KindDenied {
				t.Errorf("nobody approved: %v", err)
			}
			if _, err := l.Approve(t.Context(), approval.NewHuman("ada"), id, "a", ""); fault.AsError(err).Kind != fault.KindNotFound {
				t.Errorf("approved what does not wait: %v", err)
			}
			if r, err := l.Resume(t.Context(), id, "human:ada"); err != nil || r.State != task.Queued {
				t.Fatal(r.State, err)
			}
			wantState(t, l.run(id), task.WaitingApproval) // nobody decided
			if r, err := c.decide(l, id); err != nil || r.State != task.Queued {
				t.Fatal(r.State, err)
			}
			r = l.run(id)
			wantState(t, r, c.want)
			if got := strings.Join(l.called(), " "); got != c.called {
				t.Errorf("called %s", got)
			}
			if len(r.Approvals) != 1 || r.Approvals[0].By != "human:ada" || r.Approvals[0].Approved != (c.want == task.Completed) {
				t.Errorf("%+v", r.Approvals)
			}
			if c.want == task.Failed && (!r.Report.Partial || r.Report.Error.Kind != fault.KindDenied) {
				t.Errorf("%+v", r.Report)
			}
		})
	}
}

// Settings and definitions ask for persons, too.
func TestWhatNeedsAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		settings Settings
		tool     string
		change   func(*Definition)
		want     task.State
	}{
		"nothing":    {Settings{}, "lab__send", nil, task.Completed},
		"high":       {Settings{ApproveFrom: task.RiskHigh}, "lab__send", nil, task.WaitingApproval},
		"not high":   {Settings{ApproveFrom: task.RiskHigh}, "lab__put", nil, task.Completed},
		"medium":     {Settings{ApproveFrom: task.RiskMedium}, "lab__put", nil, task.WaitingApproval},
		"reads":      {Settings{ApproveFrom: task.RiskMedium}, "lab__look", nil, task.Completed},
		"definition": {Settings{}, "", func(d *Definition) { d.ApprovalRequired = true }, task.WaitingApproval},
		"its tools":  {Settings{ApproveFrom: task.RiskHigh}, "", func(*Definition) {}, task.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, c.settings)
			l.agent("helper", script{})
			s := agent.Step{ID: "a", Title: "a", Tool: c.tool, Input: json.RawMessage(`{}`)}
			if c.change != nil {
				l.define("helper", c.change)
				s = agent.Step{ID: "a", Title: "a", Agent: "helper", Goal: "g"}
			}
			l.plans(agent.Plan{Steps: []agent.Step{s}})
			wantState(t, l.run(l.submit(planned)), c.want)
		})
	}
}

// A task waits when a policy asks a person about a call, which is made again after
// that; or is answered with a refusal.
func TestCallWaits(t *testing.T) {
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprint(refused), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{})
			var allowed atomic.Bool
			l.answer = func(c task.ToolCall) task.Result {
				if c.Tool == "send" && !allowed.Load() {
					return task.Result{Error: fault.Errorf(fault.KindApproval, "look at proposal zzz: %w", &approval.WaitsError{Proposal: "abc123"})}
				}
				return ok(`"sent"`)
			}
			l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
				if _, err := call(h, "lab__look", `{}`); err != nil {
					return agent.Report{}, err
				}
				res, err := call(h, "lab__send", `{}`)
				return agent.Report{Done: err == nil, Answer: res.Text + res.Kind, Confidence: 1}, err
			}})
			id := l.submit(nil)
			r := l.run(id)
			wantState(t, r, task.WaitingApproval)
			if s := r.Steps[0]; s.State != task.StepWaiting || s.Proposal != "abc123" {
				t.Errorf("%+v", s)
			}
			if _, err := l.Approve(t.Context(), approval.NewHuman("ada"), id, "", ""); fault.AsError(err).Kind != fault.KindConflict || !strings.Contains(fault.AsError(err).Way().String(), "[approve abc123]") {
				t.Errorf("%v", err)
			}
			if refused {
				if _, err := l.Refuse(t.Context(), approval.NewHuman("ada"), id, "", ""); err != nil {
					t.Fatal(err)
				}
			} else {
				allowed.Store(true)
				if _, err := l.Resume(t.Context(), id, "human:ada"); err != nil {
					t.Fatal(err)
				}
			}
			r = l.run(id)
			wantState(t, r, task.Completed)
			want, calls := "sent", "look send send"
			if refused {
				want, calls = "a person refused this calldenied", "look send"
			}
			if got := strings.Join(l.called(), " "); r.Report.Answer != want || got != calls {
				t.Errorf("%q, called %s", r.Report.Answer, got)
			}
			if refused != (len(r.Report.Denials) == 1) {
				t.Errorf("%+v", r.Report.Denials)
			}
		})
	}
}

// The strategies are tried in their order, each with what it is for, and recorded.
func TestRecovery(t *testing.T) {
	l := newLab(t, nil, Settings{})
	var seen []agent.Task
	l.think = func(llm.Ask) (llm.Answer, error) { return said("at last"), nil }
	l.agent("general", script{run: func(_ context.Context, at agent.Task, h agent.Host) (agent.Report, error) {
		seen = append(seen, at)
		for _, in := range []string{`{"n":1}`, `{ "n": 1 }`} {
			if _, err := call(h, "lab__send", in); err != nil {
				return agent.Report{}, err
			}
		}
		return agent.Report{Answer: fmt.Sprintf("part %d", len(seen)), Problem: "too hard", Confidence: 0.2}, nil
	}})
	l.agent("planner", script{plan: func(_ context.Context, at agent.Task, _ agent.Host) (agent.Plan, error) {
		seen = append(seen, at)
		return agent.Plan{Steps: []agent.Step{{ID: "x", Title: "x", Tool: "lab__look", Input: json.RawMessage(`{}`)}, {ID: "y", Title: "y", Tool: "lab__send", Input: json.RawMessage(`{"text":"${steps.x.json.tool}"}`)}}}, nil
	}})
	id := l.submit(nil)
	r := l.run(id)
	wantState(t, r, task.Completed)
	var tried []task.Strategy
	for _, rec := range r.Recovery {
		tried = append(tried, rec.Strategy)
	}
	if !slices.Equal(tried, task.Strategies()) || r.Recovery[3].Outcome != "met" || !strings.HasPrefix(r.Recovery[0].Outcome, "not met") || !strings.Contains(r.Recovery[0].Because, "too hard") {
		t.Errorf("%+v", r.Recovery)
	}
	if len(seen) != 5 || r.Report.Answer != "at last" {
		t.Fatalf("%d, %+v", len(seen), r.Report)
	}
	first, more, thinking := seen[0], seen[2], seen[3]
	if more.MaxTokens != 2*defaultAnswer || more.Iterations != 2*first.Iterations || more.Thinking != 0 {
		t.Errorf("%+v", more)
	}
	if thinking.Thinking != 4096 || thinking.Tier != "smart" || first.Thinking != 0 {
		t.Errorf("%+v", thinking)
	}
	if c := seen[1].Context; len(c) != 1 || c[0].Source != "step:goal" || !strings.Contains(c[0].Text, "part 1") || !strings.Contains(seen[1].Constraints[0], "most important") {
		t.Errorf("%+v", seen[1])
	}
	// What has an effect was done twice in the first attempt, as the agent wanted, and
	// never again in the others.
	if got := strings.Join(l.called(), " "); got != "send send look send" {
		t.Errorf("called %s", got)
	}
	if !slices.Contains(l.eventTypes(id), string(event.TaskRecovered)) || r.Find("r4-y") == nil || r.Find("r4-answer") == nil {
		t.Errorf("%v", l.eventTypes(id))
	}
}

// A task that fails leaves what there is, and says why and what would help.
func TestPartialReport(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.answer = func(c task.ToolCall) task.Result {
		if c.Step == "b" {
			return failing(fault.KindSkill, "no such page")
		}
		return ok(`"seven words"`)
	}
	l.plans(agent.Plan{Steps: []agent.Step{
		{ID: "a", Title: "look", Tool: "lab__look", Input: json.RawMessage(`{}`)},
		{ID: "b", Title: "page", Tool: "lab__page", Input: json.RawMessage(`{}`)},
		{ID: "c", Title: "put", Tool: "lab__put", Input: json.RawMessage(`{"text":"${steps.b.text}"}`)},
	}})
	l.agent("general", script{run: func(context.Context, agent.Task, agent.Host) (agent.Report, error) {
		return agent.Report{}, errors.New("the agent broke")
	}})
	l.settings.Restarts = 1
	l.think = func(llm.Ask) (llm.Answer, error) {
		return llm.Answer{}, &provider.Error{Class: provider.ClassUnavailable, Message: "nobody there"}
	}
	r := l.run(l.submit(planned))
	wantState(t, r, task.Failed)
	if rep := r.Report; !rep.Partial || !strings.Contains(rep.Answer, "seven words") || len(rep.Recovery) != 4 || rep.Error == nil {
		t.Errorf("%+v", rep)
	}
	if r.Find("b").State != task.StepFailed || r.Find("c").State != task.StepSkipped || !strings.Contains(r.Find("b").Error.Message, "no such page") {
		t.Errorf("%+v", r.Steps)
	}
	found, err := l.mem.List(t.Context(), memory.Filter{Types: []memory.Type{memory.FailurePattern}}, 0)
	if err != nil || len(found) != 1 || !found[0].Failed {
		t.Errorf("%+v, %v", found, err)
	}
}

// When nothing is left of the budget the work ends with what there is.
func TestBudget(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.think = func(a llm.Ask) (llm.Answer, error) {
		r, err := a.Lease.Reserve(context.Background(), budget.Amount{Tokens: 40})
		if err != nil {
			return llm.Answer{}, err
		}
		return said("hm"), r.Settle(context.Background(), budget.Amount{Tokens: 40})
	}
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		for i := range 10 {
			if _, err := thought(h, fmt.Sprint(i)); err != nil {
				return agent.Report{Answer: fmt.Sprintf("%d thoughts", i), Problem: err.Error()}, nil
			}
		}
		return agent.Report{Done: true}, nil
	}})
	l.define("general", func(d *Definition) { d.MaxIterations = 20 })
	r := l.run(l.submit(func(t *task.Task) { t.Budget.Tokens = 100 }))
	wantState(t, r, task.Failed)
	if rep := r.Report; rep.Answer != "2 thoughts" || rep.Error.Kind != fault.KindLimit || !strings.Contains(rep.Error.Way().String(), "give the task more") {
		t.Errorf("%+v %v", rep, rep.Error)
	}
	for _, rec := range r.Recovery {
		if !strings.HasPrefix(rec.Outcome, "passed over") {
			t.Errorf("%+v", rec)
		}
	}
}

// What skills ask of models is paid by the task they work for, and counted with what
// its agents ask.
func TestSkillsSpendTheBudget(t *testing.T) {
	for name, plan := range map[string]func(*lab){
		"called by an agent": func(l *lab) {
			l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
				for i := range 3 {
					res, err := h.Call(l.t.Context(), agent.Call{Tool: "lab__put", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))})
					if err != nil || !res.OK {
						return agent.Report{Problem: res.Kind + ": " + res.Text}, err
					}
				}
				return agent.Report{Done: true}, nil
			}})
		},
		"called by steps": func(l *lab) {
			l.plans(agent.Plan{Steps: []agent.Step{
				{ID: "a", Title: "ask", Tool: "lab__put", Input: json.RawMessage(`{"n":1}`)},
				{ID: "b", Title: "ask", Tool: "lab__put", Input: json.RawMessage(`{"n":2}`), After: []string{"a"}},
				{ID: "c", Title: "ask", Tool: "lab__put", Input: json.RawMessage(`{"n":3}`), After: []string{"b"}},
			}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, nil, Settings{})
			l.settings.Restarts = 1
			plan(l)
			l.spend = func(pays *budget.Lease) task.Result {
				r, err := pays.Reserve(context.Background(), budget.Amount{Tokens: 40})
				if err != nil {
					return failing(fault.KindLimit, err.Error())
				}
				if err := r.Settle(context.Background(), budget.Amount{Tokens: 40}); err != nil {
					return failing(fault.KindInternal, err.Error())
				}
				res := ok(`"asked"`)
				res.Models = &task.ModelUse{Calls: 1, InputTokens: 30, OutputTokens: 10, MicroUSD: 7, Names: []string{"lab/m"}}
				return res
			}
			r := l.run(l.submit(func(t *task.Task) {
				t.Budget.Tokens = 100
				if name == "called by steps" {
					planned(t)
				}
			}))
			// Two skills were paid for, 30 tokens in and 10 out each; the third asked in vain.
			thoughts := int64(len(l.asks)) // 10 tokens in, 5 out
			c := r.Telemetry
			if c.InputTokens != 60+10*thoughts || c.OutputTokens != 20+5*thoughts || c.MicroUSD != 14 || c.ModelCalls != 2+int(thoughts) || c.ToolFailures == 0 {
				t.Errorf("%d thoughts, counted %+v", thoughts, c)
			}
			if !slices.Equal(c.Models, []string{"lab/m"}) {
				t.Errorf("models: %v", c.Models)
			}
		})
	}
}

// An agent may think as often as its definition says, and some for a plan and an answer.
func TestIterations(t *testing.T) {
	l := newLab(t, nil, Settings{})
	thoughts := 0
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		for i := range 100 {
			if _, err := thought(h, fmt.Sprint(i)); err != nil {
				return agent.Report{}, err
			}
			thoughts++
		}
		return agent.Report{Done: true}, nil
	}})
	l.define("general", func(d *Definition) { d.MaxIterations = 3 })
	r := l.run(l.submit(func(t *task.Task) { t.Budget.Tokens = 50 }))
	wantState(t, r, task.Failed)
	if thoughts != 3+spareThoughts || r.Report.Error.Kind != fault.KindLimit {
		t.Errorf("%d thoughts, %v", thoughts, r.Report.Error)
	}
}

// A definition and a deadline bound the time.
func TestTime(t *testing.T) {
	slow := script{run: func(ctx context.Context, _ agent.Task, _ agent.Host) (agent.Report, error) {
		<-ctx.Done()
		return agent.Report{Answer: "so far"}, ctx.Err()
	}}
	t.Run("definition", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, nil, Settings{})
		l.agent("general", slow)
		l.define("general", func(d *Definition) { d.TimeoutSeconds = 0.02 })
		r := l.run(l.submit(nil))
		wantState(t, r, task.Failed)
	})
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, nil, Settings{})
		l.agent("general", slow)
		r := l.run(l.submit(func(t *task.Task) { t.Deadline = time.Now().Add(50 * time.Millisecond) }))
		wantState(t, r, task.Failed)
		if !strings.Contains(r.Report.Error.Message, "deadline") || !r.Report.Partial {
			t.Errorf("%+v", r.Report)
		}
	})
}

// A call with an effect that is given up in the middle is not made again, also when
// the goal is tried in another way.
func TestCallsGivenUp(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.wait = func(ctx context.Context, c task.ToolCall) {
		if c.Step == "goal" {
			<-ctx.Done()
			l.mu.Lock()
			l.answer = nil
			l.mu.Unlock()
		}
	}
	l.answer = func(task.ToolCall) task.Result { return failing(fault.KindLimit, "cancelled") }
	l.agent("general", script{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		res, err := h.Call(ctx, agent.Call{Tool: "lab__send", Input: json.RawMessage(`{}`)})
		return agent.Report{Done: err == nil, Answer: res.Text, Confidence: 1}, err
	}})
	l.define("general", func(d *Definition) { d.TimeoutSeconds = 0.1 })
	r := l.run(l.submit(nil))
	wantState(t, r, task.Completed)
	if len(l.called()) != 1 || !strings.Contains(r.Report.Answer, "may or may not") || r.Telemetry.Uncertain != 1 || !strings.Contains(strings.Join(r.Report.NextSteps, " "), "may or may not") {
		t.Errorf("called %v; %+v", l.called(), r.Report)
	}
}

// Pausing lets calls end, cancelling does not; a paused task goes on where it was.
func TestPauseAndCancel(t *testing.T) {
	for _, how := range []string{"pause", "cancel", "interrupt"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{})
			calling, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			l.answer = func(task.ToolCall) task.Result {
				once.Do(func() {
					close(calling)
					if how == "cancel" {
						return
					}
					<-release
				})
				return ok(`"sent"`)
			}
			l.agent("general", script{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
				for i := range 3 {
					if _, err := h.Call(ctx, agent.Call{Tool: "lab__send", Input: fmt.Appendf(nil, `{"n":%d}`, i)}); err != nil {
						return agent.Report{}, err
					}
					if how == "cancel" {
						<-ctx.Done()
						return agent.Report{}, ctx.Err()
					}
				}
				return agent.Report{Done: true, Answer: "all sent", Confidence: 1}, nil
			}})
			id := l.submit(nil)
			ctx, interrupt := context.WithCancel(t.Context())
			ended := make(chan task.Run)
			go func() {
				r, err := l.Run(ctx, id)
				if err != nil {
					t.Error(err)
				}
				ended <- r
			}()
			<-calling
			var err error
			switch how {
			case "pause":
				_, err = l.Pause(t.Context(), id, "human:ada")
			case "cancel":
				_, err = l.Cancel(t.Context(), id, "human:ada", "enough")
			case "interrupt":
				interrupt()
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(50 * time.Millisecond) // for who works on it to notice
			close(release)
			r := <-ended
			interrupt()
			if how == "cancel" {
				wantState(t, r, task.Cancelled)
				if r.Report == nil || !strings.Contains(r.Reason, "enough") || r.Report.Telemetry.ToolCalls != 1 || r.Steps[0].State != task.StepFailed {
					t.Errorf("%+v", r)
				}
				return
			}
			wantState(t, r, map[string]task.State{"pause": task.Paused, "interrupt": task.Queued}[how])
			if n := len(l.called()); n != 1 {
				t.Errorf("%d calls", n)
			}
			if how == "pause" {
				if _, err := l.Run(t.Context(), id); fault.AsError(err).Kind != fault.KindConflict {
					t.Errorf("run while it is paused: %v", err)
				}
				if _, err := l.Resume(t.Context(), id, "human:ada"); err != nil {
					t.Fatal(err)
				}
			}
			r = l.run(id)
			wantState(t, r, task.Completed)
			if n := len(l.called()); n != 3 || r.Attempts != 2 {
				t.Errorf("%d calls in %d attempts", n, r.Attempts)
			}
		})
	}
}

// An agent that dies is run again, and answered with what was kept; one that asks
// something else then is told so.
func TestAgentDies(t *testing.T) {
	l := newLab(t, nil, Settings{})
	runs := 0
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		runs++
		for i := range runs {
			if _, err := thought(h, fmt.Sprint(i)); err != nil {
				return agent.Report{}, err
			}
			if _, err := call(h, "lab__send", fmt.Sprintf(`{"n":%d}`, i)); err != nil {
				return agent.Report{}, err
			}
		}
		if runs < 3 {
			return agent.Report{}, errors.New("the process ended")
		}
		return agent.Report{Done: true, Answer: "alive", Confidence: 1}, nil
	}})
	r := l.run(l.submit(nil))
	wantState(t, r, task.Completed)
	if len(l.called()) != 3 || len(l.asks) != 3 || r.Telemetry.ToolCalls != 3 {
		t.Errorf("%d calls, %d thoughts in %d runs", len(l.called()), len(l.asks), runs)
	}

	l = newLab(t, nil, Settings{})
	runs = 0
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		runs++
		if _, err := call(h, "lab__send", fmt.Sprintf(`{"n":%d}`, runs)); err != nil {
			return agent.Report{}, err
		}
		return agent.Report{}, errors.New("the process ended")
	}})
	r = l.run(l.submit(nil))
	wantState(t, r, task.Failed)
	if !strings.Contains(r.Steps[0].Error.Message, ErrDiverged.Error()) || len(l.called()) != 1 || runs != 2 {
		t.Errorf("%v, %d calls", r.Steps[0].Error, len(l.called()))
	}
}

// Calls that an agent makes side by side are numbered in their order.
func TestParallelCalls(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.answer = func(c task.ToolCall) task.Result { return ok(string(c.Args)) }
	runs := 0
	l.agent("general", script{run: func(ctx context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		runs++
		var calls []agent.Call
		for i := range 6 {
			calls = append(calls, agent.Call{Tool: "lab__send", Input: fmt.Appendf(nil, `{"n":%d}`, i)})
		}
		results, err := agent.CallAll(ctx, h, calls)
		if err != nil {
			return agent.Report{}, err
		}
		text := ""
		for _, r := range results {
			text += r.Text
		}
		if runs == 1 {
			return agent.Report{}, errors.New("the process ended")
		}
		return agent.Report{Done: true, Answer: text, Confidence: 1}, nil
	}})
	r := l.run(l.submit(nil))
	wantState(t, r, task.Completed)
	if r.Report.Answer != `{"n":0}{"n":1}{"n":2}{"n":3}{"n":4}{"n":5}` || len(l.called()) != 6 {
		t.Errorf("%s, %d calls", r.Report.Answer, len(l.called()))
	}
}

// An agent sees the end of a long answer cut off, and what is from outside marked;
// another step is handed the whole.
func TestOutputsAreBounded(t *testing.T) {
	l := newLab(t, nil, Settings{MaxOutput: 100})
	long, huge := strings.Repeat("<x>", 1000), strings.Repeat("y", maxData)
	l.answer = func(c task.ToolCall) task.Result {
		if c.Tool == "page" {
			text, _ := json.Marshal(map[string]string{"a": long, "b": huge}[c.Step])
			return ok(string(text))
		}
		return ok(string(c.Args))
	}
	l.plans(agent.Plan{Steps: []agent.Step{
		{ID: "a", Title: "a", Tool: "lab__page", Input: json.RawMessage(`{}`)},
		{ID: "c", Title: "c", Tool: "lab__put", Input: json.RawMessage(`{"text":"${steps.a.text}"}`)},
		{ID: "b", Title: "b", Tool: "lab__page", Input: json.RawMessage(`{}`)},
		{ID: "d", Title: "d", Tool: "lab__put", Input: json.RawMessage(`{"text":"${steps.b.text}"}`)},
		{ID: "e", Title: "e", Agent: "general", Goal: "read ${steps.a.text}", After: []string{"a", "c", "d"}},
	}})
	r := l.run(l.submit(planned))
	if r.Find("c").State != task.StepDone || r.Find("d").State != task.StepFailed || !strings.Contains(r.Find("d").Error.Message, "too long to be handed on") {
		t.Fatalf("%+v %+v", r.Find("c").Error, r.Find("d").Error)
	}
	for _, c := range l.calls {
		if c.Step == "c" && len(c.Args) < 3000 {
			t.Errorf("handed on %d bytes", len(c.Args))
		}
	}
}

// Conditions of a plan end it when a model says that one is met.
func TestStopConditions(t *testing.T) {
	for said1, want := range map[string]string{`{"stop":true,"reason":"empty"}`: "look", `{"stop":false,"reason":""}`: "look send", `who knows`: "look send"} {
		t.Run(said1, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{})
			l.think = func(llm.Ask) (llm.Answer, error) { return said(said1), nil }
			l.plans(agent.Plan{Stop: []string{"the page is empty"}, Steps: []agent.Step{
				{ID: "a", Title: "a", Tool: "lab__look", Input: json.RawMessage(`{}`)},
				{ID: "b", Title: "b", Tool: "lab__send", Input: json.RawMessage(`{}`), After: []string{"a"}},
			}})
			r := l.run(l.submit(planned))
			if got := strings.Join(l.called(), " "); got != want {
				t.Errorf("called %s; %+v", got, r.Notes)
			}
			wantState(t, r, task.Completed)
		})
	}
}

// A sub-agent has those tools of its definition that the task has, too.
func TestToolsOfAgents(t *testing.T) {
	l := newLab(t, nil, Settings{})
	var names []string
	l.agent("narrow", script{run: func(_ context.Context, at agent.Task, h agent.Host) (agent.Report, error) {
		for _, tool := range at.Tools {
			names = append(names, tool.Name)
		}
		for _, tool := range []string{"lab__send", "lab__put", "lab__look"} {
			res, err := call(h, tool, `{}`)
			names = append(names, fmt.Sprint(res.OK))
			if err != nil {
				return agent.Report{}, err
			}
		}
		return agent.Report{Done: true, Confidence: 1}, nil
	}}, "lab:look", "lab:send", "lab:gone")
	l.plans(agent.Plan{Steps: []agent.Step{{ID: "a", Title: "a", Agent: "narrow", Goal: "g"}}})
	r := l.run(l.submit(func(t *task.Task) { planned(t); t.Tools = []string{"lab:look", "lab:put"} }))
	wantState(t, r, task.Completed)
	if got := strings.Join(names, " "); got != "lab__look false false true" || !slices.Equal(l.called(), []string{"look"}) {
		t.Errorf("%s, called %v", got, l.called())
	}
	if r := l.run(l.submit(func(t *task.Task) { t.Tools = []string{"lab:gone"} })); r.Report.Error == nil || r.Report.Error.Kind != fault.KindNotFound {
		t.Errorf("%+v", r.Report)
	}
}

// A turn of a conversation is acknowledged before anybody is asked.
func TestConverse(t *testing.T) {
	for goal, want := range map[string]string{"what is a word?": "conversation", "summarise the page and send it": "general"} {
		t.Run(goal, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{})
			var mu sync.Mutex
			var kinds []string
			run := func(_ context.Context, at agent.Task, _ agent.Host) (agent.Report, error) {
				mu.Lock()
				defer mu.Unlock()
				if len(kinds) == 0 || kinds[0] != "acknowledgement" {
					t.Errorf("%v before the agent", kinds)
				}
				return agent.Report{Done: true, Answer: "by " + at.Agent, Confidence: 1}, nil
			}
			l.agent("conversation", script{run: run})
			l.agent("general", script{run: run})
			reply, err := l.Converse(t.Context(), Turn{Task: task.Task{Goal: goal, Owner: "human:ada", Planning: task.PlanNever}, Before: "hello"}, func(u Update) error {
				mu.Lock()
				defer mu.Unlock()
				kinds = append(kinds, u.Kind)
				if u.TaskID == "" || u.Kind == "answer" && u.Text != "by "+want {
					t.Errorf("%+v", u)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			wantState(t, *reply.Run, task.Completed)
			if kinds[0] != "acknowledgement" || kinds[len(kinds)-1] != "answer" || !slices.Contains(kinds, "progress") {
				t.Errorf("%v", kinds)
			}
		})
	}
}

func TestListAndDelete(t *testing.T) {
	l := newLab(t, nil, Settings{})
	a, b := l.submit(nil), l.submit(func(t *task.Task) { t.Priority, t.Owner = task.PriorityHigh, "human:bob" })
	if p, err := l.Pending(t.Context()); err != nil || len(p) != 2 || p[0].TaskID != b {
		t.Errorf("%+v, %v", p, err)
	}
	l.run(a)
	for _, c := range []struct {
		f    Filter
		want int
	}{{Filter{}, 2}, {Filter{State: task.Queued}, 1}, {Filter{Owner: "human:ada"}, 1}, {Filter{Limit: 1}, 1}} {
		if all, err := l.List(t.Context(), c.f); err != nil || len(all) != c.want {
			t.Errorf("%+v: %d, %v", c.f, len(all), err)
		}
	}
	if id, err := l.Find(t.Context(), a[:8]); err != nil || id != a {
		t.Error(id, err)
	}
	for _, bad := range []string{"", "zzzz", "../" + a} {
		if _, err := l.Find(t.Context(), bad); fault.AsError(err).Kind != fault.KindNotFound {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := l.Delete(t.Context(), b); fault.AsError(err).Kind != fault.KindConflict {
		t.Error(err)
	}
	if _, err := l.Cancel(t.Context(), b, "human:bob", ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{a, b} {
		if r, err := l.Get(t.Context(), id); err != nil || r.Report == nil {
			t.Errorf("%+v, %v", r, err)
		}
		if err := l.Delete(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if left, err := l.kv.List(t.Context(), "task/"); err != nil || len(left) != 1 || left[0].Key != historyKey {
		t.Errorf("%+v, %v", left, err)
	}
	if _, err := l.Submit(t.Context(), task.Task{ID: "a/b", Goal: "g", Owner: "o"}); fault.AsError(err).Kind != fault.KindUsage {
		t.Error(err)
	}
	id := l.submit(nil)
	if _, err := l.Submit(t.Context(), task.Task{ID: id, Goal: "g", Owner: "o"}); fault.AsError(err).Kind != fault.KindConflict {
		t.Error(err)
	}
}

// Errors of models keep their class for agents, also when they are given again.
func TestModelErrorsKeepTheirClass(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.think = func(llm.Ask) (llm.Answer, error) {
		return llm.Answer{}, fmt.Errorf("ask: %w", &provider.Error{Class: provider.ClassContextLength, Message: "too long"})
	}
	runs := 0
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		runs++
		_, err := thought(h, "x")
		var e *provider.Error
		if !errors.As(err, &e) || e.Class != provider.ClassContextLength || e.Message != "too long" {
			t.Errorf("run %d: %v", runs, err)
		}
		if runs == 1 {
			return agent.Report{}, errors.New("the process ended")
		}
		return agent.Report{Done: true, Confidence: 1}, nil
	}})
	wantState(t, l.run(l.submit(nil)), task.Completed)
	if len(l.asks) != 1 {
		t.Errorf("asked %d times", len(l.asks))
	}
}

// An answer that says itself that it is none has the goal tried in another way.
func TestUnsureAnswer(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.think = func(llm.Ask) (llm.Answer, error) { return said("[low confidence] I do not know"), nil }
	l.plans(agent.Plan{Steps: []agent.Step{{ID: "a", Title: "a", Tool: "lab__look", Input: json.RawMessage(`{}`)}}})
	l.agent("general", script{run: func(context.Context, agent.Task, agent.Host) (agent.Report, error) {
		return agent.Report{Done: true, Answer: "I do", Confidence: 0.8}, nil
	}})
	r := l.run(l.submit(planned))
	wantState(t, r, task.Completed)
	if r.Report.Answer != "I do" || len(r.Recovery) != 1 || r.Find("answer").Confidence != unsureAnswer || r.Find("answer").Output != "I do not know" {
		t.Errorf("%+v", r.Report)
	}
}

// However long goals, answers and errors are, a run can be kept, and goes on.
func TestLongTexts(t *testing.T) {
	l := newLab(t, nil, Settings{})
	quotes := strings.Repeat(`"`, 60<<10)
	l.answer = func(c task.ToolCall) task.Result {
		if c.Tool == "page" {
			return failing(fault.KindSkill, quotes)
		}
		text, _ := json.Marshal(quotes)
		return ok(string(text))
	}
	var p agent.Plan
	for i := range 16 {
		tool := []string{"look", "page"}[i%2]
		p.Steps = append(p.Steps, agent.Step{ID: fmt.Sprintf("s%d", i), Title: quotes[:100], Tool: "lab__" + tool, Input: json.RawMessage(`{"text":"` + strings.Repeat("x", 1000) + `"}`)})
	}
	l.plans(p)
	l.think = func(llm.Ask) (llm.Answer, error) { return said(quotes), nil }
	l.agent("general", script{run: func(context.Context, agent.Task, agent.Host) (agent.Report, error) {
		long := slices.Repeat([]string{quotes}, 100)
		return agent.Report{Answer: quotes + quotes, Problem: quotes, Decisions: long, NextSteps: long, Confidence: 0.9}, nil
	}})
	id := l.submit(func(t *task.Task) { planned(t); t.Goal = strings.Repeat("count words ", 5000) })
	r := l.run(id)
	if r.State != task.Failed {
		t.Fatalf("%s: %.300s", r.State, r.Reason)
	}
	if r.Report.Error == nil || r.Report.Error.Kind != fault.KindSkill || len(r.Recovery) != 4 {
		t.Errorf("%.300v, %d ways", r.Report.Error, len(r.Recovery))
	}
	e, err := l.kv.Get(t.Context(), runKey+id)
	if err != nil || len(e.Value) > store.MaxValue {
		t.Errorf("the run has %d bytes, %v", len(e.Value), err)
	}
	for _, rec := range r.Recovery {
		if !strings.HasPrefix(rec.Outcome, "not met") && !strings.Contains(rec.Outcome, "steps already") {
			t.Errorf("%s: %.300s", rec.Strategy, rec.Outcome)
		}
	}
}

// A process that dies between adding the steps of a strategy and doing them leaves them
// to be done, and no other strategy is begun beside it.
func TestDeathBetweenStrategies(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		_, err := call(h, "lab__send", `{}`)
		return agent.Report{Done: err == nil, Answer: "sent", Confidence: 1}, err
	}})
	id := l.submit(nil)
	_, err := l.change(t.Context(), id, func(r *task.Run) error {
		r.State, r.Phase, r.Agent = task.Running, task.PhaseReflect, "general"
		r.Steps = []task.Step{
			{ID: "goal", Agent: "general", State: task.StepFailed, Error: fault.Errorf(fault.KindSkill, "no")},
			{ID: "recover-1", Agent: "general", Strategy: task.ReducedScope, State: task.StepPending},
		}
		r.Recovery = []task.Recovery{{Strategy: task.ReducedScope, Because: "no", Steps: []string{"recover-1"}}}
		return nil
	})
	if err == nil {
		err = write(t.Context(), l.kv, docKey+id+"/tools", withNames(l.tools), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := l.run(id)
	wantState(t, r, task.Completed)
	if len(r.Recovery) != 1 || len(r.Steps) != 2 || len(l.called()) != 1 || r.Recovery[0].Outcome != "met" {
		t.Errorf("%+v, called %v", r.Recovery, l.called())
	}
}
