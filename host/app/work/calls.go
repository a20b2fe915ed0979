package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/journal"
	"github.com/skillet-run/skillet/host/run/runner"
)

// Calls are what the audit log has of calls of tools, each of which is a run with an ID. A
// person sees all of them. Others see those they made, and those that were made for their
// tasks; see [ErrOthers].
type Calls struct{ s *Service }

// A Call is a run on record.
type Call struct {
	// Time is when it ended, and Actor who asked for it.
	Time  time.Time `json:"time"`
	Actor string    `json:"actor"`
	CallRecord
}

// begun is about when it began: not later than that.
func (c Call) begun() time.Time {
	return c.Time.Add(-time.Duration(c.DurationMS*float64(time.Millisecond)) - time.Minute)
}

// A CallsRequest selects calls. The zero value selects the last of all.
type CallsRequest struct {
	// Skill is NAME or NAME@VERSION, Task the ID of a task; empty for any.
	Skill, Task string
	// Denied leaves out all in which nothing was refused, and Failed all that answered.
	Denied, Failed bool
	// Since and Until leave out what ended before, and what ended then or later.
	Since, Until time.Time
	// Limit is how many are returned, the last ones; 0 for [DefaultCalls].
	Limit int
}

// DefaultCalls is how many calls are returned when no limit is named.
const DefaultCalls = 100

func (q CallsRequest) fits(c Call) bool {
	name, _, _ := strings.Cut(c.Skill, "@")
	switch {
	case q.Skill != "" && q.Skill != c.Skill && q.Skill != name,
		q.Task != "" && q.Task != c.Task,
		q.Denied && len(c.Denials) == 0,
		q.Failed && c.OK,
		c.Time.Before(q.Since),
		!q.Until.IsZero() && !c.Time.Before(q.Until):
		return false
	}
	return true
}

// List returns the last calls that fit, the newest first.
func (s *Calls) List(ctx context.Context, by approval.Principal, q CallsRequest) ([]Call, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	if q.Limit <= 0 {
		q.Limit = DefaultCalls
	}
	mine, found := s.owner(ctx, by), []Call{}
	err := s.newest(ctx, func(c Call) error {
		if !q.fits(c) {
			return nil
		}
		own, err := mine(c)
		if own {
			found = append(found, c)
		}
		return err
	}, func(whole bool, first time.Time) bool {
		if enough := len(found) >= q.Limit || first.Before(q.Since); enough || whole {
			return true
		}
		found = found[:0]
		return false
	})
	slices.Reverse(found)
	return found[:min(len(found), q.Limit)], err
}

// newest reads the last part of the record of calls, and larger ones until enough says so,
// which is told whether it was all and when its first call ended.
func (s *Calls) newest(ctx context.Context, each func(Call) error, enough func(whole bool, first time.Time) bool) error {
	last, _, err := s.s.parts.Calls.Head()
	for back := uint64(1000); err == nil; back *= 8 {
		after, first := last-min(last, back), time.Time{}
		err = s.s.parts.Calls.Replay(ctx, after, func(e journal.Entry) error {
			if first.IsZero() {
				first = e.Time
			}
			if e.Kind != runner.KindRun {
				return nil
			}
			c := Call{Time: e.Time, Actor: e.Actor}
			if err := json.Unmarshal(e.Data, &c.CallRecord); err != nil {
				return fmt.Errorf("read run %d of the audit log: %w", e.Seq, err)
			}
			return each(c)
		})
		if err == nil && enough(after == 0, first) {
			return nil
		}
	}
	return err
}

// owner tells which calls somebody sees.
func (s *Calls) owner(ctx context.Context, by approval.Principal) func(Call) (bool, error) {
	if !ownOnly(by) {
		return func(Call) (bool, error) { return true, nil }
	}
	owned := map[string]bool{} // by task
	return func(c Call) (bool, error) {
		if c.Task == "" {
			return c.Actor == by.Actor(), nil
		}
		own, known := owned[c.Task]
		if known {
			return own, nil
		}
		_, _, err := (&Tasks{s.s}).find(ctx, by, c.Task)
		if e := fault.AsError(err); e != nil && e.Kind == fault.KindNotFound { // another's, or removed
			owned[c.Task], err = false, nil
		} else {
			owned[c.Task] = err == nil
		}
		return owned[c.Task], err
	}
}

// minRunID is how much of an ID has to be named: it begins with the time, and fewer letters
// would name calls by the minute.
const minRunID = 8

// Show returns the call that an ID names, or the beginning of one.
func (s *Calls) Show(ctx context.Context, by approval.Principal, id string) (Call, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Call{}, err
	}
	if len(id) < minRunID {
		return Call{}, fault.Errorf(fault.KindUsage, "%.80q is not the id of a run, nor the first %d letters of one", id, minRunID)
	}
	mine, found, others := s.owner(ctx, by), []Call{}, false
	err := s.newest(ctx, func(c Call) error {
		if !strings.HasPrefix(string(c.RunID), id) {
			return nil
		}
		own, err := mine(c)
		if others = others || !own; own {
			found = append(found, c)
		}
		return err
	}, func(whole bool, _ time.Time) bool {
		if whole || len(found) == 1 && string(found[0].RunID) == id {
			return true
		}
		found, others = found[:0], false
		return false
	})
	switch {
	case err != nil:
		return Call{}, err
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Call{}, fault.Errorf(fault.KindUsage, "%d runs begin with %s", len(found), id).WithHint("write more of the id")
	case others:
		return Call{}, fault.Wrap(fault.KindNotFound, othersError{by.Actor(), "run", id})
	case ownOnly(by):
		return Call{}, fault.Errorf(fault.KindNotFound, "%s has no run %s", by.Actor(), id)
	}
	return Call{}, fault.Errorf(fault.KindNotFound, "the run %s was not found", id).WithHint("%s lists the last ones", fault.List(fault.Runs))
}

// A CallDetails is all that is known of a call: what is on record of it and of its parts, the
// step of a task that it was for, and what its guest saw and did, where a recording of it was
// kept. Secrets are struck out; texts are those of models and skills, which an edge makes safe
// to show.
type CallDetails struct {
	Call  Call      `json:"run"`
	Parts []Call    `json:"parts" nullable:"false"`
	Task  *CallTask `json:"task,omitempty"`
	// Kept is nil where no recording was kept.
	Kept *RecordedCall `json:"recorded,omitempty"`
}

// A CallTask is the task that a call was made for: the step, what persons decided about that,
// and what happened to it.
type CallTask struct {
	ID        string          `json:"task_id"`
	Title     string          `json:"title"`
	Owner     string          `json:"owner"`
	State     State           `json:"state"`
	Step      *Step           `json:"step,omitempty"`
	Approvals []task.Decision `json:"approvals" nullable:"false"`
	Events    []Event         `json:"events" nullable:"false"`
}

// Details returns all that is known of a call.
func (s *Calls) Details(ctx context.Context, by approval.Principal, id string) (CallDetails, error) {
	c, err := s.Show(ctx, by, id)
	if err != nil {
		return CallDetails{}, err
	}
	d := CallDetails{Call: c}
	if d.Parts, err = s.parts(ctx, c); err != nil {
		return CallDetails{}, err
	}
	if d.Task, err = s.task(ctx, by, c); err != nil {
		return CallDetails{}, err
	}
	if d.Kept, err = s.kept(ctx, c); err != nil {
		return CallDetails{}, err
	}
	return redacted(d, s.s.parts.Redact)
}

// parts are the calls that a call made, and those that they made, as they ended.
func (s *Calls) parts(ctx context.Context, c Call) (all []Call, err error) {
	var maybe []Call
	err = s.newest(ctx, func(p Call) error {
		if p.Of != "" && !p.Time.After(c.Time) && !p.Time.Before(c.begun()) {
			maybe = append(maybe, p)
		}
		return nil
	}, func(whole bool, first time.Time) bool {
		if whole || first.Before(c.begun()) {
			return true
		}
		maybe = maybe[:0]
		return false
	})
	all, within := []Call{}, map[task.RunID]bool{c.RunID: true}
	for _, p := range slices.Backward(maybe) { // recorded before what they are parts of
		if within[p.Of] {
			all, within[p.RunID] = append(all, p), true
		}
	}
	slices.Reverse(all)
	return all, err
}

// task is the task of a call; nil for none, and for one that was removed.
func (s *Calls) task(ctx context.Context, by approval.Principal, c Call) (*CallTask, error) {
	if c.Task == "" {
		return nil, nil
	}
	tasks := &Tasks{s.s}
	view, err := tasks.Show(ctx, by, c.Task)
	if e := fault.AsError(err); e != nil && e.Kind == fault.KindNotFound && !errors.Is(err, ErrOthers) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	r := view.Run
	t := &CallTask{ID: r.TaskID, Title: r.Title, Owner: r.Owner, State: r.State, Approvals: []task.Decision{}, Events: []Event{}}
	if i := slices.IndexFunc(r.Steps, func(p Step) bool { return p.ID == c.Step }); i >= 0 {
		t.Step = &r.Steps[i]
	}
	for _, d := range r.Approvals {
		if d.Step == c.Step {
			t.Approvals = append(t.Approvals, d)
		}
	}
	err = tasks.Logs(ctx, by, LogsRequest{ID: c.Task, Each: func(e Event) error {
		if of := e.Step(); e.Type != TaskPartial && of.Step == c.Step && (of.RunID == "" || of.RunID == c.RunID) {
			t.Events = append(t.Events, e)
		}
		return nil
	}})
	return t, err
}
