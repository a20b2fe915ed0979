package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) permissionCommand() *cli.Command {
	return &cli.Command{
		Name:  "permission",
		Usage: "show, grant and revoke what a skill may do",
		Description: "A grant holds for one version of a skill, byte for byte.\n\n" +
			"Capabilities:\n" +
			"  fs.read:/data/**                    read files in /data and below\n" +
			"  fs.write:/data/out/*.csv            write these files\n" +
			"  http:GET https://api.example.com/*  send GET requests there\n" +
			"  kv, clock, random, notify           keep values, tell the time, be random, notify you\n" +
			"  secret:github                       have the host add this secret to its requests",
		Subcommands: []*cli.Command{
			t.permissionShow(), t.permissionGrant(), t.permissionRevoke(), t.permissionReset(),
		},
	}
}

func (t *terminal) permissionShow() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show what a skill asks for and what it was granted",
		ArgsUsage:   "SKILL[@VERSION]",
		Description: "Examples:\n  skillet permission show files\n  skillet permission show files --json",
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one skill")
			if err != nil {
				return err
			}
			s, err := t.lookup(ctx, h, args[0])
			if err != nil {
				return err
			}
			return t.showGrants(ctx, h, s)
		}),
	}
}

// permissions is what --json prints of a skill's grants.
type permissions struct {
	Skill  string           `json:"skill"`
	Digest string           `json:"digest"`
	Grants []approval.Grant `json:"grants"`
}

func (t *terminal) showGrants(ctx context.Context, h *host.Host, s registry.Skill) error {
	gs, err := h.Desk.Grants(ctx, s.Digest)
	if err != nil {
		return err
	}
	return t.answer(permissions{s.Ref(), string(s.Digest), append([]approval.Grant{}, gs...)}, func() {
		t.say("%s (sha256:%s) is granted:%s", plain(s.Ref()), s.Digest.Short(), none(len(gs)))
		for _, g := range gs {
			t.say("  %s", grantLine(g))
		}
	})
}

func grantLine(g approval.Grant) string {
	line := fmt.Sprintf("%s  (%s) by %s on %s", g.Capability.Words(), g.Capability, g.By, g.At.Format("2006-01-02"))
	if g.MaxUses > 0 {
		line += fmt.Sprintf(", used %d of %d times", g.Uses, g.MaxUses)
	}
	if !g.ExpiresAt.IsZero() {
		line += ", until " + g.ExpiresAt.Format("2006-01-02 15:04")
	}
	if !g.Live(time.Now()) {
		line += " (ended)"
	}
	return plain(line)
}

func (t *terminal) permissionGrant() *cli.Command {
	return &cli.Command{
		Name:      "grant",
		Usage:     "let a skill do something",
		ArgsUsage: "SKILL[@VERSION] CAPABILITY...",
		Description: "Examples:\n" +
			"  skillet permission grant files \"fs.read:$PWD/docs/**\"\n" +
			"  skillet permission grant http 'http:GET https://api.example.com/v1/*' --expires 24h\n" +
			"  skillet permission grant http 'http:GET http://127.0.0.1:8080/*' --uses 1",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "expires", Usage: "end the grant after this `TIME`, such as 24h"},
			&cli.IntFlag{Name: "uses", Usage: "end the grant after `N` runs"},
			&cli.StringFlag{Name: "reason", Usage: "why, shown wherever the grant is"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be granted"},
		},
		Action: t.withState(t.grant),
	}
}

func (t *terminal) grant(ctx context.Context, c *cli.Context, h *host.Host) error {
	args := c.Args().Slice()
	if len(args) < 2 {
		return task.Errorf(task.KindUsage, "permission grant takes a skill and a capability").WithHint("`skillet help permission` shows the capabilities")
	}
	s, err := t.lookup(ctx, h, args[0])
	if err != nil {
		return err
	}
	cs, err := capabilities(args[1:])
	if err != nil {
		return err
	}
	terms, err := terms(c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return t.answer(cs, func() { t.noteCapabilities("would grant", s, cs) })
	}
	if err := h.Desk.Grant(ctx, t.person(), s, cs, terms); err != nil {
		return err
	}
	if !t.json {
		t.noteCapabilities("granted", s, cs)
		return nil
	}
	return t.showGrants(ctx, h, s)
}

func (t *terminal) noteCapabilities(verb string, s registry.Skill, cs []capability.Capability) {
	for _, c := range cs {
		t.note("%s %s: %s", verb, plain(s.Ref()), plain(c.Words()))
	}
}

func capabilities(texts []string) ([]capability.Capability, error) {
	var cs []capability.Capability
	for _, text := range texts {
		c, err := capability.Parse(text)
		if err != nil {
			return nil, task.Wrap(task.KindUsage, err).WithHint("`skillet help permission` shows the capabilities")
		}
		cs = append(cs, c)
	}
	return cs, nil
}

func terms(c *cli.Context) (approval.Terms, error) {
	terms := approval.Terms{MaxUses: c.Int("uses"), Reason: c.String("reason")}
	if d := c.Duration("expires"); d != 0 {
		terms.ExpiresAt = time.Now().Add(d).UTC()
	}
	if c.Duration("expires") < 0 || c.IsSet("uses") && terms.MaxUses < 1 {
		return terms, task.Errorf(task.KindUsage, "--expires and --uses must be more than nothing")
	}
	return terms, nil
}

func (t *terminal) permissionRevoke() *cli.Command {
	return &cli.Command{
		Name:        "revoke",
		Usage:       "take back grants: those that the capability covers",
		ArgsUsage:   "SKILL[@VERSION] CAPABILITY...",
		Description: "Examples:\n  skillet permission revoke files \"fs.read:$PWD/docs/**\"\n  skillet permission revoke http 'http:GET https://api.example.com/**'",
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if c.NArg() < 2 {
				return task.Errorf(task.KindUsage, "permission revoke takes a skill and a capability").WithHint("`skillet permission show SKILL` lists its grants; `skillet permission reset` takes back all")
			}
			cs, err := capabilities(c.Args().Tail())
			if err != nil {
				return err
			}
			return t.revoke(ctx, h, c.Args().First(), cs)
		}),
	}
}

func (t *terminal) permissionReset() *cli.Command {
	return &cli.Command{
		Name:        "reset",
		Usage:       "take back all grants of a skill",
		ArgsUsage:   "SKILL[@VERSION]",
		Description: "Examples:\n  skillet permission reset files --yes",
		Flags:       []cli.Flag{yesFlag("take them back")},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one skill")
			if err != nil {
				return err
			}
			if !c.Bool("yes") {
				if err := t.confirm("permission reset", "Take back every grant of "+plain(args[0])+"?"); err != nil {
					return err
				}
			}
			return t.revoke(ctx, h, args[0], nil)
		}),
	}
}

func (t *terminal) revoke(ctx context.Context, h *host.Host, ref string, cs []capability.Capability) error {
	s, err := t.lookup(ctx, h, ref)
	if err != nil {
		return err
	}
	ended, err := h.Desk.Revoke(ctx, t.person().Actor(), s, cs)
	if err != nil {
		return err
	}
	return t.answer(permissions{s.Ref(), string(s.Digest), ended}, func() {
		var texts []string
		for _, g := range ended {
			texts = append(texts, g.Capability.String())
		}
		t.note("%s lost: %s", plain(s.Ref()), plain(strings.Join(texts, ", ")))
	})
}
