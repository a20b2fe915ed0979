package hostfn

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

func TestLog(t *testing.T) {
	t.Parallel()
	e := env(t)
	e.redact.add("hunter2-secret")
	for _, c := range []struct{ meta, msg, want string }{
		{`{"level":"warn"}`, "plain", "warn plain map[]"},
		{`{}`, "default level", "info default level map[]"},
		{`{"level":"debug","fields":{"k":"v","a":"b"}}`, "fields", "debug fields map[a:b k:v]"},
		{`{}`, "two\nlines\tand tab", "info two lines and tab map[]"},
		{`{}`, "\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07 \x1b]8;;http://x\x1b\\link \x1bc\x08\x7f\u009b31m", "info red bell link 31m map[]"},
		{`{}`, "right\u202eto left\u200b", "info rightto left map[]"},
		{`{}`, "bad \xff utf-8", "info bad \uFFFD utf-8 map[]"},
		{`{"fields":{"token":"hunter2-secret"}}`, "it is hunter2-secret!", "info it is [secret]! map[token:[secret]]"},
		{`{}`, "aHVudGVyMi1zZWNyZXQ= and 68756e746572322d736563726574", "info [secret] and [secret] map[]"},
	} {
		wantKind(t, c.meta, call(t, e, "log", c.meta, []byte(c.msg)), "")
		l := e.Logs()[len(e.Logs())-1]
		if got := fmt.Sprint(l.Level, " ", l.Message, " ", l.Fields); got != c.want {
			t.Errorf("%q: got %q, want %q", c.msg, got, c.want)
		}
	}
	wantKind(t, "level", call(t, e, "log", `{"level":"loud"}`, nil), KindInvalid)
	var many []string
	for i := range maxFields + 1 {
		many = append(many, fmt.Sprint("k", i), "v")
	}
	wantKind(t, "fields", call(t, e, "log", `{"fields":`+field(many...)+`}`, nil), KindLimit)
	call(t, e, "log", `{}`, []byte(strings.Repeat("é", 10_000)))
	if l := e.Logs()[len(e.Logs())-1]; len(l.Message) > maxLine || !strings.HasSuffix(l.Message, "é…") {
		t.Errorf("a long line has %d bytes and ends in %q", len(l.Message), l.Message[len(l.Message)-5:])
	}
}

func TestLogLimit(t *testing.T) {
	t.Parallel()
	s := settings(t)
	s.LogBytes = 1000
	e := open(t, s)
	for range 10_000 {
		e.Log(sandbox.LevelInfo, "0123456789")
	}
	lines := e.Logs()
	if len(lines) != 39 || !strings.Contains(lines[38].Message, "log limit of 1000 bytes") {
		t.Errorf("%d lines, the last %+v", len(lines), lines[len(lines)-1])
	}
}

// inbox keeps notifications.
type inbox struct {
	mu   sync.Mutex
	list []Notification
}

func (i *inbox) Notify(_ context.Context, n Notification) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, n)
	return nil
}

func TestNotify(t *testing.T) {
	t.Parallel()
	box := &inbox{}
	s := settings(t, "notify")
	s.Notifier, s.RunID, s.Notifications = box, "run-1", 3
	e := open(t, s)
	e.redact.add("hunter2-secret")
	for _, sev := range []string{"warning", "warn", ""} {
		r := call(t, e, "notify", field("severity", sev, "title", "T\x1b[1m\nhunter2-secret"), []byte("line one\nhunter2-secret \x07"))
		wantKind(t, sev, r, "")
	}
	want := Notification{Skill: "tester", RunID: "run-1", Severity: "warning", Title: "T [secret]", Text: "line one\n[secret] "}
	if len(box.list) != 3 || box.list[0] != want || box.list[1] != want || box.list[2].Severity != "info" {
		t.Errorf("delivered %+v", box.list)
	}
	wantKind(t, "fourth", call(t, e, "notify", `{"title":"t"}`, nil), KindLimit)
	e = open(t, s)
	wantKind(t, "severity", call(t, e, "notify", `{"title":"t","severity":"panic"}`, nil), KindInvalid)
	wantKind(t, "no title", call(t, e, "notify", `{"title":" \n"}`, nil), KindInvalid)
	wantKind(t, "long title", call(t, e, "notify", field("title", strings.Repeat("t", 201)), nil), KindInvalid)
	wantKind(t, "long text", call(t, e, "notify", `{"title":"t"}`, make([]byte, maxText+1)), KindLimit)
	s.Notifier = nil
	wantKind(t, "nobody", call(t, open(t, s), "notify", `{"title":"t"}`, nil), KindIO)
}

func TestThrottle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box := &inbox{}
		th := NewThrottle(box, 2, time.Minute)
		ctx := context.Background()
		send := func(skill string) error { return th.Notify(ctx, Notification{Skill: skill}) }
		var f *Failure
		for range 2 {
			must(t, send("a"))
		}
		if !errors.As(send("a"), &f) || f.Kind != KindLimit {
			t.Error("the third is refused")
		}
		if send("b") != nil {
			t.Error("another skill has its own count")
		}
		time.Sleep(time.Minute)
		if send("a") != nil || len(box.list) != 4 {
			t.Errorf("after a minute; %d delivered", len(box.list))
		}
		s := settings(t, "notify")
		s.Notifier = th
		e := open(t, s)
		for i, kind := range []Kind{"", "", KindLimit} {
			wantKind(t, fmt.Sprint("throttled ", i), call(t, e, "notify", `{"title":"t"}`, nil), kind)
		}
	})
}

// TestExtismImports: config, variables and log of the Extism ABI, from a real guest.
func TestExtismImports(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	s := settings(t)
	s.Config = map[string]string{"size": "9"}
	s.VarBytes = 100
	e := open(t, s)
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := runExtism(t, rt, e, name, args...)
		if err != nil {
			t.Errorf("%s %q: %v", name, args, err)
		}
		return out
	}
	if got := run("config_get", "size") + run("config_get", "color") + run("config_get", "none"); got != "9blue" {
		t.Errorf("config: %q", got)
	}
	run("var_set", "name", "value")
	if got := run("var_get", "name"); got != "value" {
		t.Errorf("var: %q", got)
	}
	if _, err := runExtism(t, rt, e, "var_set", "other", strings.Repeat("x", 60)); failureKind(err) != KindLimit {
		t.Errorf("vars above the limit: %v", err)
	}
	run("var_set", "name") // no value: remove
	if got := run("var_get", "name"); got != "" {
		t.Errorf("removed var: %q", got)
	}
	run("var_set", "other", strings.Repeat("x", 50))
	run("log_warn", "careful\x07")
	if l := e.Logs(); len(l) != 1 || l[0].Level != "warn" || l[0].Message != "careful" {
		t.Errorf("log: %+v", l)
	}
	if got := run("http_headers"); got != "{}" {
		t.Errorf("headers without a response: %q", got)
	}
	if out, err := runExtism(t, rt, open(t, s), "var_get", "other"); out != "" || err != nil {
		t.Errorf("a variable outlives its call: %q, %v", out, err)
	}
}

// failureKind is the kind of a *Failure in an error.
func failureKind(err error) Kind {
	var f *Failure
	if errors.As(err, &f) {
		return f.Kind
	}
	return ""
}
