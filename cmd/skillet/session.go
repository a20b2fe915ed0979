package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) sessionCommand() *cli.Command {
	return group("session", t.sessionOpen(), t.sessionList(),
		command("show", []cli.Flag{ownerFlag()}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			found, err := h.Invoke().FindSessions(ctx, t.person(), invoke.SessionRequest{Names: c.Args().Slice(), Owner: c.String("owner")})
			if err != nil {
				return err
			}
			return printLines(t, found[0], nil, lines.Session)
		})),
		command("close rm", []cli.Flag{ownerFlag()}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			return t.eachSession(ctx, c, "closed", h.Invoke().CloseSessions)
		})),
		command("resume", []cli.Flag{ownerFlag()}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			return t.eachSession(ctx, c, "resumed", h.Invoke().ResumeSessions)
		})),
	)
}

func (t *terminal) sessionList() *cli.Command {
	return command("list ls", nil, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if c.NArg() > 1 {
			_, err := need(c, 1, "one skill at most")
			return err
		}
		all, err := h.Invoke().Sessions(ctx, t.person(), c.Args().First())
		return t.answered(all, err, func() {
			if len(all) == 0 {
				t.note("no sessions; `skillet run SKILL --session NAME` begins one of a code_session skill")
			}
			for _, i := range all {
				t.say("%s", lines.SessionLine(lines.Style{Way: t.inWords}, i, t.person().Actor()))
			}
		})
	}))
}

func ownerFlag() cli.Flag {
	return &cli.StringFlag{Name: "owner", Usage: "whose session it is, such as human:`NAME`; left out: yours"}
}

// eachSession does something with all sessions that are named.
func (t *terminal) eachSession(ctx context.Context, c *cli.Context, done string, do func(context.Context, principal.Principal, invoke.SessionRequest) ([]invoke.Session, error)) error {
	if !c.Args().Present() {
		_, err := need(c, 1, "at least one session")
		return err
	}
	all, err := do(ctx, t.person(), invoke.SessionRequest{Names: c.Args().Slice(), Owner: c.String("owner")})
	return t.answered(all, err, func() {
		for _, i := range all {
			t.note("%s %s", done, plain(i.Key().String()))
		}
	})
}
