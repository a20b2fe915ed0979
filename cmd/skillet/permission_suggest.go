package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/journal"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/runner"
	"github.com/skillet-run/skillet/host/suggest"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) permissionSuggest() *cli.Command {
	return &cli.Command{
		Name:      "suggest",
		Usage:     "propose the smallest grants that cover what skills did",
		ArgsUsage: "[SKILL[@VERSION]...]",
		Description: "Looks at the runs in the audit log, of every version of the skill, and proposes grants that\n" +
			"cover what was done with the ones there are, and never more than those. Three files of a\n" +
			"directory stand for the directory, and three URLs of one host below a path for that path.\n" +
			"Grants that were not used in that time are named; grants that end by themselves stay.\n" +
			"Nothing changes without --apply, and then in one decision.\n\n" +
			"Examples:\n  skillet permission suggest files\n  skillet permission suggest --since 90d --json\n" +
			"  skillet permission suggest files --apply",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "since", Usage: "look at what was done since this `TIME`: a date, or how long ago", Value: "30d"},
			&cli.BoolFlag{Name: "apply", Usage: "narrow and revoke grants as proposed"},
			yesFlag("narrow the grants"),
		},
		Action: t.withState(t.suggestGrants),
	}
}

// A suggestion is what is proposed for one skill.
type suggestion struct {
	Skill  string    `json:"skill"`
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"`
	// Runs counts the runs that were looked at.
	Runs   int           `json:"runs"`
	Grants []grantAdvice `json:"grants"`
	// Proposed is what the skill could do then.
	Proposed capability.Set `json:"proposed"`
	// Commands have the same effect as --apply; empty when nothing is proposed, or
	// when commands would end grants that should stay.
	Commands []string `json:"commands"`
	// Applied says that it was done.
	Applied bool `json:"applied"`

	skill registry.Skill
	given []approval.Grant // in the order of Grants
}

// A grantAdvice is what is proposed for one grant.
type grantAdvice struct {
	ID         string                  `json:"id"`
	Capability capability.Capability   `json:"capability"`
	Verdict    suggest.Verdict         `json:"verdict"`
	To         []capability.Capability `json:"to,omitempty"`
	Why        string                  `json:"why"`
	Uses       int                     `json:"uses"`
	LastUsed   time.Time               `json:"last_used,omitzero"`
}

func (t *terminal) suggestGrants(ctx context.Context, c *cli.Context, h *host.Host) error {
	since, err := moment(c, "since", time.Now())
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = time.Now().Add(-suggestWindow)
	}
	skills, err := t.suggestFor(ctx, h, c.Args().Slice())
	if err != nil {
		return err
	}
	all, err := suggestAll(ctx, h, skills, since)
	if err != nil {
		return err
	}
	if c.Bool("apply") && slices.ContainsFunc(all, suggestion.changes) {
		if err := t.applySuggestions(ctx, c, h, all); err != nil {
			return err
		}
	}
	return t.answer(all, func() { t.showSuggestions(t.say, all) })
}

// suggestWindow is how far back uses are looked for when nobody says.
const suggestWindow = 30 * 24 * time.Hour

// suggestFor are the skills that are named, or all active ones.
func (t *terminal) suggestFor(ctx context.Context, h *host.Host, names []string) ([]registry.Skill, error) {
	if len(names) == 0 {
		all, err := h.Registry.List(ctx)
		return slices.DeleteFunc(all, func(s registry.Skill) bool { return !s.Active }), err
	}
	var skills []registry.Skill
	for _, n := range names {
		s, err := t.lookup(ctx, h, n)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(skills, func(o registry.Skill) bool { return o.Digest == s.Digest && o.Name == s.Name }) {
			skills = append(skills, s)
		}
	}
	return skills, nil
}

func suggestAll(ctx context.Context, h *host.Host, skills []registry.Skill, since time.Time) ([]suggestion, error) {
	recorded, err := recordedUses(ctx, h, skills, since)
	if err != nil {
		return nil, err
	}
	all := []suggestion{}
	for _, s := range skills {
		gs, err := h.Desk.Grants(ctx, s.Digest)
		if err != nil {
			return nil, err
		}
		all = append(all, suggestOne(s, gs, recorded[s.Name], since, time.Now()))
	}
	return all, nil
}

// used is what a skill did.
type used struct {
	runs int
	uses []suggest.Use
	full int // how many uses may be kept before those that are alike are added up
}

// recordedUses are what the skills did since a time, by name.
func recordedUses(ctx context.Context, h *host.Host, skills []registry.Skill, since time.Time) (map[string]*used, error) {
	all := map[string]*used{}
	for _, s := range skills {
		all[s.Name] = &used{full: manyUses}
	}
	err := h.Calls.Replay(ctx, 0, func(e journal.Entry) error {
		if e.Kind != runner.KindRun || e.Time.Before(since) {
			return nil
		}
		var r runner.Record
		if err := json.Unmarshal(e.Data, &r); err != nil {
			return fmt.Errorf("read run %d of the audit log: %w", e.Seq, err)
		}
		name, _, _ := strings.Cut(r.Skill, "@")
		if of := all[name]; of != nil {
			of.add(r, e.Time)
		}
		return nil
	})
	return all, err
}

// manyUses is how many uses are kept of a long log before they are added up for
// the first time.
const manyUses = 10_000

func (u *used) add(r runner.Record, at time.Time) {
	u.runs++
	for _, o := range r.Used {
		u.uses = append(u.uses, suggest.Use{Request: o.Request, Capability: o.Capability, Count: o.Count, Last: at})
	}
	if len(u.uses) >= u.full {
		u.uses = suggest.Merge(u.uses)
		u.full = max(manyUses, 2*len(u.uses))
	}
}

func suggestOne(s registry.Skill, gs []approval.Grant, u *used, since, now time.Time) suggestion {
	out := suggestion{Skill: s.Ref(), Digest: string(s.Digest), Since: since.UTC(), Runs: u.runs, Grants: []grantAdvice{}, Commands: []string{}, skill: s}
	slices.SortStableFunc(gs, func(a, b approval.Grant) int {
		return strings.Compare(a.Capability.String(), b.Capability.String())
	})
	var grants []suggest.Grant
	for _, g := range gs {
		if g.Live(now) {
			out.given = append(out.given, g)
			grants = append(grants, suggest.Grant{
				ID: g.ID, Capability: g.Capability, Given: g.At,
				Passing: !g.Standing(now) || !g.ExpiresAt.IsZero(),
			})
		}
	}
	advice := suggest.Suggest(grants, suggest.Merge(u.uses), since)
	for _, a := range advice {
		out.Grants = append(out.Grants, grantAdvice{a.Grant.ID, a.Grant.Capability, a.Verdict, a.To, a.Why, a.Uses, a.Last})
	}
	out.Proposed = suggest.Proposed(advice)
	out.Commands = out.commands()
	return out
}

// changes reports whether anything is proposed.
func (s suggestion) changes() bool {
	return slices.ContainsFunc(s.Grants, grantAdvice.ends)
}

// ends reports whether the grant would end.
func (a grantAdvice) ends() bool { return a.Verdict == suggest.Narrow || a.Verdict == suggest.Revoke }

// commands are those that do what is proposed. Revoking a capability ends every
// grant that it covers, so those that should stay are given again; what cannot
// be given again as it was makes that impossible.
func (s suggestion) commands() []string {
	var ended, again []capability.Capability
	for _, a := range s.Grants {
		if a.ends() {
			ended, again = append(ended, a.Capability), append(again, a.To...)
		}
	}
	if len(ended) == 0 {
		return []string{}
	}
	lost := capability.NewSet(ended...)
	for i, a := range s.Grants {
		if a.ends() || !lost.Covers(a.Capability) {
			continue
		}
		if !s.given[i].Standing(time.Now()) || !s.given[i].ExpiresAt.IsZero() {
			return []string{}
		}
		again = append(again, a.Capability)
	}
	cs := []string{"skillet permission revoke " + s.Skill + asArguments(lost)}
	if give := capability.NewSet(again...); !give.IsEmpty() {
		cs = append(cs, "skillet permission grant "+s.Skill+asArguments(give))
	}
	return cs
}

// asArguments are capabilities as arguments for a shell.
func asArguments(s capability.Set) string {
	text := ""
	for _, c := range s.Strings() {
		text += " '" + strings.ReplaceAll(c, "'", `'\''`) + "'"
	}
	return text
}

// applySuggestions narrows the grants of all skills in one decision, after a
// person said yes.
func (t *terminal) applySuggestions(ctx context.Context, c *cli.Context, h *host.Host, all []suggestion) error {
	if !c.Bool("yes") {
		if t.canAsk() {
			t.showSuggestions(t.note, all)
		}
		if err := t.confirm("permission suggest --apply", "Narrow the grants like this?"); err != nil {
			return err
		}
	}
	if err := h.Desk.Narrow(ctx, t.person(), narrowings(all)); err != nil {
		return err
	}
	for i := range all {
		all[i].Applied = all[i].changes()
	}
	return nil
}

// narrowings are what is proposed of all grants that would end.
func narrowings(all []suggestion) []approval.Narrowing {
	var ns []approval.Narrowing
	for _, s := range all {
		for i, a := range s.Grants {
			if a.ends() {
				ns = append(ns, approval.Narrowing{Skill: s.Skill, Grant: s.given[i], To: a.To})
			}
		}
	}
	return ns
}

func (t *terminal) showSuggestions(print printer, all []suggestion) {
	if len(all) == 0 {
		t.note("no skill is installed")
	}
	for _, s := range all {
		t.showSuggestion(print, s)
	}
}

func (t *terminal) showSuggestion(print printer, s suggestion) {
	print("%s, %d runs since %s:%s", plain(s.Skill), s.Runs, s.Since.Local().Format(time.DateOnly), none(len(s.Grants)))
	for _, a := range s.Grants {
		print("  %-6s  %s  (%s)", a.Verdict, plain(a.Capability.String()), timesUsed(a))
		for _, c := range a.To {
			print("     to   %s", plain(c.String()))
		}
	}
	switch {
	case s.Applied:
		print("  done; `skillet permission show %s` shows its grants", plain(s.skill.Name))
	case s.changes():
		print("  to do so: skillet permission suggest %s --apply", plain(s.Skill))
		for i, c := range s.Commands {
			print("  %s %s", []string{"or:      ", "and then:"}[min(i, 1)], plain(c))
		}
	}
}

func timesUsed(a grantAdvice) string {
	if a.Uses == 0 {
		return a.Why
	}
	return fmt.Sprintf("used %d times, last on %s; %s", a.Uses, a.LastUsed.Local().Format(time.DateOnly), a.Why)
}
