package main

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/adopt"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) permissionImport() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "grant a skill what a policy.yaml of Wassette allows",
		ArgsUsage: "POLICY.yaml SKILL[@VERSION]",
		Description: "Shows what the policy allows as capabilities of this host, and grants it when you agree.\n" +
			"What cannot be granted is listed, line by line, with the reason: a grant is never wider\n" +
			"than the policy, and what the policy forbids is taken out, whole lines at a time.\n\n" +
			"Examples:\n" +
			"  skillet permission import ./policy.yaml weather --dry-run\n" +
			"  skillet permission import ./policy.yaml weather --expires 24h",
		Flags: append([]cli.Flag{
			yesFlag("grant what the policy allows"),
			&cli.DurationFlag{Name: "expires", Usage: "end the grants after this `TIME`, such as 24h or 7d"},
			&cli.IntFlag{Name: "uses", Usage: "end the grants after `N` runs"},
			&cli.StringFlag{Name: "reason", Usage: "why, shown wherever the grants are"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be granted"},
			workspaceFlag(),
		}, scopeFlags()...),
		Action: t.withState(t.importPolicy),
	}
}

// An allowance is what --json prints of a policy.
type allowance struct {
	Skill   string         `json:"skill"`
	Digest  string         `json:"digest"`
	Permits []adopt.Permit `json:"permits"`
	Refused []refusedLine  `json:"refused"`
	// Granted is whether the permits were granted.
	Granted bool `json:"granted"`
}

// A refusedLine is one line of a policy that cannot be granted.
type refusedLine struct {
	Line   int    `json:"line"`
	Field  string `json:"field"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

func (t *terminal) importPolicy(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 2, "a policy.yaml and a skill")
	if err != nil {
		return err
	}
	s, err := t.lookup(ctx, h, args[1])
	if err != nil {
		return err
	}
	terms, err := terms(c)
	if err != nil {
		return err
	}
	ws, err := workspace(c)
	if err != nil {
		return err
	}
	p, err := adopt.Wassette(args[0], ws)
	if err != nil {
		return err
	}
	if terms.Reason == "" {
		terms.Reason = "allowed by " + filepath.Base(args[0])
	}
	out := allowance{Skill: s.Ref(), Digest: string(s.Digest), Permits: p.Permits, Refused: refusedLines(p)}
	if !t.json {
		t.showPolicy(out)
	}
	switch {
	case c.Bool("dry-run"):
		return t.answer(out, func() {})
	case len(p.Permits) == 0:
		return fault.Errorf(fault.KindUsage, "%s allows nothing that can be granted here", args[0]).WithHint("`skillet permission grant` grants single capabilities")
	}
	if !c.Bool("yes") {
		if err := t.confirm("permission import", "Grant this to "+plain(s.Ref())+"?"); err != nil {
			return err
		}
	}
	if err := h.Desk.Grant(ctx, t.person(), s, permitted(p), terms); err != nil {
		return err
	}
	out.Granted = true
	return t.answer(out, func() { t.note("gave %s %s", plain(s.Ref()), count(len(p.Permits), "grant")) })
}

func permitted(p *adopt.Policy) []capability.Capability {
	var cs []capability.Capability
	for _, permit := range p.Permits {
		cs = append(cs, permit.Capability)
	}
	return slices.Clip(cs)
}

func refusedLines(p *adopt.Policy) []refusedLine {
	lines := []refusedLine{}
	for _, r := range p.Refused {
		lines = append(lines, refusedLine{r.Line, r.Path, r.Message, r.Suggestion})
	}
	return lines
}

func (t *terminal) showPolicy(p allowance) {
	t.note("the policy allows %s:%s", plain(p.Skill), none(len(p.Permits)))
	for _, permit := range p.Permits {
		t.note("  + %s", plain(permit.Capability.Words()))
		t.note("      %s  (line %d: %s)", plain(permit.Capability.String()), permit.Line, plain(permit.From))
	}
	if len(p.Refused) > 0 {
		t.note("what is not granted:")
	}
	for _, r := range p.Refused {
		t.note("  - line %d: %s: %s", r.Line, plain(r.Field), visible(r.Reason))
		if r.Hint != "" {
			t.note("      hint: %s", plain(r.Hint))
		}
	}
}
