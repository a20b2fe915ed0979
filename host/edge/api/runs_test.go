package api_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/api"
)

// invoke calls the skill echo with the token of a role, and returns the ID of the run.
func (s *server) invoke(role govern.Role, input string) string {
	s.t.Helper()
	return s.as(role, 200, "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":`+input+`}`).at("run_id")
}

// A run is listed, shown and told to who made it, and to who sees all; others are told that they
// have none, and that they asked is on record.
func TestRunsOfOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	theirs, mine := s.invoke(caller, "1"), s.invoke(agent, "2")
	for role, own := range map[govern.Role]string{caller: theirs, agent: mine} {
		other := map[string]string{theirs: mine, mine: theirs}[own]
		if a := s.as(role, 200, "GET", "/v1/runs", ""); a.at("items", "", "run_id") != own || bytes.Contains(a.body, []byte(other)) {
			t.Errorf("the runs of %s: %s", role, a)
		}
		for _, path := range []string{"", "/transcript"} {
			s.as(role, 200, "GET", "/v1/runs/"+own+path, "")
			a := s.as(role, 404, "GET", "/v1/runs/"+other+path, "")
			none := s.as(role, 404, "GET", "/v1/runs/"+strings.Repeat("0", len(other))+path, "")
			if strings.ReplaceAll(string(a.body), other, strings.Repeat("0", len(other))) != string(none.body) {
				t.Errorf("that a run is there can be told: %s, %s", a, none)
			}
		}
	}
	for _, role := range []govern.Role{viewer, operator, approver} {
		a := s.as(role, 200, "GET", "/v1/runs?limit=1", "")
		if a.at("items", "", "run_id") != mine || a.at("next") != "1" {
			t.Errorf("the newest run as %s: %s", role, a)
		}
		if a := s.as(role, 200, "GET", "/v1/runs?cursor=1", ""); a.at("items", "", "run_id") != theirs || a.at("next") != "" {
			t.Errorf("the one before as %s: %s", role, a)
		}
		s.as(role, 200, "GET", "/v1/runs/"+theirs, "")
	}
	refused := 0
	for _, r := range s.refusals() {
		if strings.HasPrefix(r.Route, "GET /v1/runs/") && !strings.Contains(r.Route, "00000000-") && !strings.Contains(r.Route, "/000") {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("%d refusals are on record", refused)
	}
}

// The calls of a task are whose task it is, whatever the agent is called that made them.
func TestRunsOfTasks(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	id := s.as(caller, 201, "POST", "/v1/tasks", `{"goal":"answer its input: hello","tools":["echo"],"approve_risk":"high"}`).at("task_id")
	if err := s.h.Work().Tasks().RunWorkers(t.Context(), ada, work.WorkRequest{}); err != nil {
		t.Fatal(err)
	}
	a := s.as(caller, 200, "GET", "/v1/runs?task="+id, "")
	run := a.at("items", "", "run_id")
	if run == "" || a.at("items", "", "task") != id {
		t.Fatalf("the runs of the task: %s, %s", a, s.as(caller, 200, "GET", "/v1/tasks/"+id, ""))
	}
	told := s.as(caller, 200, "GET", "/v1/runs/"+run+"/transcript", "")
	if told.at("task", "task_id") != id || told.at("task", "step", "tool") == "" || told.at("run", "task") != id {
		t.Errorf("the transcript: %s", told)
	}
	name := strings.TrimPrefix(told.at("run", "actor"), "agent:")
	alike := s.token(govern.CreateToken{Name: name, Role: agent})
	if a := s.ask(alike, "GET", "/v1/runs", ""); a.at("items") != "[]" {
		t.Errorf("the runs of an agent of the same name: %s", a)
	}
	if a := s.ask(alike, "GET", "/v1/runs/"+run, ""); a.status != 404 {
		t.Errorf("a run of an agent of the same name: %s", a)
	}
}

// A run is told as JSON, and as a page in which what skills say is text.
func TestRunTranscript(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{}, "record_calls=9")
	s.install("1.0.0")
	run := s.invoke(caller, `"<script>alert(1)</script>"`)
	told := s.as(caller, 200, "GET", "/v1/runs/"+run+"/transcript", "")
	if told.at("run", "run_id") != run || told.at("recorded", "input") != `"<script>alert(1)</script>"` || told.at("recorded", "output") != told.at("recorded", "input") || told.at("parts") != "[]" {
		t.Errorf("%s", told)
	}
	p := s.ask(s.tokens[caller], "GET", "/v1/runs/"+run+"/transcript", "", "Accept", "text/html")
	if policy := p.header.Get("Content-Security-Policy"); !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "sandbox") {
		t.Errorf("the headers of the page: %v", p.header)
	}
	if page := string(p.body); !strings.Contains(page, "&lt;script&gt;alert(1)") || strings.Contains(page, "<script") || !strings.Contains(page, run) {
		t.Errorf("the page: %s", page)
	}
	s.as(caller, 422, "GET", "/v1/runs/a", "")
	s.as(caller, 422, "GET", "/v1/runs?since=yesterday", "")
	if a := s.as(viewer, 200, "GET", "/v1/runs?skill=echo&since=2020-01-01T00:00:00Z", ""); a.at("items", "", "run_id") != run {
		t.Errorf("runs of the skill: %s", a)
	}
	for _, none := range []string{"skill=other", "failed=true", "denied=true", "until=2020-01-01T00:00:00Z", "task=0000"} {
		if a := s.as(viewer, 200, "GET", "/v1/runs?"+none, ""); a.at("items") != "[]" {
			t.Errorf("runs with %s: %s", none, a)
		}
	}
}
