package code_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
)

// propose makes a skill of a run, and fails the test when that cannot be done.
func (h *home) propose(by approval.Principal, req code.Propose) code.Made {
	h.t.Helper()
	made, err := h.h.Code().Propose(h.t.Context(), by, req)
	if err != nil {
		h.t.Fatalf("propose %s: %v", req.Run, err)
	}
	return made
}

// refuses reports whether a skill is refused, for a reason of that kind and with these words.
func (h *home) refuses(by approval.Principal, req code.Propose, kind fault.Kind, words string) {
	h.t.Helper()
	_, err := h.h.Code().Propose(h.t.Context(), by, req)
	if e := fault.AsError(err); e == nil || e.Kind != kind || !strings.Contains(e.Error(), words) {
		h.t.Errorf("propose %+v: %v, want %s: %s", req, err, kind, words)
	}
}

// calls calls the tool of a skill that was made.
func (h *home) calls(skill, input string) (string, error) {
	h.t.Helper()
	t, err := h.h.Invoke().Find(h.t.Context(), bot, invoke.Address{Ref: manifests.Ref{Name: skill}}, nil)
	if err != nil {
		return "", err
	}
	a, err := h.h.Invoke().Invoke(h.t.Context(), invoke.Invocation{Target: t, By: bot, Input: []byte(input), Bounds: &invoke.Bounds{}})
	if err == nil && !a.OK {
		err = a.Error
	}
	return string(a.Data), err
}

// tests runs the test cases of an installed skill.
func (h *home) tests(skill string) {
	h.t.Helper()
	r, err := h.h.Author().Test(h.t.Context(), ada, author.TestRequest{Skill: skill})
	if err != nil || !r.OK || len(r.Results) != 1 || r.Results[0].Outcome != author.CasePassed {
		h.t.Errorf("the test cases of %s: %+v, %v", skill, r, err)
	}
}

const (
	addsInJS = `let seen = 0;
for (const n of data.list) seen += (await tools.net_work.post({ n })).seen;
let why = "";
try { await tools.net_work.fail(); } catch (e) { why = e.kind + ": " + e.message; }
({ seen, why, said: await tools.net_work.say({ text: "a \"text\" </script>" }), there: data.name })
`
	addsInPython = `seen = 0
for n in data["list"]:
    seen += tools.net_work.post(n=n)["seen"]
why = ""
try:
    tools.net_work.fail()
except ToolError as e:
    why = e.kind + ": " + str(e)
{"seen": seen, "why": why, "said": tools.net_work.say(text="a \"text\" </script>"), "there": data["name"]}
`
)

// A script that ran becomes a skill: proposed, approved, called with other data, tested.
func TestSkillOfARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, language, script string }{
		{"qjs", "javascript", addsInJS}, {"python", "python", addsInPython}, {"cpython", "python", addsInPython},
	} {
		t.Run(c.engine, func(t *testing.T) {
			if testing.Short() && c.engine == "cpython" {
				t.Skip("to link and to compile CPython takes long; make test LONG=1 runs it")
			}
			t.Parallel()
			var more []string
			if c.engine != "qjs" {
				more = append(more, c.engine)
			}
			s := newServer(t)
			h := newHome(t, s, more...)
			defer h.close()
			ran := h.run(code.Request{Language: c.language, Code: c.script, Data: json.RawMessage(`{"list": [1, 2], "name": "é"}`)})
			if ran.Status != code.Done || !strings.Contains(string(ran.Value), `"conflict: it is so already"`) {
				t.Fatalf("%s %s", ran.Status, outcome(ran))
			}

			dry := h.propose(bot, code.Propose{Run: ran.RunID, Name: "adds", Dry: true})
			if dry.Proposal != "" || len(dry.Files) != 3 || fmt.Sprint(dry.Calls) != "[net-work@1.0.0:post net-work@1.0.0:fail net-work@1.0.0:say]" {
				t.Errorf("dry: %+v", dry)
			}
			made := h.propose(bot, code.Propose{Run: ran.RunID, Name: "adds"})
			if again := h.propose(bot, code.Propose{Run: code.LastRun, Name: "adds"}); again.Proposal != made.Proposal || again.Digest != dry.Digest {
				t.Errorf("proposed again: %+v, before %+v", again, made)
			}
			if _, err := h.calls("adds", `{"list":[3],"name":"x"}`); fault.AsError(err).Kind != fault.KindNotFound {
				t.Errorf("called before it was approved: %v", err)
			}
			p, err := h.h.Govern().Proposals.Find(t.Context(), ada, made.Proposal)
			if err != nil || p.Type != approval.TypeNewSkill || p.ProposedBy != "agent:bot" || len(p.Requested) != 1 {
				t.Errorf("the proposal: %+v, %v", p, err)
			}
			h.approve(made.Proposal)
			before := len(s.counts())
			got, err := h.calls("adds", `{"list":[3, 4, 5],"name":"x"}`)
			if want := `"there":"x"`; err != nil || !strings.Contains(strings.ReplaceAll(got, ": ", ":"), want) || !strings.Contains(strings.ReplaceAll(got, ": ", ":"), `"seen":3`) {
				t.Errorf("called with other data: %s, %v", got, err)
			}
			if after := len(s.counts()); after != before+3 {
				t.Errorf("%d paths were written to, and %d before", after, before)
			}
			if _, err := h.calls("adds", `{"name":"x"}`); fault.AsError(err).Kind != fault.KindUsage {
				t.Errorf("without a list: %v", err)
			}
			h.tests("adds")
			h.refuses(bot, code.Propose{Run: ran.RunID, Name: "adds"}, fault.KindConflict, "installed already")
		})
	}
}

// Data that is no object is a member of the input, and a script without data takes nothing.
func TestSkillOfOtherData(t *testing.T) {
	t.Parallel()
	h := newHome(t, newServer(t))
	defer h.close()
	for name, c := range map[string]struct{ script, data, input, want string }{
		"list":    {"data.map((n) => n * 2)", "[1, 2]", `{"data":[5]}`, "[10]"},
		"text":    {"data.length", `"four"`, `{"data":"three"}`, "5"},
		"nothing": {"typeof data", "", `{}`, `"undefined"`},
	} {
		ran := h.run(code.Request{Code: c.script, Data: json.RawMessage(c.data)})
		made := h.propose(ada, code.Propose{Run: ran.RunID, Name: name})
		h.approve(made.Proposal)
		if got, err := h.calls(name, c.input); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		h.tests(name)
	}
}

// What no skill is made of.
func TestNoSkillOfARun(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHome(t, s)
	defer h.close()
	other := approval.NewAgent("other")
	failed := h.run(code.Request{Code: "null.x"})
	h.refuses(bot, code.Propose{Run: failed.RunID}, fault.KindConflict, "failed")
	h.refuses(bot, code.Propose{Run: "0197c3a2-7c1e-7e55-9a51-6d1f0c8d2b11"}, fault.KindNotFound, "not known")
	h.refuses(bot, code.Propose{Run: code.LastRun}, fault.KindNotFound, "nothing is kept")
	h.refuses(bot, code.Propose{}, fault.KindUsage, "needed")

	ran := h.run(code.Request{Code: "(await tools.net_work.post({ n: 1 })).seen"})
	h.refuses(bot, code.Propose{Run: string(ran.Calls[0].RunID)}, fault.KindUsage, "no script")
	h.refuses(other, code.Propose{Run: ran.RunID}, fault.KindNotFound, "not known")
	h.refuses(other, code.Propose{Run: string(ran.Calls[0].RunID)}, fault.KindNotFound, "not known")
	h.refuses(bot, code.Propose{Run: ran.RunID, Name: "Not A Name"}, fault.KindUsage, "not a name")

	lost := h.run(code.Request{Code: "try { await tools.nobody.x({}) } catch (e) { e.kind }"})
	h.refuses(bot, code.Propose{Run: lost.RunID}, fault.KindConflict, "reached no tool")
	random := h.run(code.Request{Code: "[Math.random(), Date.now()]"})
	h.refuses(bot, code.Propose{Run: random.RunID}, fault.KindVerification, "does not do what the run did")
	long := h.run(code.Request{Code: `const a = await tools.net_work.big({}); a.length`})
	h.refuses(bot, code.Propose{Run: long.RunID}, fault.KindConflict, "longer than is kept")

	h.asks()
	waits := h.run(code.Request{Code: "(await tools.net_work.post({ n: 2 })).seen"})
	h.refuses(bot, code.Propose{Run: waits.RunID}, fault.KindConflict, "waits")
	h.approve(waits.Waits.Proposal)
	if waits = h.run(code.Request{Run: waits.RunID}); waits.Status != code.Done { // resumed, and so the call before is on the tape too
		t.Fatal(outcome(waits))
	}
	made := h.propose(bot, code.Propose{Run: waits.RunID, Name: "resumed"})
	if _, err := h.h.Govern().Proposals.Find(t.Context(), ada, made.Proposal); err != nil {
		t.Error(err)
	}

	// What it called is another by now, is off, or is gone.
	dir := t.TempDir()
	h.write(filepath.Join(dir, "skill.json"), strings.Replace(fmt.Sprintf(netManifest, s.URL), `"1.0.0"`, `"1.1.0"`, 1))
	h.write(filepath.Join(dir, "main.js"), fmt.Sprintf(netScript, s.URL))
	h.install(dir)
	h.refuses(bot, code.Propose{Run: ran.RunID}, fault.KindConflict, "net-work@1.0.0, and net-work@1.1.0 is another")
	plan, err := h.h.Admit().Plan(t.Context(), ada, admit.Removal{Skills: []string{"net-work"}, Force: true})
	if err == nil {
		_, err = h.h.Admit().Commit(t.Context(), ada, plan, admit.Shown)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.refuses(bot, code.Propose{Run: ran.RunID}, fault.KindNotFound, "the run called net-work@1.0.0:post")
}
