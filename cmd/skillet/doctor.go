package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
)

func (t *terminal) doctorCommand() *cli.Command {
	return command("doctor", []cli.Flag{
		&cli.BoolFlag{Name: "escape", Usage: "run guests that try to get out of the sandbox"},
		&cli.BoolFlag{Name: "workers", Usage: "with --escape: run them in worker processes, as skills that nobody approved"},
		&cli.StringSliceFlag{Name: "only", Usage: "with --escape: make the attempt `ID` only; may be repeated"},
	}, t.withoutHome(func(ctx context.Context, c *cli.Context) error {
		switch {
		case c.Bool("escape"):
			return t.escape(ctx, upkeep.EscapeRequest{Only: c.StringSlice("only"), Workers: c.Bool("workers")})
		case c.IsSet("only") || c.Bool("workers"):
			return fault.Errorf(fault.KindUsage, "--only and --workers say how the attempts of --escape are made").WithHint("add --escape")
		}
		return t.doctor(ctx, c)
	}))
}

func (t *terminal) doctor(ctx context.Context, c *cli.Context) error {
	home, err := t.home(c)
	if err != nil {
		return err
	}
	d, err := host.Diagnose(ctx, t.person(), t.options(c, home), t.watchChecks(home))
	return t.judged(d, err, d.OK, fault.KindVerification, func() {})
}

// watchChecks shows each check when it is made, and on a terminal the one that is being made.
func (t *terminal) watchChecks(home string) upkeep.Watch {
	if t.json {
		return upkeep.Watch{}
	}
	t.say("home %s", home)
	done := t.waiting("opening the home")
	return upkeep.Watch{
		Begins: func(name string) {
			done()
			done = t.waiting("checking %s", name)
		},
		Ends: func(c upkeep.Check) {
			done()
			t.showCheck(c)
		},
	}
}

func (t *terminal) showCheck(c upkeep.Check) {
	for _, w := range c.Warnings {
		t.say("  warn  %-10s %s", c.Name, plain(w))
	}
	if c.Error == nil {
		t.say("  ok    %-10s %s", c.Name, plain(c.Detail))
		return
	}
	t.say("  FAIL  %-10s %s", c.Name, plain(c.Error.Message))
	if hint := t.way(c.Error.Hint, c.Error.Remedies); hint != "" {
		t.say("        hint: %s", plain(hint))
	}
}

// escape makes the attempts, and says what became of them.
func (t *terminal) escape(ctx context.Context, q upkeep.EscapeRequest) error {
	begin, done := t.counting()
	q.Begin = begin
	found, err := upkeep.Escape(ctx, t.person(), q)
	done()
	if err := answered(t, found, err, t.showAttempts); err != nil || upkeep.Contained(found) {
		return err
	}
	if t.json {
		t.askToReport(found)
	}
	return reported{fault.KindVerification}
}

// counting shows a person how far the attempts are. done takes that away.
func (t *terminal) counting() (begin func(n, of int, a upkeep.Attempt), done func()) {
	if !t.errTTY || t.json {
		return nil, func() {}
	}
	return func(n, of int, a upkeep.Attempt) { t.err.Count(n, of, fmt.Sprintf("%-20s", a.ID)) }, t.err.Erase
}

// maxStopped is how much of what stopped an attempt is shown in the table; all
// of it is in the JSON.
const maxStopped = 72

// showAttempts prints the table, and what is to be reported.
func (t *terminal) showAttempts(found []upkeep.Finding) {
	var rows [][]string
	for _, f := range found {
		stopped, contained := short(f.Stopped, maxStopped), "yes"
		if !f.Contained {
			stopped, contained = short(f.Breach, maxStopped), "NO"
		}
		rows = append(rows, []string{f.ID, f.Tries, stopped, contained})
	}
	t.table("ATTEMPT\tTRIES TO\tWHAT STOPPED IT\tCONTAINED", rows)
	if upkeep.Contained(found) {
		t.say("all %d attempts were contained", len(found))
		return
	}
	t.askToReport(found)
}

// askToReport names the attempts that got through, and says where that belongs.
func (t *terminal) askToReport(found []upkeep.Finding) {
	var ids []string
	for _, f := range found {
		if !f.Contained {
			t.note("not contained: %s: %s", f.ID, plain(f.Breach))
			ids = append(ids, "--only "+f.ID)
		}
	}
	t.note("%d of %d attempts were not contained: run no skill you do not trust on this machine,", len(ids), len(found))
	t.note("and report it privately, as SECURITY.md says, with the output of these two commands:")
	t.note("  skillet version --json")
	t.note("  skillet doctor --escape --json %s", strings.Join(ids, " "))
}
