package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
)

func (t *terminal) chatCommand() *cli.Command {
	return command("chat", append(workFlags(), agentFlag()), t.withState(t.chat))
}

func (t *terminal) chat(ctx context.Context, c *cli.Context, h *host.Host) error {
	q, err := use(c)
	if err != nil {
		return err
	}
	q.Agent = c.String("agent")
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	w := t.watcher()
	turn := work.ChatRequest{Message: q, Allow: allow, Tell: func(u work.Update) error { return t.showUpdate(w, u) }}
	in := bufio.NewReader(t.in)
	for {
		if t.inTTY && !t.json {
			fmt.Fprint(t.err, "> ")
		}
		line, err := unlessEnded(t, func() (string, error) { return in.ReadString('\n') })
		if turn.Message.Goal = strings.TrimSpace(line); turn.Message.Goal != "" {
			w.Reset()
			reply, err := h.Work().Tasks().Chat(ctx, t.person(), turn)
			if err != nil {
				return err
			}
			turn.Before = reply.Before
			if r := reply.Run; r != nil && r.State == work.WaitingApproval && !t.json {
				t.note("the task %s waits for you: %s; `skillet task show %s`", shortID(r.TaskID), plain(r.Reason), shortID(r.TaskID))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// showUpdate shows what happens to a turn.
func (t *terminal) showUpdate(w *watcher, u work.Update) error {
	switch {
	case t.json:
		return t.line(u)
	case u.Event != nil:
		return w.show(*u.Event)
	case u.Kind == "answer":
		t.say("%s", strings.TrimSpace(plainLines(u.Text)))
	default:
		t.note("%s", plain(u.Text))
	}
	return nil
}
