package orchestrator

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/internal/text"
)

// maxLine is how many bytes of foreign text an event has.
const maxLine = 500

// tell publishes that something happened to a task, and returns the number of the
// event; 0 when it is lost, which is logged.
func (o *Orchestrator) tell(ctx context.Context, id string, t event.Type, actor, text string, data any) uint64 {
	return o.publish(ctx, o.event(id, t, actor, text, data))
}

// event makes an event of a task.
func (o *Orchestrator) event(id string, t event.Type, actor, text string, data any) event.Event {
	e := event.Event{Type: t, Task: id, Actor: actor, Text: line(text)}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil || len(raw) > event.MaxData {
			o.log.Warn("an event is told without its data", "task", id, "type", t, "bytes", len(raw), "err", err)
			raw = nil
		}
		e.Data = raw
	}
	return e
}

func (o *Orchestrator) publish(ctx context.Context, e event.Event) uint64 {
	seq, err := o.bus.Publish(context.WithoutCancel(ctx), e)
	if err != nil {
		o.log.Warn("an event is lost", "task", e.Task, "type", e.Type, "err", err)
	}
	return seq
}

// line is the beginning of a text in one line that can be shown.
func line(text string) string {
	return cut(strings.Join(strings.Fields(memory.Shown(text)), " "), maxLine)
}

func cut(s string, n int) string { return text.Head(s, n) }

// A publisher writes the events of one task in order, in the background, so that the work
// does not wait for each of them. Events that are not written when the process dies are lost;
// the run has what they tell.
type publisher struct {
	publish func(event.Event)

	mu      sync.Mutex
	queue   []event.Event
	more    sync.Cond
	over    bool
	running sync.WaitGroup
}

func newPublisher(publish func(event.Event)) *publisher {
	t := &publisher{publish: publish}
	t.more.L = &t.mu
	t.running.Go(t.run)
	return t
}

func (t *publisher) tell(e event.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queue = append(t.queue, e)
	t.more.Signal()
}

func (t *publisher) run() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		for len(t.queue) == 0 && !t.over {
			t.more.Wait()
		}
		if len(t.queue) == 0 {
			return
		}
		next := t.queue
		t.queue = nil
		t.mu.Unlock()
		for _, e := range next {
			t.publish(e)
		}
		t.mu.Lock()
	}
}

// close waits until everything is published. What is told after that is not.
func (t *publisher) close() {
	t.mu.Lock()
	t.over = true
	t.more.Signal()
	t.mu.Unlock()
	t.running.Wait()
}
