package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/orchestrator"
	"github.com/skillet-run/skillet/host/task"
)

// maxBefore is how many bytes of what was said before a turn is given.
const maxBefore = 16 << 10

func (t *terminal) chatCommand() *cli.Command {
	return &cli.Command{
		Name:  "chat",
		Usage: "talk: each line is answered, and what takes work becomes a task",
		Description: "Reads lines until the end of the input or Ctrl-C. Each is acknowledged at once. A simple one is answered by\n" +
			"the agent for conversations; another becomes a task, whose steps are shown as they happen. What was\n" +
			"said before goes along. With --json, each update is a line of JSON.\n\n" +
			"Examples:\n  skillet chat\n  skillet chat --allow \"fs.read:$PWD/**\"\n  echo 'What links does README.md have?' | skillet chat --json",
		Flags:  append(workFlags(), agentFlag()),
		Action: t.withState(t.chat),
	}
}

func (t *terminal) chat(ctx context.Context, c *cli.Context, h *host.Host) error {
	work, err := t.work(c)
	if err != nil {
		return err
	}
	work.Agent = c.String("agent")
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	in, before := bufio.NewReader(t.in), ""
	for {
		if t.inTTY && !t.json {
			fmt.Fprint(t.err, "> ")
		}
		line, err := unlessEnded(t, func() (string, error) { return in.ReadString('\n') })
		if work.Goal = strings.TrimSpace(line); work.Goal != "" {
			answer, err := t.turn(ctx, h, orchestrator.Turn{Task: work, Before: before}, allow)
			if err != nil {
				return err
			}
			before = lastBytes(before+"Person: "+work.Goal+"\nAnswer: "+answer+"\n", maxBefore)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// turn answers one line.
func (t *terminal) turn(ctx context.Context, h *host.Host, turn orchestrator.Turn, allow approval.OneRun) (answer string, err error) {
	w := watcher{t: t}
	reply, err := h.Converse(ctx, turn, allow, func(u orchestrator.Update) error { return t.showUpdate(&w, u) })
	if err != nil {
		return "", err
	}
	if r := reply.Run; r != nil && r.State == task.WaitingApproval && !t.json {
		t.note("the task %s waits for you: `skillet task show %s`", shortID(r.TaskID), shortID(r.TaskID))
	}
	return reply.Answer, nil
}

// showUpdate shows what happens to a turn.
func (t *terminal) showUpdate(w *watcher, u orchestrator.Update) error {
	switch {
	case t.json:
		line, err := json.Marshal(t.filled(u))
		if err == nil {
			_, err = fmt.Fprintf(t.out, "%s\n", line)
		}
		return err
	case u.Event != nil:
		return w.show(*u.Event)
	case u.Kind == "answer":
		t.say("%s", strings.TrimSpace(plainLines(u.Text)))
	default:
		t.note("%s", plain(u.Text))
	}
	return nil
}

// lastBytes is the end of a text, of at most n bytes and whole characters.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-n:], "")
}
