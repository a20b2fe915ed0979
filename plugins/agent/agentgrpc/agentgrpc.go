// Package agentgrpc carries the contract of an agent over gRPC, both ways:
// [Register] serves an agent, and [Client] is one that is served elsewhere.
//
// A Plan or a Run is one stream in both directions, and the host that is handed
// to it is reached by that stream alone. So an agent cannot name another task,
// because no message names one, and cannot ask anything when its work is over,
// because there is nothing to ask any more.
//
// What comes from the other side is checked before it is believed. The package
// refuses to know what starts the other side, and what a host allows.
package agentgrpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/agent/agentpb"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

const (
	// MaxMessage is the largest message either side takes, in bytes.
	MaxMessage = wire.MaxMessage
	// MaxQuestions is how many questions of one Plan or Run may wait for their
	// answers at a time.
	MaxQuestions = 16

	questionTime = 10 * time.Second // for Info and Health
)

// The kinds of failure of a host.
const (
	failCancelled = "cancelled"
	failDeadline  = "deadline"
	failModel     = "model"
	failRefused   = "refused"
)

// maxFailure bounds the message of a failure, in bytes.
const maxFailure = 4 << 10

// encodeFailure is an error of a host as it is sent.
func encodeFailure(err error) *agentpb.Failure {
	f := &agentpb.Failure{Kind: failRefused, Message: wire.Cut(err.Error(), maxFailure)}
	var e *provider.Error
	switch {
	case errors.As(err, &e):
		f.Kind, f.Model = failModel, encodeModelError(e)
	case errors.Is(err, context.Canceled):
		f.Kind = failCancelled
	case errors.Is(err, context.DeadlineExceeded):
		f.Kind = failDeadline
	}
	return f
}

// decodeFailure is the error that a failure means.
func decodeFailure(f *agentpb.Failure) error {
	message := wire.Cut(f.GetMessage(), maxFailure)
	switch f.GetKind() {
	case failModel:
		return decodeModelError(f)
	case failCancelled:
		return endedBy{message, context.Canceled}
	case failDeadline:
		return endedBy{message, context.DeadlineExceeded}
	}
	return &agent.HostError{Message: message}
}

// endedBy is an error of a context on the other side, in its words.
type endedBy struct {
	message string
	cause   error
}

func (e endedBy) Error() string { return e.message }
func (e endedBy) Unwrap() error { return e.cause }

// sent is an error of an agent as it is sent.
func sent(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, wire.Cut(err.Error(), maxStatus))
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, wire.Cut(err.Error(), maxStatus))
	}
	return status.Error(codes.Unknown, wire.Cut(err.Error(), maxStatus))
}

// maxStatus bounds the message of a status, in bytes: it travels in headers.
const maxStatus = 1 << 10

// received is what a failed call means. The end of the caller's own context is
// said before what the other side made of it.
func received(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	message := wire.Cut(s.Message(), maxFailure)
	switch s.Code() {
	case codes.Unavailable:
		return fmt.Errorf("%w: %s", agent.ErrExited, message)
	case codes.Canceled:
		return endedBy{message, context.Canceled}
	case codes.DeadlineExceeded:
		return endedBy{message, context.DeadlineExceeded}
	}
	return errors.New(message)
}

// encodeModelError and decodeModelError write an error of a provider as package
// providergrpc does.
func encodeModelError(e *provider.Error) *providerpb.Error {
	for _, d := range status.Convert(providergrpc.Status(e)).Details() {
		if p, ok := d.(*providerpb.Error); ok {
			return p
		}
	}
	return &providerpb.Error{Class: string(provider.ClassInternal)}
}

func decodeModelError(f *agentpb.Failure) error {
	s, err := status.New(codes.Internal, "").WithDetails(f.GetModel())
	if f.GetModel() == nil || err != nil {
		return &provider.Error{Class: provider.ClassInternal, Message: wire.Cut(f.GetMessage(), maxFailure)}
	}
	return providergrpc.Error(context.Background(), s.Err())
}
