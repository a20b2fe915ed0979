package hostfn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
)

// A Tape is what each host call of a guest passes through, when a call has one.
// It lets the call act and keeps what it likes of request and answer, or answers
// itself: that is how calls are recorded, replayed and mocked. A call that the
// tape answers touches nothing: no grant is asked, and nothing is counted as
// refused or used.
//
// The imports of the Extism ABI come as the functions of [Module] that do the
// same, with the same request and answer: http_request, and log for the five
// levels. Those that [Module] does not have come by their own names: var_get and
// var_set with the name of the variable as {"name":…} and its value as the body,
// config_get with {"key":…}. What only tells about the last answer
// (http_status_code, http_headers) does not come by: it follows from that.
type Tape interface {
	// HostCall answers one call. act does what was asked, at most once, and
	// returns what the guest would be told. An error ends the call of the guest.
	HostCall(ctx context.Context, c HostCall, act func(context.Context) Answer) (Answer, error)
}

// A HostCall is what a guest asks. The slices are valid until the tape has
// answered, and must not be changed.
type HostCall struct {
	// Name is that of the function: "http_request".
	Name string
	// Meta is the request data as the guest wrote it, JSON as a rule; Body is what
	// goes with it.
	Meta, Body []byte
	// Own says that the function touches nothing but the guest's own call: its
	// answer follows from the module, the input and the configuration, and letting
	// it act is always harmless.
	Own bool
	// FuelLeft is how much fuel the guest's call has left; 0 when that is not known.
	FuelLeft uint64
}

// An Answer is what a guest is told.
type Answer struct {
	// Meta is the response data: a JSON object, or one with the member error, as
	// [Refused] makes it.
	Meta json.RawMessage
	Body []byte
	// Fuel is what was done for it on behalf of the guest's call, whose own it is taken from. A
	// call that has less ends.
	Fuel uint64
}

// KindNotRecorded is the kind of error that a guest is told when it asks what a
// tape that stands for the host has no answer to.
const KindNotRecorded Kind = "not_recorded"

// Refused is the answer that tells of an error.
func Refused(k Kind, message string) Answer {
	return Answer{Meta: failureResponse(failf(k, "%s", message))}
}

// Failure returns the error that an answer tells of, nil for one that succeeded.
func (a Answer) Failure() *Failure {
	if !bytes.Contains(a.Meta, []byte(`"error"`)) {
		return nil
	}
	var m struct {
		Error *struct {
			Kind    Kind   `json:"kind"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(a.Meta, &m) != nil || m.Error == nil {
		return nil
	}
	return &Failure{Kind: m.Error.Kind, Message: m.Error.Message}
}

// maxAnswerMeta is the longest response data of a tape: that of the longest list
// of files fits many times.
const maxAnswerMeta = 64 << 20

var errAnswer = errors.New("the answer that stands for the host's is too long for a guest")

// pass asks the tape to answer a call.
func (e *Env) pass(ctx context.Context, c HostCall, act func(context.Context) Answer) (Answer, error) {
	a, err := e.s.Tape.HostCall(ctx, c, act)
	if err == nil && (len(a.Meta) > maxAnswerMeta || len(a.Body) > maxBody) {
		err = errAnswer
	}
	return a, err
}

// passOwn lets a call that is of no interest to anybody else pass the tape, if
// there is one.
func (e *Env) passOwn(ctx context.Context, name string, meta any, body []byte, act func() error) error {
	if e.s.Tape == nil {
		return act()
	}
	b, err := json.Marshal(meta)
	if err != nil {
		return err
	}
	var failed error
	a, err := e.pass(ctx, HostCall{Name: name, Meta: b, Body: body, Own: true}, func(ctx context.Context) Answer {
		if failed = act(); failed != nil {
			return Answer{Meta: failureResponse(classify(failed))}
		}
		return Answer{Meta: json.RawMessage("{}")}
	})
	return afterTape(a, err, failed)
}

// afterTape is the error of a call that passed a tape: the call's own where it
// acted, else what the answer tells.
func afterTape(a Answer, err, acted error) error {
	if err != nil {
		return err
	}
	f := a.Failure()
	switch {
	case f == nil:
		return nil
	case acted != nil:
		return acted
	}
	return f
}
