package main

import (
	"context"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) tokenCommand() *cli.Command {
	return group("token", t.tokenCreate(), t.tokenList(), t.tokenRevoke())
}

func (t *terminal) tokenCreate() *cli.Command {
	return command("create", []cli.Flag{
		&cli.StringFlag{Name: "role", Usage: "what it is for: `ROLE` is viewer, caller, operator, approver or agent", Value: string(govern.RoleCaller)},
		&cli.StringSliceFlag{Name: "skill", Usage: "let it call this `SKILL` or SKILL:TOOL, and none that is not named; may be repeated"},
		&cli.DurationFlag{Name: "for", Usage: "how long it is good for, `TIME`", Value: govern.DefaultTokenLife},
	}, t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if c.Duration("for") <= 0 {
			return fault.Errorf(fault.KindUsage, "--for %s: the token would have expired already", c.Duration("for")).WithHint("give a time, such as --for 24h")
		}
		made, err := h.Govern().Tokens.Create(ctx, t.person(), govern.CreateToken{
			Name: c.Args().First(), Role: govern.Role(c.String("role")), Skills: c.StringSlice("skill"), Life: c.Duration("for"),
		})
		return t.answered(made, err, func() {
			t.say("%s", made.Secret)
			t.note("%s; it is not shown again", describeToken(made.Token))
		})
	}))
}

// describeToken says what a token is for.
func describeToken(k govern.Token) string {
	text := k.Name + ": " + string(k.Role)
	if len(k.Skills) > 0 {
		text += " of " + strings.Join(k.Skills, ", ")
	}
	if k.Live(time.Now()) {
		return text + ", until " + when(k.Expires)
	}
	return text + ", expired " + when(k.Expires)
}

func (t *terminal) tokenList() *cli.Command {
	return command("list ls", nil, t.withState(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
		all, err := h.Govern().Tokens.List(ctx, t.person())
		return t.answered(all, err, func() {
			for _, k := range all {
				t.say("%s", plain(describeToken(k)))
			}
			if len(all) == 0 {
				t.note("no tokens")
			}
		})
	}))
}

func (t *terminal) tokenRevoke() *cli.Command {
	return command("revoke", nil, t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		ended, err := h.Govern().Tokens.Revoke(ctx, t.person(), c.Args().First())
		return t.answered(ended, err, func() { t.note("revoked %s", plain(ended.Name)) })
	}))
}

// roleNames are the roles of tokens.
func roleNames(question) ([]candidate, error) {
	var found []candidate
	for _, r := range govern.Roles() {
		found = append(found, candidate{Word: string(r)})
	}
	return found, nil
}
