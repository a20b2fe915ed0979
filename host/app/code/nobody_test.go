package code

import (
	"context"
	"reflect"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
)

// Who asks nothing of anybody is refused before anything is looked at.
func TestNobody(t *testing.T) {
	s := reflect.ValueOf(New(nil, Parts{}, Settings{}))
	for i := range s.NumMethod() {
		m := s.Type().Method(i)
		in := []reflect.Value{reflect.ValueOf(context.Background())}
		for n := 2; n < m.Type.NumIn(); n++ {
			in = append(in, reflect.Zero(m.Type.In(n)))
		}
		out := s.Method(i).Call(in)
		err, _ := out[len(out)-1].Interface().(error)
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindDenied {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}
