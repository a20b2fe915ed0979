package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/runner"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	guest := func(kind string) error {
		return fmt.Errorf("call run: %w", &sandbox.GuestError{Kind: kind, Message: "m"})
	}
	host := func(kind hostfn.Kind) error { return errors.Join(sandbox.ErrTrap, &hostfn.Failure{Kind: kind}) }
	timedOut := runner.Verdict{Class: fault.ClassTransient, Reason: "timeout", Skill: runner.Failing}
	network := runner.Verdict{Class: fault.ClassTransient, Reason: "network_error", Skill: runner.Failing}
	limit := runner.Verdict{Class: fault.ClassLimit, Reason: "resource_limit", Skill: runner.Failing}
	failed := runner.Verdict{Class: fault.ClassPermanent, Reason: "failed", Skill: runner.Failing}
	denied := runner.Verdict{Class: fault.ClassDenied, Reason: "denied"}
	answered := func(reason string) runner.Verdict {
		return runner.Verdict{Class: fault.ClassPermanent, Reason: reason, Skill: runner.Working}
	}
	unknown := func(class fault.Class, reason string) runner.Verdict {
		return runner.Verdict{Class: class, Reason: reason}
	}
	for _, row := range []struct {
		name string
		err  error
		want runner.Verdict
	}{
		{"success", nil, runner.Verdict{Skill: runner.Working}},
		{"time", fmt.Errorf("x: %w", sandbox.ErrTime), timedOut},
		{"time, wrapped", fault.Wrap(fault.KindLimit, sandbox.ErrTime), timedOut},
		{"a deadline of the caller's", context.DeadlineExceeded, unknown(fault.ClassTransient, "timeout")},
		{"memory", sandbox.ErrMemory, limit},
		{"memory, and then the guest gave up", errors.Join(guest("io"), sandbox.ErrMemory), limit},
		{"fuel", sandbox.ErrFuel, limit},
		{"files", sandbox.ErrFiles, limit},
		{"input", sandbox.ErrInput, unknown(fault.ClassLimit, "input")},
		{"guest, io", guest("io"), network},
		{"guest, timeout", guest("timeout"), timedOut},
		{"guest, limit", guest("limit"), limit},
		{"guest, denied", guest("denied"), denied},
		{"guest, invalid", guest("invalid"), answered("invalid")},
		{"guest, not_found", guest("not_found"), answered("not_found")},
		{"guest, conflict", guest("conflict"), answered("conflict")},
		{"guest, failed", guest("failed"), failed},
		{"guest, nothing", guest(""), failed},
		{"guest, its own word", guest("teapot"), failed},
		{"host function, io", host(hostfn.KindIO), network},
		{"host function, timeout", host(hostfn.KindTimeout), timedOut},
		{"host function, denied", errors.Join(sandbox.ErrTrap, hostfn.ErrDenied), denied},
		{"denied, and then it crashed", fault.Wrap(fault.KindDenied, sandbox.ErrTrap), denied},
		{"crash", sandbox.ErrTrap, runner.Verdict{Class: fault.ClassPermanent, Reason: "crash", Skill: runner.Failing}},
		{"bad answer", fault.Errorf(fault.KindSkill, "no"), runner.Verdict{Class: fault.ClassPermanent, Reason: "bad_answer", Skill: runner.Failing}},
		{"usage", fault.Errorf(fault.KindUsage, "no"), unknown(fault.ClassPermanent, "usage")},
		{"verification", fault.Errorf(fault.KindVerification, "no"), unknown(fault.ClassPermanent, "verification")},
		{"approval", fault.Errorf(fault.KindApproval, "no"), unknown(fault.ClassDenied, "approval")},
		{"the host's own", errors.New("no"), unknown(fault.ClassPermanent, "internal")},
		{"cancelled", errors.Join(context.Canceled, sandbox.ErrTrap), unknown(fault.ClassPermanent, "cancelled")},
		{"overloaded", fault.Wrap(fault.KindLimit, runner.ErrOverloaded), unknown(fault.ClassLimit, "overloaded")},
		{"rate", fault.Wrap(fault.KindLimit, runner.ErrRate), unknown(fault.ClassLimit, "rate_limit")},
		{"open", fault.Wrap(fault.KindLimit, runner.ErrOpen), unknown(fault.ClassLimit, "circuit_open")},
	} {
		if got := runner.Judge(row.err); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
	for _, o := range fault.Outcomes() { // no kind is left without a class
		if o.Kind != "" && runner.Judge(fault.Errorf(o.Kind, "x")).Class == "" {
			t.Errorf("%s has no class", o.Kind)
		}
	}
}
