package runner_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/skillet-run/skillet/host/hostfn"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/sandbox"
	"github.com/skillet-run/skillet/host/task"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	guest := func(kind string) error {
		return fmt.Errorf("call run: %w", &sandbox.GuestError{Kind: kind, Message: "m"})
	}
	host := func(kind hostfn.Kind) error { return errors.Join(sandbox.ErrTrap, &hostfn.Failure{Kind: kind}) }
	timedOut := runner.Verdict{Class: task.ClassTransient, Reason: "timeout", Skill: runner.Failing}
	network := runner.Verdict{Class: task.ClassTransient, Reason: "network_error", Skill: runner.Failing}
	limit := runner.Verdict{Class: task.ClassLimit, Reason: "resource_limit", Skill: runner.Failing}
	failed := runner.Verdict{Class: task.ClassPermanent, Reason: "failed", Skill: runner.Failing}
	denied := runner.Verdict{Class: task.ClassDenied, Reason: "denied"}
	answered := func(reason string) runner.Verdict {
		return runner.Verdict{Class: task.ClassPermanent, Reason: reason, Skill: runner.Working}
	}
	unknown := func(class task.Class, reason string) runner.Verdict {
		return runner.Verdict{Class: class, Reason: reason}
	}
	for _, row := range []struct {
		name string
		err  error
		want runner.Verdict
	}{
		{"success", nil, runner.Verdict{Skill: runner.Working}},
		{"time", fmt.Errorf("x: %w", sandbox.ErrTime), timedOut},
		{"time, wrapped", task.Wrap(task.KindLimit, sandbox.ErrTime), timedOut},
		{"a deadline of the caller's", context.DeadlineExceeded, unknown(task.ClassTransient, "timeout")},
		{"memory", sandbox.ErrMemory, limit},
		{"memory, and then the guest gave up", errors.Join(guest("io"), sandbox.ErrMemory), limit},
		{"fuel", sandbox.ErrFuel, limit},
		{"files", sandbox.ErrFiles, limit},
		{"input", sandbox.ErrInput, unknown(task.ClassLimit, "input")},
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
		{"denied, and then it crashed", task.Wrap(task.KindDenied, sandbox.ErrTrap), denied},
		{"crash", sandbox.ErrTrap, runner.Verdict{Class: task.ClassPermanent, Reason: "crash", Skill: runner.Failing}},
		{"bad answer", task.Errorf(task.KindSkill, "no"), runner.Verdict{Class: task.ClassPermanent, Reason: "bad_answer", Skill: runner.Failing}},
		{"usage", task.Errorf(task.KindUsage, "no"), unknown(task.ClassPermanent, "usage")},
		{"verification", task.Errorf(task.KindVerification, "no"), unknown(task.ClassPermanent, "verification")},
		{"approval", task.Errorf(task.KindApproval, "no"), unknown(task.ClassDenied, "approval")},
		{"the host's own", errors.New("no"), unknown(task.ClassPermanent, "internal")},
		{"cancelled", errors.Join(context.Canceled, sandbox.ErrTrap), unknown(task.ClassPermanent, "cancelled")},
		{"overloaded", task.Wrap(task.KindLimit, runner.ErrOverloaded), unknown(task.ClassLimit, "overloaded")},
		{"rate", task.Wrap(task.KindLimit, runner.ErrRate), unknown(task.ClassLimit, "rate_limit")},
		{"open", task.Wrap(task.KindLimit, runner.ErrOpen), unknown(task.ClassLimit, "circuit_open")},
	} {
		if got := runner.Judge(row.err); got != row.want {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
	for _, o := range task.Outcomes() { // no kind is left without a class
		if o.Kind != "" && runner.Judge(task.Errorf(o.Kind, "x")).Class == "" {
			t.Errorf("%s has no class", o.Kind)
		}
	}
}
