package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
)

// reasonFlag takes why something is decided.
func reasonFlag() cli.Flag {
	return &cli.StringFlag{Name: "reason", Usage: "why, shown wherever it matters"}
}

func (t *terminal) pinCommand() *cli.Command {
	return command("pin", []cli.Flag{reasonFlag()}, t.onSkill(func(ctx context.Context, c *cli.Context, h *host.Host, skill string) error {
		all, err := h.Admit().Pin(ctx, t.person(), skill, c.String("reason"))
		return t.decided(all, err, "%s is pinned; `skillet unpin %s` lets it be updated again")
	}))
}

func (t *terminal) unpinCommand() *cli.Command {
	return command("unpin", nil, t.onSkill(func(ctx context.Context, _ *cli.Context, h *host.Host, skill string) error {
		all, err := h.Admit().Unpin(ctx, t.person(), skill)
		return t.decided(all, err, "%s is not pinned; `skillet update %s` updates it")
	}))
}

func (t *terminal) disableCommand() *cli.Command {
	return command("disable", []cli.Flag{reasonFlag()}, t.onSkill(func(ctx context.Context, c *cli.Context, h *host.Host, skill string) error {
		all, err := h.Admit().Disable(ctx, t.person(), admit.EnableRequest{Skill: skill, Reason: c.String("reason")})
		return t.decided(all, err, "%s is disabled; `skillet enable %s` allows it again")
	}))
}

func (t *terminal) enableCommand() *cli.Command {
	return command("enable", nil, t.onSkill(func(ctx context.Context, _ *cli.Context, h *host.Host, skill string) error {
		all, err := h.Admit().Enable(ctx, t.person(), admit.EnableRequest{Skill: skill})
		return t.decided(all, err, "%s is enabled; `skillet run %s` runs it")
	}))
}

// onSkill is a command about one skill, or one version of it.
func (t *terminal) onSkill(do func(context.Context, *cli.Context, *host.Host, string) error) cli.ActionFunc {
	return t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		return do(ctx, c, h, c.Args().First())
	})
}

// skillRef reads a reference to a skill or a version of it.
func skillRef(text string) (manifests.Ref, error) {
	ref, err := manifests.ParseRef(text)
	if err != nil {
		return ref, fault.Wrap(fault.KindUsage, err).WithHint("`skillet list` shows what is installed")
	}
	if ref.Tool != "" {
		return ref, fault.Errorf(fault.KindUsage, "%s names a tool", text).WithHint("name the skill alone: %s", ref.Name)
	}
	return ref, nil
}

// skillRefs reads several.
func skillRefs(texts []string) (all []manifests.Ref, err error) {
	for _, text := range texts {
		ref, err := skillRef(text)
		if err != nil {
			return nil, err
		}
		all = append(all, ref)
	}
	return all, nil
}

// decided says what was decided about versions of a skill.
func (t *terminal) decided(all []admit.Skill, err error, text string) error {
	return t.answered(all, err, func() {
		name := plain(all[0].Name)
		if len(all) == 1 && !all[0].Active {
			name = plain(all[0].Ref())
		}
		t.note("%s", t.here(fmt.Sprintf(text, name, name)))
	})
}
