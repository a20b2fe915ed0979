package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
)

// A lines edge reads requests, a line of JSON each, and answers each with one. It parses,
// calls and prints, and decides nothing: all that a caller can do goes through the services
// of [host.Host].
type linesEdge struct {
	h     *host.Host
	by    approval.Principal
	plans []*admit.Plan // by their numbers, from 1
}

// A lineRequest says what to do, and with what.
type lineRequest struct {
	Do      string          `json:"do"`
	Package string          `json:"package"`
	Skill   string          `json:"skill"`
	Plan    int             `json:"plan"`
	Yes     bool            `json:"yes"`
	Call    string          `json:"call"`
	Input   json.RawMessage `json:"input"`
	Text    string          `json:"text"`
	ID      string          `json:"id"`
	Digest  string          `json:"digest"`
}

// A lineAnswer is the result of a request, or why there is none.
type lineAnswer struct {
	OK     bool         `json:"ok"`
	Result any          `json:"result,omitempty"`
	Error  *fault.Error `json:"error,omitempty"`
}

// lineVerbs are what can be asked for.
var lineVerbs = map[string]func(*linesEdge, context.Context, lineRequest) (any, error){
	"plan":     (*linesEdge).plan,
	"remove":   (*linesEdge).remove,
	"commit":   (*linesEdge).commit,
	"waiting":  (*linesEdge).waiting,
	"approve":  (*linesEdge).approve,
	"run":      (*linesEdge).run,
	"list":     (*linesEdge).list,
	"ask":      (*linesEdge).ask,
	"remember": (*linesEdge).remember,
	"recall":   (*linesEdge).recall,
	"audit":    (*linesEdge).audit,
}

func (e *linesEdge) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	for lines.Scan() {
		var r lineRequest
		result, err := any(nil), json.Unmarshal(lines.Bytes(), &r)
		do, known := lineVerbs[r.Do]
		switch {
		case err != nil:
			err = fault.Wrap(fault.KindUsage, err)
		case !known:
			err = fault.Errorf(fault.KindUsage, "nothing is called %q", r.Do)
		default:
			result, err = do(e, ctx, r)
		}
		if err := answers.Encode(lineAnswer{err == nil, result, meaning.Of(err)}); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (e *linesEdge) planned(ctx context.Context, c admit.Change) (any, error) {
	p, err := e.h.Admit().Plan(ctx, e.by, c)
	if err != nil {
		return nil, err
	}
	e.plans = append(e.plans, p)
	return struct {
		Number int `json:"number"`
		*admit.Plan
	}{len(e.plans), p}, nil
}

func (e *linesEdge) plan(ctx context.Context, r lineRequest) (any, error) {
	terms := admit.Terms{}
	if r.Yes {
		terms.Accepted = []admit.Flag{admit.AllowUnsigned}
	}
	return e.planned(ctx, admit.Install{Package: r.Package, Terms: terms})
}

func (e *linesEdge) remove(ctx context.Context, r lineRequest) (any, error) {
	return e.planned(ctx, admit.Removal{Skills: []string{r.Skill}})
}

func (e *linesEdge) commit(ctx context.Context, r lineRequest) (any, error) {
	if r.Plan < 1 || r.Plan > len(e.plans) {
		return nil, fault.Errorf(fault.KindNotFound, "no plan has the number %d", r.Plan)
	}
	consent := admit.NotAsked
	if r.Yes {
		consent = admit.Shown
	}
	return e.h.Admit().Commit(ctx, e.by, e.plans[r.Plan-1], consent)
}

func (e *linesEdge) waiting(ctx context.Context, _ lineRequest) (any, error) {
	return e.h.Govern().Proposals.List(ctx, e.by, govern.ListProposals{})
}

func (e *linesEdge) approve(ctx context.Context, r lineRequest) (any, error) {
	person, _ := e.by.(approval.Human) // nobody else decides
	return e.h.Govern().Proposals.Approve(ctx, person, govern.Approval{ID: r.ID, Digest: r.Digest})
}

func (e *linesEdge) run(ctx context.Context, r lineRequest) (any, error) {
	at, err := invoke.ParseAddress(r.Call)
	if err != nil {
		return nil, err
	}
	t, err := e.h.Invoke().Find(ctx, e.by, at, nil)
	if err != nil {
		return nil, err
	}
	answer, err := e.h.Invoke().Invoke(ctx, invoke.Invocation{Target: t, By: e.by, Input: r.Input})
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	return answer.Data, nil
}

func (e *linesEdge) list(ctx context.Context, _ lineRequest) (any, error) {
	return e.h.Admit().List(ctx, e.by, admit.Listing{})
}

func (e *linesEdge) ask(ctx context.Context, r lineRequest) (any, error) {
	return e.h.Work().Tasks().Chat(ctx, e.by, work.ChatRequest{Message: work.TaskRequest{Goal: r.Text}})
}

func (e *linesEdge) remember(ctx context.Context, r lineRequest) (any, error) {
	return e.h.Work().Memories().Add(ctx, e.by, work.MemoryDraft{Text: r.Text})
}

func (e *linesEdge) recall(ctx context.Context, r lineRequest) (any, error) {
	return e.h.Work().Memories().Search(ctx, e.by, work.Query{Text: r.Text})
}

func (e *linesEdge) audit(ctx context.Context, r lineRequest) (any, error) {
	return e.h.Govern().Audit.Events(ctx, e.by, govern.EventsRequest{Skill: r.Skill})
}

// say sends requests to the edge, and returns the answers.
func (e *linesEdge) say(t *testing.T, requests ...string) []lineAnswer {
	t.Helper()
	var out bytes.Buffer
	if err := e.serve(t.Context(), strings.NewReader(strings.Join(requests, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	var all []lineAnswer
	for line := range strings.Lines(out.String()) {
		var a lineAnswer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	if len(all) != len(requests) {
		t.Fatalf("%d answers to %d requests:\n%s", len(all), len(requests), out.String())
	}
	return all
}

// echoDir is a directory with a skill that answers its input, and asks for the clock.
func echoDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "echo")
	if err := writeEcho(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOneMoreEdge: whoever writes an edge needs nothing below the application layer, and
// what its caller forgets is refused.
func TestOneMoreEdge(t *testing.T) {
	h, dir := opened(t), echoDir(t)
	e := &linesEdge{h: h, by: approval.NewHuman("ada")}
	plan := fmt.Sprintf(`{"do":"plan","package":%q}`, dir)
	for i, a := range e.say(t,
		plan,
		`{"do":"commit","plan":1,"yes":true}`,
		`{"do":"run","call":"echo:echo","input":{"say":"hello"}}`,
		`{"do":"list"}`,
		`{"do":"remember","text":"The bakery opens at seven."}`,
		`{"do":"recall","text":"when does the bakery open"}`,
		`{"do":"ask","text":"hello"}`,
		`{"do":"audit","skill":"echo"}`,
	) {
		text, _ := json.Marshal(a.Result)
		want := []string{`"waits":true`, `"echo"`, `"hello"`, `"echo"`, `bakery`, `opens at seven`, `"Answer"`, `ada`}[i]
		if !a.OK || !strings.Contains(string(text), want) {
			t.Errorf("answer %d: %+v %s, want %s in it", i+1, a.Error, text, want)
		}
	}
	for request, want := range map[string]fault.Kind{
		`{"do":"commit","plan":1,"yes":true}`: fault.KindConflict, // it was committed
		`{"do":"commit"}`:                     fault.KindNotFound,
		`{"do":"plan"}`:                       fault.KindUsage,
		`{"do":"run","call":"echo:nothing"}`:  fault.KindNotFound,
		`{"do":"run","call":"nobody:echo"}`:   fault.KindNotFound,
		`{"do":"remove"}`:                     fault.KindUsage,
		`{"do":"remove","skill":"nobody"}`:    fault.KindNotFound,
		`{"do":"destroy"}`:                    fault.KindUsage,
		`{"do":`:                              fault.KindUsage,
	} {
		if a := e.say(t, request)[0]; a.OK || a.Error.Kind != want {
			t.Errorf("%s: %+v, want %s", request, a, want)
		}
	}
}

// An agent at the same edge decides nothing, and an edge that says not who calls gets
// nothing at all.
func TestOneMoreEdgeForOthers(t *testing.T) {
	h, dir := opened(t), echoDir(t)
	plan := fmt.Sprintf(`{"do":"plan","package":%q}`, dir)
	agent := &linesEdge{h: h, by: approval.NewAgent("general")}
	answers := agent.say(t, plan, `{"do":"commit","plan":1,"yes":true}`, plan, `{"do":"commit","plan":2}`, `{"do":"list"}`, `{"do":"waiting"}`)
	for i, want := range []fault.Kind{"", fault.KindDenied, "", fault.KindApproval, "", ""} {
		if a := answers[i]; a.OK != (want == "") || want != "" && a.Error.Kind != want {
			t.Errorf("an agent's request %d: %+v, want %q", i+1, a, want)
		}
	}
	waiting, _ := answers[5].Result.([]any)
	if len(waiting) != 1 {
		t.Fatalf("what the agent proposed does not wait: %+v", answers[5])
	}
	proposal := waiting[0].(map[string]any)
	approve := fmt.Sprintf(`{"do":"approve","id":%q,"digest":%q}`, proposal["id"], proposal["digest"])
	if a := agent.say(t, approve)[0]; a.OK || a.Error.Kind != fault.KindDenied {
		t.Errorf("an agent approves: %+v, want it denied", a)
	}
	person := &linesEdge{h: h, by: approval.NewHuman("ada")}
	if a := person.say(t, fmt.Sprintf(`{"do":"approve","id":%q}`, proposal["id"]))[0]; a.OK {
		t.Error("a person approved without saying which bytes they were shown")
	}
	if as := person.say(t, approve, `{"do":"run","call":"echo","input":1}`); !as[0].OK || !as[1].OK {
		t.Errorf("a person approves, and calls: %+v", as)
	}
	for verb := range lineVerbs {
		nobody := &linesEdge{h: h}
		if verb == "commit" {
			nobody.plans = agent.plans
		}
		request := fmt.Sprintf(`{"do":%q,"plan":1,"package":%q,"call":"echo","skill":"echo","text":"hello"}`, verb, dir)
		if a := nobody.say(t, request)[0]; a.OK || a.Error.Kind != fault.KindDenied {
			t.Errorf("%s, asked for by nobody: %+v, want it denied", verb, a)
		}
	}
}
