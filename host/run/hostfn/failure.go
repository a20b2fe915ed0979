package hostfn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/engine/jail"
)

// Kind is the kind of error a guest is told.
type Kind string

// Kinds of errors.
const (
	KindDenied   Kind = "denied"    // not granted, or forbidden; always with the message "denied"
	KindNotFound Kind = "not_found" // no such file or directory
	KindInvalid  Kind = "invalid"   // the request makes no sense
	KindLimit    Kind = "limit"     // a quota or size
	KindIO       Kind = "io"        // the disk, the network, or something the host lacks
	KindTimeout  Kind = "timeout"   // it took too long
	KindConflict Kind = "conflict"  // it exists already, or changed since it was read
	KindFailed   Kind = "failed"    // the skill or the model that was called did not answer
)

// Failure is an error as the guest is told it: the message holds nothing the guest may not know.
type Failure struct {
	Kind    Kind
	Message string

	cause error
}

// Error returns the kind and the message.
func (f *Failure) Error() string { return string(f.Kind) + ": " + f.Message }

// Unwrap returns what happened in full, for the host's own log; it may be nil.
func (f *Failure) Unwrap() error { return f.cause }

// Is reports true for ErrDenied when the guest is told that it was denied.
func (f *Failure) Is(target error) bool { return target == ErrDenied && f.Kind == KindDenied }

// failf makes a Failure.
func failf(k Kind, format string, args ...any) *Failure {
	return &Failure{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// because adds what happened.
func (f *Failure) because(err error) *Failure {
	f.cause = err
	return f
}

// ErrDenied is what every refusal for want of a grant, or by a policy, is. The typed error is *DeniedError.
var ErrDenied = errors.New("denied")

// DeniedError is a refusal with everything a person needs to know. It is never shown to the guest.
type DeniedError struct {
	Denial task.Denial
}

// Error returns what was tried and why it was refused.
func (d *DeniedError) Error() string { return "denied " + d.Denial.Request + ": " + d.Denial.Reason }

// Is reports true for ErrDenied and for fs.ErrPermission.
func (d *DeniedError) Is(target error) bool { return target == ErrDenied || target == fs.ErrPermission }

// classes maps errors of the parts below to kinds; the first that fits counts.
func classes() []struct {
	target error
	kind   Kind
	text   string
} {
	return []struct {
		target error
		kind   Kind
		text   string
	}{
		{ErrDenied, KindDenied, "denied"},
		{jail.ErrEscape, KindDenied, "denied"},
		{jail.ErrQuota, KindLimit, ""},
		{jail.ErrName, KindInvalid, "not a usable path"},
		{jail.ErrIsDir, KindInvalid, "is a directory"},
		{jail.ErrNotDir, KindInvalid, "not a directory"},
		{jail.ErrNotRegular, KindInvalid, "not a regular file or directory"},
		{jail.ErrLinked, KindInvalid, "the file has several hard links and can only be replaced as a whole"},
		{jail.ErrLoop, KindInvalid, "too many links"},
		{fs.ErrNotExist, KindNotFound, "no such file or directory"},
		{fs.ErrExist, KindConflict, "exists already"},
		{fs.ErrPermission, KindIO, "the system refuses access"},
		{store.ErrConflict, KindConflict, "changed by someone else"},
		{store.ErrTooLarge, KindLimit, "too long to be stored"},
		{store.ErrInvalid, KindInvalid, "not a usable key"},
		{store.ErrReadOnly, KindIO, "the store takes no writes at present"},
		{context.DeadlineExceeded, KindTimeout, "took too long"},
		{os.ErrDeadlineExceeded, KindTimeout, "took too long"},
		{context.Canceled, KindTimeout, "the call was cancelled"},
	}
}

// failure turns any error into what the guest is told, and leaves the whole of it in the host's log.
func (e *Env) failure(ctx context.Context, name string, err error) *Failure {
	f := classify(err)
	if f.Kind != KindDenied {
		e.s.Log.Debug("host function", "run_id", e.s.RunID, "skill", e.s.Principal.Skill, "function", name, "error", e.redact.text(err.Error()))
	}
	if ctx.Err() != nil && f.Kind == KindIO {
		f.Kind = KindTimeout
	}
	return f
}

// classify finds the kind of an error.
func classify(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	for _, c := range classes() {
		if errors.Is(err, c.target) {
			return failf(c.kind, "%s", orText(c.text, err)).because(err)
		}
	}
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		return failf(KindTimeout, "took too long").because(err)
	}
	return failf(KindIO, "input or output failed").because(err)
}

// orText returns text, or when there is none the message of a quota.
func orText(text string, err error) string {
	var q *jail.QuotaError
	if text == "" && errors.As(err, &q) {
		return q.Error()
	}
	return text
}

// failureResponse is the response data of a failure.
func failureResponse(f *Failure) []byte {
	var m struct {
		Error struct {
			Kind    Kind   `json:"kind"`
			Message string `json:"message"`
		} `json:"error"`
	}
	m.Error.Kind, m.Error.Message = f.Kind, f.Message
	b, err := json.Marshal(m)
	if err != nil { // two strings cannot fail to marshal
		return []byte(`{"error":{"kind":"io","message":""}}`)
	}
	return b
}

// decode reads request data into v. Unknown fields, and anything after the object, are errors; no data
// at all is an empty object.
func decode(meta []byte, v any) error {
	if len(meta) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(meta))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return failf(KindInvalid, "request data: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return failf(KindInvalid, "request data: more than one value")
	}
	return nil
}
