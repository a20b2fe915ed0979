package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/host/edge/page"
)

func (t *terminal) auditCommand() *cli.Command {
	return &cli.Command{
		Name:   "audit",
		Flags:  auditFlags(),
		Action: t.withHost(t.audit),
		Subcommands: []*cli.Command{
			command("list ls", auditFlags(), t.withHost(t.audit)),
			command("show", htmlFlags(), t.withState(t.auditShow)),
			t.auditVerify(), t.auditExport(), t.auditKey(), t.auditRepair(),
		},
	}
}

func auditFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "limit", Usage: "show only the last `N`", Value: 100},
		&cli.StringFlag{Name: "skill", Usage: "only entries about this `SKILL`"},
		&cli.BoolFlag{Name: "denied", Usage: "only runs in which something was refused, and refused requests"},
		&cli.StringSliceFlag{Name: "kind", Usage: "only entries of this `KIND`, such as install, grant, run and refused; may be repeated, or several with commas between"},
		&cli.StringFlag{Name: "actor", Aliases: []string{"by"}, Usage: "only what this `ACTOR` decided or asked for, such as human:ada"},
		&cli.StringFlag{Name: "capability", Usage: "only what granted, used or was refused this `CAPABILITY`, or an action such as fs.write"},
		followFlag(),
		&cli.StringFlag{Name: "since", Usage: "leave out what was before this `TIME`"},
		&cli.StringFlag{Name: "until", Usage: "leave out what was at this `TIME` or later"},
	}
}

// auditQuery is what the flags ask of the log.
func auditQuery(c *cli.Context) (q govern.EventsRequest, err error) {
	q = govern.EventsRequest{Limit: c.Int("limit"), Skill: c.String("skill"), Denied: c.Bool("denied"), Kind: strings.Join(c.StringSlice("kind"), ","), Actor: c.String("actor"), Capability: c.String("capability")}
	now := time.Now()
	if q.Since, err = moment(c, "since", now); err == nil {
		q.Until, err = moment(c, "until", now)
	}
	return q, err
}

func (t *terminal) audit(ctx context.Context, c *cli.Context, h *host.Host) error {
	q, err := auditQuery(c)
	if err != nil {
		return err
	}
	if c.Bool("follow") {
		return endedCleanly(ctx, h.Govern().Audit.Follow(ctx, t.person(), q, t.logged))
	}
	events, err := h.Govern().Audit.Events(ctx, t.person(), q)
	return t.answered(events, err, func() {
		if len(events) == 0 {
			t.note("no entry of the audit log matches")
		}
		for _, e := range events {
			printAll(t.say, lines.Event(e))
		}
	})
}

// auditShow shows all that is known of a run.
func (t *terminal) auditShow(ctx context.Context, c *cli.Context, h *host.Host) error {
	id, err := need(c, 1, "one run")
	if err != nil {
		return err
	}
	d, err := h.Work().Calls().Details(ctx, t.person(), id[0])
	if err != nil {
		return err
	}
	if c.IsSet("html") {
		return t.savePage(ctx, c, h, savedPage{Run: string(d.Call.RunID)}, func(w io.Writer) error { return page.Run(w, d) })
	}
	return answered(t, d, nil, func(d work.CallDetails) { printAll(t.say, lines.Run(d)) })
}

func (t *terminal) auditRepair() *cli.Command {
	return command("repair", []cli.Flag{yesFlag("repair"), forceFlag(), &cli.BoolFlag{Name: "dry-run", Usage: "only show what can be kept"}}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		plan, err := h.Upkeep().PlanAuditRepair(ctx, t.person())
		if err != nil || c.Bool("dry-run") || plan.Whole() {
			return t.repaired(plan, err)
		}
		if err := h.Upkeep().Alone(ctx, t.person()); err != nil { // before anybody is asked
			return err
		}
		if !c.Bool("yes") {
			if t.canAsk() {
				printAll(t.note, lines.AuditRepair(plan))
			}
			if err := t.confirm("audit repair", "Repair the log, keeping what is whole?"); err != nil {
				return err
			}
		}
		return t.repaired(h.Upkeep().RepairAudit(ctx, t.person(), upkeep.RepairRequest{Lossy: c.Bool("force")}))
	}))
}

func (t *terminal) repaired(r upkeep.AuditRepair, err error) error {
	return t.answered(r, err, func() { printAll(t.note, lines.AuditRepair(r)) })
}
