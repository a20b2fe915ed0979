package page_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/page"
)

var update = flag.Bool("update", false, "write the golden page anew")

// read is the task that the golden page is of: as the service told it.
func read(t *testing.T) (told work.TaskDetails) {
	t.Helper()
	b, err := os.ReadFile("testdata/task.json")
	if err == nil {
		err = json.Unmarshal(b, &told)
	}
	if err != nil {
		t.Fatal(err)
	}
	return told
}

func pageOf(t *testing.T, told work.TaskDetails) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := page.Task(&b, told); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The page of a real task is the golden one.
func TestTask(t *testing.T) {
	got := pageOf(t, read(t))
	const golden = "testdata/task.html"
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the page is not the golden one (%v); -update writes it anew\n%s", err, got)
	}
}

// hostile would be a script, a picture and a colour, if it were not text.
const hostile = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{.}}\x1b[31mred\x1b]0;title\a\u202eevil\u2066\u200b\x00javascript:alert(3)"

// Whatever skills and models write is text: it opens no tag, and moves nothing.
func TestHostileTexts(t *testing.T) {
	told := read(t)
	v := fault.Errorf(fault.KindSkill, "%s", hostile)
	r := &told.Run
	told.Task.Goal, r.Title, r.Owner, r.Agent, r.Reason, r.RiskReason, r.Risk = hostile, hostile, hostile, hostile, hostile, hostile, hostile
	for i := range r.Steps {
		s := &r.Steps[i]
		s.ID, s.Title, s.Tool, s.Agent, s.Goal, s.Output, s.Error, s.Input = hostile, hostile, hostile, hostile, hostile, hostile, v, json.RawMessage(hostile)
	}
	if r.Report != nil {
		r.Report.Summary, r.Report.Answer, r.Report.Error = hostile, hostile, v
	}
	for i := range told.Events {
		e := &told.Events[i]
		e.Text, e.Actor, e.Type = hostile, hostile, hostile
	}
	told.Calls = []work.CallRecord{{Denials: []work.Refusal{{Request: hostile, Reason: hostile}}}}
	for i := range told.Calls {
		c := &told.Calls[i]
		c.Skill, c.Tool, c.OK, c.Error = hostile, hostile, false, v
	}
	harmless(t, pageOf(t, told))
}

// So it is on the page of a run.
func TestHostileRun(t *testing.T) {
	told := read(t)
	v := fault.Errorf(fault.KindSkill, "%s", hostile)
	c := work.Call{Actor: hostile, CallRecord: work.CallRecord{
		RunID: hostile, Skill: hostile, Tool: hostile, Digest: hostile, InputDigest: hostile, OutputDigest: hostile, Error: v, Session: hostile, Of: hostile,
		Part: hostile, OnBehalfOf: hostile, Task: hostile, Step: hostile, Allowed: []string{hostile}, Denials: []work.Refusal{{Request: hostile, Reason: hostile}},
	}}
	step := told.Run.Steps[0]
	step.Title, step.Goal, step.Output, step.Error, step.Input = hostile, hostile, hostile, v, json.RawMessage(hostile)
	var b bytes.Buffer
	err := page.Run(&b, work.CallDetails{
		Call: c, Parts: []work.Call{c}, Task: &work.CallTask{ID: hostile, Title: hostile, Owner: hostile, State: hostile, Step: &step, Events: told.Events},
		Kept: &work.RecordedCall{
			Input: hostile, Output: hostile, HostCalls: []work.HostCall{{Name: hostile, Request: hostile, Answer: hostile}},
			Files: []work.FileOperation{{What: hostile, Before: hostile, Written: hostile}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	harmless(t, b.Bytes())
}

// harmless wants hostile to be text on a page, often, and the page to ask for nothing.
func harmless(t *testing.T, page []byte) {
	t.Helper()
	got := string(page)
	for _, bad := range []string{"<script", "<img", "\x1b", "\a", "\x00", "\u202e", "\u2066", "\u200b", "onerror=alert(2)>"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is on the page", bad)
		}
	}
	if n := strings.Count(got, "&lt;script&gt;"); n < 10 {
		t.Errorf("the texts are %d times on the page", n)
	}
	if !strings.Contains(got, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;;`) || strings.Contains(got, "http://") || strings.Contains(got, "https://") {
		t.Error("the page may ask for something, or says where something is")
	}
}
