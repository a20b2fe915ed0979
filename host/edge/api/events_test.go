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
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/v1/tasks/"+id+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.tokens[govern.RoleCaller])
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
