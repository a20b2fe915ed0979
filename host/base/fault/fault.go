// Package fault has the errors that callers of the host see: what kind of failure it is,
// whether trying again can help, what went wrong in one line, and what to do about it.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Kind is a kind of failure. Every caller sees the same kinds: the command
// line as exit codes, other callers as the "kind" of an error.
type Kind string

// The kinds of failure. See [Outcomes] for the exit code of each.
const (
	KindSkill        Kind = "skill"        // the skill itself reported an error, or crashed
	KindUsage        Kind = "usage"        // the request was malformed
	KindDenied       Kind = "denied"       // a capability was missing or a policy forbade it
	KindLimit        Kind = "limit"        // a resource limit was reached
	KindNotFound     Kind = "not_found"    // no such skill, tool, proposal, secret or file
	KindApproval     Kind = "approval"     // waits for a person's approval
	KindVerification Kind = "verification" // a digest, signature or checksum does not match
	KindConflict     Kind = "conflict"     // already in that state, or changed by somebody else first
	KindFull         Kind = "full"         // the disk is full or read-only, and nothing was changed
	KindInternal     Kind = "internal"     // the host's own failure
	KindUnreachable  Kind = "unreachable"  // a registry, a server or the service did not answer: try again
)

// A Class says whether trying the same again can help.
type Class string

// What trying again can do.
const (
	ClassTransient Class = "transient" // it may go away by itself: a timeout, the network
	ClassPermanent Class = "permanent" // the same call fails again
	ClassLimit     Class = "limit"     // a bound was reached: it helps to raise it, to ask for less, or to wait
	ClassDenied    Class = "denied"    // a person or a policy would have to allow it
)

// An Outcome is one row of the table of exit codes.
type Outcome struct {
	// Code is the exit code of the command line.
	Code int
	// Kind is the kind of failure; empty for success.
	Kind Kind
	// Meaning says what happened, in words.
	Meaning string
}

// Outcomes returns the table of exit codes, in order of code. It is what
// `skillet help exit-codes` prints.
func Outcomes() []Outcome {
	return []Outcome{
		{0, "", "ok"},
		{1, KindSkill, "the skill reported an error"},
		{2, KindUsage, "the request was wrong: a flag, an argument, an input that does not fit the tool's schema"},
		{3, KindDenied, "denied: a capability is not granted, or a policy forbids it"},
		{4, KindLimit, "a limit was reached: time, memory, fuel, output, host calls, files"},
		{5, KindNotFound, "not found: skill, version, tool, proposal, secret, file"},
		{6, KindApproval, "waits for approval by a person"},
		{7, KindVerification, "verification failed: digest, journal, store or module is not what it should be"},
		{8, KindConflict, "conflict: it is already so, or somebody else changed it first"},
		{9, KindFull, "the disk is full or read-only: nothing was changed"},
		{10, KindInternal, "internal error of the host"},
		{11, KindUnreachable, "unreachable: a registry, a server or the service does not answer; try again later"},
	}
}

// ExitCode is the exit code that stands for k; the code of [KindInternal] for
// a kind that is not in the table.
func (k Kind) ExitCode() int {
	rows := Outcomes()
	i := slices.IndexFunc(rows, func(o Outcome) bool { return o.Kind == k && k != "" })
	if i < 0 {
		return 10
	}
	return rows[i].Code
}

// An Error is a failure as a person or a caller sees it: what went wrong in
// one line and what to do about it in another.
type Error struct {
	// Kind is the kind of failure; the zero value counts as [KindInternal].
	Kind Kind `json:"kind"`
	// Message says what went wrong, without a period.
	Message string `json:"message"`
	// Hint says what to do about it; may be empty. Until an edge has filled it, see [Fill],
	// it has {0}, {1} and so on in place of Remedies.
	Hint string `json:"hint,omitempty"`
	// Remedies are what somebody may do about it, in the order in which Hint speaks of them.
	Remedies []Remedy `json:"remedies,omitempty"`
	// Class says whether trying again can help; empty when that is not
	// known.
	Class Class `json:"class,omitempty"`
	// RetryAfterMS is the time to wait before trying again, in milliseconds; 0 when
	// that is not known.
	RetryAfterMS int64 `json:"retry_after_ms,omitempty"`

	cause error
}

// Errorf makes an Error of kind k. A %w verb keeps the cause for [errors.Is].
func Errorf(k Kind, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: k, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Wrap makes an Error of kind k whose message is err's.
func Wrap(k Kind, err error) *Error {
	return &Error{Kind: k, Message: err.Error(), cause: err}
}

// WithHint returns a copy of e that says what to do about it; see [Hintf].
func (e *Error) WithHint(format string, args ...any) *Error {
	return e.Hinted(Hintf(format, args...))
}

// Hinted returns a copy of e with the hint h.
func (e *Error) Hinted(h Hint) *Error {
	c := *e
	c.Hint, c.Remedies = h.Text, h.Remedies
	return &c
}

// Way is the hint of e, with its remedies.
func (e *Error) Way() Hint { return Hint{e.Hint, e.Remedies} }

// WithRetryAfter returns a copy of e that says when it makes sense to try again.
// Less than a millisecond counts as one.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfterMS = max(d.Milliseconds(), 1)
	return &c
}

// Error is the message alone; print the hint on a line of its own.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause, nil if there is none.
func (e *Error) Unwrap() error { return e.cause }

// AsError finds the Error in err's chain, or makes one of [KindInternal].
// It is nil for a nil err. Text that was wrapped around the Error is kept.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return Wrap(KindInternal, err)
	}
	if err.Error() == e.Message {
		return e
	}
	c := *e
	c.Message, c.cause = err.Error(), err
	return &c
}
