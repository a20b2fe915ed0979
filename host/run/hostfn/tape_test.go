package hostfn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// standIn is a tape that answers what is not the guest's own, and notes the names
// of all that passes it.
type standIn struct {
	answer Answer
	err    error
	passed []string
	metas  []string
}

func (s *standIn) HostCall(ctx context.Context, c HostCall, act func(context.Context) Answer) (Answer, error) {
	s.passed, s.metas = append(s.passed, c.Name), append(s.metas, string(c.Meta))
	if c.Own {
		return act(ctx), nil
	}
	return s.answer, s.err
}

// taped is an Env without any grant and with a tape.
func taped(t testing.TB, tape Tape) *Env {
	t.Helper()
	s := settings(t)
	s.Tape = tape
	return open(t, s)
}

// TestEveryFunctionPassesTheTape calls each function from a guest: those that reach
// beyond the call are answered by the tape alone.
func TestEveryFunctionPassesTheTape(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	for _, f := range functions() {
		tape := &standIn{answer: Answer{Meta: json.RawMessage(`{"from":"tape"}`), Body: []byte("body")}}
		e := taped(t, tape)
		got := runBulk(t, rt, e, f.name, f.example, "")
		if !slices.Equal(tape.passed, []string{f.name}) || tape.metas[0] != f.example {
			t.Errorf("%s: %v passed with %v", f.name, tape.passed, tape.metas)
		}
		if f.free == "" && (string(got.Meta) != `{"from":"tape"}` || string(got.Body) != "body") {
			t.Errorf("%s: the guest got %s and %q", f.name, got.Meta, got.Body)
		}
		if d, u := e.Denials(), e.Uses(); f.free == "" && len(d)+len(u) > 0 {
			t.Errorf("%s acted: %v, %v", f.name, d, u)
		}
	}
}

// TestOwnFunctionsPassTheTape shows those of the Extism ABI that touch only the call.
func TestOwnFunctionsPassTheTape(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"var_get": {[]string{"v"}, `var_get {"name":"v"}`}, "var_set": {[]string{"v", "x"}, `var_set {"name":"v"}`},
		"config_get": {[]string{"color"}, `config_get {"key":"color"}`}, "log_warn": {[]string{"text"}, `log {"level":"warn"}`},
	} {
		tape := &standIn{}
		e := taped(t, tape)
		out, err := runExtism(t, rt, e, name, c.args...)
		if err != nil || len(tape.passed) != 1 || tape.passed[0]+" "+tape.metas[0] != c.want {
			t.Errorf("%s: %v passed with %v, %v", name, tape.passed, tape.metas, err)
		}
		if name == "config_get" && out != "blue" || name == "log_warn" && len(e.Logs()) != 1 {
			t.Errorf("%s did not act: %q, %v", name, out, e.Logs())
		}
	}
}

// TestTapeOfExtism has the HTTP import be seen and answered as http_request, and
// refusals end the call.
func TestTapeOfExtism(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	tape := &standIn{answer: Answer{Meta: json.RawMessage(`{"status":201,"headers":{"X-A":["b"]},"url":"u","truncated":false}`), Body: []byte("made up")}}
	out, err := runExtism(t, rt, taped(t, tape), "http_request", `{"url":"https://example.com/","method":"POST","headers":{"a":"b"}}`)
	if err != nil || out != "made up" {
		t.Errorf("%q, %v", out, err)
	}
	if want := `{"method":"POST","url":"https://example.com/","headers":{"A":["b"]}}`; !slices.Equal(tape.passed, []string{"http_request"}) || tape.metas[0] != want {
		t.Errorf("%v passed with %v, want %s", tape.passed, tape.metas, want)
	}
	tape.answer = Refused(KindDenied, "denied")
	if _, err = runExtism(t, rt, taped(t, tape), "http_request", `{"url":"https://example.com/"}`); !errors.Is(err, ErrDenied) {
		t.Errorf("a refusal is %v", err)
	}
	tape.answer = Refused(KindNotRecorded, "nothing is known of it")
	var f *Failure
	if _, err = runExtism(t, rt, taped(t, tape), "http_request", `{"url":"https://example.com/"}`); !errors.As(err, &f) || f.Kind != KindNotRecorded || errors.Is(err, ErrDenied) {
		t.Errorf("what is not recorded is %v", err)
	}
	for _, bad := range []Answer{{Meta: json.RawMessage("{")}, {Meta: json.RawMessage(`{"status":"x"}`)}, {}} {
		tape.answer = bad
		if _, err = runExtism(t, rt, taped(t, tape), "http_request", `{"url":"https://example.com/"}`); !errors.As(err, &f) || f.Kind != KindIO {
			t.Errorf("the answer %s is %v", bad.Meta, err)
		}
	}
}

// TestTapeEndsTheCall with its error, and with an answer that no guest could take.
func TestTapeEndsTheCall(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	failed := errors.New("the tape is torn")
	for _, tape := range []*standIn{{err: failed}, {answer: Answer{Meta: make([]byte, maxAnswerMeta+1)}}} {
		m, err := rt.Load(t.Context(), bulkGuest("kv_get", `{"key":"k"}`, ""))
		must(t, err)
		_, err = m.Call(t.Context(), sandbox.Call{Export: "run", Env: taped(t, tape)})
		if !errors.Is(err, tape.err) && tape.err != nil || err == nil || tape.err == nil && !strings.Contains(err.Error(), "too long") {
			t.Errorf("%v", err)
		}
	}
}

// TestAnswerFailure tells errors from answers.
func TestAnswerFailure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Kind{
		`{}`: "", `{"found":true}`: "", `{"text":"\"error\""}`: "", `"error"`: "", "": "", `{"error":null}`: "",
		`{"error":{"kind":"denied","message":"denied"}}`: KindDenied, string(Refused(KindLimit, "x").Meta): KindLimit,
	} {
		got := Kind("")
		if f := (Answer{Meta: json.RawMessage(text)}).Failure(); f != nil {
			got = f.Kind
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
