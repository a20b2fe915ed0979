package skill

import (
	"errors"
	"fmt"
)

// Kind says what sort of error ended a call, in the words the host shows and
// callers test for. The zero value stands for Failed.
type Kind string

// Error is an error with its kind. Handle reports it to the host; host
// functions return it, so errors.As finds it in every error of this package.
type Error struct {
	// Kind is the sort of error; empty means Failed.
	Kind Kind
	// Message is one line for a person, in lower case and without a period.
	Message string
}

// Error returns the message, or the kind when there is no message.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(KindOf(e))
	}
	return e.Message
}

// Errorf returns an *Error of the kind with a formatted message. A %w verb in
// the format keeps the text of the wrapped error, not its identity.
func Errorf(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Message: fmt.Errorf(format, args...).Error()}
}

// KindOf returns the kind of the first *Error in the chain of err, Failed for
// any other error, and the empty kind for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) && e.Kind != "" {
		return e.Kind
	}
	return Failed
}
