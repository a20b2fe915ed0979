package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"

	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/seen"
	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/record/approval"
)

// Tasks are goals, and what becomes of them. A task is named by its ID, or by the beginning
// of it: a [fault.KindNotFound] error when there is none, or when it is not for an agent to
// know that there is.
type Tasks struct{ s *Service }

// A TaskRequest is a goal, with what may be used to reach it. All but Goal may be left out.
// What a tool may do was granted to its skill: nothing here gives it more.
type TaskRequest struct {
	// Goal is what is to be reached, in words.
	Goal string
	// Inputs is a JSON object with values for it, and Attachments are texts.
	Inputs      json.RawMessage
	Attachments []Attachment
	// Hints are words that help to find what is remembered about it, and Constraints what is
	// asked for beside the goal.
	Hints, Constraints []string
	// Agent is the one that does it; empty leaves that to the host.
	Agent string
	// Tools are the tools that may be called, SKILL or SKILL:TOOL; empty for all that are
	// installed.
	Tools []string
	// Dirs are the absolute directories of the work, outside of which no call touches a file;
	// without any, no call touches one. Relative paths begin in the first.
	Dirs []string
	// Online lets calls use the network, as far as that was granted.
	Online bool
	// Tokens and USD bound what its models may use and cost; 0 leaves that to the settings.
	Tokens int64
	USD    float64
	// Timeout is in how much time it has to be done; 0 for the setting.
	Timeout time.Duration
	// Planning, Priority and ApproveRisk are as in a task. Only a person can give an
	// ApproveRisk that asks less often than the settings do.
	Planning    Planning
	Priority    Priority
	ApproveRisk Risk
	// Queue leaves the task to [Tasks.RunWorkers]. When too many wait, the result is a
	// [fault.KindLimit] error which says when to try again. Without it the task is held for
	// [Tasks.Do] of this process, for as long as the setting tasks.takeover_seconds says.
	Queue bool
}

// Submit takes a goal in and keeps it: when it returns, the task is not lost any more.
// It is whose it is that submits it. [Tasks.Do] does it. A request that breaks a rule is a
// [fault.KindUsage] error.
func (t *Tasks) Submit(ctx context.Context, by approval.Principal, q TaskRequest) (Run, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Run{}, err
	}
	e, err := q.task(by)
	if err != nil {
		return Run{}, err
	}
	if err := t.s.knows(ctx, q.Agent); err != nil {
		return Run{}, err
	}
	if q.Queue {
		return t.s.enqueue(ctx, by, e)
	}
	return t.s.submit(ctx, by, e, true)
}

// knows refuses the name of an agent that is not there, or cannot be used.
func (s *Service) knows(ctx context.Context, agent string) error {
	if agent == "" {
		return nil
	}
	_, err := s.agent(ctx, agent)
	return err
}

// submit keeps a task of by's; with hold, for this process.
func (s *Service) submit(ctx context.Context, by approval.Principal, e task.Task, hold bool) (task.Run, error) {
	o, err := s.open(ctx)
	if err != nil {
		return task.Run{}, err
	}
	return o.SubmitBy(ctx, by, e, hold)
}

// task is the task that is asked for.
func (q TaskRequest) task(by approval.Principal) (task.Task, error) {
	e := task.Task{
		Goal: q.Goal, Inputs: q.Inputs, Attachments: q.Attachments, ContextHints: q.Hints, Constraints: q.Constraints, Owner: by.Actor(),
		Agent: q.Agent, Tools: q.Tools, Offline: !q.Online, Budget: task.Budget{Tokens: q.Tokens, MicroUSD: budget.MicroUSD(q.USD)},
		Planning: q.Planning, Priority: q.Priority, ApproveRisk: q.ApproveRisk,
	}
	if q.Timeout != 0 {
		e.Deadline = time.Now().Add(q.Timeout).UTC()
	}
	for _, dir := range q.Dirs {
		real, err := root(dir)
		if err != nil {
			return e, err
		}
		e.Roots = append(e.Roots, real)
	}
	return e, e.Check()
}

// root is a directory without symbolic links: what a tool opens is checked by the path that
// it really has.
func root(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		return "", fault.Errorf(fault.KindUsage, "the directory %s of the work is not absolute", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fault.Errorf(fault.KindUsage, "the directory of the work: %w", err)
	}
	if st, err := os.Stat(real); err != nil || !st.IsDir() {
		return "", fault.Errorf(fault.KindUsage, "%s is not a directory", dir)
	}
	return real, nil
}

// Attach reads a file as an attachment. What is not a text in UTF-8, or is too long for one,
// is a [fault.KindUsage] error. It reads with the rights of the process: for files that whoever
// is at the edge names.
func (t *Tasks) Attach(by approval.Human, path string) (Attachment, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return Attachment{}, err
	}
	const instead = "put it into the directory of the work, where tools read it"
	st, err := os.Stat(path)
	if err != nil {
		return Attachment{}, err
	}
	if !st.Mode().IsRegular() || st.Size() > task.MaxAttached {
		return Attachment{}, fault.Errorf(fault.KindUsage, "%s cannot be attached: it is not a file of at most %d KiB", path, task.MaxAttached>>10).WithHint(instead)
	}
	text, err := os.ReadFile(path)
	if err == nil && !utf8.Valid(text) {
		err = fault.Errorf(fault.KindUsage, "%s cannot be attached: it is not text in UTF-8", path).WithHint(instead)
	}
	return Attachment{Name: filepath.Base(path), Text: string(text)}, err
}

// find is the ID of the task that a prefix names, with what gets tasks done.
func (t *Tasks) find(ctx context.Context, by approval.Principal, prefix string) (*orchestrator.Orchestrator, string, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, "", err
	}
	o, err := t.s.open(ctx)
	if err != nil {
		return nil, "", err
	}
	id, err := o.Find(ctx, prefix)
	if !ownOnly(by) {
		return o, id, err
	}
	if e := fault.AsError(err); e != nil && e.Kind == fault.KindNotFound {
		return o, "", fault.Errorf(fault.KindNotFound, "%s has no task %s", by.Actor(), prefix)
	} else if err != nil {
		return o, "", err
	}
	r, err := o.Get(ctx, id)
	if err == nil && r.Owner != by.Actor() {
		return o, "", fault.Wrap(fault.KindNotFound, othersError{by.Actor(), "task", prefix})
	}
	return o, id, err
}

// ErrOthers means that a task or a run is somebody else's. The text of an error that wraps it does not
// tell that there is one.
var ErrOthers = errors.New("it is somebody else's")

type othersError struct{ actor, what, id string }

func (e othersError) Error() string { return e.actor + " has no " + e.what + " " + e.id }

func (othersError) Is(target error) bool { return target == ErrOthers }

// ownOnly reports whether somebody sees their own tasks alone: everybody but persons, and
// programs that were let see all.
func ownOnly(by approval.Principal) bool {
	switch by := by.(type) {
	case approval.Human:
		return false
	case approval.Program:
		return !by.SeesAll()
	}
	return true
}

// A DoRequest says how a task is worked on. All but ID may be left out.
type DoRequest struct {
	ID string
	// Allow is what a person allows its calls as long as this process works on it: each
	// skill has of it what its manifest asks for, within the directories of the task.
	Allow approval.EphemeralGrant
	// Ask is asked what a call that was refused something may be allowed, so that it is made
	// again, as a person at a terminal is; one call at a time. Nil is for nobody.
	Ask invoke.Ask
	// Watch is told each event of the task as it happens, one at a time; nil for nobody. An
	// error of it is returned when the work stops, which goes on meanwhile.
	Watch func(Event) error
	// History has Watch told also of what happened before.
	History bool
}

// Do works on a task until it ends, waits for a person or is paused, and returns how it is
// then. When ctx ends, it stops in good order and the task is queued again. A task that
// another process works on, is paused, waits or has ended is a [fault.KindConflict] error.
// A goal that was not reached is not an error: see the report.
func (t *Tasks) Do(ctx context.Context, by approval.Principal, q DoRequest) (Run, error) {
	if err := allows(by, q.Allow); err != nil {
		return Run{}, err
	}
	o, id, err := t.find(ctx, by, q.ID)
	if err != nil {
		return Run{}, err
	}
	defer t.s.begin(id, q.Allow, q.Watch != nil)()
	if q.Ask != nil {
		t.s.askedBy(id, by, q.Ask)
	}
	if q.Watch == nil {
		return t.s.work(ctx, o, id)
	}
	after := uint64(0)
	if !q.History {
		if after, err = last(ctx, o, id); err != nil {
			return Run{}, err
		}
	}
	watching, done := context.WithCancel(context.WithoutCancel(ctx))
	defer done()
	var shown sync.WaitGroup
	var failed error
	shown.Go(func() { failed = o.Follow(watching, id, after, q.Watch) })
	r, err := t.s.work(ctx, o, id)
	if err != nil || r.State == task.Queued || r.State == task.Running { // nobody ends the following
		done()
	} else {
		time.AfterFunc(followTime, done)
	}
	shown.Wait()
	if errors.Is(failed, context.Canceled) {
		failed = nil
	}
	return r, errors.Join(err, failed)
}

// followTime is how long after the work the last events are waited for, which end the
// following.
const followTime = 2 * time.Second

// last is the number of the last event of a task; 0 for none.
func last(ctx context.Context, o *orchestrator.Orchestrator, id string) (uint64, error) {
	all, err := o.Logs(ctx, id, 0)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return all[len(all)-1].Seq, nil
}

// run works on a task for the queue.
func (s *Service) run(ctx context.Context, id string, allow approval.EphemeralGrant) (task.Run, error) {
	o, err := s.open(ctx)
	if err != nil {
		return task.Run{}, err
	}
	defer s.begin(id, allow, false)()
	return s.work(ctx, o, id)
}

// work works on a task as long as the settings let it.
func (s *Service) work(ctx context.Context, o *orchestrator.Orchestrator, id string) (task.Run, error) {
	longest := duration.OfSeconds(s.parts.Models.Config.Settings().Tasks.TimeoutSeconds)
	timer := time.AfterFunc(longest, func() {
		why := fmt.Sprintf("it took longer than %s, the setting tasks.timeout_seconds", longest)
		if _, err := o.Cancel(context.WithoutCancel(ctx), id, "host:tasks", why); err != nil {
			s.log.Warn("a task that takes too long could not be ended", "task", id, "err", err)
		}
	})
	defer timer.Stop()
	return o.Run(ctx, id)
}

// A ListRequest selects tasks. The zero value selects all.
type ListRequest struct {
	State State // empty for any
	Limit int   // how many at most; 0 for no limit
}

// List returns tasks, the newest first; an agent its own.
func (t *Tasks) List(ctx context.Context, by approval.Principal, q ListRequest) ([]Run, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	if q.State != "" {
		if err := oneOf("state", q.State, task.States()); err != nil {
			return nil, err
		}
	}
	o, err := t.s.open(ctx)
	if err != nil {
		return nil, err
	}
	f := orchestrator.Filter{State: q.State, Limit: q.Limit}
	if ownOnly(by) {
		f.Owner = by.Actor()
	}
	all, err := o.List(ctx, f)
	return append([]Run{}, all...), err
}

// A TaskView is a task, how far it is, and what is known of the work on it.
type TaskView struct {
	Task   Task   `json:"task"`
	Status Status `json:"status"`
	Run    Run    `json:"run"`
}

// Version is that of how the task stands.
func (v TaskView) Version() seen.Version { return seen.Of(v.Run) }

// Show returns a task.
func (t *Tasks) Show(ctx context.Context, by approval.Principal, id string) (TaskView, error) {
	o, id, err := t.find(ctx, by, id)
	if err != nil {
		return TaskView{}, err
	}
	var v TaskView
	var errs [3]error
	v.Task, errs[0] = o.Task(ctx, id)
	v.Status, errs[1] = o.Status(ctx, id)
	v.Run, errs[2] = o.Get(ctx, id)
	return v, errors.Join(errs[:]...)
}

// A LogsRequest says which events of a task are wanted.
type LogsRequest struct {
	ID string
	// After leaves out events up to that number.
	After uint64
	// Follow goes on until the task stands still.
	Follow bool
	// Each is told each event, one at a time. An error of it ends the listing.
	Each func(Event) error
}

// Logs tells what happened to a task, in order.
func (t *Tasks) Logs(ctx context.Context, by approval.Principal, q LogsRequest) error {
	o, id, err := t.find(ctx, by, q.ID)
	if err != nil || q.Each == nil {
		return err
	}
	r, err := o.Get(ctx, id)
	if err != nil {
		return err
	}
	if q.Follow && (r.State == task.Running || r.State == task.Queued) {
		return o.Follow(ctx, id, q.After, q.Each)
	}
	all, err := o.Logs(ctx, id, q.After)
	for _, e := range all {
		if err := q.Each(e); err != nil {
			return err
		}
	}
	return err
}

// A TaskChange steers a task.
type TaskChange struct {
	ID string
	// Reason is kept in the report of a task that is cancelled; it is of no use to others.
	Reason string
	// Seen is what was shown of the task: see [TaskView.Version]. If it stands otherwise by
	// now, nothing is changed, with [seen.ErrMoved].
	Seen seen.Versions
	// Hold is as in [Decision], for a task that is resumed.
	Hold bool
}

// unmoved refuses a task that is not as it was shown.
func (c TaskChange) unmoved(r task.Run) error {
	if c.Seen == nil {
		return nil
	}
	return c.Seen.Check("it", seen.Of(r))
}

// Pause has a task stand still until it is resumed. The process that works on it, if there
// is one, ends what it can end without harm. A task that is not queued, running or waiting
// is a [fault.KindConflict] error.
func (t *Tasks) Pause(ctx context.Context, by approval.Principal, c TaskChange) (Run, error) {
	o, id, err := t.find(ctx, by, c.ID)
	if err != nil {
		return Run{}, err
	}
	return o.Pause(ctx, id, by.Actor(), c.unmoved)
}

// Resume queues a task that is paused, or that waits for something a person may have
// approved elsewhere. Another task stays as it is.
func (t *Tasks) Resume(ctx context.Context, by approval.Principal, c TaskChange) (Run, error) {
	o, id, err := t.find(ctx, by, c.ID)
	if err == nil && c.Hold {
		err = o.Hold(ctx, id)
	}
	if err != nil {
		return Run{}, err
	}
	r, err := o.Get(ctx, id)
	if err == nil && (r.State == task.Paused || r.State == task.WaitingApproval) {
		return o.Resume(ctx, id, by.Actor(), c.unmoved)
	}
	if err == nil {
		err = c.unmoved(r)
	}
	return r, err
}

// Cancel ends a task at once, also in the middle of a step. A task that has ended is a
// [fault.KindConflict] error.
func (t *Tasks) Cancel(ctx context.Context, by approval.Principal, c TaskChange) (Run, error) {
	o, id, err := t.find(ctx, by, c.ID)
	if err != nil {
		return Run{}, err
	}
	return o.Cancel(ctx, id, by.Actor(), c.Reason, c.unmoved)
}

// A Decision is what a person decides about steps that wait for one.
type Decision struct {
	ID string
	// Step is the ID of the step; empty for all that wait.
	Step string
	// Approved lets them begin; otherwise the task goes on without them.
	Approved bool
	Notes    string
	// Hold keeps the task, once it is queued, for [Tasks.Do] of this process, for as long as
	// the setting tasks.takeover_seconds says: otherwise a worker may begin with it at once,
	// which has not what a person allows here.
	Hold bool
}

// Decide decides about steps. When nothing waits any more, the task is queued. A step that
// waits for a proposal is approved there, and is a [fault.KindConflict] error here.
func (t *Tasks) Decide(ctx context.Context, by approval.Human, d Decision) (Run, error) {
	o, id, err := t.find(ctx, by, d.ID)
	if err == nil && d.Hold {
		err = o.Hold(ctx, id)
	}
	if err != nil {
		return Run{}, err
	}
	if d.Approved {
		return o.Approve(ctx, by, id, d.Step, d.Notes)
	}
	return o.Refuse(ctx, by, id, d.Step, d.Notes)
}

// Removed is a task that was removed, by its whole ID.
type Removed struct {
	Removed string `json:"removed"`
}

// Remove forgets a task that has ended, with all that was kept of it. One that has not is a
// [fault.KindConflict] error.
func (t *Tasks) Remove(ctx context.Context, by approval.Principal, id string) (Removed, error) {
	o, id, err := t.find(ctx, by, id)
	if err != nil {
		return Removed{}, err
	}
	return Removed{id}, o.Delete(ctx, id)
}

// Dead returns what the queue gave up.
func (t *Tasks) Dead(ctx context.Context, by approval.Human) ([]DeadLetter, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return nil, err
	}
	all, err := t.s.queue().Dead(ctx)
	return append([]DeadLetter{}, all...), err
}

// A LetterState is what became of a dead letter.
type LetterState struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

// Requeue puts a dead letter back into the queue.
func (t *Tasks) Requeue(ctx context.Context, by approval.Human, id string) (LetterState, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return LetterState{}, err
	}
	return LetterState{id, "back in the queue"}, t.s.queue().Requeue(ctx, id)
}

// Drop forgets a dead letter; its task stays.
func (t *Tasks) Drop(ctx context.Context, by approval.Human, id string) (LetterState, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return LetterState{}, err
	}
	return LetterState{id, "dropped"}, t.s.queue().Drop(ctx, id)
}
