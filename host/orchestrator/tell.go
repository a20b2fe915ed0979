package orchestrator

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/event"
	"github.com/skillet-run/skillet/host/memory"
)

// maxLine is how many bytes of foreign text an event has.
const maxLine = 500

// tell publishes that something happened to a task, and returns the number of the
// event; 0 when it is lost, which is logged.
func (o *Orchestrator) tell(ctx context.Context, id string, t event.Type, actor, text string, data any) uint64 {
	e := event.Event{Type: t, Task: id, Actor: actor, Text: line(text)}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil || len(raw) > event.MaxData {
			o.log.Warn("an event is told without its data", "task", id, "type", t, "bytes", len(raw), "err", err)
			raw = nil
		}
		e.Data = raw
	}
	seq, err := o.bus.Publish(context.WithoutCancel(ctx), e)
	if err != nil {
		o.log.Warn("an event is lost", "task", id, "type", t, "err", err)
	}
	return seq
}

// line is the beginning of a text in one line that can be shown.
func line(text string) string {
	return cut(strings.Join(strings.Fields(memory.Shown(text)), " "), maxLine)
}

// cut is the beginning of a text of at most n bytes, without half a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
