package escape

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// ask is one question to a host function.
type ask struct{ fn, meta, body string }

// reply is its answer.
type reply struct {
	Error struct {
		Kind    hostfn.Kind `json:"kind"`
		Message string      `json:"message"`
	} `json:"error"`
	meta, body string
}

// ok reports whether the host did what was asked.
func (r reply) ok() bool { return r.Error.Kind == "" }

// object is a JSON object of strings.
func object(pairs ...string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	b, _ := json.Marshal(m) // strings cannot fail to marshal
	return string(b)
}

// asks runs a guest that asks the host one thing after the other, and returns the
// answers.
func (l *lab) asks(e *hostfn.Env, all ...ask) []reply {
	var names []string
	for _, a := range all {
		names = append(names, a.fn)
	}
	p := newReactor(names...)
	for _, a := range all {
		p.ask(a.fn, a.meta, a.body)
	}
	t := l.run(p.tool(), e)
	if t.err != nil {
		l.breach("the guest did not get to its end: %s", cause(t.err))
		return nil
	}
	return replies(t.Output)
}

// replies takes apart what a guest put out of the answers it got.
func replies(out []byte) (all []reply) {
	for len(out) >= 8 {
		body, meta := uint64(binary.LittleEndian.Uint32(out)), uint64(binary.LittleEndian.Uint32(out[4:]))
		out = out[8:]
		if body+meta > uint64(len(out)) {
			return all
		}
		r := reply{meta: string(out[:meta]), body: string(out[meta : meta+body])}
		_ = json.Unmarshal(out[:meta], &r) // an answer that is not JSON has no fields
		all, out = append(all, r), out[meta+body:]
	}
	return all
}

// refusedAll judges that the host did nothing of what was asked.
func (l *lab) refusedAll(got []reply, all []ask) {
	if len(got) != len(all) {
		l.breach("%d of %d questions were asked", len(got), len(all))
		return
	}
	for i, r := range got {
		if r.ok() {
			l.breach("%s %s succeeded", all[i].fn, brief(all[i].meta))
			continue
		}
		l.stopped("%s: %s", all[i].fn, r.message())
	}
}

// message is the error that the guest gets.
func (r reply) message() string {
	if r.Error.Message == "" || r.Error.Message == string(r.Error.Kind) {
		return string(r.Error.Kind)
	}
	return string(r.Error.Kind) + " (" + r.Error.Message + ")"
}

// brief cuts a long text.
func brief(s string) string {
	const most = 120
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// may judges that the host does what is granted, with this in the body: without
// it a refusal of something else would show nothing.
func (l *lab) may(e *hostfn.Env, a ask, body string) {
	if got := l.asks(e, a); len(got) != 1 || !got[0].ok() || !strings.Contains(got[0].body, body) {
		l.breach("the guest could not do what it may: %s", a.fn)
	}
}

// denied notes who refused, as the host recorded it, and judges that there were
// refusals at all.
func (l *lab) denied(e *hostfn.Env) {
	all := e.Denials()
	if len(all) == 0 {
		l.breach("no refusal was recorded")
	}
	for _, d := range all {
		l.stopped("denied %s: %s", d.Request, because(d.Policies, d.Reason))
	}
}

// wantLimit judges that a call was ended by a limit.
func (l *lab) wantLimit(t callResult, kind error) bool {
	if !errors.Is(t.err, kind) {
		l.breach("%v was to end the call, and %s did", kind, cause(t.err))
		return false
	}
	l.stopped("%s", cause(t.err))
	return true
}

// hasLimit reports whether the limit of an error is a certain one.
func hasLimit(err error, what string) bool {
	var limit *sandbox.LimitError
	return errors.As(err, &limit) && limit.What == what
}

// wantTrap judges that a call trapped, for a reason with a text in it.
func (l *lab) wantTrap(t callResult, reason string) {
	var trap *sandbox.TrapError
	if !errors.As(t.err, &trap) || !strings.Contains(trap.Reason, reason) {
		l.breach("a trap (%s) was to end the call, and %s did", reason, cause(t.err))
		return
	}
	l.stopped("%s", cause(t.err))
}

// wantRefused judges that a module is refused, and why, before anything of it
// runs.
func (l *lab) wantRefused(wasm []byte, kinds ...error) {
	if l.bench.slack.module != nil {
		wasm = l.bench.slack.module
	}
	m, err := l.compile(wasm)
	switch {
	case err == nil:
		l.breach("the module was compiled")
		_ = m.Close(l.ctx)
	case !slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) }):
		l.breach("the module was refused for another reason: %v", err)
	default:
		l.stopped("%s", refusal(err))
	}
}
