package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) permissionSuggest() *cli.Command {
	return command("suggest", []cli.Flag{
		&cli.StringFlag{Name: "since", Usage: "look at what was done since this `TIME`: a date, or how long ago", Value: "30d"},
		&cli.BoolFlag{Name: "apply", Usage: "narrow and revoke grants as proposed"},
		yesFlag("narrow the grants"),
	}, t.withHost(t.suggestGrants))
}

// A suggested is what --json prints of a suggestion.
type suggested struct {
	govern.Suggestion
	// Commands have the same effect as --apply; empty when nothing is proposed, or when
	// commands would end grants that should stay.
	Commands []string `json:"commands"`
}

func (t *terminal) suggestGrants(ctx context.Context, c *cli.Context, h *host.Host) error {
	var req govern.SuggestRequest
	var err error
	if req.Since, err = moment(c, "since", time.Now()); err != nil {
		return err
	}
	if req.Skills, err = skillRefs(c.Args().Slice()); err != nil {
		return err
	}
	all, err := h.Govern().Grants.Suggest(ctx, t.person(), req)
	if err != nil {
		return err
	}
	if c.Bool("apply") && slices.ContainsFunc(all, govern.Suggestion.Changes) {
		if !c.Bool("yes") {
			if t.canAsk() {
				t.showSuggestions(t.note, withCommands(all))
			}
			if err := t.confirm("permission suggest --apply", "Narrow the grants like this?"); err != nil {
				return err
			}
		}
		if all, err = h.Govern().Grants.Narrow(ctx, t.person(), all); err != nil {
			return err
		}
	}
	shown := withCommands(all)
	return t.answer(shown, func() { t.showSuggestions(t.say, shown) })
}

// withCommands are suggestions with the commands that follow them.
func withCommands(all []govern.Suggestion) []suggested {
	out := []suggested{}
	for _, s := range all {
		commands := []string{}
		if !s.Revoked.IsEmpty() {
			commands = append(commands, "skillet permission revoke "+s.Skill+asArguments(s.Revoked))
		}
		if !s.Granted.IsEmpty() {
			commands = append(commands, "skillet permission grant "+s.Skill+asArguments(s.Granted))
		}
		out = append(out, suggested{s, commands})
	}
	return out
}

// asArguments are capabilities as arguments for a shell.
func asArguments(s capability.Set) string {
	text := ""
	for _, c := range s.Strings() {
		text += " '" + strings.ReplaceAll(c, "'", `'\''`) + "'"
	}
	return text
}

func (t *terminal) showSuggestions(print printer, all []suggested) {
	if len(all) == 0 {
		t.note("no skill is installed")
	}
	for _, s := range all {
		t.showSuggestion(print, s)
	}
}

func (t *terminal) showSuggestion(print printer, s suggested) {
	printAll(print, lines.Suggestion(s.Suggestion))
	switch {
	case s.Applied:
		name, _, _ := strings.Cut(s.Skill, "@")
		print("  done; `skillet permission show %s` shows its grants", plain(name))
	case s.Changes():
		print("  to do so: skillet permission suggest %s --apply", plain(s.Skill))
		for i, c := range s.Commands {
			print("  %s %s", []string{"or:      ", "and then:"}[min(i, 1)], plain(c))
		}
	}
}
