package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) scanCommand() *cli.Command {
	return command("scan", []cli.Flag{
		&cli.BoolFlag{Name: "sarif", Usage: "print a SARIF 2.1.0 log, for services that show findings beside source"},
	}, t.withAuthor(t.scan))
}

// scan reports on a package. It is an error when a finding blocks.
func (t *terminal) scan(ctx context.Context, c *cli.Context, s *author.Service) error {
	args, err := need(c, 1, "one skill or path")
	if err != nil {
		return err
	}
	if c.Bool("sarif") && c.Bool("json") {
		return fault.Errorf(fault.KindUsage, "--sarif and --json do not go together").WithHint("SARIF is JSON, too: choose one")
	}
	at, err := invoke.ParseAddress(args[0])
	if err != nil {
		return err
	}
	r, err := s.Scan(ctx, t.person(), author.ScanRequest{Address: at, Progress: t.progress})
	if err != nil {
		return err
	}
	if err := t.showScan(c, r); err != nil {
		return err
	}
	switch {
	case len(r.Blocking) == 0:
		return nil
	case t.json || c.Bool("sarif"):
		return reported{fault.KindVerification}
	}
	return fault.Errorf(fault.KindVerification, "scan %s: %s that no honest package has: %s", r.Name, count(r.Count(author.Block), "finding"), strings.Join(r.Blocking, ", ")).
		WithHint("`skillet explain %s` says what the rule looks for, and what to do", r.Blocking[0])
}

func (t *terminal) showScan(c *cli.Context, r author.Scanned) error {
	if c.Bool("sarif") {
		log, err := r.SARIF(upkeep.ThisBuild().Version)
		if err != nil {
			return err
		}
		return writeEscaped(t.out, log)
	}
	return t.answer(r, func() {
		printAll(t.say, lines.Findings(r.Report))
		t.note("%s@%s: %s", plain(r.Name), plain(r.Version), lines.Totals(r.Report))
	})
}
