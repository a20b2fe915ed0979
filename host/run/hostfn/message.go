package hostfn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/policies/capability"
)

const (
	maxLine   = 4096 // bytes kept of one log message
	maxField  = 1024 // bytes kept of one field's value
	maxFields = 16
	maxTitle  = 200     // bytes of a notification's title
	maxText   = 4 << 10 // bytes of its text
)

func messageFunctions() []function {
	return []function{
		{name: "log", example: `{"level":"info"}`, run: logLine,
			free: "it reaches only the log of the skill's own call, capped and cleaned"},
		{name: "notify", example: `{"severity":"info","title":"t"}`, run: notify},
	}
}

// logAsk is the request of log.
type logAsk struct {
	Level  string            `json:"level"`
	Fields map[string]string `json:"fields,omitempty"`
}

// logLine keeps a line of the guest.
func logLine(_ context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask logAsk
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if ask.Level == "" {
		ask.Level = sandbox.LevelInfo.String()
	}
	level := slices.Index(levels(), ask.Level)
	if level < 0 {
		return nil, nil, failf(KindInvalid, "level is one of %s", strings.Join(levels(), ", "))
	}
	if len(ask.Fields) > maxFields {
		return nil, nil, failf(KindLimit, "%d fields; at most %d", len(ask.Fields), maxFields)
	}
	e.line(sandbox.Level(level), string(body), ask.Fields)
	return struct{}{}, nil, nil
}

// levels are the words for the levels of package sandbox.
func levels() []string {
	var out []string
	for l := sandbox.LevelTrace; l <= sandbox.LevelError; l++ {
		out = append(out, l.String())
	}
	return out
}

// Log keeps a line the guest wrote. It has the signature of sandbox.Call.Log.
func (e *Env) Log(level sandbox.Level, msg string) { e.line(level, msg, nil) }

// line cleans a line and keeps it, until the limit; then one last line says so.
func (e *Env) line(level sandbox.Level, msg string, fields map[string]string) {
	l := task.LogLine{Level: level.String(), Message: e.clean(msg, maxLine)}
	size := len(l.Message)
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if l.Fields == nil {
			l.Fields = map[string]string{}
		}
		name, value := e.clean(k, 64), e.clean(fields[k], maxField)
		l.Fields[name] = value
		size += len(name) + len(value)
	}
	e.keep(l, int64(size)+16)
}

// hostLine adds a line of the host's own about the call.
func (e *Env) hostLine(level, msg string) {
	e.keep(task.LogLine{Level: level, Message: e.clean(msg, maxLine)}, 0)
}

// keep adds a line that counts size bytes.
func (e *Env) keep(l task.LogLine, size int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	limit := e.s.LogBytes
	if e.logBytes > limit {
		return
	}
	if e.logBytes += size; e.logBytes > limit {
		l = task.LogLine{Level: "warn", Message: fmt.Sprintf("log limit of %d bytes reached; what follows is dropped", limit)}
	}
	e.logs = append(e.logs, l)
	if e.s.Logged != nil {
		e.s.Logged(l)
	}
}

// clean redacts a line, takes out what a terminal would act on, and cuts it to limit bytes.
func (e *Env) clean(s string, limit int) string {
	if cut := limit + e.redact.margin(); len(s) > 4*cut {
		s = s[:4*cut] // enough for any limit after cleaning, and bounded work
	}
	s = printable(e.redact.text(s), false)
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "…"
}

// escapes matches the control sequences of terminals (ECMA-48, section 5.4 and 5.6): CSI, the strings that
// ST or BEL ends, and two-character escapes, in their 7-bit form.
var escapes = lazyregexp.New(`\x1b(\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(\x07|\x1b\\)?|[ -/]*[0-~])`)

// printable takes terminal escapes, control characters and invisible characters out of a text. Tabs become
// spaces, and so do line ends unless lines are to stay.
func printable(s string, lines bool) string {
	s = escapes().ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines, unicode.IsPrint(r):
			return r
		case r == '\n', r == '\t':
			return ' '
		}
		return -1
	}, s)
}

// Notification is a message for the person who owns the host. Its texts are the guest's, cleaned.
type Notification struct {
	Skill    string
	RunID    string
	Severity string // "info", "warning" or "error"
	Title    string // one line
	Text     string // may have several lines, may be empty
}

// Notifier delivers notifications.
type Notifier interface {
	Notify(ctx context.Context, n Notification) error
}

// notify sends a notification, a few in each call.
func notify(ctx context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask struct {
		Severity string `json:"severity"`
		Title    string `json:"title"`
	}
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if _, err := e.permit(capability.Request{Action: capability.Notify}, int64(len(body))); err != nil {
		return nil, nil, err
	}
	n := Notification{Skill: e.s.Principal.Skill, RunID: e.s.RunID}
	n.Severity = map[string]string{"": "info", "info": "info", "warn": "warning", "warning": "warning", "error": "error"}[ask.Severity]
	n.Title = strings.TrimSpace(printable(e.redact.text(ask.Title), false))
	n.Text = printable(e.redact.text(string(body)), true)
	switch {
	case n.Severity == "":
		return nil, nil, failf(KindInvalid, "severity is info, warning or error")
	case n.Title == "" || len(ask.Title) > maxTitle || !utf8.ValidString(ask.Title):
		return nil, nil, failf(KindInvalid, "a title is one line of up to %d bytes", maxTitle)
	case len(body) > maxText:
		return nil, nil, failf(KindLimit, "text of %d bytes; at most %d", len(body), maxText)
	case e.s.Notifier == nil:
		return nil, nil, failf(KindIO, "there is nobody to notify here")
	case !e.mayNotify():
		return nil, nil, failf(KindLimit, "at most %d notifications a call", e.s.Notifications)
	}
	return struct{}{}, nil, e.s.Notifier.Notify(ctx, n)
}

// mayNotify counts a notification.
func (e *Env) mayNotify() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.notified >= e.s.Notifications {
		return false
	}
	e.notified++
	return true
}

// Throttle delivers at most n notifications of one skill in any span of time through next; those above
// are refused. It is safe for concurrent use. One Throttle has to serve all calls.
type Throttle struct {
	next Notifier
	n    int
	span time.Duration

	mu   sync.Mutex
	sent map[string][]time.Time
}

// NewThrottle makes a Throttle.
func NewThrottle(next Notifier, n int, span time.Duration) *Throttle {
	return &Throttle{next: next, n: n, span: span, sent: map[string][]time.Time{}}
}

// Notify delivers n, or refuses with a *Failure of KindLimit.
func (t *Throttle) Notify(ctx context.Context, n Notification) error {
	if !t.take(n.Skill) {
		return failf(KindLimit, "at most %d notifications in %s", t.n, t.span)
	}
	return t.next.Notify(ctx, n)
}

// take counts a notification of a skill, and forgets those that are over.
func (t *Throttle) take(skill string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	for s, at := range t.sent {
		at = slices.DeleteFunc(at, func(x time.Time) bool { return now.Sub(x) >= t.span })
		if t.sent[s] = at; len(at) == 0 {
			delete(t.sent, s)
		}
	}
	if len(t.sent[skill]) >= t.n {
		return false
	}
	t.sent[skill] = append(t.sent[skill], now)
	return true
}

// Throttled bounds how often one skill may ask for a person's attention: 10 times in a
// minute. Without a Notifier it is nil.
func Throttled(n Notifier) Notifier {
	if n == nil {
		return nil
	}
	return NewThrottle(n, 10, time.Minute)
}
