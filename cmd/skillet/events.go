package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func followFlag() cli.Flag {
	return &cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on with what happens, until Ctrl-C"}
}

func (t *terminal) eventsCommand() *cli.Command {
	return &cli.Command{
		Name:  "events",
		Flags: []cli.Flag{followFlag(), &cli.Uint64Flag{Name: "after", Usage: "only events with a number above `N`"}},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			err := h.Work().Usage().Follow(ctx, t.person(), work.FollowRequest{After: c.Uint64("after"), Follow: c.Bool("follow"), Each: t.logEvent})
			return endedCleanly(ctx, err)
		}),
	}
}

func (t *terminal) logsCommand() *cli.Command {
	return &cli.Command{
		Name:  "logs",
		Flags: auditFlags(),
		Action: t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			req, err := auditQuery(c)
			if err != nil {
				return err
			}
			if c.Bool("follow") {
				return endedCleanly(ctx, h.Govern().Audit.Follow(ctx, t.person(), req, t.logged))
			}
			events, err := h.Govern().Audit.Events(ctx, t.person(), req)
			for _, e := range events {
				if err := t.logged(e); err != nil {
					return err
				}
			}
			return err
		}),
	}
}

// logged prints an entry of the audit log: as a line of JSON, or in words.
func (t *terminal) logged(e govern.Event) error {
	if t.json {
		return t.line(e)
	}
	printAll(t.say, lines.Event(e))
	return nil
}

// endedCleanly is an error of what goes on until somebody ends it, which is not a failure.
func endedCleanly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
