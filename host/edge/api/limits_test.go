package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/api"
)

func (s *server) limited(a answer) bool {
	s.t.Helper()
	if a.status != 429 {
		return false
	}
	if a.header.Get("Retry-After") == "" || a.at("kind") != "limit" || a.at("retry_after_ms") == "" || a.header.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("a request that is too much: %s %v", a, a.header)
	}
	return true
}

// Each token has a rate, and all have one together; whoever is not let in has a part of it.
// That the process lives can always be asked.
func TestRates(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Limits: api.Limits{PerToken: 1e-6, All: 1e-6}})
	if a := s.ask(s.tokens[viewer], "GET", "/v1/skills", ""); a.status != 200 {
		t.Fatalf("the first request: %s", a)
	}
	if a := s.ask(s.tokens[viewer], "GET", "/v1/skills", ""); !s.limited(a) || !strings.Contains(a.at("detail"), "of the token viewer") {
		t.Errorf("the second request of a token: %s", a)
	}
	if a := s.ask(s.tokens[caller], "GET", "/v1/skills", ""); !s.limited(a) || strings.Contains(a.at("detail"), "token") {
		t.Errorf("the second request of all: %s", a)
	}
	if a := s.ask("skt_nothing", "GET", "/v1/skills", ""); a.status != 401 {
		t.Errorf("the first request of nobody: %s", a)
	}
	if a := s.ask("", "GET", "/v1/skills", ""); !s.limited(a) {
		t.Errorf("the second request of nobody: %s", a)
	}
	if a := s.ask("", "GET", "/v1/health/ready", ""); a.status != 200 {
		t.Errorf("whether it is ready, after requests of nobody: %s", a)
	}
	if a := s.ask("", "GET", "/v1/health/ready", ""); !s.limited(a) {
		t.Errorf("whether it is ready, again: %s", a)
	}
	for range 3 {
		if a := s.ask("", "GET", "/v1/health/live", ""); a.status != 200 {
			t.Errorf("whether it lives: %s", a)
		}
	}
	s.edge.SetLimits(api.Limits{})
	if a := s.ask(s.tokens[viewer], "GET", "/v1/skills", ""); a.status != 200 {
		t.Errorf("with other limits: %s", a)
	}
}

// When many requests run, those that look are turned away first, then calls, and decisions
// last. What was begun goes on.
func TestOverload(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Limits: api.Limits{InFlight: 8}})
	s.install("1.0.0")
	var ends []func() answer
	for range 4 {
		ends = append(ends, s.slow())
	}
	for !s.limited(s.ask(s.tokens[viewer], "GET", "/v1/skills", "")) { // until all four have begun
	}
	const invoke = "/v1/skills/echo/tools/echo/invoke"
	if a := s.ask(s.tokens[caller], "POST", invoke, `{"input":1}`); a.status != 200 {
		t.Errorf("a call beside four: %s", a)
	}
	if a := s.ask(s.tokens[caller], "POST", invoke, `{"input":1}`, "Priority", "u=5, i"); !s.limited(a) {
		t.Errorf("a call that can wait: %s", a)
	}
	for range 3 {
		ends = append(ends, s.slow())
	}
	for !s.limited(s.ask(s.tokens[caller], "POST", invoke, `{"input":1}`)) {
	}
	if a := s.ask(s.tokens[approver], "POST", "/v1/skills/echo/disable", `{}`); a.status != 200 {
		t.Errorf("a decision beside seven: %s", a)
	}
	if a := s.ask(s.tokens[approver], "POST", "/v1/skills/echo/enable", ""); a.status != 200 {
		t.Errorf("a decision beside seven: %s", a)
	}
	if a := s.ask("", "GET", "/v1/health/live", ""); a.status != 200 {
		t.Errorf("whether it lives: %s", a)
	}
	for _, end := range ends {
		if a := end(); a.status != 200 || a.at("data") != "late" {
			t.Errorf("a call that had begun: %s", a)
		}
	}
	if a := s.ask(s.tokens[viewer], "GET", "/v1/skills", ""); a.status != 200 {
		t.Errorf("after all ended: %s", a)
	}
}

// slow begins a call whose body is not there yet; end sends it, and returns the answer.
func (s *server) slow() (end func() answer) {
	s.t.Helper()
	body, in := io.Pipe()
	r, err := http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/v1/skills/echo/tools/echo/invoke", body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.tokens[caller])
	r.Header.Set("Content-Type", "application/json")
	done := make(chan answer, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			done <- answer{body: []byte(err.Error())}
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		done <- answer{resp.StatusCode, resp.Header, b}
	}()
	if _, err := io.WriteString(in, `{"input":`); err != nil {
		s.t.Fatal(err)
	}
	return func() answer {
		_, err := io.WriteString(in, `"late"}`)
		if err = in.CloseWithError(err); err != nil {
			s.t.Error(err)
		}
		return <-done
	}
}

// timed is an answer that notes how much is written before another deadline is set.
type timed struct {
	*httptest.ResponseRecorder
	since, most, longest int
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	if w.since = 0; at.IsZero() {
		w.since = 1 << 30
	}
	return nil
}

func (w *timed) Write(b []byte) (int, error) {
	w.since += len(b)
	w.most, w.longest = max(w.most, w.since), max(w.longest, len(b))
	return w.ResponseRecorder.Write(b)
}

// Nobody holds an answer up by not reading it.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	s.edge.Handler(func(*http.Request) bool { return true }).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/openapi.json", nil))
	if w.Code != 200 || w.Body.Len() < 128<<10 {
		t.Fatalf("%d, %d bytes", w.Code, w.Body.Len())
	}
	if w.most > 64<<10 {
		t.Errorf("%d bytes in the time of one piece", w.most)
	}
}

// An export is written as it is read, and is not kept in memory.
func TestExportIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	for i := range 20 {
		s.token(govern.CreateToken{Name: fmt.Sprint("t", i), Role: govern.RoleViewer})
	}
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/audit/export", nil)
	r.Header.Set("Authorization", "Bearer "+s.tokens[viewer])
	s.edge.Handler(func(*http.Request) bool { return true }).ServeHTTP(w, r)
	if n := w.Body.Len(); w.Code != 200 || n < 8<<10 || w.longest > n/2 {
		t.Errorf("%d: of %d bytes, %d were written at once", w.Code, n, w.longest)
	}
}
