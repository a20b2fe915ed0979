package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/findings"
	"github.com/skillet-run/skillet/host/invoke"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func (t *terminal) scanCommand() *cli.Command {
	return &cli.Command{
		Name:      "scan",
		Usage:     "read a package without running it, and say what to look at: secrets, hidden text, odd code",
		ArgsUsage: "SKILL[@VERSION] | PATH",
		Description: "It ends with 7 when a finding blocks. `skillet explain RULE` says what a rule looks for.\n" +
			"A package without findings is not a safe one: it only hides nothing plainly.\n\n" +
			"Examples:\n  skillet scan ./my-skill\n  skillet scan csv@1.0.0 --json\n  skillet scan my-skill-1.2.0.skill --sarif > findings.sarif",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "sarif", Usage: "print a SARIF 2.1.0 log, for services that show findings beside source"},
		},
		Action: func(c *cli.Context) error {
			args, err := need(c, 1, "one skill or path")
			if err != nil {
				return err
			}
			if c.Bool("sarif") && c.Bool("json") {
				return fault.Errorf(fault.KindUsage, "--sarif and --json do not go together").WithHint("SARIF is JSON, too: choose one")
			}
			if at, err := invoke.ParseAddress(args[0]); err == nil && at.Path != "" { // it needs no home
				t.json = c.Bool("json")
				p, err := sources.Runnable(c.Context, at.Path)
				if err != nil {
					return err
				}
				return t.scan(c, p)
			}
			return t.withState(t.scanInstalled)(c)
		},
	}
}

func (t *terminal) scanInstalled(ctx context.Context, c *cli.Context, h *host.Host) error {
	s, err := t.lookup(ctx, h, c.Args().First())
	if err != nil {
		return err
	}
	p, err := h.Registry.Package(ctx, s.Digest)
	if err != nil {
		return err
	}
	return t.scan(c, p)
}

// scanned is what --json prints of scan.
type scanned struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Digest   manifests.Digest  `json:"digest"`
	Worst    findings.Severity `json:"worst,omitempty"`
	Blocking []string          `json:"blocking"`
	findings.Report
}

// scan reports on a package. It is an error when a finding blocks.
func (t *terminal) scan(c *cli.Context, p *bundle.Package) error {
	done := t.waiting("reading %s", p.Manifest().Name)
	r, err := findings.Scan(c.Context, p)
	done()
	if err != nil {
		return err
	}
	if err := t.showScan(c, p, r); err != nil {
		return err
	}
	blocking := r.Blocking()
	switch {
	case len(blocking) == 0:
		return nil
	case t.json || c.Bool("sarif"):
		return reported{fault.KindVerification}
	}
	return fault.Errorf(fault.KindVerification, "scan %s: %s that no honest package has: %s", p.Manifest().Name, count(r.Count(findings.Block), "finding"), strings.Join(blocking, ", ")).
		WithHint("`skillet explain %s` says what the rule looks for, and what to do", blocking[0])
}

func (t *terminal) showScan(c *cli.Context, p *bundle.Package, r findings.Report) error {
	if c.Bool("sarif") {
		log, err := r.SARIF(buildInfo().Version)
		if err != nil {
			return err
		}
		return writeEscaped(t.out, log)
	}
	m := p.Manifest()
	all := scanned{m.Name, m.Version, p.Digest(), r.Worst(), append([]string{}, r.Blocking()...), r}
	return t.answer(all, func() {
		showFindings(t.say, r)
		t.note("%s@%s: %s", plain(m.Name), plain(m.Version), totals(r))
	})
}

// showFindings prints findings, for a person who decides.
func showFindings(print printer, r findings.Report) {
	for _, f := range r.Findings {
		print("%-5s %s  %s: %s", f.Severity, f.Rule, findingPlace(f), visible(f.Message))
		if f.Excerpt != "" {
			print("             | %s", visible(f.Excerpt))
		}
	}
	for _, m := range r.More {
		print("      %s  and %d more of these", m.Rule, m.Count)
	}
}

// findingPlace is where a finding is.
func findingPlace(f findings.Finding) string {
	switch {
	case f.Line > 0:
		return fmt.Sprintf("%s:%d:%d", visible(f.File), f.Line, f.Column)
	case f.Offset > 0:
		return fmt.Sprintf("%s at byte %d", visible(f.File), f.Offset)
	}
	return visible(f.File)
}

// totals says how many findings there are.
func totals(r findings.Report) string {
	var parts []string
	for _, s := range []struct {
		findings.Severity
		words string
	}{{findings.Block, "to block"}, {findings.Warn, "to look at"}, {findings.Info, "to know"}} {
		if n := r.Count(s.Severity); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	if len(parts) == 0 {
		return "nothing was found"
	}
	return "found " + strings.Join(parts, ", ")
}
