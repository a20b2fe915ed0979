package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) rollbackCommand() *cli.Command {
	return command("rollback", []cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "the installed `VERSION` to go to"},
		&cli.BoolFlag{Name: "keep-state", Usage: "leave its data as it is, even if that version cannot read it: then it is not run"},
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
	}, t.withState(t.rollback))
}

func (t *terminal) rollback(ctx context.Context, c *cli.Context, h *host.Host) error {
	name, version, both := strings.Cut(c.Args().First(), "@")
	if both && c.IsSet("to") || c.IsSet("to") && c.String("to") == "" {
		return fault.Errorf(fault.KindUsage, "the version is given twice, or empty").WithHint("`skillet rollback SKILL --to VERSION`")
	}
	if c.IsSet("to") {
		version = c.String("to")
	}
	p, r, err := t.carryOut(ctx, c, h, admit.Rollback{Skill: name, To: version, KeepState: c.Bool("keep-state")}, c.Bool("dry-run"), unshown)
	switch {
	case err != nil:
		return err
	case c.Bool("dry-run"):
		return t.rolledBack("would go", *p.Rollback)
	}
	return t.rolledBack("went", *r.Rollback)
}

// unshown is for plans of which nothing is shown before they are carried out.
func unshown(*admit.Plan, lines.Style) ([]string, string) { return nil, "" }

func (t *terminal) rolledBack(verb string, r admit.RolledBack) error {
	return t.answer(r, func() {
		switch {
		case r.Canary != nil:
			t.note("%s: %s is no longer on trial; %s stays the active version", plain(r.To.Name), plain(r.Canary.Version), plain(r.To.Version))
		case r.From == nil:
			t.note("%s %s to %s", plain(r.To.Name), verb, plain(r.To.Version))
		case manifests.CompareVersions(r.From.Version, r.To.Version) < 0:
			t.note("%s %s from %s to %s (sha256:%s)", plain(r.To.Name), verb, plain(r.From.Version), plain(r.To.Version), r.To.Digest.Short())
		default:
			t.note("%s %s back from %s to %s (sha256:%s)", plain(r.To.Name), verb, plain(r.From.Version), plain(r.To.Version), r.To.Digest.Short())
		}
	})
}
