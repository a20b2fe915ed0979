package sandbox

import (
	"context"
	"errors"
	"syscall"
)

// A Failure is an error of this package as plain values, to be sent from one
// process to another.
type Failure struct {
	// Kind is "limit", "trap", "guest", "host" for the error of a host
	// function, or "" for any other.
	Kind string
	// Text is what the error says; of a guest its message.
	Text string
	// Is names the errors of this package that errors.Is finds in it.
	Is []string
	// What, Limit and Setting are those of a [LimitError].
	What, Limit, Setting string
	// Stack is that of a [TrapError]; Code that of a [GuestError], GuestKind
	// its kind.
	Stack     []string
	Code      uint32
	GuestKind string
	// Cause is what is wrapped.
	Cause *Failure
}

// MaxCauses is how many errors one [Failure] has one within the other at most.
const MaxCauses = 4

// A HostError stands for the error of a host function that is in another
// process, and is found in the [TrapError] that came of it.
type HostError struct{ Text string }

// Error is the other error's text.
func (e *HostError) Error() string { return e.Text }

// sentinels are the errors that keep their identity, by name.
var sentinels = []struct {
	name string
	err  error
}{
	{"memory", ErrMemory}, {"fuel", ErrFuel}, {"time", ErrTime}, {"input", ErrInput},
	{"output", ErrOutput}, {"host calls", ErrHostCalls}, {"table", ErrTable}, {"stack", ErrStack},
	{"depth", ErrDepth}, {"files", ErrFiles}, {"refused", ErrRefused}, {"compile", ErrCompile},
	{"import", ErrImport}, {"no export", ErrNoExport}, {"signature", ErrSignature}, {"panic", ErrPanic},
	{"session", ErrSession}, {"session damaged", ErrSessionDamaged},
	{"closed", ErrClosed}, {"bounds", errBounds}, {"exited", errExited},
	{"canceled", context.Canceled}, {"deadline", context.DeadlineExceeded},
	{"disk full", syscall.ENOSPC}, {"quota", syscall.EDQUOT}, {"read-only", syscall.EROFS},
}

// Describe returns err as a Failure; nil for nil.
func Describe(err error) *Failure { return describe(err, MaxCauses) }

func describe(err error, depth int) *Failure {
	if err == nil || depth == 0 {
		return nil
	}
	switch e := outermost(err).(type) {
	case *LimitError:
		return &Failure{Kind: "limit", Is: names(e.kind), What: e.What, Limit: e.Limit, Setting: e.Setting,
			Cause: describe(e.cause, depth-1)}
	case *TrapError:
		return &Failure{Kind: "trap", Text: e.Reason, Stack: e.Stack, Cause: describe(e.cause, depth-1)}
	case *GuestError:
		return &Failure{Kind: "guest", Text: e.Message, GuestKind: e.Kind, Code: e.Code}
	case *HostError:
		return &Failure{Kind: "host", Text: e.Text}
	}
	return &Failure{Text: err.Error(), Is: names(err)}
}

// outermost is the first error of a chain that has a type of this package, or
// nil.
func outermost(err error) error {
	for ; err != nil; err = errors.Unwrap(err) {
		switch err.(type) {
		case *LimitError, *TrapError, *GuestError, *HostError:
			return err
		}
	}
	return nil
}

// names lists the sentinels that errors.Is finds.
func names(err error) (found []string) {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			found = append(found, s.name)
		}
	}
	return found
}

// Err is the error f describes, nil for a nil f. host, if any, takes the place
// of a [HostError].
func (f *Failure) Err(host error) error {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case "limit":
		return &LimitError{What: f.What, Limit: f.Limit, Setting: f.Setting, kind: f.sentinel(), cause: f.Cause.Err(host)}
	case "trap":
		return &TrapError{Reason: f.Text, Stack: f.Stack, cause: f.Cause.Err(host)}
	case "guest":
		return &GuestError{Kind: f.GuestKind, Message: f.Text, Code: f.Code}
	case "host":
		if host != nil {
			return host
		}
		return &HostError{f.Text}
	}
	return &distantError{f}
}

// sentinel is the first error of Is.
func (f *Failure) sentinel() error {
	for _, s := range sentinels {
		if len(f.Is) > 0 && s.name == f.Is[0] {
			return s.err
		}
	}
	return nil
}

// distantError is an error of another process that has no type of its own.
type distantError struct{ *Failure }

func (e *distantError) Error() string { return e.Text }

// Is reports whether the other error was target, as far as that is known.
func (e *distantError) Is(target error) bool {
	for _, s := range sentinels {
		if s.err != target {
			continue
		}
		for _, name := range e.Failure.Is {
			if name == s.name {
				return true
			}
		}
	}
	return false
}
