package work

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/policies/capability"
)

// Whoever says nothing is refused, by every method, before anything else is looked at: the
// service has no parts, and would fail otherwise.
func TestNobody(t *testing.T) {
	s, _ := New(hclog.NewNullLogger(), Parts{})
	n := 0
	for _, of := range []any{s.Tasks(), s.Calls(), s.Agents(), s.Providers(), s.Memories(), s.Usage(), s.Handles()} {
		v := reflect.ValueOf(of)
		for i := range v.NumMethod() {
			name := v.Type().Elem().Name() + "." + v.Type().Method(i).Name
			if err := asNobody(t, v.Method(i)); fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindDenied {
				t.Errorf("%s: %v", name, err)
			}
			n++
		}
	}
	if n < 30 {
		t.Errorf("only %d methods", n)
	}
}

// asNobody calls a method with nothing but zero values, and returns its error.
func asNobody(t *testing.T, m reflect.Value) error {
	t.Helper()
	var in []reflect.Value
	for i := range m.Type().NumIn() {
		arg := reflect.New(m.Type().In(i)).Elem()
		if m.Type().In(i) == reflect.TypeFor[context.Context]() {
			arg.Set(reflect.ValueOf(t.Context()))
		}
		in = append(in, arg)
	}
	out := m.Call(in)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}

var (
	after    time.Time
	anything = capability.NewSet(capability.MustParse("fs.read:/**"))
)

// An agent is refused what a person decides, the figures of what others did, and what
// somebody else allowed.
func TestAgentIsRefused(t *testing.T) {
	s, _ := New(hclog.NewNullLogger(), Parts{})
	ctx, by := t.Context(), approval.NewAgent("general")
	_, skills := s.Usage().Skills(ctx, by, after)
	_, models := s.Usage().Models(ctx, by, after)
	_, events := s.Usage().Events(ctx, by, after)
	_, queue := s.Usage().Queue(ctx, by)
	_, do := s.Tasks().Do(ctx, by, DoRequest{ID: "x", Allow: approval.NewHuman("ada").Allow(anything)})
	_, chat := s.Tasks().Chat(ctx, by, ChatRequest{Allow: approval.NewHuman("ada").Allow(anything)})
	for i, err := range []error{skills, models, events, queue, do, chat} {
		if fault.AsError(err) == nil || fault.AsError(err).Kind != fault.KindDenied {
			t.Errorf("%d: %v", i, err)
		}
	}
}
