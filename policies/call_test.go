package policies

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/policies/goldentest"
)

// Policies look at the call in which they are asked.
func TestCallDecisions(t *testing.T) {
	t.Parallel()
	s := mustLoad(t, filepath.Join("testdata", "calls"))
	goldentest.Table(t, "calls.txt", func(input string) string { return answer(s.Decide(queryOf(t, input))) })
}

// What a policy says of a call that no call can have is refused, with what is meant.
func TestRefusesWhatNoCallHas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ action, condition, want string }{
		{`action == Action::"call"`, `context.nwo.hour > 3`, "did you mean `now`"},
		{`action == Action::"call"`, `context has toll`, "did you mean `tool`"},
		{`action == Action::"call"`, `context.now.hours > 3`, "context.now has no attribute `hours`; did you mean `hour`"},
		{`action == Action::"call"`, `context.now.hour == 24`, "from 0 to 23"},
		{`action == Action::"call"`, `context.now.weekday == "Monday"`, `"monday"`},
		{`action == Action::"call"`, `["mon"].contains(context.now.weekday)`, `"monday"`},
		{`action == Action::"call"`, `context.now.date == "24.12.2026"`, "2026-11-28"},
		{`action == Action::"call"`, `context.caller.kind == "human"`, `"person"`},
		{`action == Action::"call"`, `context.caller has role`, "kind, name"},
		{`action == Action::"call"`, `context.arguments_from == "web"`, `"model"`},
		{`action == Action::"call"`, `resource == Name::"write*"`, "no wildcard"},
		{`action == Action::"call"`, `context.arguments.path like "/srv/*"`, "`context.arguments has path && ...`"},
		{`action == Action::"call"`, `context.arguments has a && context.arguments.a like "x*" && context.arguments.a > 3`, "context.arguments.a cannot be text and a whole number"},
		{`action == Action::"install"`, `context.now.hour > 3`, "for calls alone"},
		{`action == Action::"share-process"`, `context.tool == "x"`, "for calls alone"},
		{`action`, `context.now.hour > 3`, "for calls alone"},
	} {
		l, err := newLoader()
		if err != nil {
			t.Fatal(err)
		}
		l.addText("x.cedar", []byte(`@id("x") forbid (principal, `+c.action+`, resource) when { `+c.condition+` };`))
		_, err = l.set()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s:\n got %v\nwant something with %s", c.action, c.condition, err, c.want)
		}
	}
}

// A set says whether it looks at calls, so that a host need not say what nobody asks.
func TestWhatSetsLookAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy                  string
		calls, looks, arguments bool
	}{
		{``, false, false, false},
		{`@id("x") forbid (principal, action == Action::"http", resource) when { context.port == 80 };`, false, false, false},
		{`@id("x") forbid (principal, action == Action::"http", resource) when { context.now.hour == 8 };`, false, true, false},
		{`@id("x") forbid (principal == Skill::"a", action == Action::"call", resource);`, true, false, false},
		{`@id("x") forbid (principal == Skill::"a", action, resource);`, true, false, false},
		{`@id("x") forbid (principal, action == Action::"call", resource) when { context.arguments has a };`, true, true, true},
	} {
		l, err := newLoader()
		if err != nil {
			t.Fatal(err)
		}
		if err := l.addDefaults(); err != nil {
			t.Fatal(err)
		}
		l.addText("x.cedar", []byte(c.policy))
		s, err := l.set()
		if err != nil {
			t.Fatal(err)
		}
		if s.AsksOfCalls() != c.calls || s.LooksAtCalls() != c.looks || s.LooksAtArguments() != c.arguments {
			t.Errorf("%q: asks of calls %v, looks at them %v, at arguments %v", c.policy, s.AsksOfCalls(), s.LooksAtCalls(), s.LooksAtArguments())
		}
	}
}

// With no policy that looks at the call, a decision is kept whatever call it is made in, and
// one is made anew where a policy does.
func TestDecisionsAreKeptWhereCallsDoNotMatter(t *testing.T) {
	q := queryOf(t, "call granted at=2026-11-27T17:59:00Z | http:GET https://api.example.com/")
	plain, hours := mustLoad(t, ""), mustLoad(t, filepath.Join("testdata", "calls"))
	if d := hours.Decide(q); d.Effect != Allow {
		t.Error(Explain(d))
	}
	plain.Decide(q)
	q.Call = &Call{Began: q.Call.Began.Add(time.Minute)}
	if n := testing.AllocsPerRun(10, func() { plain.Decide(q) }); n > 0 {
		t.Errorf("a decision that is kept allocates %v times", n)
	}
	if d := hours.Decide(q); d.Effect != Deny {
		t.Error(Explain(d))
	}
}
