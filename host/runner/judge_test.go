package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/host/task"
)

func TestRefusalSaysHowToAllowIt(t *testing.T) {
	refused := []task.Denial{{Request: "http:GET:http://example.com/", Reason: "not granted", Hint: "add --allow http:example.com"}}
	for name, err := range map[string]error{
		"the guest was ended by it": errors.Join(sandbox.ErrTrap, &hostfn.Failure{Kind: hostfn.KindDenied}),
		"the guest then gave up":    &sandbox.GuestError{Kind: "failed", Message: "no page"},
		"the guest then crashed":    sandbox.ErrTrap,
	} {
		t.Run(name, func(t *testing.T) {
			a := &run{result: task.Result{Skill: "tester"}}
			e := explain(a, refused, err)
			if e.Kind != task.KindDenied || !strings.Contains(e.Message, "tester was denied http:GET:http://example.com/: not granted") {
				t.Errorf("%s: %s, want what was denied", e.Kind, e.Message)
			}
			if e.Hint != "to allow it: add --allow http:example.com" {
				t.Errorf("hint %q, want the way to allow it", e.Hint)
			}
		})
	}
}
