package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/upkeep"
)

func (t *terminal) storeCommand() *cli.Command {
	return &cli.Command{
		Name:  "store",
		Usage: "check, back up, restore and rebuild the state of the home",
		Description: "The store holds what is installed, granted, proposed and trusted, which is made from the\n" +
			"journal of decisions and can be made again from it. It also holds what is nowhere else:\n" +
			"what skills keep, memories, tasks, queues, budgets and usage of models, kept answers,\n" +
			"events. Make backups of it. Run restore and rebuild when nothing else uses the home.",
		Subcommands: []*cli.Command{t.storeVerify(), t.storeBackup(), t.storeRestore(), t.storeRebuild()},
	}
}

func (t *terminal) storeVerify() *cli.Command {
	return &cli.Command{
		Name:        "verify",
		Usage:       "read everything in the store and check it",
		Description: "Examples:\n  skillet store verify\n  skillet store verify --json",
		Action: t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if _, err := need(c, 0, "no arguments"); err != nil {
				return err
			}
			r, err := h.Upkeep().VerifyStore(ctx, t.person())
			if err != nil {
				if !t.json {
					for _, d := range r.Damage {
						t.say("damaged: %s", plain(d))
					}
				}
				return err
			}
			return t.answer(r, func() { t.say("ok: %d entries and %d blobs, all as written", r.Entries, r.Blobs) })
		}),
	}
}

func (t *terminal) storeBackup() *cli.Command {
	return &cli.Command{
		Name:        "backup",
		Usage:       "write the state of the store to a file, consistent at one moment",
		ArgsUsage:   "FILE|-",
		Description: "Examples:\n  skillet store backup skillet-backup.bin\n  skillet store backup - | ssh archive 'cat > skillet-backup.bin'",
		Flags:       []cli.Flag{overFlag()},
		Action: t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one file")
			if err != nil {
				return err
			}
			r := upkeep.BackupRequest{Path: args[0], Over: c.Bool("force")}
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
		}),
	}
}

func (t *terminal) storeRestore() *cli.Command {
	return &cli.Command{
		Name:      "restore",
		Usage:     "go back to a backup; decisions made since are applied again from the journal",
		ArgsUsage: "FILE",
		Description: "What skills kept, and what was remembered, asked, queued and spent since the backup is not\n" +
			"in it: --dry-run counts each kind, now and after. The store there is is kept aside. A\n" +
			"backup of another home is refused, and then nothing is changed.\n\n" +
			"Examples:\n  skillet store restore skillet-backup.bin --dry-run\n  skillet store restore skillet-backup.bin --yes",
		Flags: []cli.Flag{yesFlag("restore"), &cli.BoolFlag{Name: "dry-run", Usage: "only show what would be in the store"}},
		Action: t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one file")
			if err != nil {
				return err
			}
			q := upkeep.RestoreRequest{Path: args[0]}
			if c.Bool("dry-run") {
				r, err := h.Upkeep().PlanRestore(ctx, t.person(), q)
				return t.renewed("would restore", r, err)
			}
			if !c.Bool("yes") {
				if err := t.confirm("store restore", "Replace all that the store holds beside decisions by what the backup has?"); err != nil {
					return err
				}
			}
			r, err := h.Upkeep().Restore(ctx, t.person(), q)
			return t.renewed("restored", r, err)
		}),
	}
}

func (t *terminal) storeRebuild() *cli.Command {
	return &cli.Command{
		Name:  "rebuild",
		Usage: "make the store again: decisions from the journal, and all else as far as it can be read",
		Description: "Everything is carried over that can be read: what skills keep, memories, tasks, queues,\n" +
			"budgets, usage. It is refused when something cannot (exit code 8), unless --force is\n" +
			"given. The new store is complete before it takes the place of the one there is, which is\n" +
			"kept aside; a rebuild that is interrupted changes nothing, or is finished by the next\n" +
			"command.\n\n" +
			"Examples:\n  skillet store rebuild --dry-run\n  skillet store rebuild --yes",
		Flags: []cli.Flag{yesFlag("rebuild"), forceFlag(), &cli.BoolFlag{Name: "dry-run", Usage: "only show what can be read"}},
		Action: t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if _, err := need(c, 0, "no arguments"); err != nil {
				return err
			}
			if c.Bool("dry-run") {
				r, err := h.Upkeep().PlanRebuild(ctx, t.person())
				return t.renewed("would make the store again from", r, err)
			}
			if !c.Bool("yes") {
				if err := t.confirm("store rebuild", "Make the store again from the journal, and of what can be read?"); err != nil {
					return err
				}
			}
			r, err := h.Upkeep().Rebuild(ctx, t.person(), upkeep.RebuildRequest{Lossy: c.Bool("force")})
			return t.renewed("made the store again from", r, err)
		}),
	}
}

// forceFlag lets a store be made again of which a part cannot be read.
func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "go on although a part of the store cannot be read, and is lost"}
}

func (t *terminal) renewed(what string, r upkeep.Renewal, err error) error {
	if err != nil {
		return err
	}
	return t.answer(r, func() { t.showRenewal(t.note, what, r) })
}

func (t *terminal) showRenewal(print printer, what string, r upkeep.Renewal) {
	print("%s %d decisions; in the store:", what, r.Decisions)
	for _, k := range r.Kinds {
		if k.Before == k.After {
			print("  %6d %s", k.After, k.Kind)
		} else {
			print("  %6d %s (there were %d)", k.After, k.Kind, k.Before)
		}
	}
	if r.Unreadable > 0 {
		print("  %6d entries cannot be read", r.Unreadable)
	}
	for _, l := range r.Lost {
		print("  damaged: %s", plain(l))
	}
	if !r.Whole {
		print("  not all of the store can be read: something is lost")
	}
	if r.Aside != "" {
		print("  the store as it was is in %s; delete it when nothing is missing", r.Aside)
	}
}
