package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/plugins/provider"
)

// A remedy is what is done about a class of failure.
type remedy struct {
	// again is how often the same model is asked again.
	again int
	// next says which model is asked after that.
	next next
	kind fault.Kind
	temp bool // it may go away by itself
}

// classHost is a failure of the host itself, such as a store that cannot be read: no
// model helps.
const classHost provider.Class = "host"

// A next says which of the remaining models are asked.
type next int

const (
	nextNone   next = iota // none: it would be the same
	nextAny                // the next one
	nextOther              // the next one of another provider
	nextLarger             // the next one with more context
)

// remedyOf is the table of what helps.
func remedyOf(c provider.Class, s Settings) remedy {
	switch c {
	case provider.ClassRateLimited:
		return remedy{1, nextAny, fault.KindLimit, true}
	case provider.ClassTimeout:
		return remedy{1, nextAny, fault.KindLimit, true}
	case provider.ClassUnavailable:
		return remedy{2, nextAny, fault.KindInternal, true}
	case provider.ClassInternal:
		return remedy{1, nextAny, fault.KindInternal, true}
	case provider.ClassContextLength:
		return remedy{0, nextLarger, fault.KindLimit, false}
	case provider.ClassAuth:
		return remedy{0, nextOther, fault.KindDenied, false}
	case provider.ClassRefused:
		if s.FallbackRefused {
			return remedy{0, nextAny, fault.KindSkill, false}
		}
		return remedy{0, nextNone, fault.KindSkill, false}
	case ClassUnfit:
		return remedy{0, nextAny, fault.KindSkill, false}
	case ClassBudget:
		return remedy{0, nextAny, fault.KindLimit, false}
	case provider.ClassCancelled, classHost:
		return remedy{0, nextNone, fault.KindInternal, false}
	}
	return remedy{0, nextNone, fault.KindUsage, false} // invalid, and what nobody knows
}

// Meaning says what a failure of a provider means to a caller, and what
// helps.
func Meaning(c provider.Class) (kind fault.Kind, hint fault.Hint) {
	switch c {
	case provider.ClassRateLimited:
		return fault.KindLimit, fault.Hintf("the provider has had too many requests: try again later, or lower providers.NAME.requests_per_minute")
	case provider.ClassTimeout:
		return fault.KindLimit, fault.Hintf("try again, or raise providers.NAME.timeout_seconds")
	case provider.ClassAuth:
		return fault.KindDenied, fault.Hintf("the provider refuses its key: put a valid one in its secret with %s", fault.SetSecret(""))
	case provider.ClassContextLength:
		return fault.KindLimit, fault.Hintf("ask for less at a time, or name a model with more context in models.default")
	case provider.ClassRefused:
		return fault.KindSkill, fault.Hintf("the model does not want to answer this: ask in another way, or ask another model")
	case provider.ClassInvalid:
		return fault.KindUsage, fault.Hintf("the provider does not take such a request; %s shows which models were considered", fault.ShowRouting())
	}
	return fault.KindInternal, fault.Hintf("the provider failed, not this host: %s shows which models were considered, and why", fault.ShowRouting())
}

// A failure is why an attempt failed: with a class, and with what caused it.
type failure struct {
	class      provider.Class
	retryAfter time.Duration
	cause      error
}

// Error implements error.
func (f *failure) Error() string { return f.cause.Error() }

// Unwrap gives the cause.
func (f *failure) Unwrap() error { return f.cause }

func fail(c provider.Class, format string, args ...any) *failure {
	return &failure{class: c, cause: &provider.Error{Class: c, Message: fmt.Sprintf(format, args...)}}
}

// failureOf says of which class an error of an attempt is. outer is the caller's
// context and inner that of the attempt.
func failureOf(outer, inner context.Context, err error) *failure {
	var f *failure
	var pe *provider.Error
	switch {
	case errors.As(err, &f):
		return f
	case outer.Err() != nil:
		return &failure{class: provider.ClassCancelled, cause: ended(outer)}
	case errors.Is(err, budget.ErrExhausted):
		return &failure{class: ClassBudget, cause: err}
	case errors.Is(inner.Err(), context.DeadlineExceeded):
		return fail(provider.ClassTimeout, "no answer in time")
	case errors.As(err, &pe):
		return &failure{pe.Class, pe.RetryAfter, err}
	}
	return &failure{class: provider.ClassUnavailable, cause: &provider.Error{Class: provider.ClassUnavailable, Message: err.Error()}}
}

// ended is why a context has, in the words of whoever ended it.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// report is the error for whoever asked, when the last of the models failed.
func (j *job) report(f *failure) error {
	if f.class == provider.ClassCancelled {
		return fmt.Errorf("ask %s: %w", j.target, f.cause)
	}
	var e *fault.Error
	what := f.cause
	if f.class == ClassUnfit {
		what = fmt.Errorf("%w: %w", ErrUnfit, f.cause)
	}
	if !errors.As(what, &e) {
		e = fault.Wrap(remedyOf(f.class, j.r.settings).kind, what)
	}
	c := *e
	c.Class = fault.ClassPermanent
	if remedyOf(f.class, j.r.settings).temp {
		c.Class = fault.ClassTransient
	}
	if f.retryAfter > 0 {
		c.RetryAfterMS = max(f.retryAfter.Milliseconds(), 1)
	}
	if c.Way().IsZero() {
		c = *c.WithHint("%s shows which models were considered, and why", fault.ShowRouting())
	}
	return fmt.Errorf("ask %s: %s: %w", j.target, j.asked(), &c)
}

// asked says who failed, before the last failure: "local/x, then openai/y".
func (j *job) asked() string {
	text := ""
	for i, a := range j.attempts {
		ref := Ref{a.Provider, a.Model}.String()
		switch {
		case i == 0:
			text = ref
		case j.attempts[i-1].Provider != a.Provider || j.attempts[i-1].Model != a.Model:
			text += ", then " + ref
		}
	}
	return text
}
