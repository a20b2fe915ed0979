package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// withEngine gives a person's home the interpreter of JavaScript, or skips the test.
func (p *person) withEngine() {
	p.t.Helper()
	if !interpreted(p.t) {
		p.t.Skip("the engine of JavaScript cannot be had")
	}
	shelf, err := shelved()
	if err == nil {
		err = shelf.lend(p.home)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.must(0, "engine", "add", "qjs", "--yes")
}

// post sends JSON to the service with a token, and reads the answer.
func (s *servedHome) post(token, path, body string, into any) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		s.t.Fatalf("%s: %d %s: %v", path, resp.StatusCode, b, err)
	}
	return resp.StatusCode
}

// An agent runs a script at a service, and proposes a skill of it, which a person approves: the
// agent cannot. A person at a terminal is asked what the skill is called.
func TestScriptIsProposed(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.withEngine()
	p.pack("echo", "echo", "1.0.0", "")
	p.must(0, "install", "./echo", "--yes")
	agent := strings.TrimSpace(p.must(0, "token", "create", "bot", "--role", "agent"))
	s := p.serve("--no-tasks")
	defer s.kill()

	var ran struct {
		Run    string `json:"run_id"`
		Status string
		Value  json.RawMessage
	}
	script := `{"code":"const all = []; for (const w of data.words) all.push(await tools.echo.echo(w)); all.join(' ')","data":{"words":["one","2"]}}`
	if code := s.post(agent, "/v1/code", script, &ran); code != 200 || ran.Status != "done" {
		t.Fatalf("%d %+v", code, ran)
	}
	var made struct{ Proposal, Digest string }
	if code := s.post(agent, "/v1/code/"+ran.Run+"/propose", `{"name":"says","description":"Says words."}`, &made); code != 200 || made.Proposal == "" {
		t.Fatalf("%d %+v", code, made)
	}
	var refused struct{ Kind string }
	if code := s.post(agent, "/v1/approvals/"+made.Proposal+"/approve", `{"digest":"`+made.Digest+`"}`, &refused); code != 403 {
		t.Errorf("an agent approved: %d %+v", code, refused)
	}
	call := func(token string) (code int, out struct {
		OK   bool
		Data json.RawMessage
	}) {
		code = s.post(token, "/v1/skills/says/tools/run/invoke", `{"input":{"words":["three","is","3"]}}`, &out)
		return code, out
	}
	if code, _ := call(agent); code != 404 {
		t.Errorf("called before it was approved: %d", code)
	}
	p.must(0, "approvals", "approve", made.Proposal, "--yes")
	if code, out := call(agent); code != 200 || string(out.Data) != `"three is 3"` {
		t.Errorf("called: %d %s", code, out.Data)
	}
	p.must(0, "test", "says")

	p.write("shout.js", []byte("(await tools.echo.echo(data.word)) + '!'\n"))
	p.must(0, "code", "shout.js", "--data", `{"word":"hi"}`)
	at := p.sit("propose", "--from-run", "last")
	at.sees("Name of the skill? [script-")
	at.types("shouts\n")
	at.sees("What does it do? [Runs a script in javascript that calls echo:echo.] ")
	at.types("\n")
	if got := at.ends(0); !strings.Contains(got, "proposed shouts@1.0.0") {
		t.Errorf("proposed:\n%s", got)
	}
	p.must(0, "approvals", "approve", "--skill", "shouts", "--yes")
	if got := p.must(0, "run", "shouts", "word=ho"); !strings.Contains(got, "ho!") {
		t.Errorf("it said %s", got)
	}
}
