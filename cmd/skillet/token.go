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
	return &cli.Command{
		Name:  "token",
		Usage: "make, list and revoke the tokens that let programs into `skillet serve`",
		Description: "A token has a role:\n" +
			"  viewer    looks at everything, and changes nothing\n" +
			"  caller    calls skills and has goals done\n" +
			"  operator  does both, and asks for changes, which wait for a person\n" +
			"  approver  is yours: what is decided with it is decided in your name\n" +
			"  agent     is an agent's: calls, remembers and asks for changes, and sees nothing of others\n\n" +
			"Its secret is shown once, and kept as a hash. It is sent as `Authorization: Bearer SECRET`.\n\n" +
			"Examples:\n  skillet token create nightly --role caller --skill text\n  skillet token list\n  skillet token revoke nightly",
		Subcommands: []*cli.Command{t.tokenCreate(), t.tokenList(), t.tokenRevoke()},
	}
}

func (t *terminal) tokenCreate() *cli.Command {
	return &cli.Command{
		Name:      "create",
		Usage:     "make a token, and print its secret, once",
		ArgsUsage: "NAME",
		Description: "The secret is the answer, alone on its line; what it is good for is printed beside it.\n\n" +
			"Examples:\n  skillet token create dashboard --role viewer\n" +
			"  skillet token create nightly --role caller --skill text --skill json:query --for 720h\n" +
			"  skillet token create console --role approver --for 8h --json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "role", Usage: "what it is for: `ROLE` is viewer, caller, operator, approver or agent", Value: string(govern.RoleCaller)},
			&cli.StringSliceFlag{Name: "skill", Usage: "let it call this `SKILL` or SKILL:TOOL, and none that is not named; several may be given"},
			&cli.DurationFlag{Name: "for", Usage: "how long it is good for, `TIME`", Value: govern.DefaultTokenLife},
		},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if c.Duration("for") <= 0 {
				return fault.Errorf(fault.KindUsage, "--for %s: the token would have ended already", c.Duration("for")).WithHint("give a time, such as --for 24h")
			}
			made, err := h.Govern().Tokens.Create(ctx, t.person(), govern.CreateToken{
				Name: c.Args().First(), Role: govern.Role(c.String("role")), Skills: c.StringSlice("skill"), Life: c.Duration("for"),
			})
			if err != nil {
				return err
			}
			return t.answer(made, func() {
				t.say("%s", made.Secret)
				t.note("%s; it is not shown again", describeToken(made.Token))
			})
		}),
	}
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
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list the tokens, those that have expired too",
		Description: "Examples:\n  skillet token list\n  skillet token list --json",
		Action: t.withState(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			all, err := h.Govern().Tokens.List(ctx, t.person())
			if err != nil {
				return err
			}
			return t.answer(all, func() {
				for _, k := range all {
					t.say("%s", plain(describeToken(k)))
				}
				if len(all) == 0 {
					t.note("there are no tokens")
				}
			})
		}),
	}
}

func (t *terminal) tokenRevoke() *cli.Command {
	return &cli.Command{
		Name:        "revoke",
		Usage:       "end a token at once",
		ArgsUsage:   "NAME",
		Description: "A service that runs lets nobody in with it any more.\n\nExamples:\n  skillet token revoke nightly",
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			ended, err := h.Govern().Tokens.Revoke(ctx, t.person(), c.Args().First())
			if err != nil {
				return err
			}
			return t.answer(ended, func() { t.note("revoked %s", plain(ended.Name)) })
		}),
	}
}

// roleNames are the roles of tokens.
func roleNames(question) ([]candidate, error) {
	var found []candidate
	for _, r := range govern.Roles() {
		found = append(found, candidate{Word: string(r)})
	}
	return found, nil
}
