// Package wire has what the gRPC forms of both contracts of plugins have in common:
// how large a message is, and how values are written that the other side may have
// got wrong.
//
// It refuses to know what any message means.
package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/skillet-run/skillet/plugins/provider"
)

// MaxMessage is the largest message either side takes, in bytes.
const MaxMessage = 16 << 20

// ServerOptions are what a server of plugins takes: no message larger than
// [MaxMessage] in either direction.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage)}
}

// CallOptions are the same for who calls.
func CallOptions() []grpc.CallOption {
	return []grpc.CallOption{grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)}
}

// Fits refuses a message that the other side would not take, with a
// *provider.Error of class invalid. what names it.
func Fits(what string, m proto.Message) error {
	if n := proto.Size(m); n > MaxMessage {
		return &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("%s has %d bytes, and %d is the most there can be", what, n, MaxMessage)}
	}
	return nil
}

// Text is a string as it may be sent: bytes that are not UTF-8 are replaced.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// Texts is Text of each.
func Texts(list []string) []string { return Each(list, Text) }

// Cut is the start of a text, valid UTF-8, of at most n bytes.
func Cut(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

// Each converts a list; none stays none.
func Each[A, B any](list []A, convert func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// EachChecked converts a list that may be wrong. what names its elements, which an
// error counts from 1.
func EachChecked[A, B any](what string, list []A, convert func(A) (B, error)) ([]B, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		var err error
		if out[i], err = convert(v); err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i+1, err)
		}
	}
	return out, nil
}

// JSON is JSON that was received; none is nil. what names it.
func JSON(what string, b []byte) (json.RawMessage, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if !json.Valid(b) {
		return nil, fmt.Errorf("%s is not JSON", what)
	}
	return b, nil
}

// Count is a number of tokens or the like that was received: never negative, and
// no larger than sums of it can be.
func Count(n int64) int { return int(min(max(n, 0), math.MaxInt32)) }
