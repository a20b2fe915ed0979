package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// sender is an agent that looks, sends twice and answers.
func sender() script {
	return script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		if _, err := call(h, "lab__look", `{}`); err != nil {
			return agent.Report{}, err
		}
		all, err := agent.CallAll(context.Background(), h, []agent.Call{
			{Tool: "lab__send", Input: json.RawMessage(`{"n":1,"text":"hunter2"}`)}, {Tool: "lab__look"}, {Tool: "lab__send", Input: json.RawMessage(`{"n":2}`)},
		})
		if err != nil {
			return agent.Report{}, err
		}
		done := all[0].OK && all[2].OK
		return agent.Report{Done: done, Answer: all[0].Text + all[2].Text, Confidence: 1, Problem: "not sent"}, nil
	}}
}

func approve(t *testing.T, l *lab, id string) {
	t.Helper()
	if _, err := l.Approve(t.Context(), approval.NewHuman("ada"), id, "", ""); err != nil {
		t.Fatal(err)
	}
}

// A call of high risk waits, whatever plan there is and whoever makes it: a person
// sees what it would be, nothing is done before that person agrees, and then each is
// done once.
func TestCallsOfARiskWait(t *testing.T) {
	plans := func(p agent.Plan) func(*lab) { return func(l *lab) { l.plans(p) } }
	for name, c := range map[string]struct {
		planning task.Planning
		make     func(*lab)
	}{
		"no plan":      {task.PlanNever, func(*lab) {}},
		"broken plans": {task.PlanAlways, plans(agent.Plan{Steps: []agent.Step{{ID: "a", Tool: "nothing"}}})},
		"no planner": {task.PlanAlways, func(l *lab) {
			l.agent("planner", script{plan: func(context.Context, agent.Task, agent.Host) (agent.Plan, error) {
				return agent.Plan{}, errors.New("no")
			}})
		}},
		"one agent": {task.PlanAlways, plans(agent.Plan{Steps: []agent.Step{{ID: "a", Title: "a", Agent: "general", Goal: "g"}}})},
		"recovery": {task.PlanNever, func(l *lab) {
			tries := 0
			send := sender()
			l.agent("general", script{run: func(ctx context.Context, at agent.Task, h agent.Host) (agent.Report, error) {
				if tries++; tries == 1 {
					return agent.Report{Problem: "too hard"}, nil
				}
				return send.run(ctx, at, h)
			}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{ApproveFrom: task.RiskHigh, Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[redacted]") }})
			l.agent("general", sender())
			c.make(l)
			id := l.submit(func(t *task.Task) { t.Planning = c.planning })
			r := l.run(id)
			wantState(t, r, task.WaitingApproval)
			if slices.Contains(l.called(), "send") {
				t.Fatalf("called %v before anybody agreed", l.called())
			}
			i := slices.IndexFunc(r.Steps, func(s task.Step) bool { return s.State == task.StepWaiting })
			if i < 0 || len(r.Steps[i].Calls) != 2 {
				t.Fatalf("%+v", r.Steps)
			}
			first := r.Steps[i].Calls[0]
			if first.Tool != "lab__send" || first.Input != `{"n":1,"text":"[redacted]"}` || first.Risk != task.RiskHigh || first.Reason == "" {
				t.Errorf("%+v", first)
			}
			if _, err := l.Resume(t.Context(), id, "human:ada"); err != nil {
				t.Fatal(err)
			}
			wantState(t, l.run(id), task.WaitingApproval) // nobody decided
			approve(t, l, id)
			r = l.run(id)
			wantState(t, r, task.Completed)
			if got := strings.Join(l.called(), " "); got != "look send look send" {
				t.Errorf("called %s", got)
			}
		})
	}
}

// What a person refused is not made, and not asked about again in another attempt.
func TestRefusedOnce(t *testing.T) {
	l := newLab(t, nil, Settings{ApproveFrom: task.RiskHigh})
	l.agent("general", sender())
	id := l.submit(nil)
	wantState(t, l.run(id), task.WaitingApproval)
	if _, err := l.Refuse(t.Context(), approval.NewHuman("ada"), id, "", "no"); err != nil {
		t.Fatal(err)
	}
	r := l.run(id)
	wantState(t, r, task.Failed)
	if slices.Contains(l.called(), "send") || len(r.Approvals) != 1 {
		t.Errorf("called %v, %+v", l.called(), r.Approvals)
	}
}

// What a person said to one call says nothing of another, however near it is.
func TestInputsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{`{"id":9007199254740992}`, `{"id":9007199254740993}`}, {`{"id":1e400}`, `{"id":1e401}`}, {`{"n":0.1}`, `{"n":0.10000000000000000001}`}, {`{} 1`, `{} 2`},
	} {
		if inputDigest(json.RawMessage(pair[0])) == inputDigest(json.RawMessage(pair[1])) {
			t.Errorf("%s and %s are taken for the same", pair[0], pair[1])
		}
	}
	if inputDigest(json.RawMessage(`{"a":1, "b":[2]}`)) != inputDigest(json.RawMessage(` {"b":[2],"a":1}`)) {
		t.Error("white space and order count")
	}
}

// A call that a skill makes from within a harmless one waits with that.
func TestCallsWithinWait(t *testing.T) {
	l := newLab(t, nil, Settings{ApproveFrom: task.RiskHigh})
	l.answer = func(c task.ToolCall) task.Result {
		if c.AskFrom != "" {
			return task.Result{OK: true, Data: json.RawMessage(`"without"`), Asked: []task.AskedCall{{Skill: "files", Tool: "write_text", Input: json.RawMessage(`{"path":"a"}`), Risk: task.RiskHigh}}}
		}
		return ok(`"written"`)
	}
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		res, err := call(h, "lab__look", `{}`)
		return agent.Report{Done: true, Answer: res.Text, Confidence: 1}, err
	}})
	id := l.submit(nil)
	r := l.run(id)
	wantState(t, r, task.WaitingApproval)
	if c := r.Steps[0].Calls; len(c) != 1 || c[0].Tool != "files:write_text" || c[0].Input != `{"path":"a"}` || !strings.Contains(c[0].Reason, "lab__look calls it") {
		t.Errorf("%+v", c)
	}
	approve(t, l, id)
	if r = l.run(id); r.Report == nil || r.Report.Answer != "written" {
		t.Errorf("%+v", r)
	}
}

// What is held for a process is left to it, however the task came to be queued, until the
// lease is over.
func TestHeld(t *testing.T) {
	here := newLab(t, nil, Settings{Worker: "here", ApproveFrom: task.RiskHigh})
	here.agent("general", sender())
	other := newLab(t, here.store, Settings{Worker: "other"})
	left := func(id string) {
		t.Helper()
		if _, err := other.Run(t.Context(), id); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindConflict || !strings.Contains(err.Error(), "here is about to work on it") {
			t.Errorf("the other runs it: %v", err)
		}
		if all, err := other.Pending(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("the other finds %v, %v", all, err)
		}
		if all, err := here.Pending(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("it is not pending here: %v, %v", all, err)
		}
	}
	hold := func(id string) {
		t.Helper()
		if err := here.Hold(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	ada := approval.NewHuman("ada")
	r, err := here.SubmitBy(t.Context(), ada, task.Task{Goal: "send it"}, true)
	if err != nil {
		t.Fatal(err)
	}
	id := r.TaskID
	left(id)
	wantState(t, here.run(id), task.WaitingApproval)
	hold(id)
	approve(t, here, id)
	left(id)
	r = here.run(id)
	wantState(t, r, task.Completed)
	if r.Held != nil {
		t.Errorf("it is still held: %+v", r.Held)
	}

	id = here.submit(nil)
	if _, err := here.Pause(t.Context(), id, "human:ada"); err != nil {
		t.Fatal(err)
	}
	hold(id)
	if _, err := here.Resume(t.Context(), id, "human:ada"); err != nil {
		t.Fatal(err)
	}
	left(id)
	if _, err := here.change(t.Context(), id, func(r *task.Run) error {
		r.Held.Until = r.CreatedAt
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if all, err := other.Pending(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("after the lease the other finds %v, %v", all, err)
	}
	if _, err := other.Run(t.Context(), id); err != nil {
		t.Errorf("after the lease: %v", err)
	}
}

// A person can have a task not ask, also where its plan wants to; nobody else can.
func TestUnattended(t *testing.T) {
	for _, settings := range []Settings{{ApproveFrom: task.RiskHigh}, {ApproveFrom: task.RiskNever}} {
		l := newLab(t, nil, settings)
		l.plans(agent.Plan{Steps: []agent.Step{{ID: "a", Title: "a", Tool: "lab__send", Input: json.RawMessage(`{}`), Approval: true}}})
		wanted := task.Task{Goal: "send it", Owner: "human:ada", Planning: task.PlanAlways, ApproveRisk: task.RiskNever}
		if _, err := l.Submit(t.Context(), wanted); settings.ApproveFrom == task.RiskHigh && fault.AsError(err).Kind != fault.KindDenied {
			t.Errorf("nobody asked for it: %v", err)
		}
		r, err := l.SubmitBy(t.Context(), approval.NewHuman("ada"), wanted, false)
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, l.run(r.TaskID), task.Completed)
	}
	l := newLab(t, nil, Settings{ApproveFrom: task.RiskHigh})
	if _, err := l.SubmitBy(t.Context(), approval.Human{}, task.Task{Goal: "g"}, false); fault.AsError(err).Kind != fault.KindDenied {
		t.Errorf("by nobody: %v", err)
	}
	if _, err := l.Submit(t.Context(), task.Task{Goal: "g", Owner: "human:ada", ApproveRisk: task.RiskLow}); err != nil {
		t.Errorf("asks about more: %v", err)
	}
}

// With the lowest risk every call waits.
func TestEveryCallWaits(t *testing.T) {
	l := newLab(t, nil, Settings{ApproveFrom: task.RiskLow})
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		_, err := call(h, "lab__look", `{}`)
		return agent.Report{Done: true, Confidence: 1}, err
	}})
	wantState(t, l.run(l.submit(nil)), task.WaitingApproval)
	if len(l.called()) != 0 {
		t.Errorf("called %v", l.called())
	}
}

// A plan can be seen before it is followed, and is the one that is followed then.
func TestPlanOnly(t *testing.T) {
	l := newLab(t, nil, Settings{})
	made := 0
	l.agent("planner", script{plan: func(context.Context, agent.Task, agent.Host) (agent.Plan, error) {
		made++
		return agent.Plan{Steps: []agent.Step{{ID: "a", Title: "a", Tool: "lab__look", Input: json.RawMessage(`{}`)}}}, nil
	}})
	id := l.submit(func(t *task.Task) { t.Planning = task.PlanOnly })
	r := l.run(id)
	wantState(t, r, task.Paused)
	if len(r.Steps) != 2 || len(l.called()) != 0 {
		t.Errorf("%+v, called %v", r.Steps, l.called())
	}
	if _, err := l.Resume(t.Context(), id, "human:ada"); err != nil {
		t.Fatal(err)
	}
	wantState(t, l.run(id), task.Completed)
	if made != 1 || len(l.called()) != 1 {
		t.Errorf("planned %d times, called %v", made, l.called())
	}
}

// alone has calls that may change something count how many of them there are at once.
func (l *lab) alone(together *atomic.Int32) {
	var now atomic.Int32
	l.wait = func(_ context.Context, c task.ToolCall) {
		if c.Tool == "look" {
			return
		}
		if n := now.Add(1); n > 1 {
			together.Store(n)
		}
		for range 40 { // time for another one to begin, if it may
			if together.Load() > 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		now.Add(-1)
	}
}

// order is the numbers that send was called with.
func (l *lab) order() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, c := range l.calls {
		var in struct{ N int }
		if json.Unmarshal(c.Args, &in) == nil && c.Tool == "send" {
			all = append(all, fmt.Sprint(in.N))
		}
	}
	return strings.Join(all, " ")
}

// Steps with an effect are done in the order of the plan, one after the other, although
// none says that it waits for another.
func TestStepsKeepTheirOrder(t *testing.T) {
	for _, from := range []task.Risk{task.RiskNever, task.RiskHigh} {
		l := newLab(t, nil, Settings{ApproveFrom: from})
		var together atomic.Int32
		l.alone(&together)
		var steps []agent.Step
		for n := range 10 {
			steps = append(steps, step(fmt.Sprintf("s%d", n), "lab__send", fmt.Sprintf(`{"n":%d}`, n)), step(fmt.Sprintf("r%d", n), "lab__look", `{}`))
		}
		l.plans(agent.Plan{Steps: steps})
		id := l.submit(planned)
		r := l.run(id)
		if from == task.RiskHigh {
			wantState(t, r, task.WaitingApproval)
			approve(t, l, id) // all of them, at once
			r = l.run(id)
		}
		wantState(t, r, task.Completed)
		if got := l.order(); got != "0 1 2 3 4 5 6 7 8 9" || together.Load() != 0 {
			t.Errorf("asked from %s: order %s, %d at once", from, got, together.Load())
		}
	}
}

// A step that reads what another writes waits for it, and a step is never behind one that
// waits for it.
func TestOrderOfReadsAndWrites(t *testing.T) {
	l := newLab(t, nil, Settings{})
	l.plans(agent.Plan{Steps: []agent.Step{
		step("a", "lab__send", `{"n":1,"text":"${steps.c.text}"}`), step("b", "lab__send", `{"n":2,"text":"x.txt"}`),
		step("c", "lab__put", `{"text":"y.txt"}`), step("d", "lab__look", `{"text":"x.txt"}`),
	}})
	wantState(t, l.run(l.submit(planned)), task.Completed)
	if got := strings.Join(l.called(), " "); got != "send look put send" && got != "send put look send" && got != "send put send look" {
		t.Errorf("called %s", got)
	}
	if got := l.order(); got != "2 1" {
		t.Errorf("order %s", got)
	}
}

// Calls that an agent makes at once are made in its order as far as they change something.
func TestCallsKeepTheirOrder(t *testing.T) {
	l := newLab(t, nil, Settings{})
	var together atomic.Int32
	l.alone(&together)
	l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
		var calls []agent.Call
		for n := range 10 {
			calls = append(calls, agent.Call{Tool: "lab__send", Input: fmt.Appendf(nil, `{"n":%d}`, n)}, agent.Call{Tool: "lab__look"}, agent.Call{Tool: "lab__look"})
		}
		_, err := agent.CallAll(context.Background(), h, calls)
		return agent.Report{Done: true, Confidence: 1}, err
	}})
	l.think = func(llm.Ask) (llm.Answer, error) { return said("ok"), nil }
	wantState(t, l.run(l.submit(nil)), task.Completed)
	if got := l.order(); got != "0 1 2 3 4 5 6 7 8 9" || together.Load() != 0 {
		t.Errorf("order %s, %d at once", got, together.Load())
	}
	if want := strings.Repeat("send look look ", 10); strings.Join(l.called(), " ")+" " != want {
		t.Errorf("called %v", l.called())
	}
}

func step(id, tool, input string) agent.Step {
	return agent.Step{ID: id, Title: id, Tool: tool, Input: json.RawMessage(input)}
}

// Nothing is tried in another way when that comes to the same: no model can be asked, or
// those that were answer the same to the same. A call that was denied is not made again.
func TestNothingElseHelps(t *testing.T) {
	for name, c := range map[string]struct {
		think func(llm.Ask) (llm.Answer, error)
		again int
	}{
		"no model": {func(llm.Ask) (llm.Answer, error) { return llm.Answer{}, fmt.Errorf("ask: %w", llm.ErrNoModel) }, 0},
		"let in nowhere": {func(llm.Ask) (llm.Answer, error) {
			return llm.Answer{}, &provider.Error{Class: provider.ClassAuth, Message: "bad key"}
		}, 0},
		"the same":  {func(llm.Ask) (llm.Answer, error) { return said("no"), nil }, 0},
		"different": {func(llm.Ask) (llm.Answer, error) { a := said("no"); a.Model = "other"; return a, nil }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, Settings{Steady: func(model string) bool { return model == "m" }})
			l.think = c.think
			l.answer = func(task.ToolCall) task.Result {
				return task.Result{Error: fault.Errorf(fault.KindDenied, "not granted").WithHint("%s", fault.Grant("", ""))}
			}
			runs := 0
			l.agent("general", script{run: func(_ context.Context, _ agent.Task, h agent.Host) (agent.Report, error) {
				runs++
				if _, err := thought(h, "what now"); err != nil {
					return agent.Report{Problem: err.Error()}, nil
				}
				_, err := call(h, "lab__send", `{}`)
				return agent.Report{Problem: "denied"}, err
			}})
			r := l.run(l.submit(nil))
			wantState(t, r, task.Failed)
			if runs != 1+c.again || len(l.called()) > 1 || len(r.Report.Denials) > 1 {
				t.Errorf("%d attempts, called %v, %+v", runs, l.called(), r.Report.Denials)
			}
		})
	}
}
