package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/edge/api"
)

// tag is the ETag of what a role is shown at a path. Who has it already is told so, and
// nothing else.
func (s *server) tag(path string) string {
	s.t.Helper()
	a := s.as(viewer, 200, "GET", path, "")
	tag := a.header.Get("ETag")
	if !strings.HasPrefix(tag, `"`) || !strings.HasSuffix(tag, `"`) || a.header.Get("Cache-Control") != "private, no-cache" {
		s.t.Fatalf("%s: %v", path, a.header)
	}
	for _, has := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		if a := s.ask(s.tokens[viewer], "GET", path, "", "If-None-Match", has); a.status != http.StatusNotModified || len(a.body) > 0 || a.header.Get("ETag") != tag {
			s.t.Errorf("%s for who has %s: %s, %v", path, has, a, a.header)
		}
	}
	s.ifNoneMatch(path, `"other"`, 200)
	return tag
}

func (s *server) ifNoneMatch(path, tag string, want int) {
	s.t.Helper()
	if a := s.ask(s.tokens[viewer], "GET", path, "", "If-None-Match", tag); a.status != want {
		s.t.Errorf("%s for who has %s: %s", path, tag, a)
	}
}

// Every answer about what is decided has a tag, which is another once it was changed; and a
// change of it is made only if what the client saw is so still.
func TestTags(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	s.install("1.1.0")
	propose := func() (id, digest string) {
		plan := s.as(approver, 201, "POST", "/v1/plans/install", fmt.Sprintf(`{"package":%q,"allow_unsigned":true,"generated_by":"gpt"}`, echoDir(t, "2.0.0")))
		done := s.as(approver, 200, "POST", "/v1/plans/"+plan.at("id")+"/commit", `{}`)
		return done.at("proposal", "id"), done.at("proposal", "digest")
	}
	id, digest := propose()
	task := s.as(operator, 201, "POST", "/v1/tasks", `{"goal":"say hello"}`).at("task_id")
	const echo, echoGrants = "/v1/skills/echo", "/v1/skills/echo/grants"
	for _, c := range []struct {
		shown, change, body, lists string
	}{
		{echo, echo + "/disable", `{}`, "/v1/skills"},
		{echo, echo + "/enable", "", "/v1/skills"},
		{echoGrants, echoGrants, `{"capabilities":["random"],"scope":"always"}`, ""},
		{echoGrants, echoGrants + "/revoke", `{"capabilities":["random"]}`, ""},
		{"/v1/tasks/" + task, "/v1/tasks/" + task + "/pause", "", "/v1/tasks"},
		{"/v1/tasks/" + task, "/v1/tasks/" + task + "/resume", "", "/v1/tasks"},
		{"/v1/tasks/" + task, "/v1/tasks/" + task + "/cancel", "{}", "/v1/tasks"},
		{"/v1/approvals/" + id, "/v1/approvals/" + id + "/approve", fmt.Sprintf(`{"digest":%q,"scope":"always"}`, digest), "/v1/approvals?all=true"},
		{"/v1/approvals/" + id, "/v1/approvals/" + id + "/revert", "{}", "/v1/approvals?all=true"},
	} {
		change := func(want int, tag string) {
			t.Helper()
			a := s.ask(s.tokens[approver], "POST", c.change, c.body, "If-Match", tag)
			if a.status != want || want == 412 && (a.at("status") != "412" || a.at("kind") != "conflict") {
				t.Errorf("%s with %s: %s, want %d", c.change, tag, a, want)
			}
		}
		before := s.tag(c.shown)
		list := ""
		if c.lists != "" {
			list = s.tag(c.lists)
		}
		for _, other := range []string{`"0123.4567"`, `".4567"`, `"x"`, "W/" + before, "x"} {
			change(412, other)
		}
		if s.tag(c.shown) != before {
			t.Errorf("%s was changed although it was refused", c.shown)
		}
		change(200, `"other", `+before)
		s.ifNoneMatch(c.shown, before, 200)
		if c.lists != "" {
			s.ifNoneMatch(c.lists, list, 200)
		}
		change(412, before)
	}
	s.tag("/v1/policies")
	s.tag("/v1/agents")
	second, _ := propose()
	path := "/v1/approvals/" + second
	before := s.tag(path)
	if a := s.ask(s.tokens[approver], "POST", path+"/reject", `{}`, "If-Match", `"0.0"`); a.status != 412 {
		t.Errorf("rejected although it was another: %s", a)
	}
	if a := s.ask(s.tokens[approver], "POST", path+"/reject", `{}`, "If-Match", before); a.status != 200 {
		t.Errorf("not rejected: %s", a)
	}
	s.as(approver, 404, "GET", "/v1/skills/nobody", "")
	if a := s.ask(s.tokens[approver], "POST", echo+"/disable", `{}`, "If-Match", "*"); a.status != 200 {
		t.Errorf("whatever it is: %s", a)
	}
}

// A plan can be made from what was shown, and says at its commit that this changed.
func TestTagsOfPlans(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	s.install("1.1.0")
	before := s.tag("/v1/skills/echo")
	plan := func(want int) string {
		t.Helper()
		a := s.ask(s.tokens[approver], "POST", "/v1/plans/rollback", `{"skill":"echo"}`, "If-Match", before)
		if a.status != want {
			t.Errorf("a plan: %s, want %d", a, want)
		}
		return a.at("id")
	}
	id := plan(201)
	s.as(approver, 200, "POST", "/v1/skills/echo/grants", `{"capabilities":["random"],"scope":"always"}`)
	s.as(approver, 412, "POST", "/v1/plans/"+id+"/commit", `{"consent":"shown"}`)
	s.as(approver, 200, "POST", "/v1/skills/echo/disable", `{}`)
	plan(412)
	if a := s.ask(s.tokens[approver], "POST", "/v1/plans/update", `{"skill":"echo"}`, "If-Match", before); a.status != 412 {
		t.Errorf("an update: %s", a)
	}
}

// The document has the headers and statuses of every route that has tags, or compares them.
func TestTagsInTheDocument(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	var doc struct {
		Paths map[string]map[string]struct {
			ID         string `json:"operationId"`
			Parameters []struct{ Name string }
			Responses  map[string]struct{ Headers map[string]any }
		}
	}
	if err := json.Unmarshal(s.ask("", "GET", "/v1/openapi.json", "").body, &doc); err != nil {
		t.Fatal(err)
	}
	tagged := strings.Fields("list-skills show-skill list-approvals show-approval show-grants list-policies list-tasks show-task list-agents")
	matched := strings.Fields("enable-skill disable-skill approve reject revert grant revoke-grants pause-task resume-task cancel-task plan-update plan-rollback")
	for _, methods := range doc.Paths {
		for _, op := range methods {
			has := func(name string) bool {
				return slices.ContainsFunc(op.Parameters, func(p struct{ Name string }) bool { return p.Name == name })
			}
			_, notModified := op.Responses["304"]
			_, failed := op.Responses["412"]
			_, tag := op.Responses["200"].Headers["ETag"]
			if want := slices.Contains(tagged, op.ID); has("If-None-Match") != want || notModified != want || tag != want {
				t.Errorf("%s: the tags of answers", op.ID)
			}
			if want := slices.Contains(matched, op.ID); has("If-Match") != want || failed != (want || op.ID == "commit-plan") {
				t.Errorf("%s: what it is compared with", op.ID)
			}
		}
	}
}
