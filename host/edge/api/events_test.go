package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/api"
)

// A message is one of a stream.
type message struct {
	id      uint64
	event   string
	data    string
	comment string
}

// follow opens the stream of a task's events. next returns its messages, one after the
// other; ok is false at the end.
func (s *server) follow(id string, after uint64) (next func() (m message, ok bool)) {
	s.t.Helper()
	return s.stream("/v1/tasks/"+id+"/events", govern.RoleCaller, after)
}

// stream is follow for any stream.
func (s *server) stream(path string, as govern.Role, after uint64) (next func() (m message, ok bool)) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.tokens[as])
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatalf("the stream: %d %v", resp.StatusCode, resp.Header)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return func() (m message, ok bool) {
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "id":
				m.id, _ = strconv.ParseUint(value, 10, 64)
			case "event":
				m.event = value
			case "data":
				m.data = value
			case "":
				if lines.Text() == "" {
					return m, true
				}
				m.comment = value
			}
		}
		return m, false
	}
}

func (s *server) all(id string, after uint64) (found []message) {
	next := s.follow(id, after)
	for m, ok := next(); ok; m, ok = next() {
		if m.event != "" {
			found = append(found, m)
		}
	}
	return found
}

// The events of a task come in order, each once, while it is worked on; who connects again
// gets those that are missing.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	id := s.as(govern.RoleCaller, 201, "POST", "/v1/tasks", `{"goal":"say hello","approve_risk":"high"}`).at("task_id")
	next := s.follow(id, 0)
	first, ok := next()
	if !ok || first.event == "" {
		t.Fatalf("the first message: %+v", first)
	}
	if err := s.h.Work().Tasks().RunWorkers(t.Context(), ada, work.WorkRequest{}); err != nil {
		t.Fatal(err)
	}
	seen := []message{first}
	for m, ok := next(); ok; m, ok = next() {
		if m.event != "" {
			seen = append(seen, m)
		}
	}
	if again := s.all(id, 0); len(again) != len(seen) {
		t.Errorf("%d events, and afterwards %d", len(seen), len(again))
	}
	for i, m := range seen {
		var e work.Event
		if err := json.Unmarshal([]byte(m.data), &e); err != nil || e.Seq != m.id || string(e.Type) != m.event || i > 0 && m.id <= seen[i-1].id {
			t.Errorf("message %d: %+v, %v", i, m, err)
		}
		if i > 0 && i < len(seen)-2 { // following once more at each would take long
			continue
		}
		if rest := s.all(id, m.id); len(rest) != len(seen)-i-1 || len(rest) > 0 && rest[0] != seen[i+1] {
			t.Errorf("after %d: %d messages", m.id, len(rest))
		}
	}
	if last := seen[len(seen)-1]; len(seen) < 3 || !strings.HasPrefix(last.event, "task.") {
		t.Errorf("%d messages, the last one %+v", len(seen), last)
	}
}

// Who sees what others do follows the events of the home: those that there are, then those
// that come, each once and in order, also when connecting again.
func TestEventsOfTheHome(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	first := s.as(govern.RoleCaller, 201, "POST", "/v1/tasks", `{"goal":"say hello"}`).at("task_id")
	next, seen := s.stream("/v1/events", govern.RoleViewer, 0), []message{}
	until := func(task string) {
		for m, ok := next(); ; m, ok = next() {
			if !ok {
				t.Fatal("the stream ended")
			}
			if m.event == "" {
				continue
			}
			if seen = append(seen, m); m.event == "task.queued" && strings.Contains(m.data, task) {
				return
			}
		}
	}
	until(first)
	until(s.as(govern.RoleCaller, 201, "POST", "/v1/tasks", `{"goal":"say hello again"}`).at("task_id"))
	again := s.stream("/v1/events", govern.RoleViewer, seen[0].id)
	for _, want := range seen[1:] {
		m, ok := again()
		for ok && m.event == "" {
			m, ok = again()
		}
		if m != want || m.id <= seen[0].id {
			t.Errorf("after %d: %+v, want %+v", seen[0].id, m, want)
		}
	}
	s.as(govern.RoleCaller, 403, "GET", "/v1/events", "")
	s.edge.EndStreams()
	for _, ok := next(); ok; _, ok = next() {
	}
}

// What was refused, may be done, answers and is exported, in the forms of the document.
func TestRoutesOfWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	if a := s.as(govern.RoleViewer, 200, "POST", "/v1/policies/check", `{"skill":"echo","request":"fs.read:/data/a.csv"}`); a.at("effect") == "allow" {
		t.Errorf("a file that nobody granted: %s", a)
	}
	if a := s.as(govern.RoleViewer, 200, "POST", "/v1/policies/check", `{"skill":"echo","request":"fs.read:/data/a.csv","allow":["fs.read:/data/**"]}`); a.at("effect") == "" {
		t.Errorf("a file that is taken for granted: %s", a)
	}
	s.as(govern.RoleViewer, 400, "POST", "/v1/policies/check", `{"skill":"echo","request":"fs.read:/a","allow":["what"]}`)
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/providers/health", ""); a.at("items", "", "provider") != "local" || a.at("items", "", "ok") != "true" {
		t.Errorf("providers: %s", a)
	}
	s.as(govern.RoleViewer, 200, "POST", "/v1/models/diagnose", `{"prompt":"hello"}`)
	s.as(govern.RoleCaller, 200, "GET", "/v1/sessions", "")
	if a := s.as(govern.RoleViewer, 200, "GET", "/v1/audit/export?log=decisions", ""); !strings.Contains(string(a.body), "echo") || a.header.Get("Content-Type") != "application/jsonl" {
		t.Errorf("the export: %v %s", a.header, a)
	}
}

// A stream on which nothing happens says that it is alive, and ends when the server does.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Heartbeat: time.Millisecond})
	id := s.as(govern.RoleCaller, 201, "POST", "/v1/tasks", `{"goal":"say hello"}`).at("task_id")
	next := s.follow(id, 0)
	for beats := 0; beats < 3; {
		m, ok := next()
		if !ok {
			t.Fatal("the stream ended")
		}
		if m.comment == "alive" {
			beats++
		}
	}
	s.edge.EndStreams()
	for _, ok := next(); ok; _, ok = next() {
	}
}

// A stream ends soon after its token was revoked.
func TestStreamOfRevokedToken(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Heartbeat: time.Millisecond})
	next := s.stream("/v1/events", govern.RoleViewer, 0)
	if _, ok := next(); !ok {
		t.Fatal("the stream ended")
	}
	if _, err := s.h.Govern().Tokens.Revoke(t.Context(), ada, string(govern.RoleViewer)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); ; {
		if _, ok := next(); !ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the stream of a token that was revoked goes on")
		}
	}
}

// What a command has to have in common with the service is told at the local socket alone: it
// is a digest of settings, some of which may be secrets.
func TestCommonIsNotToldBeyondTheSocket(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Common: "a digest"})
	if a := s.as(govern.RoleApprover, 200, "GET", "/v1/service", ""); a.at("common") != "" {
		t.Errorf("it tells %s", a)
	}
}
