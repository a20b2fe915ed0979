package work

import (
	"context"
	"strings"

	"github.com/skillet-run/skillet/host/agents/orchestrator"
	"github.com/skillet-run/skillet/host/record/approval"
)

// maxBefore is how many bytes of what was said before a turn is given.
const maxBefore = 16 << 10

// A ChatRequest is a turn of a conversation.
type ChatRequest struct {
	// Message is what the person wrote, as the goal, and what may be used to answer it.
	Message TaskRequest
	// Before is from the reply to the turn before; empty for the first.
	Before string
	// Allow is as in [DoRequest].
	Allow approval.EphemeralGrant
	// Tell is told what happens, one thing at a time; it may be nil.
	Tell func(Update) error
}

// A ChatReply is what came of a turn.
type ChatReply struct {
	Answer string
	// Run is the task that was made; nil when nothing was to be done.
	Run *Run
	// Before is for the next turn.
	Before string
}

// Chat answers a turn. Plain talk, such as a greeting, is answered at once, with examples of
// what works here, and makes no task. What is simple is answered by the agent for
// conversations, and everything else becomes a task, which is worked on before Chat returns.
func (t *Tasks) Chat(ctx context.Context, by approval.Principal, q ChatRequest) (ChatReply, error) {
	if err := allows(by, q.Allow); err != nil {
		return ChatReply{}, err
	}
	e, err := q.Message.task(by)
	if err != nil {
		return ChatReply{}, err
	}
	if err := t.s.knows(ctx, q.Message.Agent); err != nil {
		return ChatReply{}, err
	}
	o, err := t.s.open(ctx)
	if err != nil {
		return ChatReply{}, err
	}
	end := func() {}
	defer func() { end() }()
	begun := false
	r, err := o.Converse(ctx, orchestrator.Turn{Task: e, Before: q.Before}, func(u Update) error {
		if u.TaskID != "" && !begun { // it acknowledges before it works
			begun, end = true, t.s.begin(u.TaskID, q.Allow, q.Tell != nil)
		}
		if q.Tell == nil {
			return nil
		}
		return q.Tell(u)
	})
	before := q.Before + "Person: " + q.Message.Goal + "\nAnswer: " + r.Answer + "\n"
	return ChatReply{r.Answer, r.Run, lastBytes(before, maxBefore)}, err
}

// lastBytes is the end of a text, of at most n bytes and whole characters.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}
