package govern_test

import (
	"reflect"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// Every method that is called with nothing but zero values is refused before anything is
// looked at: the services of this test have nothing to look at.
func TestNobody(t *testing.T) {
	t.Parallel()
	services := reflect.ValueOf(govern.New(hclog.NewNullLogger(), govern.Parts{}))
	called := 0
	for i := range services.NumField() {
		of := services.Field(i)
		for m := range of.NumMethod() {
			called++
			name := of.Type().String() + "." + of.Type().Method(m).Name
			if e := fault.AsError(refused(t, of.Method(m))); e == nil || e.Kind != fault.KindDenied {
				t.Errorf("%s: %v", name, e)
			}
		}
	}
	if called < 10 {
		t.Errorf("%d methods found", called)
	}
}

// refused calls a method with a context and zero values, and returns its error.
func refused(t *testing.T, m reflect.Value) error {
	t.Helper()
	args := []reflect.Value{reflect.ValueOf(t.Context())}
	for i := 1; i < m.Type().NumIn(); i++ {
		args = append(args, reflect.Zero(m.Type().In(i)))
	}
	out := m.Call(args)
	err, _ := out[len(out)-1].Interface().(error)
	return err
}
