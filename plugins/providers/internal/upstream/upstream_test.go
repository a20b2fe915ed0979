package upstream

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
)

func settings(t *testing.T, base string) Settings {
	t.Helper()
	env := map[string]string{"X_KEY": "secret-key-1", "X_BASE_URL": base, "X_HEADERS": `{"X-Team":"team-token"}`}
	s := Read(func(name string) string { return env[name] }, Variables{Provider: "x", Key: "X_KEY", Base: "X_BASE_URL", Headers: "X_HEADERS", Models: "X_MODELS"})
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return s
}

func nothing(int, []byte) Failure { return Failure{} }

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{nil, 0},
		{map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond},
		{map[string]string{"Retry-After": "Fri, 01 May 2026 12:01:00 GMT"}, time.Minute},
		{map[string]string{"Retry-After": "Fri, 01 May 2026 11:00:00 GMT"}, 0},
		{map[string]string{"Retry-After": "-5"}, 0},
		{map[string]string{"Retry-After": "NaN"}, 0},
		{map[string]string{"Retry-After": "1e300"}, maxWait},
		{map[string]string{"Retry-After-Ms": "120", "Retry-After": "1"}, 120 * time.Millisecond},
		{map[string]string{"X-Ratelimit-Reset-Requests": "6m0s", "X-Ratelimit-Remaining-Requests": "0"}, 6 * time.Minute},
		{map[string]string{"X-Ratelimit-Reset-Requests": "6m0s", "X-Ratelimit-Remaining-Requests": "3"}, 0},
		{map[string]string{"X-Ratelimit-Reset-Requests": "1s", "X-Ratelimit-Remaining-Requests": "0",
			"X-Ratelimit-Reset-Tokens": "20ms", "X-Ratelimit-Remaining-Tokens": "0"}, time.Second},
		{map[string]string{"Anthropic-Ratelimit-Tokens-Reset": "2026-05-01T12:00:30Z", "Anthropic-Ratelimit-Tokens-Remaining": "0"}, 30 * time.Second},
		{map[string]string{"Anthropic-Ratelimit-Tokens-Reset": "2026-05-01T12:00:30Z", "Anthropic-Ratelimit-Tokens-Remaining": "9"}, 0},
	} {
		h := http.Header{}
		for name, value := range c.header {
			h.Set(name, value)
		}
		if got := RetryAfter(h, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.header, got, c.want)
		}
	}
}

func TestAnswerIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for range MaxAnswer>>20 + 1 {
			w.Write(chunk)
		}
	}))
	defer server.Close()
	s := settings(t, server.URL)
	answer, err := s.Client(nothing).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if !errors.Is(err, ErrTooLarge) || n != MaxAnswer {
		t.Errorf("%d bytes, %v", n, err)
	}
	var e *provider.Error
	if errors.As(s.Fail(t.Context(), "ask", err), &e); e.Class != provider.ClassInternal {
		t.Errorf("%v", e)
	}
}

func TestFailureIsBounded(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(500)
		w.Write(make([]byte, 10<<20))
	}))
	defer server.Close()
	seen := 0
	_, err := settings(t, server.URL).Client(func(_ int, body []byte) Failure {
		seen = len(body)
		return Failure{}
	}).Get(server.URL)
	if err == nil || seen != maxFailure {
		t.Errorf("%d bytes looked at, %v", seen, err)
	}
}

func TestOnlyOneServerIsAsked(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	defer other.Close()
	if _, err := settings(t, "http://127.0.0.1:1/v1").Client(nothing).Get(other.URL); err == nil || !strings.Contains(err.Error(), "only 127.0.0.1:1 may be asked") {
		t.Errorf("%v", err)
	}
}

func TestScrub(t *testing.T) {
	s := settings(t, "http://127.0.0.1:1")
	err := s.Fail(t.Context(), "ask", errors.New("key secret-key-1, header team-token\nnext line\x1b[31m "+strings.Repeat("x", 5000)))
	text := err.Error()
	if strings.Contains(text, "secret-key-1") || strings.Contains(text, "team-token") || strings.ContainsAny(text, "\n\x1b") || len(text) > maxMessage+50 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestBaseRefused(t *testing.T) {
	for _, base := range []string{"ftp://x", "x", "http://", "https://user:pass@host", "https://host?key=1", "https://host#f", "https://ho st", "/v1"} {
		if _, err := parseBase(base); err == nil {
			t.Errorf("%q is taken", base)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("Retry-After", "7", "")
	f.Add("Retry-After", "Fri, 01 May 2026 12:01:00 GMT", "")
	f.Add("X-Ratelimit-Reset-Requests", "6m0s", "X-Ratelimit-Remaining-Requests")
	f.Add("Anthropic-Ratelimit-Tokens-Reset", "2026-05-01T12:00:30Z", "Anthropic-Ratelimit-Tokens-Remaining")
	f.Fuzz(func(t *testing.T, name, value, zero string) {
		h := http.Header{name: {value}, zero: {"0"}}
		if wait := RetryAfter(h, time.Unix(1, 0)); wait < 0 || wait > maxWait {
			t.Errorf("%v", wait)
		}
	})
}

func FuzzSettings(f *testing.F) {
	f.Add("https://host/v1", `{"a":"b"}`, `[{"name":"m"}]`)
	f.Add("http://[::1]:1", `{}`, ``)
	f.Fuzz(func(t *testing.T, base, headers, models string) {
		env := map[string]string{"B": base, "H": headers, "M": models}
		s := Read(func(name string) string { return env[name] }, Variables{Base: "B", Headers: "H", Models: "M", DefaultBase: "http://x", KeyOptional: true})
		if s.Check() == nil && (s.Base.Host == "" || s.Base.User != nil) {
			t.Errorf("%q is taken", base)
		}
	})
}
