package orchestrator

import (
	"context"
	"errors"
	"sync"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/base/task"
)

// errFollowed ends a subscription that has seen enough.
var errFollowed = errors.New("the task stands still")

// A Turn is what a person said in a conversation, with what may be used to answer it.
type Turn struct {
	// Task has the goal, which is what was said, its owner, and what may be used.
	Task task.Task
	// Before is what was said before, the oldest first, as a text.
	Before string
}

// An Update is what a person is told while a turn is answered.
type Update struct {
	// Kind is "acknowledgement", "progress" or "answer". Plain talk has an answer alone, and
	// no task.
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// Event is what happened; nil for the other kinds.
	Event  *event.Event `json:"event,omitempty"`
	TaskID string       `json:"task_id"`
}

// A Reply is what came of a turn.
type Reply struct {
	// Answer is what was answered; empty when the task has no report yet.
	Answer string
	// Run is how the task is: it may wait for a person, or be paused. It is nil when none was
	// made, because nothing was to be done.
	Run *task.Run
}

// Converse answers a turn of a conversation. Plain talk, such as a greeting, is answered at
// once, without a task and without a model. Everything else is acknowledged at once, before
// any model is asked. What is simple is answered by the agent for conversations; the rest
// becomes a task, whose progress is told as it is made. emit is called by one goroutine
// at a time, and an error of it is returned when the turn is over; the task goes on.
func (o *Orchestrator) Converse(ctx context.Context, turn Turn, emit func(Update) error) (Reply, error) {
	if reply, ok := talk(turn.Task.Goal); ok {
		text, err := o.small(ctx, reply, turn.Task)
		say := &updateWriter{emit: emit}
		if err == nil {
			say.say(Update{Kind: "answer", Text: text})
		}
		return Reply{Answer: text}, errors.Join(err, say.err)
	}
	t := turn.Task
	t.Type = task.TypeGoal
	if c, _ := classify(t.Goal); c == task.Simple && t.Agent == "" {
		t.Type = task.TypeConversation
	}
	if turn.Before != "" {
		t.Attachments = append(t.Attachments, task.Attachment{Name: "conversation", Text: cut(turn.Before, task.MaxAttached/2)})
	}
	if err := o.strict(t); err != nil {
		return Reply{}, err
	}
	r, err := o.submit(ctx, t, o.hold())
	if err != nil {
		return Reply{}, err
	}
	say := &updateWriter{emit: emit, id: r.TaskID}
	say.say(Update{Kind: "acknowledgement", Text: acknowledgement(t.Type, r)})
	following, done := context.WithCancel(ctx)
	var followed sync.WaitGroup
	followed.Go(func() { say.fail(o.Follow(following, r.TaskID, 0, say.event)) })
	r, err = o.Run(ctx, r.TaskID)
	if err != nil || r.State == task.Queued { // nothing more comes
		done()
	}
	followed.Wait()
	done()
	reply := Reply{Run: &r}
	if r.Report != nil {
		reply.Answer = r.Report.Answer
		say.say(Update{Kind: "answer", Text: reply.Answer})
	}
	return reply, errors.Join(err, say.err)
}

// acknowledgement says what happens now.
func acknowledgement(t task.Type, r task.Run) string {
	switch {
	case t == task.TypeConversation:
		return "One moment."
	case r.Complexity == task.Complex:
		return "I am working on that. It takes some steps; I will say how far I am."
	}
	return "I am working on that now."
}

// An updateWriter passes updates on until emit fails.
type updateWriter struct {
	mu   sync.Mutex
	emit func(Update) error
	id   string
	err  error
}

func (s *updateWriter) say(u Update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.TaskID = s.id
	if s.err == nil && s.emit != nil {
		s.err = s.emit(u)
	}
}

func (s *updateWriter) event(e event.Event) error {
	s.say(Update{Kind: "progress", Text: e.Text, Event: &e})
	return nil
}

func (s *updateWriter) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !errors.Is(err, context.Canceled) {
		s.err = err
	}
}
