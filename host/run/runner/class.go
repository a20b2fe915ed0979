package runner

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/worker"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/host/run/session"
	"github.com/skillet-run/skillet/manifests"
)

// Refusals of calls that were not made. They come in [fault.Error]s of
// [fault.KindLimit] that say when to try again.
var (
	// ErrOverloaded: as many calls of the skill run and wait as may.
	ErrOverloaded = errors.New("overloaded")
	// ErrRate: the skill was called as often as it may be for now.
	ErrRate = errors.New("called too often")
	// ErrOpen: the skill failed repeatedly, and is left alone for a while.
	ErrOpen = errors.New("circuit breaker open")
)

// A Condition is what the outcome of a call shows of the skill's health.
type Condition int

const (
	// Unknown: the skill did not get to show anything.
	Unknown Condition = iota
	// Working: it answered, be it with what is wrong with the request.
	Working
	// Failing: it did not do what it is there for.
	Failing
)

// A Verdict is what an outcome means to whoever could try again.
type Verdict struct {
	// Class says whether trying again can help; empty for a success.
	Class fault.Class
	// Reason is the sort of failure in one word; empty for a success. Those that
	// a manifest may name in retry_on are [manifests.Reason]s.
	Reason string
	// Skill is what it shows of the skill.
	Skill Condition
}

// The verdicts that several rows of the tables give.
var (
	timedOut  = Verdict{fault.ClassTransient, string(manifests.ReasonTimeout), Failing}
	cutOff    = Verdict{fault.ClassTransient, string(manifests.ReasonNetworkError), Failing}
	exhausted = Verdict{fault.ClassLimit, string(manifests.ReasonResourceLimit), Failing}
	failed    = Verdict{fault.ClassPermanent, "failed", Failing}
	refused   = Verdict{fault.ClassDenied, "denied", Unknown}
	// hurried is a call that had no more time because its caller had none.
	hurried = Verdict{fault.ClassTransient, string(manifests.ReasonTimeout), Unknown}
)

// bySentinel says what errors mean; the first row that fits counts. A limit
// stands before what the guest did because of it.
var bySentinel = []struct {
	is error
	Verdict
}{
	{context.Canceled, Verdict{fault.ClassPermanent, "cancelled", Unknown}},
	{session.ErrBusy, Verdict{fault.ClassLimit, "overloaded", Unknown}},
	{ErrOverloaded, Verdict{fault.ClassLimit, "overloaded", Unknown}},
	{ErrRate, Verdict{fault.ClassLimit, "rate_limit", Unknown}},
	{ErrOpen, Verdict{fault.ClassLimit, "circuit_open", Unknown}},
	{hostfn.ErrMoving, Verdict{fault.ClassTransient, "migrating", Unknown}},
	{hostfn.ErrDenied, refused},
	{sandbox.ErrTime, timedOut},
	{sandbox.ErrInput, Verdict{fault.ClassLimit, "input", Unknown}},
	{errLimit, exhausted},
	{worker.ErrDied, failed},
	{worker.ErrProtocol, failed},
	{context.DeadlineExceeded, hurried},
}

// byGuestKind says what the kinds of error mean that a guest reports and that
// host functions answer with. Any other kind is the guest's own failure.
var byGuestKind = map[hostfn.Kind]Verdict{
	hostfn.KindTimeout:  timedOut,
	hostfn.KindIO:       cutOff,
	hostfn.KindLimit:    exhausted,
	hostfn.KindDenied:   refused,
	hostfn.KindInvalid:  {fault.ClassPermanent, "invalid", Working},
	hostfn.KindNotFound: {fault.ClassPermanent, "not_found", Working},
	hostfn.KindConflict: {fault.ClassPermanent, "conflict", Working},
}

// byKind says what is left to be said of an error by its kind.
var byKind = map[fault.Kind]Verdict{
	fault.KindSkill:        {fault.ClassPermanent, "bad_answer", Failing},
	fault.KindUsage:        {fault.ClassPermanent, "usage", Unknown},
	fault.KindDenied:       refused,
	fault.KindLimit:        {fault.ClassLimit, string(manifests.ReasonResourceLimit), Unknown},
	fault.KindNotFound:     {fault.ClassPermanent, "not_found", Unknown},
	fault.KindApproval:     {fault.ClassDenied, "approval", Unknown},
	fault.KindVerification: {fault.ClassPermanent, "verification", Unknown},
	fault.KindConflict:     {fault.ClassPermanent, "conflict", Unknown},
	fault.KindFull:         {fault.ClassPermanent, "full", Unknown},
	fault.KindInternal:     {fault.ClassPermanent, "internal", Unknown},
	fault.KindUnreachable:  {fault.ClassTransient, string(manifests.ReasonNetworkError), Unknown},
}

// Judge says what the outcome of a call means; nil is a success. It looks at
// nothing but the error.
func Judge(err error) Verdict {
	if err == nil {
		return Verdict{Skill: Working}
	}
	kind := fault.AsError(err).Kind
	if kind == fault.KindDenied { // whatever the guest then said or did
		return refused
	}
	var limit *sandbox.LimitError
	if errors.As(err, &limit) && limit.OfCaller() {
		return hurried
	}
	for _, row := range bySentinel {
		if isOf(err, row.is) {
			return row.Verdict
		}
	}
	if v, ok := judgeGuest(err); ok {
		return v
	}
	return byKind[kind]
}

// judgeGuest says what a guest's own error means, or that of a host function
// which ended it; false for any other error.
func judgeGuest(err error) (Verdict, bool) {
	var reported *sandbox.GuestError
	var failure *hostfn.Failure
	switch {
	case errors.As(err, &reported):
		if v, ok := byGuestKind[hostfn.Kind(reported.Kind)]; ok {
			return v, true
		}
		return failed, true
	case errors.As(err, &failure):
		return byGuestKind[failure.Kind], true
	case errors.Is(err, sandbox.ErrTrap):
		return Verdict{fault.ClassPermanent, "crash", Failing}, true
	}
	return Verdict{}, false
}
