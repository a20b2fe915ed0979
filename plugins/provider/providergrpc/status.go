package providergrpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

// classes are the classes of failure with the gRPC codes they are sent as. Where
// several have one code the first is meant by a status without detail.
var classes = [...]struct {
	class provider.Class
	code  codes.Code
}{
	{provider.ClassTimeout, codes.DeadlineExceeded},
	{provider.ClassUnavailable, codes.Unavailable},
	{provider.ClassInvalid, codes.InvalidArgument},
	{provider.ClassInvalid, codes.Unimplemented},
	{provider.ClassInvalid, codes.NotFound},
	{provider.ClassRefused, codes.FailedPrecondition},
	{provider.ClassContextLength, codes.OutOfRange},
	{provider.ClassAuth, codes.Unauthenticated},
	{provider.ClassAuth, codes.PermissionDenied},
	{provider.ClassCancelled, codes.Canceled},
	{provider.ClassInternal, codes.Internal},
	// Last, and never meant without detail: it is what gRPC says of a message that
	// is too large.
	{provider.ClassRateLimited, codes.ResourceExhausted},
}

// How much of a message is sent: it travels in the headers of HTTP, some of which
// are small.
const (
	maxMessageText = 2 << 10
	maxStatusText  = 256
)

// Status is an error of a provider as it is sent: a status with an Error as its
// detail. An error that is not a *provider.Error is an internal one, and one of a
// context says cancelled or timeout. nil stays nil.
func Status(err error) error {
	if err == nil {
		return nil
	}
	e := classified(err)
	s := status.New(codeOf(e.Class), wire.Cut(e.Message, maxStatusText))
	detailed, derr := s.WithDetails(&providerpb.Error{
		Class: string(e.Class), Message: wire.Cut(e.Message, maxMessageText), RetryAfterMs: milliseconds(e.RetryAfter),
	})
	if derr != nil {
		return s.Err()
	}
	return detailed.Err()
}

// classified is any error as a provider's.
func classified(err error) *provider.Error {
	var e *provider.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &provider.Error{Class: provider.ClassCancelled, Message: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &provider.Error{Class: provider.ClassTimeout, Message: err.Error()}
	}
	if s, ok := status.FromError(err); ok { // of sending a piece
		return withoutDetail(s)
	}
	return &provider.Error{Class: provider.ClassInternal, Message: err.Error()}
}

func codeOf(c provider.Class) codes.Code {
	for _, row := range classes {
		if row.class == c {
			return row.code
		}
	}
	return codes.Internal
}

// Error is what a failed call means: always a *provider.Error, or nil for nil.
// The end of ctx is said before what the other side made of it.
func Error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return classified(cause)
	}
	s, ok := status.FromError(err)
	if !ok {
		return classified(err)
	}
	for _, d := range s.Details() {
		if detail, ok := d.(*providerpb.Error); ok {
			return &provider.Error{
				Class:      knownClass(detail.GetClass()),
				Message:    wire.Cut(detail.GetMessage(), maxMessageText),
				RetryAfter: duration(detail.GetRetryAfterMs()),
			}
		}
	}
	return withoutDetail(s)
}

// withoutDetail is the error that a status is which has none: one of gRPC itself,
// or of a provider that keeps to less than the contract.
func withoutDetail(s *status.Status) *provider.Error {
	e := &provider.Error{Class: provider.ClassInternal, Message: wire.Cut(s.Message(), maxMessageText)}
	for _, row := range classes {
		if row.code == s.Code() && row.class != provider.ClassRateLimited {
			e.Class = row.class
			break
		}
	}
	return e
}

// knownClass takes what is not a class for a failure of the provider.
func knownClass(name string) provider.Class {
	for _, row := range classes {
		if string(row.class) == name {
			return row.class
		}
	}
	return provider.ClassInternal
}

// maxRetryAfter is the longest wait that is believed.
const maxRetryAfter = 24 * time.Hour

func milliseconds(d time.Duration) int64 {
	return int64((max(d, 0) + time.Millisecond - 1) / time.Millisecond)
}

func duration(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), maxRetryAfter.Milliseconds())) * time.Millisecond
}
