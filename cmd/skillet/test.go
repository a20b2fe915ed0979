package main

import (
	"context"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"

	"github.com/urfave/cli/v2"
)

func (t *terminal) testCommand() *cli.Command {
	return command("test", append(buildFlags(),
		&cli.StringFlag{Name: "run", Usage: "only the cases whose \"file: name\" matches this regular expression, as `REGEXP`"},
		&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "run `N` cases at once (default: one a processor)"},
		&cli.StringFlag{Name: "junit", Usage: "also write a JUnit report to this `FILE`"},
		&cli.BoolFlag{Name: "update", Usage: "rewrite golden files"},
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
		r.Done = func(r author.CaseResult) { printAll(t.say, lines.Case(r, c.Bool("verbose"))) }
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

// concludeTest writes the reports and says how it went.
func (t *terminal) concludeTest(c *cli.Context, out author.Tested) error {
	if file := c.String("junit"); file != "" {
		if err := out.WriteJUnit(file); err != nil {
			return err
		}
	}
	return t.judged(out, nil, out.OK, fault.KindSkill, func() { printAll(t.say, lines.Tested(out)) })
}
