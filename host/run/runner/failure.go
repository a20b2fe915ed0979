package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// callerError is an error as the caller is told it.
func (a *run) callerError(err error) *fault.Error {
	e := *printable(classified(explain(a, nil, err)))
	return &e
}

// classified says of an error whether trying again can help.
func classified(e *fault.Error) *fault.Error {
	c := *e
	c.Class = Judge(e).Class
	return &c
}

// kinds pairs what the sandbox says with what it means to a caller, in the order
// in which they are looked for.
var kinds = []struct {
	is   error
	kind fault.Kind
}{
	{sandbox.ErrPanic, fault.KindInternal},
	{errLimit, fault.KindLimit},
	{hostfn.ErrDenied, fault.KindDenied},
	{sandbox.ErrGuest, fault.KindSkill},
	{sandbox.ErrTrap, fault.KindSkill},
	{worker.ErrDied, fault.KindSkill},
	{worker.ErrProtocol, fault.KindSkill},
	{sandbox.ErrNoExport, fault.KindVerification},
	{sandbox.ErrSignature, fault.KindVerification},
	{context.Canceled, fault.KindInternal},
	{context.DeadlineExceeded, fault.KindLimit},
}

// explain says what a failed call means. A guest that gave up after a refusal, or
// was ended by it, was denied: the refusal, and what would lift it, are what a person needs to see.
func explain(a *run, denials []task.Denial, err error) *fault.Error {
	if e := (*fault.Error)(nil); errors.As(err, &e) {
		return fault.AsError(err)
	}
	for _, v := range kinds {
		if !isOf(err, v.is) {
			continue
		}
		if (v.kind == fault.KindSkill || v.kind == fault.KindDenied) && len(denials) > 0 {
			return denied(a, denials[len(denials)-1], err)
		}
		if a.bare() {
			err = withoutField(err)
		}
		return fault.Wrap(v.kind, err).Hinted(hint(a, v.kind, err))
	}
	return fault.AsError(err)
}

func denied(a *run, d task.Denial, err error) *fault.Error {
	e := fault.Wrap(fault.KindDenied, guestError(err))
	e.Message = fmt.Sprintf("%s was denied %s", a.result.Skill, d.Request)
	if !strings.Contains(d.Reason, d.Request) {
		e.Message += ": " + d.Reason
	}
	if text := err.Error(); text != "" && !strings.Contains(text, "denied") {
		e.Message += " (the skill then said: " + text + ")"
	}
	return wayOut(e, a, d)
}

// wayOut adds to the error of a refusal what would allow it, or who decided.
func wayOut(e *fault.Error, a *run, d task.Denial) *fault.Error {
	switch {
	case !d.Way().IsZero():
		return e.WithHint("to allow it: %s", d.Way())
	case len(d.Policies) == 0:
		return e
	case a.call.Target.Origin == registry.OriginPath:
		return e.WithHint("decided by policy %s; %s shows what is in force", strings.Join(d.Policies, ", "), fault.List(fault.Policies))
	}
	return e.WithHint("decided by policy %s; %s says more", strings.Join(d.Policies, ", "), a.decision(d.Request))
}

// Said is what a guest said of its failure after something was refused to it; the zero
// value is that it said nothing. It is
// the cause of the [fault.Error] that tells of the refusal.
type Said struct{ Kind, Message string }

// Error is the guest's message.
func (s *Said) Error() string { return s.Message }

func guestError(err error) error {
	var guest *sandbox.GuestError
	if !errors.As(err, &guest) {
		return &Said{}
	}
	return &Said{guest.Kind, guest.Message}
}

func loadError(path string, err error) error {
	var tooLarge *sandbox.ModuleLimitError
	var late *sandbox.LimitError
	switch {
	case errors.As(err, &tooLarge) && tooLarge.Needs > 0:
		return fault.Errorf(fault.KindVerification, "%s: %w", path, err).
			WithHint("to accept such modules: %s; they may take longer to compile, and more memory", fault.SetSetting(sandbox.SettingModules, strconv.FormatUint(uint64(tooLarge.Needs), 10)))
	case errors.As(err, &late):
		return fault.Errorf(fault.KindLimit, "%s: %w", path, err).
			WithHint("try again when less is going on, or let it take longer: %s", fault.SetSetting(sandbox.SettingCompileTime, "300"))
	}
	if errors.Is(err, sandbox.ErrRefused) || errors.Is(err, sandbox.ErrImport) || errors.Is(err, worker.ErrDied) {
		return fault.Errorf(fault.KindVerification, "%s: %w", path, err).
			WithHint("%s", sandbox.WayOut)
	}
	return fault.Errorf(fault.KindInternal, "%s: %w", path, err)
}
