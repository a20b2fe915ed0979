package govern

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies"
)

// An ExplainCall is the call in which policies are asked. What is left out is that of a call
// that whoever asks makes now.
type ExplainCall struct {
	// Run is a run on record, whose call it is; empty for none. Its input is not on record.
	Run string
	// Tool and Input are what is called, and with what.
	Tool  string
	Input []byte
	// Caller is who calls, as KIND:NAME, and At when.
	Caller string
	At     time.Time
	// Task and Session are those it belongs to.
	Task, Session string
}

// An ExplainedCall is the call in which policies were asked.
type ExplainedCall struct {
	Tool          string          `json:"tool,omitempty"`
	Caller        policies.Caller `json:"caller"`
	ArgumentsFrom string          `json:"arguments_from"`
	Began         time.Time       `json:"began"`
	Task          string          `json:"task,omitempty"`
	Session       string          `json:"session,omitempty"`
}

func explainedCall(c *policies.Call) *ExplainedCall {
	return &ExplainedCall{c.Tool, c.Caller, c.From, c.Began, c.Task, c.Session}
}

// call is the call in which policies are asked.
func (s *Policies) call(ctx context.Context, by approval.Principal, set *policies.Set, req ExplainRequest) (*policies.Call, error) {
	c := &policies.Call{Caller: policies.ParseCaller(by.Actor()), Began: time.Now(), Arguments: req.Call.Input}
	c.From = c.Caller.From()
	if req.Call.Run != "" {
		if err := s.recorded(ctx, set, req.Call, c); err != nil {
			return nil, err
		}
	}
	if req.Call.Caller != "" {
		var err error
		if c.Caller, err = policies.ReadCaller(req.Call.Caller); err != nil {
			return nil, fault.Wrap(fault.KindUsage, err)
		}
		c.From = c.Caller.From()
	}
	if !req.Call.At.IsZero() {
		c.Began = req.Call.At
	}
	c.Tool, c.Task, c.Session = cmp.Or(req.Call.Tool, c.Tool), cmp.Or(req.Call.Task, c.Task), cmp.Or(req.Call.Session, c.Session)
	return c, nil
}

// errRunFound ends the reading of the audit log.
var errRunFound = errors.New("found")

// recorded takes what is on record of a run. Its input is not, so that it has to be given
// when policies look at it.
func (s *Policies) recorded(ctx context.Context, set *policies.Set, asked ExplainCall, c *policies.Call) error {
	var r runner.Record
	err := s.p.Calls.Replay(ctx, 0, func(e journal.Entry) error {
		if e.Kind != runner.KindRun || !strings.Contains(string(e.Data), asked.Run) {
			return nil
		}
		one, err := runRecord(e)
		if err == nil && string(one.RunID) == asked.Run {
			r, err = one, errRunFound
			c.Caller, c.Began = policies.ParseCaller(e.Actor), e.Time.Local()
		}
		return err
	})
	switch {
	case err == nil:
		return fault.Errorf(fault.KindNotFound, "no run %s is on record", asked.Run).WithHint("%s lists them", fault.List(fault.Runs))
	case !errors.Is(err, errRunFound):
		return err
	}
	c.Tool, c.Task, c.Session, c.From = r.Tool, r.Task, r.Session, c.Caller.From()
	if r.Context != nil {
		c.Caller, c.From, c.Began, c.Session = r.Context.Caller, r.Context.ArgumentsFrom, r.Context.Began, r.Context.Session
	}
	switch {
	case asked.Input == nil && set.LooksAtArguments() && r.InputDigest != string(manifests.DigestOf(nil)):
		return fault.Errorf(fault.KindUsage, "policies look at the input of calls, and the audit log keeps only its digest").
			WithHint("give the input of that run, too: %s", fault.Set(fault.FieldInput, "{...}"))
	case asked.Input != nil && r.InputDigest != string(manifests.DigestOf(asked.Input)):
		return fault.Errorf(fault.KindVerification, "that is not the input of run %s: its digest is another one", asked.Run).
			WithHint("give it as it was given to the run, or leave %s out to ask about another call", fault.LeaveOut(fault.FieldRun))
	}
	return nil
}
