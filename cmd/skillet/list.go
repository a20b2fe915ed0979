package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) listCommand() *cli.Command {
	return command("list ls", []cli.Flag{allFlag("versions that are not active")}, t.inService(t.listServed, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		skills, err := h.Admit().List(ctx, t.person(), admit.Listing{All: c.Bool("all")})
		return t.answered(skills, err, func() { t.showSkills(skills) })
	})))
}

func allFlag(others string) cli.Flag {
	return &cli.BoolFlag{Name: "all", Usage: "also " + others}
}

func (t *terminal) showSkills(skills []admit.Skill) {
	if len(skills) == 0 {
		t.note("no skills are installed; `skillet install PATH` installs one")
		return
	}
	var rows [][]string
	for _, s := range skills {
		active := ""
		if s.Active {
			active = "*"
		}
		rows = append(rows, []string{s.Name, s.Version + active, s.Digest.Short(), strings.Join(notes(s), ", "), someOf(s.Tools), short(s.Description, 80)})
	}
	t.table("NAME\tVERSION\tDIGEST\tSTATE\tTOOLS\tDESCRIPTION", rows)
}

// someOf are the first names of a list, as many as a column has room for: a folder of
// scripts has dozens.
func someOf(names []string) string {
	const room = 60
	text := ""
	for i, n := range names {
		if i > 0 && len(text)+1+len(n) > room {
			return fmt.Sprintf("%s and %d more", text, len(names)-i)
		}
		text = strings.TrimSpace(text + " " + n)
	}
	return text
}

// notes are what a person should know of how a version stands; "-" for nothing.
func notes(s admit.Skill) []string {
	var all []string
	if d := s.Disabled; d != nil {
		all = append(all, map[bool]string{true: "quarantined", false: "disabled"}[d.Quarantined])
	}
	if s.Pinned != nil && s.Active {
		all = append(all, "pinned")
	}
	if s.Needed {
		all = append(all, "needed")
	}
	if c := s.Canary; c != nil {
		all = append(all, fmt.Sprintf("canary %s %d%%", c.Version, c.Percent))
	}
	if len(all) == 0 {
		return []string{"-"}
	}
	return all
}

// standing is the same in full sentences.
func standing(s admit.Skill) [][2]string {
	var all [][2]string
	add := func(label, by, reason string) {
		all = append(all, [2]string{label, "by " + by + because(reason, nil)})
	}
	if d := s.Disabled; d != nil {
		add(map[bool]string{true: "quarantined", false: "disabled"}[d.Quarantined], d.By, d.Reason)
	}
	if p := s.Pinned; p != nil {
		add("pinned", p.By, p.Reason)
	}
	if s.Signer != "" {
		all = append(all, [2]string{"signed", "by " + s.Signer})
	}
	switch a := s.Asked; {
	case s.Needed:
		all = append(all, [2]string{"needed", "by others: `skillet why " + s.Name + "`"})
	case a != nil && a.Constraint != "":
		all = append(all, [2]string{"asked for", s.Name + "@" + a.Constraint})
	}
	for _, d := range s.Dependencies {
		to := d.Chosen() + "@" + d.Version
		if d.Digest == "" {
			to = d.Name + ", which was left out"
		}
		all = append(all, [2]string{"needs", strings.Join(strings.Fields(to+" "+d.Closure), " in ")})
	}
	return all
}

func (t *terminal) infoCommand() *cli.Command {
	return command("info", []cli.Flag{
		&cli.BoolFlag{Name: "diff", Usage: "also show what is different from the active version"},
		fullFlag(),
	}, t.withHost(t.info))
}

func (t *terminal) info(ctx context.Context, c *cli.Context, h *host.Host) error {
	of, err := invoke.ParseAddress(c.Args().First())
	if err != nil {
		return err
	}
	if of.Tool != "" {
		return t.infoTool(ctx, c, h, of)
	}
	ws, err := workspace(c)
	if err != nil {
		return err
	}
	in, err := h.Admit().Info(ctx, t.person(), admit.InfoRequest{Of: of, Difference: c.Bool("diff"), Full: c.Bool("full"), Workspace: ws})
	return t.answered(in, err, func() {
		t.showInfo(in)
		t.showCompared(in, c.Bool("full"), "`skillet info "+c.Args().First()+" --diff --full` shows them")
	})
}

// infoTool shows one tool.
func (t *terminal) infoTool(ctx context.Context, c *cli.Context, h *host.Host, of invoke.Address) error {
	if c.Bool("diff") || c.Bool("full") {
		return fault.Errorf(fault.KindUsage, "--diff and --full are about the whole skill, and %s is a tool", of.Tool).WithHint("leave :%s out", of.Tool)
	}
	tool, err := h.Admit().Tool(ctx, t.person(), of)
	return t.answered(tool, err, func() {
		t.say("%s:%s  %s", plain(tool.Skill), plain(tool.Name), plain(tool.Description))
		showProperties(t.say, tool.Tool)
	})
}

func (t *terminal) showInfo(a admit.Info) {
	m := a.Manifest
	t.say("%s@%s  %s", plain(m.Name), plain(m.Version), a.Digest)
	t.say("%s", plain(m.Description))
	about := [][2]string{
		{"kind", string(m.Type)}, {"author", m.Author}, {"license", m.License}, {"homepage", m.Homepage},
		{"aliases", strings.Join(m.Aliases, ", ")}, {"tags", strings.Join(m.Metadata.Tags, ", ")},
	}
	if s := a.Installed; s != nil {
		about = append(about, standing(*s)...)
		about = append(about, [2]string{"installed", fmt.Sprintf("%s by %s from %s (%s)", when(s.InstalledAt), s.InstalledBy, s.Source, s.Origin)})
	}
	for _, f := range about {
		if f[1] != "" {
			t.say("%-10s %s", f[0]+":", plain(f[1]))
		}
	}
	if m.Type.IsCode() {
		bounds(a.Bounds).show(t.say, "limits:   ")
	}
	if s, ok := m.Sessions(); ok {
		t.say("%-10s %s", "sessions:", sessionBounds(s))
	}
	t.showTrials(a)
	t.showPrompt(m)
	t.showTools(m)
	t.say("asks for:%s", none(len(a.Asks)))
	for _, r := range a.Asks {
		t.say("  %s%s", plain(r.Capability.Words()), because(plain(r.Reason), nil))
		t.say("      %s", plain(r.Capability.String()))
	}
	t.say("granted:%s", none(len(a.Grants)))
	for _, g := range a.Grants {
		t.say("  %s", standingLine(g))
	}
}

// showCompared says what is different from the active version, if that was asked for; all
// is the command that shows what is left out.
func (t *terminal) showCompared(a admit.Info, full bool, all string) {
	name := plain(a.Manifest.Name)
	if d := a.Difference; d != nil && d.With == "" {
		t.say("nothing to compare with: %s is not installed", name)
	} else if d != nil {
		t.say("compared with %s@%s, which is active:", name, plain(d.With))
		showLines(t.say, d.Lines(full, all))
	}
}

// showTrials says how a trial stands, and how the last one ended.
func (t *terminal) showTrials(a admit.Info) {
	if len(a.Former) > 0 {
		var refs []string
		for _, s := range a.Former {
			refs = append(refs, s.Version)
		}
		t.say("%-10s %s; `skillet rollback %s` goes back", "before:", strings.Join(refs, ", "), plain(a.Manifest.Name))
	}
	if s := a.Installed; s != nil && s.Avoided != nil && s.Avoids(s.Avoided.Version) {
		t.say("%-10s %s, which %s went back from on %s; `skillet update %s --to %s` goes to it again", "avoids:",
			plain(s.Avoided.Version), plain(s.Avoided.By), when(s.Avoided.At), plain(s.Name), plain(s.Avoided.Version))
	}
	if r := a.Canary; r != nil {
		t.say("%-10s %s has %d%% of the calls since %s, until it answered %d", "on trial:", plain(r.Version), r.Percent, when(r.At), r.Calls)
		t.say("             %s: %d calls, %d failed, %.1f ms, %.0f fuel", plain(r.Version), r.Figures.Candidate.Calls, r.Figures.Candidate.Failed, r.CandidateMS, r.CandidateFuel)
		t.say("             %s: %d calls, %d failed, %.1f ms, %.0f fuel", plain(r.StableVersion), r.Figures.Stable.Calls, r.Figures.Stable.Failed, r.StableMS, r.StableFuel)
		if r.Replays != "" {
			t.say("             before the trial: %s", plain(r.Replays))
		}
	}
	if s := a.Installed; s != nil && s.Trial != nil {
		tr := s.Trial
		t.say("%-10s the trial of %s %s on %s by %s%s", "last trial:", plain(tr.Version), tr.Verdict.Words(), when(tr.EndedAt), plain(tr.EndedBy), because(plain(tr.Reason), nil))
	}
}

func none(n int) string {
	if n == 0 {
		return " nothing"
	}
	return ""
}

func (t *terminal) showTools(m *manifests.Manifest) {
	if !m.Type.IsCode() && len(m.Tools) == 0 {
		return
	}
	t.say("tools:")
	for _, tool := range m.Tools {
		t.say("  %s:%s  %s", plain(m.Name), plain(tool.Name), plain(tool.Description))
		showProperties(t.say, tool)
	}
}

func showProperties(print printer, tool manifests.Tool) {
	for _, p := range tool.Properties() {
		need := ""
		if p.Required {
			need = ", required"
		}
		print("      %s (%s%s) %s", plain(p.Name), plain(p.Type), need, plain(p.Description))
	}
}

func names(skills []admit.Skill) string {
	var refs []string
	for _, s := range skills {
		refs = append(refs, s.Ref())
	}
	return strings.Join(refs, ", ")
}
