package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) verifyCommand() *cli.Command {
	return command("verify", []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "everything that is installed"}}, t.withHost(t.verify))
}

func (t *terminal) verify(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.Bool("all") == c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "verify takes names of skills, or --all").WithHint("`skillet list --all` shows what is installed")
	}
	r := admit.VerifyRequest{All: c.Bool("all")}
	var err error
	if r.Skills, err = skillRefs(c.Args().Slice()); err != nil {
		return err
	}
	var done func()
	r.Begins = func(s admit.Skill, n, of int) { done = t.waiting("checking %s, %d of %d", s.Ref(), n, of) }
	r.Ends = func(s admit.Skill, v admit.Verified) {
		done()
		t.showVerified(s, v)
	}
	all, err := h.Admit().Verify(ctx, t.person(), r)
	if all == nil || !t.json {
		return err
	}
	if perr := t.printJSON(all); perr != nil || err == nil {
		return perr
	}
	return reported{fault.KindVerification} // it is in what was printed
}

func (t *terminal) showVerified(s admit.Skill, v admit.Verified) {
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
