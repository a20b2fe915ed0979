package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) storeCommand() *cli.Command {
	dry := func(usage string) cli.Flag { return &cli.BoolFlag{Name: "dry-run", Usage: usage} }
	return group("store",
		command("verify", nil, t.withHost(t.verifyStore)),
		command("backup", []cli.Flag{overFlag()}, t.withHost(one("one file", t.backUpStore))),
		command("restore", []cli.Flag{yesFlag("restore"), dry("only show what would be in the store")}, t.withHost(one("one file", t.restoreStore))),
		command("rebuild", []cli.Flag{yesFlag("rebuild"), forceFlag(), dry("only show what can be read")}, t.withHost(t.rebuildStore)),
	)
}

func (t *terminal) verifyStore(ctx context.Context, _ *cli.Context, h *host.Host) error {
	r, err := h.Upkeep().VerifyStore(ctx, t.person())
	if err != nil && !t.json {
		for _, d := range r.Damage {
			t.say("damaged: %s", plain(d))
		}
	}
	return answered(t, r, err, func(r upkeep.StoreReport) { t.say("ok: %d entries and %d blobs, all as written", r.Entries, r.Blobs) })
}

func (t *terminal) backUpStore(ctx context.Context, c *cli.Context, h *host.Host, file string) error {
	r := upkeep.BackupRequest{Path: file, Over: c.Bool("force")}
	if r.Path == standardOutput {
		if err := t.notShown("a backup"); err != nil {
			return err
		}
		r.To = t.out
	}
	b, err := h.Upkeep().BackUp(ctx, t.person(), r)
	if err != nil || r.To != nil {
		return err
	}
	return t.answer(b, func() { t.note("wrote %s, %d bytes", b.Path, b.Bytes) })
}

func (t *terminal) restoreStore(ctx context.Context, c *cli.Context, h *host.Host, file string) error {
	q := upkeep.RestoreRequest{Path: file}
	if c.Bool("dry-run") {
		r, err := h.Upkeep().PlanRestore(ctx, t.person(), q)
		return t.renewed("would restore", r, err)
	}
	if !c.Bool("yes") { // what cannot be restored is said before anybody is asked
		if _, err := h.Upkeep().PlanRestore(ctx, t.person(), q); err != nil {
			return err
		}
	}
	if err := t.agreed(c, "Replace all that the store holds except decisions with the backup?"); err != nil {
		return err
	}
	r, err := h.Upkeep().Restore(ctx, t.person(), q)
	return t.renewed("restored", r, err)
}

func (t *terminal) rebuildStore(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.Bool("dry-run") {
		r, err := h.Upkeep().PlanRebuild(ctx, t.person())
		return t.renewed("would rebuild the store from", r, err)
	}
	if err := h.Upkeep().Alone(ctx, t.person()); err != nil { // before anybody is asked
		return err
	}
	if err := t.agreed(c, "Rebuild the store from the journal and from what can be read?"); err != nil {
		return err
	}
	r, err := h.Upkeep().Rebuild(ctx, t.person(), upkeep.RebuildRequest{Lossy: c.Bool("force")})
	return t.renewed("rebuilt the store from", r, err)
}

// forceFlag lets a store be made again of which a part cannot be read.
func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "go on although a part of the store cannot be read, and is lost"}
}

func (t *terminal) renewed(what string, r upkeep.RebuildReport, err error) error {
	return answered(t, r, err, func(r upkeep.RebuildReport) { printAll(t.note, lines.RebuildReport(what, r)) })
}
