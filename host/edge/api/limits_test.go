package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	dto "github.com/prometheus/client_model/go"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/meaning"
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
		ends = append(ends, s.slow(caller))
	}
	s.running(4)
	if a := s.ask(s.tokens[viewer], "GET", "/v1/skills", ""); !s.limited(a) {
		t.Errorf("a look beside four: %s", a)
	}
	const invoke = "/v1/skills/echo/tools/echo/invoke"
	if a := s.ask(s.tokens[caller], "POST", invoke, `{"input":1}`); a.status != 200 {
		t.Errorf("a call beside four: %s", a)
	}
	if a := s.ask(s.tokens[caller], "POST", invoke, `{"input":1}`, "Priority", "u=5, i"); !s.limited(a) {
		t.Errorf("a call that can wait: %s", a)
	}
	for range 3 {
		ends = append(ends, s.slow(operator))
	}
	s.running(7)
	if a := s.ask(s.tokens[caller], "POST", invoke, `{"input":1}`); !s.limited(a) {
		t.Errorf("a call beside seven: %s", a)
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

// One token has a part of the places for requests and for streams, and leaves the rest to others.
func TestSharesOfTokens(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Limits: api.Limits{InFlight: 8, Streams: 4}})
	s.install("1.0.0")
	const invoke = "/v1/skills/echo/tools/echo/invoke"
	var ends []func() answer
	for range 5 {
		ends = append(ends, s.slow(caller))
	}
	s.running(5)
	if a := s.ask(s.tokens[caller], "POST", invoke, `{"input":1}`); !s.limited(a) || !strings.Contains(a.at("detail"), "of the token caller") {
		t.Errorf("a sixth call of a token: %s", a)
	}
	if a := s.ask(s.tokens[operator], "POST", invoke, `{"input":1}`); a.status != 200 {
		t.Errorf("a call of another token: %s", a)
	}
	for _, end := range ends {
		if a := end(); a.status != 200 {
			t.Errorf("a call that had begun: %s", a)
		}
	}
	for range 3 {
		s.open(viewer)
	}
	if a := s.ask(s.tokens[viewer], "GET", "/v1/events", ""); !s.limited(a) || !strings.Contains(a.at("detail"), "of the token viewer") {
		t.Errorf("a fourth stream of a token: %s", a)
	}
	s.open(approver)
	if a := s.ask(s.tokens[operator], "GET", "/v1/events", ""); !s.limited(a) || strings.Contains(a.at("detail"), "token") {
		t.Errorf("a fifth stream of all: %s", a)
	}
	if n := s.counted("skillet_http_streams", ""); n != 4 {
		t.Errorf("%v streams are open", n)
	}
	for _, limit := range []string{"token_busy", "token_streams", "streams"} {
		if s.counted("skillet_http_refused_total", limit) == 0 {
			t.Errorf("requests that are turned away because of %s are not counted", limit)
		}
	}
}

// open opens a stream of the events of the home, which stays open.
func (s *server) open(role govern.Role) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), "GET", s.url+"/v1/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.tokens[role])
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		s.t.Errorf("a stream: %s", resp.Status)
	}
}

// running waits until so many requests run.
func (s *server) running(n float64) {
	s.t.Helper()
	for s.counted("skillet_http_in_flight", "") != n {
		time.Sleep(time.Millisecond)
	}
}

// counted is the value of a metric, with the label if one is named.
func (s *server) counted(name, label string) (sum float64) {
	s.t.Helper()
	families, err := s.edge.Gather(s.t.Context(), ada).Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label })) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// When too many ask who are let in nowhere, no token is looked for any more, but for those that
// were let in before.
func TestStrangersAreTurnedAwayFirst(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Limits: api.Limits{PerToken: 1e-6, All: 1e-6}})
	if a := s.ask(s.tokens[viewer], "GET", "/v1/skills", ""); a.status != 200 {
		t.Fatalf("the first request: %s", a)
	}
	for _, c := range []struct {
		secret, want string
		status       int
	}{
		{"skt_nothing", "not let in", 401},
		{"skt_nothing", "requests without a known token", 429},
		{"", "requests without a known token", 429},
		{s.tokens[operator], "requests without a known token", 429}, // nothing says that it is one
		{s.tokens[viewer], "requests of the token viewer", 429},
	} {
		if a := s.ask(c.secret, "GET", "/v1/skills", ""); a.status != c.status || !strings.Contains(a.at("detail"), c.want) || a.status == 429 && !s.limited(a) {
			t.Errorf("%q: %s", c.secret, a)
		}
	}
	if _, err := s.h.Govern().Tokens.Revoke(t.Context(), ada, "viewer"); err != nil {
		t.Fatal(err)
	}
	s.ask(s.tokens[viewer], "GET", "/v1/skills", "") // it is looked for, and known no more
	if a := s.ask(s.tokens[viewer], "GET", "/v1/skills", ""); !strings.Contains(a.at("detail"), "requests without a known token") {
		t.Errorf("a token that was revoked: %s", a)
	}
	if n := s.counted("skillet_http_refused_total", "stranger_rate"); n < 4 {
		t.Errorf("%v were counted", n)
	}
	if n := s.counted("skillet_http_refused_total", "token_rate"); n != 1 {
		t.Errorf("%v were counted", n)
	}
}

// Who may not do something is slowed down by the rate of the token.
func TestRateOfRefusedRequests(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{Limits: api.Limits{PerToken: 1e-6}})
	if a := s.ask(s.tokens[viewer], "POST", "/v1/plans/remove", `{"skills":["a"]}`); a.status != 403 {
		t.Errorf("the first: %s", a)
	}
	if a := s.ask(s.tokens[viewer], "POST", "/v1/plans/remove", `{"skills":["a"]}`); !s.limited(a) {
		t.Errorf("the second: %s", a)
	}
}

// The audit log is verified for one at a time.
func TestOneVerificationAtATime(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	for s.counted("skillet_http_refused_total", "verifying") == 0 {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if a := s.ask(s.tokens[viewer], "GET", "/v1/audit/verify", ""); a.status != 200 && !s.limited(a) {
					t.Errorf("%s", a)
				}
			})
		}
		all.Wait()
	}
}

// A request that panics is answered, counted, and no other suffers from it.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := serve(t, api.Settings{})
	edge := api.New(hclog.NewNullLogger(), api.Services{
		Admit: s.h.Admit(), Invoke: s.h.Invoke(), Code: s.h.Code(), Govern: s.h.Govern(), Work: s.h.Work(), Explain: meaning.Of,
		Ready: func(context.Context) error { panic("it broke") },
	}, api.Settings{})
	s.edge = edge
	w := httptest.NewRecorder()
	edge.Handler(func(*http.Request) bool { return true }).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/health/ready", nil))
	if w.Code != 500 || w.Header().Get("Content-Type") != "application/problem+json" || strings.Contains(w.Body.String(), "it broke") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n, of := s.counted("skillet_http_panics_total", ""), s.counted("skillet_http_requests_total", "500"); n != 1 || of != 1 {
		t.Errorf("%v panics were counted, and %v requests", n, of)
	}
}

// A listener takes so many connections at the same time, and the next when one ends.
func TestConnections(t *testing.T) {
	t.Parallel()
	edge := serve(t, api.Settings{Limits: api.Limits{Connections: 2}}).edge
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l = edge.Limit(l)
	t.Cleanup(func() { l.Close() })
	got := make(chan net.Conn)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			got <- c
		}
	}()
	for range 3 {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	first := <-got
	t.Cleanup(func() { (<-got).Close() })
	second := <-got
	select {
	case c := <-got:
		c.Close()
		t.Error("a third connection was taken")
	default:
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	t.Cleanup(func() { second.Close() })
}

// slow begins a call of a role whose body is not there yet; end sends it, and returns the answer.
func (s *server) slow(role govern.Role) (end func() answer) {
	s.t.Helper()
	body, in := io.Pipe()
	r, err := http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/v1/skills/echo/tools/echo/invoke", body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.tokens[role])
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
