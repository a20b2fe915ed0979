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
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure the calls of a tool",
		ArgsUsage: "SKILL[@VERSION][:TOOL] | PATH[:TOOL]  [KEY=VALUE...]",
		Description: "Calls a tool again and again, with an instance made anew for each call and with one that is brought\n" +
			"back to its snapshot, and shows the median and the 95th percentile of both, what of that is making the\n" +
			"instance ready and bringing it back, and what the calls used. They are calls like any other: they need\n" +
			"their grants, have their effects, and are in the audit log; writing it is not part of the figures. What is\n" +
			"not installed runs in a process of its own, which takes about 0.1 ms more a call.\n\n" +
			"Examples:\n  skillet bench text:statistics text='How many words are these?'\n  skillet bench ./word-count path=$PWD/README.md --allow \"fs.read:$PWD/**\"\n" +
			"  skillet bench text:statistics --input @page.json --time 5s --json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "input", Usage: "the input: `JSON`, @FILE, or - for standard input"},
			&cli.StringSliceFlag{Name: "allow", Usage: "allow this `CAPABILITY` for these calls; may be repeated"},
			&cli.IntFlag{Name: "calls", Value: 200, Usage: "make this `NUMBER` of calls with a snapshot, and a tenth of it without"},
			&cli.DurationFlag{Name: "time", Usage: "make calls for this `TIME` rather than a number of them"},
			workspaceFlag(),
		},
		Action: t.withHost(t.bench),
	}
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
	if err != nil {
		return err
	}
	return t.answer(out, func() { t.showBenched(out) })
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
