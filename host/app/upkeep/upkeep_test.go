package upkeep

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/escape"
	"github.com/skillet-run/skillet/host/record/approval"
)

// Every method refuses nobody, before it looks at anything else: the service has no parts.
func TestNobody(t *testing.T) {
	s := reflect.ValueOf(&Service{})
	asked := 0
	for i := range s.NumMethod() {
		m := s.Type().Method(i)
		asked++
		for what, by := range map[string]reflect.Value{
			"nobody": {}, "a person of no name": reflect.ValueOf(approval.Human{}), "an agent of no name": reflect.ValueOf(approval.Agent{}),
		} {
			in := []reflect.Value{s, reflect.ValueOf(t.Context())}
			for j := 2; j < m.Type.NumIn(); j++ {
				in = append(in, reflect.Zero(m.Type.In(j)))
			}
			if by.IsValid() && by.Type().AssignableTo(m.Type.In(2)) {
				in[2] = by
			}
			out := m.Func.Call(in)
			err, _ := out[len(out)-1].Interface().(error)
			if e := fault.AsError(err); e == nil || e.Kind != fault.KindDenied {
				t.Errorf("%s, asked by %s: %v, want it denied", m.Name, what, err)
			}
		}
	}
	if asked < 8 {
		t.Errorf("only %d methods", asked)
	}
	if _, err := Escape(t.Context(), nil, EscapeRequest{}); fault.AsError(err).Kind != fault.KindDenied {
		t.Errorf("Escape = %v", err)
	}
}

// Each source that has a name finds words, and has its place in the table.
func TestSources(t *testing.T) {
	for name, look := range sources {
		if look == nil || strings.TrimSpace(string(name)) == "" {
			t.Errorf("source %q does not look at anything", name)
		}
	}
}

func TestNoAttempt(t *testing.T) {
	t.Parallel()
	choices := func(err error) (all []string) {
		for _, r := range fault.AsError(err).Remedies {
			all = append(all, r.Choices...)
		}
		return all
	}
	if e := noAttempt("redirect-oot"); !slices.Equal(choices(e), []string{"redirect-out"}) {
		t.Errorf("%v, choices %q", e, choices(e))
	}
	if e := noAttempt("zzzz"); len(choices(e)) > 0 || fault.AsError(e).Hint == "" {
		t.Errorf("%v, choices %q", e, choices(e))
	}
	for _, a := range escape.List() {
		if len(a.ID) > 20 {
			t.Errorf("%s is too long for the progress line", a.ID)
		}
	}
}
