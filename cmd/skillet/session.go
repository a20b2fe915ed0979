package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/principal"
)

func (t *terminal) sessionCommand() *cli.Command {
	return group("session", t.sessionOpen(), t.sessionList(),
		command("show", []cli.Flag{ownerFlag()}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			found, err := h.Invoke().FindSessions(ctx, t.person(), invoke.SessionRequest{Names: c.Args().Slice(), Owner: c.String("owner")})
			if err != nil {
				return err
			}
			return t.answer(found[0], func() { t.showSession(found[0]) })
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
				t.say("%s", t.sessionLine(i))
			}
		})
	}))
}

// sessionLine is a session in one line.
func (t *terminal) sessionLine(i invoke.Session) string {
	name := plain(i.Key().String())
	if i.Damaged {
		return fmt.Sprintf("%-24s damaged, %s; `skillet session close %s` deletes it", name, size(i.Bytes), name)
	}
	line := fmt.Sprintf("%-24s %-10s %-9s age %s, idle %s  %s  %s", name, plain(i.Tool), count(i.Calls, "call"),
		ago(i.AgeSeconds), ago(i.IdleSeconds), size(i.Bytes), sessionEnd(i))
	if i.Owner != t.person().Actor() {
		line += ", of " + plain(i.Owner)
	}
	return line
}

func sessionEnd(i invoke.Session) string {
	switch {
	case i.Ended:
		return "ended " + when(i.ExpiresAt)
	case i.InUse:
		return "in use"
	}
	return "until " + when(i.ExpiresAt)
}

func (t *terminal) showSession(i invoke.Session) {
	rows := [][2]string{{"session", i.Key().String()}}
	if i.Damaged {
		rows = append(rows, [2]string{"damaged", "the file is not what a call left there; it can only be closed"})
	} else {
		rows = append(rows, [][2]string{
			{"skill", i.Skill + "@" + i.Version}, {"digest", string(i.Digest)}, {"owner", i.Owner}, {"last tool", i.Tool}, {"calls", fmt.Sprint(i.Calls)},
			{"began", when(i.CreatedAt) + ", " + ago(i.AgeSeconds) + " ago"}, {"last call", when(i.UsedAt) + ", " + ago(i.IdleSeconds) + " ago"}, {"ends", sessionEnd(i)},
		}...)
	}
	for _, r := range append(rows, [2]string{"size", size(i.Bytes)}) {
		if r[1] != "" {
			t.say("%-10s %s", r[0]+":", plain(r[1]))
		}
	}
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
