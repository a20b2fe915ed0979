package api_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/api"
)

// A request that is sent again with its key is answered as the first time, and carried out once.
func TestRepeated(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	plan := s.as(approver, 201, "POST", "/v1/plans/remove", `{"skills":["echo"]}`).at("id")
	for _, c := range []struct {
		path, body, other string
		status            int
	}{
		{"/v1/skills/echo/tools/echo/invoke", `{"input":1}`, `{"input":2}`, 200},
		{"/v1/skills/nobody/tools/echo/invoke", `{"input":1}`, `{"input":2}`, 404},
		{"/v1/tasks", `{"goal":"say hello"}`, `{"goal":"say goodbye"}`, 201},
		{"/v1/memories", `{"text":"The bakery opens at seven."}`, `{"text":"It does not."}`, 201},
		{"/v1/plans/" + plan + "/commit", `{"consent":"shown"}`, `{}`, 200},
	} {
		key := "key-of-" + c.path
		ask := func(body string, key string) answer {
			return s.ask(s.tokens[approver], "POST", c.path, body, "Idempotency-Key", key)
		}
		first := ask(c.body, key)
		again := ask(c.body, key)
		if first.status != c.status || first.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%s: %s", c.path, first)
		}
		if again.status != first.status || string(again.body) != string(first.body) || again.header.Get("Idempotency-Replayed") != "true" ||
			again.header.Get("Content-Type") != first.header.Get("Content-Type") {
			t.Errorf("%s: again: %s %v, want %s", c.path, again, again.header, first)
		}
		if a := ask(c.other, key); a.status != 422 || a.at("kind") != "usage" {
			t.Errorf("%s: the key with another body: %s", c.path, a)
		}
		if a := ask(c.body, "another-key"+c.path); string(a.body) == string(first.body) && a.status == 200 {
			t.Errorf("%s: another key: %s", c.path, a)
		}
		for _, bad := range []string{strings.Repeat("k", 201), "a b", "ä"} {
			if a := ask(c.body, bad); a.status != 400 {
				t.Errorf("%s: the key %q: %s", c.path, bad, a)
			}
		}
	}
	if a := s.ask(s.tokens[approver], "POST", "/v1/memories", `{"goal":"say hello"}`, "Idempotency-Key", "key-of-/v1/tasks"); a.status != 422 {
		t.Errorf("the key with another route: %s", a)
	}
	if a := s.ask(s.tokens[operator], "POST", "/v1/tasks", `{"goal":"say hello"}`, "Idempotency-Key", "key-of-/v1/tasks"); a.status != 201 || a.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the key of another token: %s", a)
	}
	long := `{"text":"` + strings.Repeat("a", api.MaxBody) + `"}`
	if a := s.ask(s.tokens[approver], "POST", "/v1/memories", long, "Idempotency-Key", "long"); a.status != 413 {
		t.Errorf("a body that is too long: %s", a)
	}
}

// Requests with one key at the same time are one.
func TestRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	var all sync.WaitGroup
	answers := make([]answer, 16)
	for i := range answers {
		all.Go(func() {
			answers[i] = s.ask(s.tokens[caller], "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`, "Idempotency-Key", "one")
		})
	}
	all.Wait()
	for _, a := range answers {
		if a.status != 200 || a.at("run_id") != answers[0].at("run_id") {
			t.Errorf("%s, want %s", a, answers[0])
		}
	}
	if n := s.runs(); n != 1 {
		t.Errorf("%d runs are on record", n)
	}
}

// runs is how many runs are on record.
func (s *server) runs() (n int) {
	s.t.Helper()
	events, err := s.h.Govern().Audit.Events(s.t.Context(), ada, govern.EventsRequest{Limit: 100_000})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events {
		if e.Run != nil {
			n++
		}
	}
	return n
}

// What was turned away before it began is carried out the next time. What is kept is bounded,
// and ends.
func TestWhatIsKeptOfAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{AnswerLife: 1})
	s.install("1.0.0")
	ask := func(key string) answer {
		return s.ask(s.tokens[caller], "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`, "Idempotency-Key", key)
	}
	if a, b := ask("one"), ask("one"); a.at("run_id") == b.at("run_id") {
		t.Errorf("kept for longer than its time: %s, %s", a, b)
	}
	s = serve(t, api.Settings{})
	s.install("1.0.0")
	first := ask("0")
	for i := 1; i <= 999; i++ {
		ask(strconv.Itoa(i))
	}
	if a := ask("0"); a.at("run_id") != first.at("run_id") {
		t.Errorf("forgotten: %s", a)
	}
	if ask("1000"); ask("0").at("run_id") == first.at("run_id") {
		t.Error("more than 1000 answers of a token are kept")
	}
	if a := ask("999"); a.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("one of the last was forgotten: %s", a)
	}
}

// The document has the header of a key, and those of states, where they count.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	var d struct {
		Paths map[string]map[string]struct {
			ID         string                  `json:"operationId"`
			Parameters []struct{ Name string } `json:"parameters"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(s.ask("", "GET", "/v1/openapi.json", "").body, &d); err != nil {
		t.Fatal(err)
	}
	with := map[string]bool{}
	for _, methods := range d.Paths {
		for _, op := range methods {
			for _, p := range op.Parameters {
				if p.Name == "Idempotency-Key" {
					with[op.ID] = true
				}
			}
		}
	}
	if len(with) != 6 || !with["run-script"] || !with["invoke-tool"] || !with["create-task"] || !with["plain-create-task"] || !with["commit-plan"] || !with["remember"] {
		t.Errorf("a key can be given to %v", with)
	}
}
