package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/urfave/cli/v2"
)

func (t *terminal) testCommand() *cli.Command {
	return command("test", append(buildFlags(),
		&cli.StringFlag{Name: "run", Usage: "only the cases whose \"file: name\" matches this regular expression, as `REGEXP`"},
		&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "run `N` cases at once (default: one a processor)"},
		&cli.StringFlag{Name: "junit", Usage: "also write a JUnit report to this `FILE`"},
		&cli.BoolFlag{Name: "update", Usage: "write golden files anew"},
		&cli.BoolFlag{Name: "verbose", Usage: "show every case, with its figures, log and refusals"},
		&cli.BoolFlag{Name: "no-build", Usage: "test what is there, without building it"},
		&cli.StringFlag{Name: "record", Usage: "make a real call, and of it the case with this `NAME`"},
		&cli.StringFlag{Name: "tool", Usage: "with --record: the `TOOL` to call"},
		&cli.StringFlag{Name: "input", Usage: "with --record: the input: `JSON`, @FILE, or - for standard input"},
		&cli.StringSliceFlag{Name: "allow", Usage: "with --record: allow this `CAPABILITY`; may be repeated"},
		workspaceFlag(),
	), t.withAuthor(t.test))
}

func (t *terminal) test(ctx context.Context, c *cli.Context, s *author.Service) error {
	at, err := oneDir(c)
	if err != nil {
		return err
	}
	for _, name := range []string{"tool", "input", "allow", "workspace"} {
		if c.IsSet(name) && !c.IsSet("record") {
			return fault.Errorf(fault.KindUsage, "--%s goes with --record only", name).WithHint("a case says itself what it is given; `skillet run` makes a call")
		}
	}
	r := author.TestRequest{
		Skill: at, Build: !c.Bool("no-build"), Timeout: c.Duration("timeout"), Match: c.String("run"), Jobs: c.Int("jobs"),
		Update: c.Bool("update"), Built: t.noteBuilt, Progress: t.progress,
	}
	recorded := author.RecordedCase{}
	if c.IsSet("record") {
		if recorded, err = t.recordCase(ctx, c, s, at); err != nil {
			return err
		}
		r.Match, r.Build = recorded.Match, false
	}
	if !t.json {
		r.Done = func(r author.CaseResult) { t.showResultOf(r, c.Bool("verbose")) }
	}
	out, err := s.Test(ctx, t.person(), r)
	if err != nil {
		return err
	}
	out.Recorded = recorded.File
	return t.concludeTest(c, out)
}

// recordCase makes a test case of a real call.
func (t *terminal) recordCase(ctx context.Context, c *cli.Context, s *author.Service, at string) (author.RecordedCase, error) {
	r := author.RecordRequest{
		Skill: at, Build: !c.Bool("no-build"), Timeout: c.Duration("timeout"), Name: c.String("record"), Replace: c.Bool("update"),
		Tool: c.String("tool"), Built: t.noteBuilt, Progress: t.progress,
	}
	var err error
	if c.IsSet("input") {
		if r.Input, err = t.readInput(ctx, c.String("input")); err != nil {
			return author.RecordedCase{}, err
		}
	}
	if r.Allow, err = t.allow(c); err != nil {
		return author.RecordedCase{}, err
	}
	if r.Workspace, err = workspace(c); err != nil {
		return author.RecordedCase{}, err
	}
	made, err := s.Record(ctx, t.person(), r)
	for _, secret := range made.TooShort {
		t.note("skillet: the secret %s is too short to be struck out: look at the case before giving it away", plain(secret))
	}
	return made, err
}

// showResultOf shows a case: one that failed with all that is wrong with it.
func (t *terminal) showResultOf(r author.CaseResult, verbose bool) {
	at := fmt.Sprintf("%s:%d: %s", visible(r.File), r.Line, visible(r.Name))
	switch {
	case r.Outcome == author.CaseFailed:
		t.say("FAIL %s (%s)", at, visible(r.Tool))
		for _, line := range r.Lines() {
			t.say("       %s", visible(line))
		}
	case !verbose:
		return
	case r.Outcome == author.CaseSkipped:
		t.say("skip %s: %s", at, visible(r.Detail))
		return
	default:
		t.say("pass %s (%s)", at, visible(r.Tool))
	}
	if !verbose {
		return
	}
	t.say("       %.1f ms, %d fuel, %s, %s", r.DurationMS, r.Fuel, size(int64(r.PeakMemoryBytes)), count(r.HostCalls, "host call"))
	for _, l := range r.Logs {
		t.say("       [%s] %s%s", visible(l.Level), visible(l.Message), visible(fields(l)))
	}
	for _, d := range r.Denials {
		t.say("       refused %s: %s", visible(d.Request), visible(d.Reason))
	}
}

// concludeTest writes the reports and says how it went.
func (t *terminal) concludeTest(c *cli.Context, out author.Tested) error {
	if file := c.String("junit"); file != "" {
		if err := out.WriteJUnit(file); err != nil {
			return err
		}
	}
	return t.judged(out, nil, out.OK, fault.KindSkill, func() { t.showTested(out) })
}

func (t *terminal) showTested(out author.Tested) {
	r := out.Report
	for _, p := range r.Problems {
		t.say("FAIL %s", strings.ReplaceAll(plainLines(p), "\n", "\n       "))
	}
	for _, f := range out.Updated {
		t.say("updated %s", visible(f))
	}
	if out.Recorded != "" {
		t.say("recorded %s", visible(out.Recorded))
	}
	most := ""
	if r.Fuel > 0 { // not for a prompt
		most = fmt.Sprintf("; at most %d fuel, %s", r.Fuel, size(int64(r.PeakMemoryBytes)))
	}
	t.say("%s@%s: %s in %.2f s%s", plain(r.Skill), plain(r.Version), tally(r), r.DurationMS/1000, most)
}

// tally says how many test cases passed.
func tally(r author.CaseReport) string {
	text := fmt.Sprintf("%d passed", r.Passed)
	for _, x := range []struct {
		n    int
		what string
	}{{r.Failed, "failed"}, {r.Skipped, "skipped"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %d %s", x.n, x.what)
		}
	}
	if n := len(r.Problems); n > 0 {
		text += ", " + count(n, "file") + " that cannot be read"
	}
	if r.Note != "" {
		text += "; " + plain(r.Note)
	}
	return text
}
