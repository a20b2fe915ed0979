package main

import (
	"context"
	"fmt"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
)

func (t *terminal) benchCommand() *cli.Command {
	return command("bench", []cli.Flag{
		&cli.StringFlag{Name: "input", Usage: "the input: `JSON`, @FILE, or - for standard input"},
		&cli.StringSliceFlag{Name: "allow", Usage: "allow this `CAPABILITY` for these calls; may be repeated"},
		&cli.IntFlag{Name: "calls", Value: 200, Usage: "make this `NUMBER` of calls with a snapshot, and a tenth of it without"},
		&cli.DurationFlag{Name: "time", Usage: "make calls for this `TIME` rather than a number of them"},
		workspaceFlag(),
	}, t.withHost(t.bench))
}

func (t *terminal) bench(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "bench takes a skill or a path").WithHint("`skillet help bench` shows examples")
	}
	call, err := t.invocation(ctx, c, h)
	if err != nil {
		return err
	}
	done := t.waiting("calling %s", call.Target.Label())
	out, err := h.Author().Bench(ctx, t.person(), author.BenchRequest{Call: call, Calls: c.Int("calls"), Time: c.Duration("time")})
	done()
	return answered(t, out, err, t.showBenched)
}

func (t *terminal) showBenched(b author.Benched) {
	t.say("%s:%s", plain(b.Skill), plain(b.Tool))
	row := func(name string, s author.Series) []string {
		if s.Calls == 0 {
			return []string{name, "0", "", "", "", ""}
		}
		return []string{name, fmt.Sprint(s.Calls), millis(s.Call.Median), millis(s.Call.P95), millis(s.Instantiate.Median), millis(s.Reset.Median)}
	}
	t.table("\tCALLS\tMEDIAN\tP95\tINSTANTIATE\tRESET", [][]string{row("made anew", b.Fresh), row("used before", b.Warm)})
	fuel := fmt.Sprint(b.FuelMost)
	if b.FuelLeast != b.FuelMost {
		fuel = fmt.Sprintf("%d to %d", b.FuelLeast, b.FuelMost)
	}
	t.say("a call: %s fuel, %s of memory at most, %s, %s of output", fuel, size(int64(b.PeakMemoryBytes)), count(b.HostCalls, "host call"), size(int64(b.OutputBytes)))
	t.say("load %s, first call %s, snapshot %s", millis(b.LoadMS), millis(b.FirstMS), millis(b.SnapshotMS))
	if b.Strategy != "" {
		t.say("reset: %s, %s of 4 KiB written", b.Strategy, count(int(b.DirtyPages), "page"))
	}
	if b.Warm.Calls == 0 {
		t.say("each call gets a new instance: `skillet inspect` says why")
	}
}
