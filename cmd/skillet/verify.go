package main

import (
	"context"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
)

func (t *terminal) verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check that installed skills are, byte for byte, what was installed",
		ArgsUsage: "SKILL[@VERSION]...",
		Description: "Reads every byte of every installed version of the skills that are named, compiles their\n" +
			"modules and looks whether their grants are their own. When something is wrong, the exit\n" +
			"code is 7.\n\n" +
			"Examples:\n  skillet verify --all\n  skillet verify text csv@1.2.0 --json",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "everything that is installed"}},
		Action: t.withState(t.verify),
	}
}

func (t *terminal) verify(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.Bool("all") == c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "verify takes names of skills, or --all").WithHint("`skillet list --all` shows what is installed")
	}
	skills, err := t.toVerify(ctx, c, h)
	if err != nil {
		return err
	}
	all, bad := []install.Verified{}, 0
	for _, s := range skills {
		done := t.waiting("checking %s", s.Ref())
		v, err := h.Installer.Verify(ctx, s)
		done()
		if err != nil {
			return err
		}
		if all = append(all, v); !v.OK {
			bad++
		}
		t.showVerified(s, v)
	}
	if t.json {
		if err := t.printJSON(all); err != nil {
			return err
		}
	}
	if bad == 0 {
		return nil
	}
	err = fault.Errorf(fault.KindVerification, "%d of %s: not what was installed", bad, count(len(all), "version")).
		WithHint("remove what is damaged, and install it again from its source")
	if t.json { // it is in what was printed
		return reported{fault.KindVerification}
	}
	return err
}

func (t *terminal) toVerify(ctx context.Context, c *cli.Context, h *host.Host) ([]registry.Skill, error) {
	if c.Bool("all") {
		return h.Registry.List(ctx)
	}
	_, found, err := t.leaving(ctx, h, c.Args().Slice())
	return found, err
}

func (t *terminal) showVerified(s registry.Skill, v install.Verified) {
	if t.json {
		return
	}
	if v.OK {
		signed := ""
		if v.Signer != "" {
			signed = ", signed by " + plain(v.Signer)
		}
		t.say("ok   %s  %s, %d bytes, %s%s", plain(s.Ref()), count(v.Files, "file"), v.Bytes, count(v.Grants, "grant"), signed)
		return
	}
	for _, p := range v.Problems {
		t.say("BAD  %s  %s", plain(s.Ref()), plain(p))
	}
}
