package acceptance

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

// classed fails the test unless err is of one of the classes, and returns it.
func classed(t *testing.T, err error, classes ...provider.Class) *provider.Error {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v: want a *provider.Error", err)
	}
	if !slices.Contains(classes, e.Class) {
		t.Errorf("class %s, want one of %v: %v", e.Class, classes, err)
	}
	if strings.Contains(err.Error(), Key) {
		t.Errorf("the key is in the error: %v", err)
	}
	return e
}

func faults(t *testing.T, s Subject) {
	const internal, unavailable = provider.ClassInternal, provider.ClassUnavailable
	for name, c := range map[string]struct {
		fault   wire.Fault
		classes []provider.Class
		wait    time.Duration
	}{
		"rate limit":    {wire.Fault{Status: 429, RetryAfter: "7", Message: "slow down"}, []provider.Class{provider.ClassRateLimited}, 7 * time.Second},
		"milliseconds":  {wire.Fault{Status: 429, Header: http.Header{"Retry-After-Ms": {"250"}}}, []provider.Class{provider.ClassRateLimited}, 250 * time.Millisecond},
		"internal":      {wire.Fault{Status: 500, Message: "oops"}, []provider.Class{internal}, 0},
		"unavailable":   {wire.Fault{Status: 503, RetryAfter: "2"}, []provider.Class{unavailable}, 2 * time.Second},
		"overloaded":    {wire.Fault{Status: 529}, []provider.Class{unavailable}, 0},
		"gateway":       {wire.Fault{Status: 504}, []provider.Class{provider.ClassTimeout}, 0},
		"forbidden":     {wire.Fault{Status: 403, Message: "not yours: " + Key}, []provider.Class{provider.ClassAuth}, 0},
		"not there":     {wire.Fault{Status: 404, Message: "gone"}, []provider.Class{unavailable}, 0},
		"wrong":         {wire.Fault{Status: 400, Message: "no"}, []provider.Class{provider.ClassInvalid}, 0},
		"too long":      {wire.Fault{Status: 400, Message: "the prompt is too long: 9000 tokens > 8192 maximum"}, []provider.Class{provider.ClassContextLength}, 0},
		"web page":      {wire.Fault{ContentType: "text/html; charset=utf-8", Body: "<html>log in</html>"}, []provider.Class{unavailable}, 0},
		"other type":    {wire.Fault{ContentType: "application/octet-stream", Body: "\x00\x01\x02"}, []provider.Class{unavailable, internal}, 0},
		"empty":         {wire.Fault{ContentType: "application/json", Body: "{}"}, []provider.Class{unavailable, internal}, 0},
		"nothing":       {wire.Fault{ContentType: "text/event-stream", Body: " "}, []provider.Class{unavailable, internal}, 0},
		"garbage":       {wire.Fault{After: 3, Garbage: true}, []provider.Class{unavailable, internal}, 0},
		"error":         {wire.Fault{After: 3, Error: true, Message: "broke " + Key}, []provider.Class{unavailable, internal}, 0},
		"cut":           {wire.Fault{After: 4, Cut: true}, []provider.Class{unavailable}, 0},
		"short":         {wire.Fault{After: 4, Short: true}, []provider.Class{unavailable}, 0},
		"cut at once":   {wire.Fault{Cut: true}, []provider.Class{unavailable}, 0},
		"short at once": {wire.Fault{Short: true}, []provider.Class{unavailable}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := s.Start(t, wire.Turns(wire.Turn{Text: strings.Repeat("word ", 20), Fault: c.fault}))
			_, err := p.Generate(t.Context(), Ask("hello"), nil)
			if e := classed(t, err, c.classes...); e.RetryAfter != c.wait {
				t.Errorf("wait %v, want %v", e.RetryAfter, c.wait)
			}
		})
	}
}

// cut ends an answer at each of its pieces: it is never taken for whole.
func cut(t *testing.T, s Subject) {
	turn := wire.Turn{Thinking: "I think", Text: "some words", Calls: []wire.Call{{Name: "weather", Input: `{"city":"Paris"}`}}}
	for after := range 6 {
		turn.Fault = wire.Fault{After: after, Cut: true}
		p, _ := s.Start(t, wire.Turns(turn))
		r, err := p.Generate(t.Context(), Ask("hello"), nil)
		if err == nil {
			t.Errorf("cut after %d pieces: %+v", after, r)
		}
	}
}

// ended ends the caller's context while the server says nothing.
func ended(t *testing.T, s Subject) {
	p, _ := s.Start(t, wire.Turns(wire.Turn{Text: "some words to say", Fault: wire.Fault{After: 3, Hang: true}}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Generate(ctx, Ask("hello"), nil)
	classed(t, err, provider.ClassTimeout)
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = p.Generate(ctx, Ask("hello"), nil)
	classed(t, err, provider.ClassCancelled)
}

// redirect answers with a redirect to another server, which must not be asked.
func redirect(t *testing.T, s Subject) {
	var asked atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer thief.Close()
	p, _ := s.Start(t, wire.Turns(wire.Turn{Fault: wire.Fault{Redirect: thief.URL}}))
	_, err := p.Generate(t.Context(), Ask("hello"), nil)
	classed(t, err, provider.ClassInvalid)
	if asked.Load() != 0 {
		t.Error("the redirect was followed")
	}
}

// secrets has a server that repeats the key, and looks for it in all that is said.
func secrets(t *testing.T, s Subject) {
	server := httptest.NewServer(s.Serve(wire.Script{Key: "another key", Models: Models()}))
	defer server.Close()
	env := s.Env(server.URL)
	env[s.Prefix+"_HEADERS"] = `{"X-Team":"team-token-123"}`
	p := s.Open(Lookup(env))
	_, err := p.Generate(t.Context(), Ask("hello"), nil)
	classed(t, err, provider.ClassAuth)
	classed(t, p.Health(t.Context()), provider.ClassAuth)
	info, err := p.Info(t.Context())
	if err != nil || strings.Contains(info.Note+info.Name, Key) {
		t.Errorf("%+v, %v", info, err)
	}
}

// missingKey has the provider's own server and no key.
func missingKey(t *testing.T, s Subject) {
	p := s.Open(Lookup(nil))
	if info, err := p.Info(t.Context()); err != nil || info.Version == "" {
		t.Errorf("%+v, %v", info, err)
	}
	if info, _ := p.Info(t.Context()); info.Local {
		return // it needs none
	}
	_, err := p.Generate(t.Context(), Ask("hello"), nil)
	if e := classed(t, err, provider.ClassAuth); !strings.Contains(e.Message, s.Prefix+"_API_KEY") {
		t.Errorf("%v: want the name of the variable", e)
	}
	classed(t, p.Health(t.Context()), provider.ClassAuth)
	if models, err := p.Models(t.Context()); err != nil || len(models) == 0 {
		t.Errorf("%d models, %v: want the table", len(models), err)
	}
}

func wrongSettings(t *testing.T, s Subject) {
	for name, value := range map[string]string{
		s.Prefix + "_BASE_URL": "file:///etc/passwd",
		s.Prefix + "_HEADERS":  "X-Secret: " + Key,
		s.ModelsName:           "gpt " + Key,
	} {
		env := s.Env("http://127.0.0.1:1")
		env[name] = value
		p := s.Open(Lookup(env))
		_, err := p.Generate(t.Context(), Ask("hello"), nil)
		if e := classed(t, err, provider.ClassInvalid); !strings.Contains(e.Message, name) {
			t.Errorf("%v: want the name %s", e, name)
		}
	}
}
