package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/code"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) proposeCommand() *cli.Command {
	return command("propose", []cli.Flag{
		&cli.StringFlag{Name: "from-run", Usage: "the `ID` of the run of a script, which its result names, or last for the newest of yours"},
		&cli.StringFlag{Name: "name", Usage: "call the skill `NAME`"},
		&cli.StringFlag{Name: "description", Usage: "what it does, as `TEXT`, which people and models read to choose it"},
		&cli.StringFlag{Name: "as-version", Usage: "its `VERSION` (default: 1.0.0)"},
		&cli.StringFlag{Name: "rationale", Usage: "why it should be installed, shown to whoever decides"},
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be proposed"},
	}, t.withHostFor(func(*cli.Context) host.Expectation { return host.ExpectMuch }, t.propose))
}

// propose makes a skill of the run of a script, and proposes it.
func (t *terminal) propose(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.Args().Present() || c.String("from-run") == "" {
		return fault.Errorf(fault.KindUsage, "propose takes --from-run, and no arguments").WithHint("`skillet code FILE --json` answers the id of its run; --from-run last is the newest of yours")
	}
	req := code.Propose{
		Run: c.String("from-run"), Name: c.String("name"), Version: c.String("as-version"), Description: c.String("description"),
		Rationale: c.String("rationale"), Dry: c.Bool("dry-run"),
	}
	if t.canAsk() && !req.Dry && !t.json {
		req.Choose = t.nameSkill(c)
	}
	done := func() {}
	if req.Choose == nil {
		done = t.waiting("making a skill of the script")
	}
	made, err := h.Code().Propose(ctx, t.person(), req)
	done()
	if err != nil {
		return err
	}
	return answered(t, made, nil, func(m code.Made) { t.showProposed(m, req.Dry) })
}

// nameSkill asks for what the flags do not say.
func (t *terminal) nameSkill(c *cli.Context) func(name, description string) (string, string, error) {
	ask := func(flag, what, usual string) (string, error) {
		if c.IsSet(flag) {
			return usual, nil
		}
		text, err := t.typed(fmt.Sprintf("%s [%s] ", what, plain(usual)))
		return cmp.Or(strings.TrimSpace(text), usual), err
	}
	return func(name, description string) (string, string, error) {
		name, err := ask("name", "Name of the skill?", name)
		if err == nil {
			description, err = ask("description", "What does it do?", description)
		}
		return name, description, err
	}
}

// showProposed shows what was made of a script.
func (t *terminal) showProposed(m code.Made, dry bool) {
	calls := "nothing"
	if len(m.Calls) > 0 {
		calls = strings.Join(m.Calls, ", ")
	}
	ref := plain(m.Skill + "@" + m.Version)
	if !dry {
		t.note("proposed %s (%s), which calls %s: proposal %s", ref, m.Digest.Short(), plain(calls), m.Proposal)
		t.note("its test case, the run, passes; nothing of it can be called before a person approves it")
		t.note("  look at it with `skillet approvals show %s`, then `skillet approvals approve %s` or `reject`", m.Proposal, m.Proposal)
		return
	}
	t.note("would propose %s (%s), which calls %s; its test case, the run, passes", ref, m.Digest.Short(), plain(calls))
	for _, f := range m.Files {
		t.say("--- %s", plain(f.Path))
		for line := range strings.Lines(f.Text) {
			t.say("%s", plain(strings.TrimRight(line, "\n")))
		}
	}
}
