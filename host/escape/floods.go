package escape

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	w "github.com/skillet-run/skillet/host/engine/sandbox/wasmbin/wasmtest"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/policies"
)

// streamAttempts put out too much.
func streamAttempts() []attempt {
	const most = 64 << 10
	small := func() sandbox.Limits {
		limits := usual()
		limits.OutputBytes, limits.LogBytes = most, most
		return limits
	}
	// ended judges a call that output was to end, and how much came.
	ended := func(l *lab, t callResult) {
		l.wantLimit(t, sandbox.ErrOutput)
		if len(t.Output) > most {
			l.breach("%d bytes came out, at most %d may", len(t.Output), most)
		}
	}
	return []attempt{
		{"output-flood", "fill the host's memory with output", func(l *lab) {
			p := newReactor()
			ended(l, l.limited(p.then(times(100, p.do("output_write", num(0), num(1<<14)))).tool(), nil, small()))
		}},
		{"stdout-flood", "fill the host's memory with standard output", func(l *lab) {
			c := newCommand()
			c.then(times(100, c.do("fd_write", num(1), num(c.keep(vector(0, 1<<14))), num(1), num(atSpare)), w.Drop()))
			ended(l, l.limited(c.bytes(), nil, small()))
		}},
		{"extism-output-flood", "fill the host's memory with the output of a plug-in", func(l *lab) {
			p := newPlugin()
			p.emit(p.do("alloc", long(1<<20)))
			ended(l, l.limited(p.tool(), nil, small()))
		}},
		// Standard error ends nothing: it is cut.
		{"stderr-flood", "fill the host's memory with standard error", func(l *lab) {
			c := newCommand()
			c.then(times(100, c.do("fd_write", num(2), num(c.keep(vector(0, 1<<14))), num(1), num(atSpare)), w.Drop()))
			t := l.limited(c.bytes(), nil, small())
			if n := len(t.Stderr); t.err != nil || n > most+100 {
				l.breach("%d bytes were kept, at most %d may be, ended by %s", n, most, cause(t.err))
				return
			}
			l.stopped("cut after %d bytes", most)
		}},
		// The error of a guest is kept and shown as well.
		{"error-flood", "fill the host's memory with an error message", func(l *lab) {
			m := newProgram(bulk, []function{{"error_write", "i32 i32 i32 i32", ""}})
			t := l.run(m.then(m.do("error_write", num(0), num(10), num(0), num(pages<<16))).tool(), nil)
			if n := len(t.GuestError); n == 0 || n > most {
				l.breach("%d bytes were kept, at most %d may be", n, most)
				return
			}
			l.stopped("cut after %d bytes", len(t.GuestError))
		}},
	}
}

// inbox keeps notifications.
type inbox struct {
	mu  sync.Mutex
	all []hostfn.Notification
}

// Notify keeps one.
func (i *inbox) Notify(_ context.Context, n hostfn.Notification) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = append(i.all, n)
	return nil
}

// messageAttempts say too much, or what it should not.
func messageAttempts() []attempt {
	return []attempt{
		{"log-flood", "fill the host's memory and disk with log lines", func(l *lab) {
			p := newReactor("log")
			p.then(times(500, p.request("log", `{"level":"info"}`, strings.Repeat("x", 4000)), w.Drop()))
			s := l.settings()
			s.LogBytes = 64 << 10
			e := l.envOf(s)
			t := l.run(p.tool(), e)
			size := 0
			for _, line := range e.Logs() {
				size += len(line.Message)
			}
			if t.err != nil || size > 65<<10 {
				l.breach("%d bytes were kept, at most %d may be, ended by %s", size, 64<<10, cause(t.err))
				return
			}
			l.stopped("cut after %d bytes", 64<<10)
		}},
		// What a terminal acts on: a title, a cleared screen, text turned around.
		{"log-control", "act on the terminal of whoever reads the log", func(l *lab) {
			s := l.settings("notify")
			box := &inbox{}
			s.Notifier = box
			e := l.envOf(s)
			evil := "a\x1b[2J\x1b]0;title\x07\u202eb\r\nskillet: approved\u009b31m"
			l.asks(e, ask{"log", `{"level":"info","fields":{"k":"\u001b[1m"}}`, evil}, ask{"notify", object("title", evil), evil})
			l.clean(e, box)
		}},
		{"notify-flood", "drown a person in notifications", func(l *lab) {
			s := l.settings("notify")
			box := &inbox{}
			s.Notifier = box
			l.notified(l.asks(l.envOf(s), slices.Repeat([]ask{{"notify", object("title", "look"), ""}}, 40)...), box)
		}},
		{"notify-ungranted", "notify a person without a grant", func(l *lab) {
			s := l.settings()
			box := &inbox{}
			s.Notifier = box
			all := []ask{{"notify", object("title", "look"), ""}}
			l.refusedAll(l.asks(l.envOf(s), all...), all)
			if len(box.all) > 0 {
				l.breach("%d were delivered", len(box.all))
			}
		}},
		// The host decodes what it is asked.
		{"request-flood", "fill the host's memory with the data of a request", func(l *lab) {
			p := newProgram(bulk, reactorFunctions("log"))
			p.then(p.do("log", num(0), num(pages<<16-1), num(0), num(0)), w.LocalSet(2), p.do("response_read", num(atAnswer), num(atBody)),
				num(atSpare), w.LocalGet(2), w.Store(0x37, 0), p.do("output_write", num(atSpare), num(8)), p.do("output_write", num(atAnswer), w.LocalGet(2), long(32), w.Op(0x88), w.Op(0xa7)))
			l.refusedAll(replies(l.run(p.tool(), l.env()).Output), []ask{{fn: "log"}})
		}},
	}
}

// clean judges that no control character got anywhere.
func (l *lab) clean(e *hostfn.Env, box *inbox) {
	var texts []string
	for _, line := range e.Logs() {
		texts = append(texts, line.Message, fmt.Sprint(line.Fields))
	}
	for _, n := range box.all {
		texts = append(texts, n.Title, strings.ReplaceAll(n.Text, "\n", ""))
	}
	if len(texts) < 4 {
		l.breach("%d of 4 texts arrived", len(texts))
	}
	for _, t := range texts {
		if strings.ContainsAny(t, "\x1b\x07\r\n\u202e\u009b") {
			l.breach("%q arrived", t)
		}
	}
	l.stopped("control characters are taken out")
}

// notified judges how many notifications were delivered.
func (l *lab) notified(got []reply, box *inbox) {
	for _, r := range got {
		if !r.ok() {
			l.stopped("notify: %s", r.message())
		}
	}
	if n := len(box.all); n == 0 || n > hostfn.DefaultNotifications {
		l.breach("%d were delivered, at most %d may be", n, hostfn.DefaultNotifications)
	}
}

// stateAttempts misuse what is kept between calls.
func stateAttempts() []attempt {
	const most = 64 << 10
	return []attempt{
		{"kv-flood", "fill the store", func(l *lab) {
			s := l.settings("kv")
			s.KV, s.KVQuotaBytes = l.store(), most
			var all []ask
			for i := range 12 {
				all = append(all, ask{"kv_put", object("key", "k"+strconv.Itoa(i)), strings.Repeat("x", 10_000)})
			}
			l.quotaHolds(l.asks(l.envOf(s), all...), most)
		}},
		// Keys that would lead to another skill's, if names were joined by hand.
		{"kv-foreign", "read and change what another skill keeps", func(l *lab) {
			victim := l.keep(policies.OriginUser)
			s := l.settings("kv")
			s.KV = l.store()
			e := l.envOf(s)
			l.may(e, ask{"kv_put", object("key", "own"), "mine"}, "")
			l.foreign(e, victim)
		}},
		// A module that nobody installed takes the name of a skill that is.
		{"kv-namesake", "read what a skill keeps under that skill's name", func(l *lab) {
			victim := l.keep(policies.OriginUser)
			s := l.settings("kv")
			s.KV = l.store()
			s.Principal = policies.Principal{Skill: victimName, Version: "1.0.0", Origin: policies.OriginPath}
			l.foreign(l.envOf(s), victim)
		}},
		{"kv-ungranted", "keep state without a grant", func(l *lab) {
			s := l.settings()
			s.KV = l.store()
			all := []ask{{"kv_put", object("key", "k"), "x"}, {"kv_get", object("key", "k"), ""}, {"kv_list", `{"prefix":""}`, ""}, {"kv_delete", object("key", "k"), ""}}
			l.refusedAll(l.asks(l.envOf(s), all...), all)
		}},
		{"variable-flood", "fill the host's memory with Extism variables", func(l *lab) {
			p := newPlugin()
			var code []byte
			for i := range 8 {
				code = append(code, p.do("var_set", p.block("v"+strconv.Itoa(i)), p.do("alloc", long(200<<10)))...)
			}
			t := l.run(p.then(code).tool(), l.env())
			var f *hostfn.Failure
			if !errors.As(t.err, &f) || f.Kind != hostfn.KindLimit {
				l.breach("a limit was to end the call, and %s did", cause(t.err))
				return
			}
			l.stopped("%s", cause(t.err))
		}},
	}
}

// victimName is a skill that keeps the secret.
const victimName = "victim"

// keep stores the secret in that skill's state, and returns its environment.
func (l *lab) keep(origin string) *hostfn.Env {
	s := l.settings("kv")
	s.KV = l.store()
	s.Principal = policies.Principal{Skill: victimName, Version: "1.0.0", Origin: origin}
	e := hostfn.NewEnv(s)
	l.atEnd = append(l.atEnd, e.Close)
	if got := l.asks(e, ask{"kv_put", object("key", "token"), l.bench.secret}); len(got) != 1 || !got[0].ok() {
		l.breach("the other skill could not keep anything")
	}
	return e
}

// foreign looks for what another skill keeps, by every name it could have, and
// then looks whether that is as it was.
func (l *lab) foreign(e, victim *hostfn.Env) {
	var all []ask
	for _, key := range []string{"token", "../victim/value/token", "../../victim/value/token", "/kv/skill/victim/value/token", "%2e%2e%2fvictim%2fvalue%2ftoken", `..\victim\value\token`} {
		all = append(all, ask{"kv_get", object("key", key), ""}, ask{"kv_delete", object("key", key), ""}, ask{"kv_list", object("prefix", key), ""})
	}
	all = append(all, ask{"kv_list", `{"prefix":""}`, ""}, ask{"kv_put", object("key", "../victim/value/token"), "changed"}, ask{"kv_get", object("key", "x\x00/token"), ""})
	for i, r := range l.asks(e, all...) {
		if all[i].fn == "kv_get" && strings.Contains(r.meta, `"found":true`) {
			l.breach("%s was found", all[i].meta)
		}
	}
	heard := l.heard // what follows is the victim's own
	got := l.asks(victim, ask{"kv_get", object("key", "token"), ""})
	l.heard = heard
	if len(got) != 1 || got[0].body != l.bench.secret {
		l.breach("what the other skill keeps was changed")
	}
	l.stopped("each skill has a key space of its own")
}

// quotaHolds judges that the store took no more than the quota.
func (l *lab) quotaHolds(got []reply, most int) {
	for _, r := range got {
		if !r.ok() {
			l.stopped("kv_put: %s", r.message())
		}
	}
	entries, err := l.store().List(l.ctx, "kv/")
	sum := 0
	for _, e := range entries {
		sum += len(e.Value)
	}
	if !l.must(err) || sum == 0 || sum > most+1000 {
		l.breach("%d bytes are in the store, at most %d may be", sum, most)
	}
}
