package govern

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
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

// call is the call in which policies are asked. known is what was decided in it, where its
// arguments would have to be known to ask again.
func (s *Policies) call(ctx context.Context, by approval.Principal, set *policies.Set, req ExplainRequest) (c *policies.Call, known *task.Denial, err error) {
	c = &policies.Call{Caller: policies.ParseCaller(by.Actor()), Began: time.Now(), Arguments: req.Call.Input}
	c.From = c.Caller.From()
	if req.Call.Run != "" {
		if known, err = s.recorded(ctx, set, req, c); err != nil {
			return nil, nil, err
		}
	}
	if req.Call.Caller != "" {
		if c.Caller, err = policies.ReadCaller(req.Call.Caller); err != nil {
			return nil, nil, fault.Wrap(fault.KindUsage, err)
		}
		c.From = c.Caller.From()
	}
	if !req.Call.At.IsZero() {
		c.Began = req.Call.At
	}
	c.Tool, c.Task, c.Session = cmp.Or(req.Call.Tool, c.Tool), cmp.Or(req.Call.Task, c.Task), cmp.Or(req.Call.Session, c.Session)
	return c, known, nil
}

// errRunFound ends the reading of the audit log.
var errRunFound = errors.New("found")

// recorded takes what is on record of a run. Its input is not: where policies look at it and
// nobody gives it, what they decided then is the answer.
func (s *Policies) recorded(ctx context.Context, set *policies.Set, req ExplainRequest, c *policies.Call) (*task.Denial, error) {
	r, err := s.run(ctx, req.Call.Run, c)
	if err != nil {
		return nil, err
	}
	c.Tool, c.Task, c.Session, c.From = r.Tool, r.Task, r.Session, c.Caller.From()
	if r.Context != nil {
		c.Caller, c.From, c.Began, c.Session = r.Context.Caller, r.Context.ArgumentsFrom, r.Context.Began, r.Context.Session
	}
	same := r.InputDigest == string(manifests.DigestOf(req.Call.Input))
	switch {
	case same || req.Call.Input == nil && !set.LooksAtArguments():
		return nil, nil
	case req.Call.Input != nil:
		return nil, fault.Errorf(fault.KindVerification, "that is not the input of run %s: its digest is another one", r.RunID).
			WithHint("give it as it was given to the run, or leave %s out to ask about another call", fault.OmitField(fault.FieldRun))
	}
	for _, d := range r.Denials {
		if d.Request == req.Request {
			return &d, nil
		}
	}
	return nil, fault.Errorf(fault.KindUsage, "policies look at the input of calls, and the audit log keeps only its digest").
		WithHint("give the input of that run, too: %s", fault.SetField(fault.FieldInput, "{...}"))
}

// run finds a run in the audit log, and notes who called, and when that was. An ID says when the
// run began: no further is looked back.
func (s *Policies) run(ctx context.Context, id string, c *policies.Call) (r runner.Record, err error) {
	began, _ := task.RunID(id).Began()
	err = s.p.Calls.Back(ctx, func(e journal.Entry) (bool, error) {
		if wayBefore(e.Time, began) {
			return false, nil
		}
		if e.Kind != runner.KindRun || !strings.Contains(string(e.Data), id) {
			return true, nil
		}
		one, err := runRecord(e)
		if err == nil && string(one.RunID) == id {
			r, err = one, errRunFound
			c.Caller, c.Began = policies.ParseCaller(e.Actor), e.Time.Local()
		}
		return true, err
	})
	switch {
	case err == nil:
		return r, fault.Errorf(fault.KindNotFound, "no run %s is on record", id).WithHint("%s lists them", fault.List(fault.Runs))
	case errors.Is(err, errRunFound):
		return r, nil
	}
	return r, err
}

// asDecided is an explanation of what was decided in a run.
func (e *Explanation) asDecided(set *policies.Set, d task.Denial) {
	e.Effect, e.Reason, e.Policies = policies.Deny.String(), d.Reason, policiesNamed(set, d.Policies)
	if d.Asks {
		e.Effect = policies.Ask.String()
	}
	way := fault.Hintf("so it was decided in that run, whose input is not on record: with %s it is asked again", fault.SetField(fault.FieldInput, "{...}"))
	e.Hint, e.Remedies = way.Text, way.Remedies
}
