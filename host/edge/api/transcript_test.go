package api_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/api"
)

// What is known of a task is told as JSON of the document, and as a page, to who sees it.
func TestTaskTranscript(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	id := s.as(caller, 201, "POST", "/v1/tasks", `{"goal":"say <b>hello</b>","approve_risk":"high"}`).at("task_id")
	if err := s.h.Work().Tasks().RunWorkers(t.Context(), ada, work.WorkRequest{}); err != nil {
		t.Fatal(err)
	}
	told := s.as(caller, 200, "GET", "/v1/tasks/"+id+"/transcript", "")
	if told.at("run", "task_id") != id || told.at("events", "", "type") != "task.created" {
		t.Errorf("%s", told)
	}
	p := s.ask(s.tokens[caller], "GET", "/v1/tasks/"+id+"/transcript", "", "Accept", "text/html")
	if policy := p.header.Get("Content-Security-Policy"); !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "sandbox") {
		t.Errorf("the headers of the page: %v", p.header)
	}
	if page := string(p.body); !strings.Contains(page, "say &lt;b&gt;hello&lt;/b&gt;") || strings.Contains(page, "<b>") {
		t.Errorf("the page: %s", page)
	}
	s.as(agent, 404, "GET", "/v1/tasks/"+id+"/transcript", "")
}

// A secret that was set after the service began is struck out of what is told.
func TestTranscriptStrikesNewSecrets(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	const value = "correct-horse-battery"
	id := s.as(caller, 201, "POST", "/v1/tasks", `{"goal":"say `+value+`"}`).at("task_id")
	for _, known := range []bool{false, true} {
		if known {
			if _, err := s.h.Govern().Secrets.Set(t.Context(), ada, govern.SetSecret{Name: "battery", Value: []byte(value)}); err != nil {
				t.Fatal(err)
			}
		}
		if a := s.as(caller, 200, "GET", "/v1/tasks/"+id+"/transcript", ""); bytes.Contains(a.body, []byte(value)) == known {
			t.Errorf("the secret is known: %v, and it tells %s", known, a)
		}
	}
}
