package runner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/policies"
)

// inForce are rights by which policies of the text are in force.
func inForce(t *testing.T, text string) func(*runner.Settings) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.cedar"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := policies.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *runner.Settings) { s.Rights = fixed{set} }
}

// TestPoliciesOfCalls: a call is refused for who makes it and with what, before the guest
// runs and before a kept answer is given, and what decided is on record.
func TestPoliciesOfCalls(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	p := m.process(inForce(t, `@id("no-etc") @reason("not that one")
forbid (principal, action == Action::"call", resource == Name::"run")
when { context.arguments has path && context.arguments.path like "/etc/*" };
@id("no-agents-kv") @reason("agents keep nothing")
forbid (principal, action == Action::"kv", resource) when { context.caller.kind == "agent" };
@id("no-skills") @reason("no skill calls it")
forbid (principal == Skill::"callee", action == Action::"call", resource) when { context.arguments_from == "skill" };
@id("ask") @approval("required") @reason("it asks")
forbid (principal, action == Action::"call", resource) when { context.arguments has ask } unless { context.approved };`))
	const pure = `{"name":"run","read_only":true,"idempotent":true}`
	pkg := skill(t, "mine", answering("fine"), pure, cached)
	call := func(input string) runner.Call {
		c := on(pkg, "run")
		c.Input = []byte(input)
		return c
	}
	for range 2 {
		if r := p.Run(t.Context(), call(`{"path":"/srv/a"}`)); !r.OK || r.Cached {
			t.Fatalf("%+v", r)
		}
	}
	r := p.Run(t.Context(), call(`{"path":"/etc/passwd"}`))
	if r.OK || r.Error.Kind != fault.KindDenied || len(r.Denials) != 1 || r.Denials[0].Request != "call:run" || r.Denials[0].Policies[0] != "no-etc" || r.Denials[0].Asks {
		t.Errorf("%+v %+v", r.Error, r.Denials)
	}
	if r.Error == nil || len(r.Error.Remedies) != 1 || r.Error.Remedies[0].Capability != "call:run" || !strings.Contains(r.Error.Hint, "no-etc") {
		t.Errorf("the refusal says %+v", r.Error)
	}
	rec := last(t, p.calls)
	if rec.Context == nil || rec.Context.Caller != (policies.Caller{Kind: policies.CallerPerson, Name: "ada"}) || rec.Context.ArgumentsFrom != policies.FromPerson || rec.Context.Began.IsZero() {
		t.Errorf("on record is %+v", rec.Context)
	}
	if r := p.Run(t.Context(), call(`{"ask":true}`)); r.OK || len(r.Denials) != 1 || !r.Denials[0].Asks || r.Denials[0].Capability != "skill:mine" {
		t.Errorf("%+v %+v", r.Error, r.Denials)
	}

	g := newGuest()
	g.tool("run", g.ask("kv_get", `{"key":"k"}`, ""), wasmDrop, g.answer("answer"))
	keeper := on(skill(t, "keeper", g, runTool, ""), "run", "kv")
	if r := p.Run(t.Context(), keeper); len(r.Denials) != 0 {
		t.Errorf("%+v", r.Denials)
	}
	keeper.Caller = "agent:general"
	if r := p.Run(t.Context(), keeper); len(r.Denials) != 1 || r.Denials[0].Policies[0] != "no-agents-kv" {
		t.Errorf("%+v", r.Denials)
	}

	callee := on(skill(t, "callee", answering("fine"), runTool, ""), "run")
	m.lend(callee)
	if r := p.Run(t.Context(), callee); !r.OK {
		t.Errorf("%+v", r.Error)
	}
	caller := on(skill(t, "caller", newGuest().relay("run", `{"skill":"callee"}`, "input"), runTool, ""), "run", "skill:callee")
	if r := p.Run(t.Context(), caller); !strings.HasPrefix(told(r), "failed") {
		t.Errorf("called from a skill: %s", told(r))
	}
}

// last is the last run on record.
func last(t *testing.T, calls *journal.Journal) (r runner.Record) {
	t.Helper()
	err := calls.Replay(t.Context(), 0, func(e journal.Entry) error { return json.Unmarshal(e.Data, &r) })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestContextIsNotKeptUnasked: without such policies nothing more is on record, and answers
// that were kept are given.
func TestContextIsNotKeptUnasked(t *testing.T) {
	t.Parallel()
	p := newMachine(t).process()
	const pure = `{"name":"run","read_only":true,"idempotent":true}`
	c := on(skill(t, "mine", answering("fine"), pure, cached), "run")
	for i := range 2 {
		if r := p.Run(t.Context(), c); !r.OK || r.Cached != (i > 0) {
			t.Fatalf("%+v", r)
		}
	}
	if rec := last(t, p.calls); rec.Context != nil {
		t.Errorf("on record is %+v", rec.Context)
	}
}
