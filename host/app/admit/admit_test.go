package admit

import (
	"context"
	"reflect"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
)

// Nobody is told or given anything: every method refuses a caller who says not who they
// are, before it looks at what is asked.
func TestNobody(t *testing.T) {
	v := reflect.ValueOf(&Service{})
	for i := range v.NumMethod() {
		m := v.Type().Method(i)
		for _, by := range []approval.Principal{nil, approval.Human{}, approval.Agent{}} {
			args, ok := arguments(t, m.Type, by)
			if !ok {
				continue
			}
			call := v.Method(i).Call
			if m.Type.IsVariadic() {
				call = v.Method(i).CallSlice
			}
			out := call(args)
			err, _ := out[len(out)-1].Interface().(error)
			if e := fault.AsError(err); e == nil || e.Kind != fault.KindDenied {
				t.Errorf("%s by %#v: %v, want it denied", m.Name, by, err)
			}
		}
	}
	if v.NumMethod() == 0 {
		t.Error("there are no methods: is this test looking at the wrong type?")
	}
}

// arguments are zero values but for the context and who asks; ok is false when who asks
// does not fit.
func arguments(t *testing.T, m reflect.Type, by approval.Principal) (args []reflect.Value, ok bool) {
	t.Helper()
	for i := 1; i < m.NumIn(); i++ {
		arg := reflect.New(m.In(i)).Elem()
		switch {
		case i == 1:
			arg.Set(reflect.ValueOf(t.Context()))
		case i == 2 && by != nil:
			if !reflect.TypeOf(by).AssignableTo(m.In(i)) {
				return nil, false
			}
			arg.Set(reflect.ValueOf(by))
		}
		args = append(args, arg)
	}
	return args, true
}

// An agent may look, and writes no file where it says.
func TestAgentsWriteNoFiles(t *testing.T) {
	s, by := &Service{}, approval.NewAgent("general")
	s.parts.CatchUp = func(context.Context) error { return nil }
	for what, do := range map[string]func() error{
		"pull":   func() error { _, err := s.Pull(t.Context(), by, PullRequest{From: "./a", Output: "."}); return err },
		"export": func() error { _, err := s.Export(t.Context(), by, ExportRequest{Path: "a.set"}); return err },
	} {
		if e := fault.AsError(do()); e == nil || e.Kind != fault.KindDenied {
			t.Errorf("%s by an agent: %v, want it denied", what, e)
		}
	}
}
