package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
)

func (t *terminal) pushCommand() *cli.Command {
	return command("push", []cli.Flag{
		&cli.BoolFlag{Name: "no-sign", Usage: "publish it without a signature"},
		&cli.StringSliceFlag{Name: "tag", Usage: "a further `TAG`, such as latest; may be repeated"},
		&cli.BoolFlag{Name: "replace", Usage: "replace what was published under the same version: whoever has it will see other bytes"},
		plainHTTPFlag(),
	}, t.withState(t.push))
}

func (t *terminal) push(ctx context.Context, c *cli.Context, h *host.Host) error {
	args := c.Args().Slice()
	progress := t.downloading(args[1:])
	done := progress.show(0)
	p, err := h.Admit().Push(ctx, t.person(), admit.PushRequest{
		Package: args[0], To: args[1], Unsigned: c.Bool("no-sign"), Tags: c.StringSlice("tag"), Replace: c.Bool("replace"),
		Transfer: admit.Transfer{PlainHTTP: c.Bool("plain-http"), Progress: progress.of(0)},
	})
	done()
	if p.NewKey {
		t.note("skillet: made the key that signs packages: %s", p.Signer)
	}
	return t.answered(p, err, func() { t.showPushed(p) })
}

func (t *terminal) showPushed(p admit.Pushed) {
	t.say("%s", p.Source)
	t.note("published %s@%s as %s", plain(p.Name), plain(p.Version), plain(p.Ref))
	if !p.Signed {
		t.note("  it is not signed: whoever installs it has to accept that")
		return
	}
	t.note("  signed by %s", p.Signer)
}
