package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) upgradeCommand() *cli.Command {
	check := t.withHost(t.upgrade)
	return command("upgrade", []cli.Flag{&cli.BoolFlag{Name: "check", Usage: "say whether a newer release is published"}}, func(c *cli.Context) error {
		if !c.Bool("check") { // before a home is made
			return fault.Errorf(fault.KindUsage, "skillet does not replace itself").
				WithHint("did you mean `skillet update`? `skillet upgrade --check` says whether a newer release of skillet itself is published")
		}
		return check(c)
	})
}

// upgrade says whether a newer release is published. It never replaces the program.
func (t *terminal) upgrade(ctx context.Context, _ *cli.Context, h *host.Host) error {
	b := upkeep.ThisBuild()
	done := t.waiting("asking for releases")
	r, err := h.Govern().Signers.Release(ctx, t.person(), govern.ReleaseCheck{Version: b.Version, Platform: b.Platform})
	done()
	return answered(t, r, err, func(r govern.Release) {
		switch {
		case r.Unknown:
			t.say("%s is the newest release; this is %s, which is not a release", plain(r.Version), plain(r.Running))
		case r.Newer:
			t.say("%s is newer than this, which is %s: %s", plain(r.Version), plain(r.Running), plain(r.File))
			t.note("its SHA-256 is %s, says %s", plain(r.SHA256), plain(r.Signer))
		default:
			t.say("this is %s, and no newer release is published", plain(r.Running))
		}
	})
}
