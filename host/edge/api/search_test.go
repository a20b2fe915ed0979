package api_test

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/api"
)

// Skills are found by name, description and tool, among those that the token has to do with.
func TestSearch(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	for text, want := range map[string]string{"echo": "echo", "ANSWERS": "echo", "what it is told": "echo", "csv": ""} {
		path := "?q=" + strings.ReplaceAll(text, " ", "%20")
		a := s.as(agent, 200, "GET", "/v1/search"+path, "")
		if a.at("installed", "", "name") != want || a.at("published") != "[]" || a.at("missing") != "[]" {
			t.Errorf("search %q: %s", text, a)
		}
		if a := s.as(viewer, 200, "GET", "/v1/skills"+path, ""); a.at("items", "", "name") != want {
			t.Errorf("list %q: %s", text, a)
		}
	}
	other := s.token(govern.CreateToken{Name: "other", Role: caller, Skills: []string{"other"}})
	if a := s.ask(other, "GET", "/v1/search?q=echo", ""); a.at("installed") != "[]" {
		t.Errorf("a skill that the token is not for: %s", a)
	}
	s.as(viewer, 422, "GET", "/v1/search", "")
	s.as(viewer, 422, "GET", "/v1/search?q=", "")
}

// A registry that does not answer is named, and does not keep what is installed from being found.
func TestSearchWithoutRegistry(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{}, "registries: [{name: down, url: oci://127.0.0.1:1/skills}]")
	s.install("1.0.0")
	a := s.as(viewer, 200, "GET", "/v1/search?q=echo", "")
	if a.at("installed", "", "name") != "echo" || a.at("missing", "", "registry") != "down" {
		t.Errorf("%s", a)
	}
	if a := s.as(viewer, 200, "GET", "/v1/search?q=echo&installed=true", ""); a.at("missing") != "[]" {
		t.Errorf("no registry was to be asked: %s", a)
	}
}

// The audit log is queried by kind, actor and time.
func TestQueryAudit(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	s.invoke(caller, "1")
	for query, want := range map[string]string{
		"kind=install": "install", "kind=run": "run", "actor=program:caller": "run", "actor=human:ada&kind=install": "install",
		"kind=grant": "", "actor=human:bob": "", "until=2020-01-01T00:00:00Z": "", "since=2020-01-01T00:00:00Z&kind=run": "run", "since=2999-01-01T00:00:00Z": "",
	} {
		if a := s.as(viewer, 200, "GET", "/v1/audit?"+query, ""); a.at("items", "", "kind") != want {
			t.Errorf("%s: %s, want %q", query, a, want)
		}
	}
	s.as(viewer, 422, "GET", "/v1/audit?since=yesterday", "")
}

// Who commits a plan twice is told to make another one.
func TestCommitTwice(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	plan := s.as(approver, 201, "POST", "/v1/plans/remove", `{"skills":["echo"]}`).at("id")
	s.as(approver, 200, "POST", "/v1/plans/"+plan+"/commit", `{"consent":"shown"}`)
	a := s.as(approver, 409, "POST", "/v1/plans/"+plan+"/commit", `{"consent":"shown"}`)
	if a.at("hint") != "make a new plan of the change" || a.at("remedies", "", "action") != "plan_again" {
		t.Errorf("%s", a)
	}
}

// The routes in the shorter form do what the others do.
func TestPlainRoutes(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	id := s.as(caller, 201, "POST", "/api/tasks", `{"input":"say hello","context":{"name":"ada"}}`).at("task_id")
	if a := s.as(caller, 200, "GET", "/api/tasks/"+id, ""); a.at("status") != "queued" || a.at("user_input") != "say hello" || a.at("created_at") == "" {
		t.Errorf("the task: %s", a)
	}
	if a := s.as(caller, 200, "GET", "/v1/tasks/"+id, ""); a.at("task", "inputs", "name") != "ada" {
		t.Errorf("the same task: %s", a)
	}
	s.as(agent, 404, "GET", "/api/tasks/"+id, "")
	if a := s.as(agent, 200, "GET", "/api/tasks", ""); a.at("tasks") != "[]" {
		t.Errorf("tasks of others: %s", a)
	}
	if a := s.as(viewer, 200, "GET", "/api/tasks?status=queued&limit=1", ""); a.at("tasks", "", "task_id") != id {
		t.Errorf("tasks: %s", a)
	}
	if a := s.as(viewer, 200, "GET", "/api/tasks?agent_type=nobody", ""); a.at("tasks") != "[]" {
		t.Errorf("tasks of an agent: %s", a)
	}
	s.as(caller, 422, "POST", "/api/tasks", `{"input":"a","tier":"smart"}`)
	if a := s.as(viewer, 200, "GET", "/api/stats?days=3", ""); a.at("tasks", "total") != "1" || a.at("by_agent") == "" || a.at("period", "start") == "" {
		t.Errorf("figures: %s", a)
	}
	if a := s.as(viewer, 200, "GET", "/v1/stats", ""); a.at("tasks", "total", "tasks") != "1" || a.at("tasks", "days", "", "tasks") != "1" || a.at("models", "days") != "[]" {
		t.Errorf("all figures: %s", a)
	}
}

// Approvals in the shorter form are of the bytes that were shown, as all are.
func TestPlainApprovals(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	for _, version := range []string{"1.0.0", "2.0.0"} {
		plan := s.as(approver, 201, "POST", "/v1/plans/install", `{"package":"`+echoDir(t, version)+`","allow_unsigned":true,"generated_by":"model:x","rationale":"it was asked for"}`)
		s.as(approver, 200, "POST", "/v1/plans/"+plan.at("id")+"/commit", `{}`)
	}
	a := s.as(viewer, 200, "GET", "/api/approvals", "")
	first, digest := a.at("pending", "", "proposal_id"), a.at("pending", "", "digest")
	if first == "" || a.at("pending", "", "type") != "new_skill" || a.at("pending", "", "rationale") != "it was asked for" {
		t.Fatalf("what waits: %s", a)
	}
	s.as(approver, 422, "POST", "/api/approvals/"+first+"/approve", `{"notes":"Looks good"}`)
	s.as(agent, 403, "POST", "/api/approvals/"+first+"/approve", `{"digest":"`+digest+`"}`)
	if a := s.as(approver, 200, "POST", "/api/approvals/"+first+"/reject", `{"reason":"not needed"}`); a.at("status") != "rejected" {
		t.Errorf("%s", a)
	}
	a = s.as(viewer, 200, "GET", "/api/approvals", "")
	s.as(approver, 200, "POST", "/api/approvals/"+a.at("pending", "", "proposal_id")+"/approve", `{"digest":"`+a.at("pending", "", "digest")+`","notes":"Looks good"}`)
	if a := s.as(viewer, 200, "GET", "/api/approvals", ""); a.at("pending") != "[]" {
		t.Errorf("nothing waits: %s", a)
	}
}
