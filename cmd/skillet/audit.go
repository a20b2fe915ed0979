package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) auditCommand() *cli.Command {
	return &cli.Command{
		Name:   "audit",
		Flags:  auditFlags(),
		Action: t.withHost(t.audit),
		Subcommands: []*cli.Command{
			command("list ls", auditFlags(), t.withHost(t.audit)),
			t.auditVerify(), t.auditExport(), t.auditKey(), t.auditRepair(),
		},
	}
}

func auditFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "limit", Usage: "show only the last `N`", Value: 100},
		&cli.StringFlag{Name: "skill", Usage: "only what is about this `SKILL`"},
		&cli.BoolFlag{Name: "denied", Usage: "only runs in which something was refused, and refused requests"},
	}
}

func (t *terminal) audit(ctx context.Context, c *cli.Context, h *host.Host) error {
	events, err := h.Govern().Audit.Events(ctx, t.person(), govern.EventsRequest{Limit: c.Int("limit"), Skill: c.String("skill"), Denied: c.Bool("denied")})
	return t.answered(events, err, func() {
		if len(events) == 0 {
			t.note("nothing in the audit log fits")
		}
		for _, e := range events {
			t.showEvent(e)
		}
	})
}

func (t *terminal) showEvent(e govern.Event) {
	line := fmt.Sprintf("%s  %-8s %-28s %s", e.Time.Local().Format("2006-01-02 15:04:05"), e.Kind, plain(e.Subject), plain(e.Actor))
	if e.Decision != nil {
		t.say("%s  %s", line, plain(e.Decision.Note))
		for _, g := range e.Granted {
			t.say("    + %s", lines.Granted(g))
		}
		return
	}
	if e.Refused != nil {
		more := ""
		if e.Refused.More > 0 {
			more = fmt.Sprintf(", and %d more before", e.Refused.More)
		}
		t.say("%s  %s: %s%s", line, plain(e.Refused.Route), plain(e.Refused.Reason), more)
		return
	}
	t.say("%s  %s  %s  %.1f ms, %d fuel", line, plain(e.Run.Tool), verdict(e), e.Run.DurationMS, e.Run.Fuel)
	if e.Run.OnBehalfOf != "" {
		t.say("    %s for %s, as a part of run %s", plain(e.Run.Part), plain(e.Run.OnBehalfOf), e.Run.Of)
	}
	for _, d := range e.Run.Denials {
		t.say("    denied %s: %s", plain(d.Request), plain(d.Reason))
	}
}

func verdict(e govern.Event) string {
	if e.Run.OK {
		return "ok"
	}
	return string(e.Run.Error.Kind)
}

func (t *terminal) auditRepair() *cli.Command {
	return command("repair", []cli.Flag{yesFlag("repair"), forceFlag(), &cli.BoolFlag{Name: "dry-run", Usage: "only show what can be kept"}}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		plan, err := h.Upkeep().PlanAuditRepair(ctx, t.person())
		if err != nil || c.Bool("dry-run") || plan.Whole() {
			return t.repaired(plan, err)
		}
		if !c.Bool("yes") {
			if t.canAsk() {
				t.showRepair(t.note, plan)
			}
			if err := t.confirm("audit repair", "Go on with what is whole?"); err != nil {
				return err
			}
		}
		return t.repaired(h.Upkeep().RepairAudit(ctx, t.person(), upkeep.RepairRequest{Lossy: c.Bool("force")}))
	}))
}

func (t *terminal) repaired(r upkeep.AuditRepair, err error) error {
	return t.answered(r, err, func() { t.showRepair(t.note, r) })
}

func (t *terminal) showRepair(print printer, r upkeep.AuditRepair) {
	if r.Key != nil {
		t.showKeyRepair(print, r.Key)
	}
	if r.Whole() {
		print("the audit log is whole; there is nothing to repair")
	}
	for _, p := range r.Damaged() {
		lost := "and none are lost"
		if len(p.Lost) > 0 {
			lost = "and some are lost:"
		}
		print("%s: %d are whole, %s", p.Name, p.Kept, lost)
		for _, l := range p.Lost {
			print("  lost: %s", plain(l.String()))
		}
		if p.Aside != "" {
			print("  as they were: %s", p.Aside)
		}
	}
	for _, e := range r.Ended {
		print("  ends, as a lost decision may have ended it: %s", plain(e))
	}
	for _, g := range r.Gone {
		print("  is gone with its decision: %s", plain(g))
	}
	if r.Store != nil {
		what := "the store is made again from"
		if r.Store.Aside != "" {
			what = "made the store again from"
		}
		t.showRenewal(print, what, *r.Store)
	}
}

func (t *terminal) showKeyRepair(print printer, k *upkeep.KeyRepair) {
	print("the key: %s", plain(k.What))
	if k.Vouched {
		print("  the decisions are signed with the key this home is known by")
	} else {
		print("  nobody vouches for the decisions there are: what they gave ends")
	}
	if k.New == "" {
		print("  a new key will sign from now on")
		return
	}
	print("  a new key signs from now on: %s", k.New)
	for _, f := range k.Aside {
		print("  as it was: %s", plain(f))
	}
}
