package main

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/acp"
)

func (t *terminal) acpCommand() *cli.Command {
	flags := slices.DeleteFunc(workFlags(), func(f cli.Flag) bool { return f.Names()[0] == "dir" }) // which the editor says
	return command("acp", append(flags, agentFlag(),
		&cli.BoolFlag{Name: "decide", Usage: "take what the editor answers about steps of tasks that wait as your decision: only if it asks you"}), t.withState(t.acp))
}

// acp serves an editor at standard input and output, until it closes them.
func (t *terminal) acp(ctx context.Context, c *cli.Context, h *host.Host) error {
	q, err := use(c)
	if err != nil {
		return err
	}
	allow, err := t.allow(c)
	if err != nil {
		return err
	}
	q.Agent, q.Dirs = c.String("agent"), nil
	w := t.watcher()
	return acp.Serve(ctx, acp.Options{
		Person: t.person(), Work: h.Work(), Use: q, NoFiles: c.Bool("no-files"), Allow: allow, Decides: c.Bool("decide"), Version: upkeep.ThisBuild().Version,
		Clean: plainLines, Words: w.Event, Calls: waitingWords,
		NoServers: "The MCP servers of the editor are not used here; `skillet mcp add` makes skills of their tools.",
		Waits: func(r work.Run) string {
			id := shortID(r.TaskID)
			return t.inWords(fault.Hintf("the task %s waits for you: %s. `skillet task show %s` shows what for; %s", id, r.Reason, id, goOn(id, c.StringSlice("allow"))))
		},
	}, t.in, t.out)
}
