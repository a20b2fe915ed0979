package main

import (
	"context"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
)

func (t *terminal) taskDead() *cli.Command {
	return &cli.Command{
		Name:  "dead",
		Usage: "list what the queue gave up, put it back, or drop it",
		Description: "A task whose goal was not reached has a report, and is none of these. Here is what could not be\n" +
			"worked on at all, with why.\n\n" +
			"Examples:\n  skillet task dead\n  skillet task dead --requeue 3f2a09c1d4e5.1\n  skillet task dead --drop 3f2a09c1d4e5.1",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "requeue", Usage: "put the dead letter `ID` back into the queue"},
			&cli.StringFlag{Name: "drop", Usage: "forget the dead letter `ID`; the task stays"},
		},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			tasks, requeue, drop := h.Work().Tasks(), c.String("requeue"), c.String("drop")
			switch {
			case requeue != "" && drop != "":
				return fault.Errorf(fault.KindUsage, "--requeue does not go with --drop")
			case requeue != "":
				return t.buried(tasks.Requeue(ctx, t.person(), requeue), requeue, "back in the queue")
			case drop != "":
				return t.buried(tasks.Drop(ctx, t.person(), drop), drop, "dropped")
			}
			all, err := tasks.Dead(ctx, t.person())
			if err != nil {
				return err
			}
			return t.answer(append([]work.DeadLetter{}, all...), func() {
				if len(all) == 0 {
					t.note("the queue gave nothing up")
				}
				for _, d := range all {
					t.say("%s  %s  begun %s: %s", plain(d.ID), when(d.At), count(d.Attempts, "time"), plain(d.Why))
				}
			})
		}),
	}
}

// buried says what became of a dead letter.
func (t *terminal) buried(err error, id, what string) error {
	if err != nil {
		return err
	}
	return t.answer(struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}{id, what}, func() { t.note("%s is %s", plain(id), what) })
}
