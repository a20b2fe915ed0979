package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) syncCommand() *cli.Command {
	return command("sync", packageFlags(
		&cli.BoolFlag{Name: "check", Usage: "only compare, for CI"},
		&cli.BoolFlag{Name: "prune", Usage: "remove what is not in the lock"},
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
		yesFlag("grant what the packages ask for, and remove what --prune removes"),
	), t.withHost(t.sync))
}

func (t *terminal) sync(ctx context.Context, c *cli.Context, h *host.Host) error {
	path := admit.LockFile
	if c.NArg() > 1 {
		return fault.Errorf(fault.KindUsage, "sync takes one lock; %q is too many", c.Args().Get(1))
	}
	if c.Args().Present() {
		path = c.Args().First()
	}
	if c.Bool("check") && (c.Bool("prune") || c.Bool("yes") || c.Bool("dry-run")) {
		return fault.Errorf(fault.KindUsage, "--check changes nothing: it goes without --prune, --yes and --dry-run")
	}
	if c.Bool("check") {
		return t.checkLock(ctx, h, path)
	}
	ws, err := workspace(c)
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	change := admit.Sync{Lock: path, Prune: c.Bool("prune"), Terms: t.terms(c, ws, dry)}
	plan, r, err := t.carryOut(ctx, c, h, change, dry, func(p *admit.Plan, s lines.Style) ([]string, string) {
		return packagePages(p, s), syncQuestion(p, change.Prune)
	})
	for _, b := range r.Became {
		t.showOutcome(b.Package, b.Outcome)
	}
	if err != nil {
		return err
	}
	out := r.Sync
	if dry {
		out = plan.Sync
	}
	return t.answer(out, func() { t.showSynced(*out, change.Prune, dry) })
}

// syncQuestion is what a person is asked about a plan.
func syncQuestion(p *admit.Plan, prune bool) string {
	going := plain(strings.Join(p.Sync.Extra, ", "))
	switch install := grantQuestion(p, "Install"); {
	case !prune || going == "":
		return install
	case len(p.Packages) == 0:
		return "Remove " + going + " and end all grants?"
	default:
		return strings.TrimSuffix(install, "?") + ", and remove " + going + " and end all grants?"
	}
}

func (t *terminal) showSynced(s admit.Synced, prune, dry bool) {
	for _, line := range s.NotRun {
		t.note("%s; it is not run", plain(line))
	}
	for _, ref := range s.Removed {
		t.note("removed %s, which is not in the lock", plain(ref))
	}
	if !prune || dry {
		what := "it stays; --prune removes it"
		if prune {
			what = "it would be removed"
		}
		for _, ref := range s.Extra {
			t.note("%s is not in the lock: %s", plain(ref), what)
		}
	}
	switch {
	case dry && len(s.Missing) > 0:
		t.note("would install %s: %s", count(len(s.Missing), "package"), plain(strings.Join(s.Missing, ", ")))
	case dry && s.Resolves:
		t.note("everything is installed; it would be resolved as the lock says")
	case len(s.Installed) == 0 && !s.Changed && len(s.Removed) == 0:
		t.note("everything is as the lock says")
	default:
		t.note("the home is what the lock says: %s installed", count(len(s.Installed), "package"))
	}
}

// checkLock compares the home with a lock, and the lock with itself.
func (t *terminal) checkLock(ctx context.Context, h *host.Host, path string) error {
	l, err := h.Admit().CheckLock(ctx, t.person(), path)
	if err != nil {
		return err
	}
	return t.answer(admit.Synced{OK: true, Installed: []admit.Needed{}, Removed: []string{}, Missing: []string{}, Extra: []string{}}, func() {
		t.note("the home is what %s says: %s", plain(path), count(l.Packages, "package"))
	})
}

// sayLines prints lines of a text that others may have written.
func (t *terminal) sayLines(text string) {
	for l := range strings.Lines(text) {
		t.say("%s", plain(strings.TrimSuffix(l, "\n")))
	}
}
