package code_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// looping is a script that posts the numbers of its data.
const looping = "await tools.net_work.get();\nfor (const n of data) await tools.net_work.post({ n });\ndata.length"

func numbers(from, to int) []byte {
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprint(n))
	}
	return []byte("[" + strings.Join(all, ",") + "]")
}

// approveLoop approves calls like the one that waits.
func (h *home) approveLoop(id string, terms govern.Terms) (govern.Proposal, error) {
	h.t.Helper()
	p, err := h.h.Govern().Proposals.Find(h.t.Context(), ada, id)
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := h.h.Govern().Proposals.Approve(h.t.Context(), ada, govern.Approval{ID: id, Digest: string(p.Digest), Terms: terms})
	if err != nil {
		return govern.Proposal{}, err
	}
	return *out.Proposal, nil
}

func pattern(t testing.TB, text string) []govern.Pattern {
	t.Helper()
	p, err := govern.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return []govern.Pattern{p}
}

// A person approves a loop once: the script that they see makes so many calls, of such inputs,
// and neither another script, nor another's, nor another tool.
func TestLoop(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	h.asks()
	req := code.Request{Code: looping, Data: numbers(1, 12)}
	first := h.run(req)
	if first.Status != code.Paused {
		t.Fatalf("%s %s", first.Status, outcome(first))
	}
	v, err := h.h.Govern().Proposals.Show(t.Context(), ada, govern.ShowProposal{ID: first.Waits.Proposal})
	if err != nil || v.Script == nil || v.Script.Code != looping || string(v.Script.Data) != string(req.Data) || len(v.Script.Calls) != 1 || v.Script.Calls[0].Tool != "get" ||
		v.Script.Calls[0].Answer != `{"seen":0}` || v.Call.Script.Number != 2 || v.Call.Script.Actor != bot.Actor() || v.Lifts == nil || v.Lifts.Strings()[0] != "http:POST "+s.URL+"/*" {
		t.Fatalf("%+v\n%+v %v", v.Script, v.Lifts, err)
	}
	if v, err := h.h.Govern().Proposals.Show(t.Context(), approval.NewAgent("other"), govern.ShowProposal{ID: first.Waits.Proposal}); err != nil || v.Script != nil {
		t.Errorf("another agent sees the script: %v %v", v.Script, err)
	}
	p, err := h.approveLoop(first.Waits.Proposal, govern.Terms{Uses: 10, For: pattern(t, "n=?*"), Until: time.Now().Add(time.Hour)})
	if err != nil || p.Loop == nil || p.Loop.MaxUses != 10 {
		t.Fatalf("%+v %v", p.Loop, err)
	}
	// Other scripts, callers and tools have nothing of it.
	for what, c := range map[string]struct {
		by   approval.Principal
		code string
	}{
		"one byte more":  {bot, looping + " "},
		"another caller": {approval.NewAgent("other"), looping},
	} {
		res, err := h.h.Code().Execute(t.Context(), c.by, code.Request{Code: c.code, Data: numbers(1, 2), May: all, Bounds: &invoke.Bounds{}})
		if err != nil || res.Status != code.Paused || len(s.counts()) != 0 {
			t.Errorf("%s: %s %v", what, outcome(res), err)
		}
	}
	if _, err := h.call(`{"n":1}`); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindApproval {
		t.Errorf("a call without a script: %v", err)
	}
	// The loop goes on to its last call, and is on record.
	res := h.run(req)
	if res.Status != code.Paused || res.Waits.Call != 12 || len(s.counts()) != 10 {
		t.Fatalf("%s %s %+v %v", res.Status, outcome(res), res.Waits, s.counts())
	}
	if p, err := h.h.Govern().Proposals.Find(t.Context(), ada, p.ID); err != nil || p.Loop.Uses != 10 {
		t.Errorf("%+v %v", p.Loop, err)
	}
	events, err := h.h.Govern().Audit.Events(t.Context(), ada, govern.EventsRequest{Kind: "use"})
	if err != nil || len(events) != 10 || !strings.Contains(events[9].Decision.Note, "call 10 of 10 of proposal "+p.ID) {
		t.Errorf("%d uses on record, %v", len(events), err)
	}
	events, err = h.h.Govern().Audit.Events(t.Context(), ada, govern.EventsRequest{Kind: "approve"})
	if err != nil || len(events) != 1 || !strings.Contains(events[0].Decision.Note, `at most 10 times where n is "?*", until `) {
		t.Errorf("%+v %v", events, err)
	}
	// The rest is decided anew: a loop of the very same input, and it ends.
	h.approve(res.Waits.Proposal)
	res = h.run(req)
	if _, err := h.approveLoop(res.Waits.Proposal, govern.Terms{Uses: 5}); err != nil {
		t.Fatal(err)
	}
	if res = h.run(req); res.Status != code.Done || len(s.counts()) != 12 {
		t.Errorf("%s %s", res.Status, outcome(res))
	}
	for path, n := range s.counts() {
		if n != 1 {
			t.Errorf("%s was written %d times", path, n)
		}
	}
}

// call calls the tool post as an agent does, beside any script.
func (h *home) call(input string) (invoke.Answer, error) {
	t, err := h.h.Invoke().Find(h.t.Context(), bot, invoke.Address{Ref: manifests.Ref{Name: "net-work"}, Tool: "post"}, nil)
	if err != nil {
		return invoke.Answer{}, err
	}
	a, err := h.h.Invoke().Invoke(h.t.Context(), invoke.Invocation{Target: t, By: bot, Input: []byte(input), Bounds: &invoke.Bounds{}})
	if err == nil && a.Error != nil {
		err = a.Error
	}
	return a, err
}

// What is said wrongly of a loop is refused, and decides nothing.
func TestLoopRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	h.asks()
	req := code.Request{Code: looping, Data: numbers(1, 3)}
	id := h.run(req).Waits.Proposal
	for what, terms := range map[string]govern.Terms{
		"too many":    {Uses: approval.MaxLoop + 1},
		"for a run":   {Scope: govern.ScopeRun, ID: "x", Uses: 2},
		"time passed": {Uses: 2, Until: time.Now().Add(-time.Hour)},
		"negative":    {Uses: -1},
	} {
		if p, err := h.approveLoop(id, terms); err == nil {
			t.Errorf("%s: %+v", what, p.Loop)
		}
	}
	// A call without a script is approved as it is.
	if _, err := h.call(`{"n":9}`); err == nil {
		t.Fatal("it was made")
	} else if p, err := h.pending("n\":9"); err != nil {
		t.Error(err)
	} else if _, err := h.approveLoop(p.ID, govern.Terms{Uses: 2}); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindUsage {
		t.Errorf("a loop without a script: %v", err)
	}
	// Inputs that do not fit are asked about, and a loop that is taken back ends.
	if _, err := h.approveLoop(id, govern.Terms{Uses: 50, For: pattern(t, "n=[0-2]")}); err != nil {
		t.Fatal(err)
	}
	res := h.run(req)
	if res.Status != code.Paused || res.Waits.Call != 2 || len(s.counts()) != 0 {
		t.Fatalf("%s %s %v", res.Status, outcome(res), s.counts())
	}
	if _, err := h.approveLoop(res.Waits.Proposal, govern.Terms{Uses: 50, For: pattern(t, "n=1")}); err != nil {
		t.Fatal(err)
	}
	res = h.run(req)
	if res.Status != code.Paused || res.Waits.Call != 3 || len(s.counts()) != 1 {
		t.Fatalf("%s %s %v", res.Status, outcome(res), s.counts())
	}
	p, err := h.approveLoop(res.Waits.Proposal, govern.Terms{Uses: 50, For: pattern(t, "n=*")})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = h.h.Govern().Proposals.Revert(t.Context(), ada, govern.Decision{ID: p.ID}); err != nil || p.Status != approval.StatusStale {
		t.Fatalf("%s %v", p.Status, err)
	}
	if res = h.run(code.Request{Code: looping, Data: numbers(2, 3)}); res.Status != code.Paused || len(s.counts()) != 1 {
		t.Errorf("after it was taken back: %s %v", outcome(res), s.counts())
	}
}

// pending finds a proposal by a part of the input of its call.
func (h *home) pending(input string) (govern.Proposal, error) {
	all, err := h.h.Govern().Proposals.List(h.t.Context(), ada, govern.ListProposals{})
	for _, p := range all {
		if p.Call != nil && strings.Contains(p.Call.Shown, input) {
			return p, nil
		}
	}
	return govern.Proposal{}, err
}

// Another policy that asks is not lifted with the one that a person was shown.
func TestLoopPolicies(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	h.asks()
	req := code.Request{Code: looping, Data: numbers(1, 2)}
	if _, err := h.approveLoop(h.run(req).Waits.Proposal, govern.Terms{Uses: 50, For: pattern(t, ".=*")}); err != nil {
		t.Fatal(err)
	}
	h.write(h.dir+"/policies/more.cedar", `@id("ask-two")
@reason("two is special")
@approval("required")
forbid(principal, action == Action::"http", resource) when { context.path == "/2" } unless { context.approved };
`)
	res := h.run(req)
	if res.Status != code.Paused || res.Waits.Call != 3 || len(s.counts()) != 1 {
		t.Errorf("%s %s %v", res.Status, outcome(res), s.counts())
	}
}

// Two at once never make more calls than a person approved.
func TestLoopAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	h.asks()
	if _, err := h.approveLoop(h.run(code.Request{Code: looping, Data: numbers(1, 1)}).Waits.Proposal, govern.Terms{Uses: 7, For: pattern(t, "n=*")}); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 6 {
		wait.Go(func() {
			_, err := h.h.Code().Execute(context.WithoutCancel(t.Context()), bot, code.Request{Code: looping, Data: numbers(10*i+10, 10*i+13), May: all, Bounds: &invoke.Bounds{}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := s.counts(); len(got) != 7 {
		t.Errorf("%d writes: %v", len(got), got)
	}
}
