package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/invoke"
	"github.com/skillet-run/skillet/host/task"
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

// A spread is the distribution of a time in milliseconds.
type spread struct {
	Median float64 `json:"median_ms"`
	P95    float64 `json:"p95_ms"`
	Least  float64 `json:"least_ms"`
}

func spreadOf(ms []float64) spread {
	if len(ms) == 0 {
		return spread{}
	}
	ms = slices.Sorted(slices.Values(ms))
	return spread{ms[len(ms)/2], ms[min(len(ms)*95/100, len(ms)-1)], ms[0]}
}

// A series is what calls of one sort took.
type series struct {
	Calls int `json:"calls"`
	// Call is the time of a whole call, of which Instantiate is until the tool began
	// to run, and Reset until the instance was back at its snapshot.
	Call        spread `json:"call"`
	Instantiate spread `json:"instantiate"`
	Reset       spread `json:"reset"`

	call, instantiate, reset []float64
}

func (s *series) add(r task.Result) {
	s.Calls++
	s.call = append(s.call, r.DurationMS)
	s.instantiate = append(s.instantiate, float64(r.Figures.InstantiateNS)/1e6)
	s.reset = append(s.reset, float64(r.Figures.ResetNS)/1e6)
	s.Call, s.Instantiate, s.Reset = spreadOf(s.call), spreadOf(s.instantiate), spreadOf(s.reset)
}

// benched is what --json prints of bench.
type benched struct {
	Skill string `json:"skill"`
	Tool  string `json:"tool"`
	// LoadMS is what compiling the module, or reading what was compiled before,
	// took, and FirstMS the first call with it.
	LoadMS  float64 `json:"load_ms"`
	FirstMS float64 `json:"first_ms"`
	// SnapshotMS is what taking the snapshot took; 0 when none was.
	SnapshotMS float64 `json:"snapshot_ms"`
	// Fresh are calls with an instance made anew, Warm those with one that was used
	// before. Where each call has to get a new instance, Warm has no calls.
	Fresh series `json:"fresh"`
	Warm  series `json:"warm"`
	// Fuel is that of a call, the least and the most, and PeakMemoryBytes the most.
	FuelLeast       uint64 `json:"fuel_least"`
	FuelMost        uint64 `json:"fuel_most"`
	PeakMemoryBytes uint64 `json:"peak_memory_bytes"`
	DirtyPages      uint64 `json:"dirty_pages"`
	HostCalls       int    `json:"host_calls"`
	OutputBytes     int    `json:"output_bytes"`
	Strategy        string `json:"reset_strategy,omitempty"`
}

func (t *terminal) bench(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "bench takes a skill or a path").WithHint("`skillet help bench` shows examples")
	}
	call, err := t.invocation(ctx, c, h)
	if err != nil {
		return err
	}
	call.NoCache = true
	b := bencher{h: h, call: call, c: c}
	done := t.waiting("calling %s", call.Target.Label())
	out, err := b.run(ctx)
	done()
	if err != nil {
		return err
	}
	return t.answer(out, func() { t.showBenched(out) })
}

// A bencher makes calls.
type bencher struct {
	h    *host.Host
	call invoke.Invocation
	c    *cli.Context
	out  benched
}

// run makes the first call, those with an instance made anew, and those with one
// that was used. The first that fails ends it.
func (b *bencher) run(ctx context.Context) (benched, error) {
	first, err := b.once(ctx, false)
	if err != nil {
		return b.out, err
	}
	b.out.Skill, b.out.Tool = first.Skill, first.Tool
	b.out.LoadMS, b.out.FirstMS = float64(first.Figures.CompileNS)/1e6, first.DurationMS
	fresh := max(b.c.Int("calls")/10, 1)
	if err := b.repeat(ctx, fresh, b.c.Duration("time")/10, true); err != nil {
		return b.out, err
	}
	return b.out, b.repeat(ctx, b.c.Int("calls"), b.c.Duration("time"), false)
}

// repeat makes calls, until there are so many or the time is over.
func (b *bencher) repeat(ctx context.Context, calls int, limit time.Duration, fresh bool) error {
	end := time.Now().Add(limit)
	for n := 0; limit > 0 && (n == 0 || time.Now().Before(end)) || limit == 0 && n < calls; n++ {
		r, err := b.once(ctx, fresh)
		if err != nil {
			return err
		}
		b.out.SnapshotMS = max(b.out.SnapshotMS, float64(r.Figures.SnapshotNS)/1e6)
		switch {
		case fresh:
			b.out.Fresh.add(r)
		case r.Figures.Pooled:
			b.out.Warm.add(r)
			b.out.Strategy = r.Figures.ResetStrategy
		}
	}
	return nil
}

// once makes one call. Grants that are good for a number of calls count each.
func (b *bencher) once(ctx context.Context, fresh bool) (task.Result, error) {
	call := b.call
	call.Fresh = fresh
	a, err := b.h.Invoke().Invoke(ctx, call)
	r := a.Result
	if err != nil {
		return r, err
	}
	if !r.OK {
		return r, r.Error
	}
	f := r.Figures
	b.out.FuelMost, b.out.PeakMemoryBytes = max(b.out.FuelMost, r.Fuel), max(b.out.PeakMemoryBytes, r.PeakMemoryBytes)
	if b.out.FuelLeast == 0 || r.Fuel < b.out.FuelLeast {
		b.out.FuelLeast = r.Fuel
	}
	b.out.DirtyPages, b.out.HostCalls, b.out.OutputBytes = max(b.out.DirtyPages, f.DirtyPages), f.HostCalls, len(r.Raw)
	return r, ctx.Err()
}

func (t *terminal) showBenched(b benched) {
	t.say("%s:%s", plain(b.Skill), plain(b.Tool))
	row := func(name string, s series) []string {
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
