package lines

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/limit"
)

// SkillListing has a row for each of the versions that are installed.
func SkillListing(all []admit.Skill) Listing {
	var rows [][]string
	for _, s := range all {
		active := ""
		if s.Active {
			active = "*"
		}
		rows = append(rows, []string{s.Name, s.Version + active, s.Digest.Short(), strings.Join(notes(s), ", "), strings.Join(s.Tools, " "), s.Description})
	}
	return Listing{"NAME\tVERSION\tDIGEST\tSTATE\tTOOLS\tDESCRIPTION", rows}
}

// OutdatedListing has a row for each skill that has a later version, with what keeps it from that.
func OutdatedListing(all []admit.Outdated) Listing {
	var rows [][]string
	for _, u := range all {
		name, wanted := u.Skill, u.Wanted
		if u.Closure != "" {
			name += "  (" + u.Closure + ")"
		}
		if u.Gone {
			wanted = "not needed any more"
		}
		var held []string
		for _, h := range u.Held {
			held = append(held, holder(u.Skill, h))
		}
		rows = append(rows, []string{name, u.Current, wanted, u.Latest, cmp.Or(strings.Join(held, ", "), "-")})
	}
	return Listing{"NAME\tCURRENT\tWANTED\tLATEST\tHELD BY", rows}
}

// holder is who keeps a skill from a later version, in short.
func holder(skill string, h admit.Hold) string {
	switch {
	case h.Skill != skill:
		return h.Skill + "@" + h.Version + " (" + h.Constraint + ")"
	case h.Constraint != "":
		return "your " + h.Constraint
	case h.Reason != "" && h.Kind != "does_not_fit":
		return strings.ReplaceAll(string(h.Kind), "_", " ") + ": " + h.Reason
	}
	return strings.ReplaceAll(string(h.Kind), "_", " ")
}

// Tool is one tool of a skill, with what it takes.
func Tool(tool admit.Tool) []string {
	return written(Style{}, func(b *block) {
		b.say("%s:%s  %s", tool.Skill, tool.Name, tool.Description)
		b.properties(tool.Tool)
	})
}

// Info is everything about a package.
func Info(style Style, a admit.Info) []string { return written(style, func(b *block) { b.info(a) }) }

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

// standing writes the same in full sentences.
func (b *block) standing(s admit.Skill) {
	if d := s.Disabled; d != nil {
		b.fact(map[bool]string{true: "quarantined", false: "disabled"}[d.Quarantined], "by "+d.By+because(d.Reason, nil))
	}
	if p := s.Pinned; p != nil {
		b.fact("pinned", "by "+p.By+because(p.Reason, nil))
	}
	if s.Signer != "" {
		b.fact("signed", "by "+s.Signer)
	}
	switch a := s.Asked; {
	case s.Needed:
		b.fact("needed", "by others"+b.behind(", as ", "%s shows", fault.ShowUsers(s.Name)))
	case a != nil && a.Constraint != "":
		b.fact("asked for", s.Name+"@"+a.Constraint)
	}
	for _, d := range s.Dependencies {
		to := d.Chosen() + "@" + d.Version
		if d.Digest == "" {
			to = d.Name + ", which was left out"
		}
		b.fact("needs", strings.Join(strings.Fields(to+" "+d.Closure), " in "))
	}
}

func (b *block) info(a admit.Info) {
	m := a.Manifest
	b.say("%s@%s  %s", m.Name, m.Version, a.Digest)
	b.say("%s", m.Description)
	b.fact("kind", string(m.Type))
	b.fact("author", m.Author)
	b.fact("license", m.License)
	b.fact("homepage", m.Homepage)
	b.fact("aliases", strings.Join(m.Aliases, ", "))
	b.fact("tags", strings.Join(m.Metadata.Tags, ", "))
	if s := a.Installed; s != nil {
		b.standing(*s)
		b.fact("installed", fmt.Sprintf("%s by %s from %s (%s)", when(s.InstalledAt), s.InstalledBy, s.Source, s.Origin))
	}
	if m.Type.IsCode() {
		b.bounds("limits:   ", limit.Bounds(a.Bounds))
	}
	b.login(a)
	b.isolation(a.Isolation)
	b.python(a.Python, a.PythonWants)
	if s, ok := m.Sessions(); ok {
		b.fact("sessions", sessionBounds(s))
	}
	b.trials(a)
	b.prompt(m)
	b.tools(m)
	b.say("asks for:%s", none(len(a.Asks)))
	for _, r := range a.Asks {
		b.say("  %s%s", r.Capability.Words(), because(r.Reason, nil))
		b.say("      %s", r.Capability.String())
	}
	b.say("granted:%s", none(len(a.Grants)))
	for _, g := range a.Grants {
		b.say("  %s", standing(g))
	}
	b.showCompared(a)
}

// python writes what runs the Python scripts of a skill; nothing of one that has none.
func (b *block) python(by, wants string) {
	switch {
	case by == "none":
		b.fact("python", "its scripts need an interpreter, and none is installed"+b.behind(": ", "%s", fault.InstallEngine("cpython")))
	case strings.HasPrefix(by, "cpython@"), strings.HasPrefix(by, "cpython-office@"):
		b.fact("python", "its scripts run on "+by+", with the folder as files")
	case by != "":
		b.fact("python", "its scripts run on "+by+", the small interpreter, which has no files and a part of the library"+b.behind("; for CPython: ", "%s", fault.InstallEngine("cpython")))
	}
	if wants != "" {
		b.fact("imports", "they import "+wants+", which cpython-office has"+b.behind(": ", "%s", fault.InstallEngine("cpython-office")))
	}
}

// login writes how the login stands at an MCP server that asks for one.
func (b *block) login(a admit.Info) {
	l := a.Login
	again := b.behind("; log in: ", "%s", fault.LogInServer(a.Manifest.Name))
	switch {
	case l == nil && a.Installed != nil && admit.AsksForLogin(a.Manifest):
		b.fact("login", "none"+again)
	case l == nil:
	case l.Ended != "":
		b.fact("login", "ended: "+l.Ended+again)
	default:
		until := ""
		if l.Renewed {
			until = ", renewed by itself"
		} else if l.Expires != nil {
			until = ", until " + when(*l.Expires)
		}
		b.fact("login", fmt.Sprintf("by %s since %s%s%s", l.Issuer, when(l.Since), until, because(strings.Join(l.Scopes, " "), nil)))
	}
}

// isolation writes who keeps a skill apart from others; nothing of one that is not.
func (b *block) isolation(i *admit.Isolation) {
	switch {
	case i == nil || i.Mode != admit.IsolationProcess:
	case i.Setting != "":
		b.fact("isolation", "processes of its own, by the setting "+i.Setting)
	default:
		b.fact("isolation", "processes of its own, by policy "+strings.Join(i.Policies, ", ")+because(i.Reason, nil))
	}
}

// showCompared says what is different from the active version, if that was asked for.
func (b *block) showCompared(a admit.Info) {
	name := plain(a.Manifest.Name)
	if d := a.Difference; d != nil && d.With == "" {
		b.say("nothing to compare with: %s is not installed", name)
	} else if d != nil {
		b.say("compared with %s@%s, which is active:", name, d.With)
		b.compared(d)
	}
}

// trials writes how a trial stands, and how the last one ended.
func (b *block) trials(a admit.Info) {
	if len(a.Former) > 0 {
		var refs []string
		for _, s := range a.Former {
			refs = append(refs, s.Version)
		}
		b.fact("before", strings.Join(refs, ", ")+b.behind("; ", "%s goes back", fault.RollBack(a.Manifest.Name)))
	}
	if s := a.Installed; s != nil && s.Avoided != nil && s.Avoids(s.Avoided.Version) {
		again := b.behind("; ", "%s goes to it again", fault.Update(s.Name).With(fault.FieldTo, s.Avoided.Version))
		b.fact("avoids", fmt.Sprintf("%s, which %s went back from on %s%s", s.Avoided.Version, s.Avoided.By, when(s.Avoided.At), again))
	}
	if r := a.Canary; r != nil {
		b.say("%-10s %s has %d%% of the calls since %s, until it answered %d", "on trial:", r.Version, r.Percent, when(r.At), r.Calls)
		const figures = "             %s: %d calls, %d failed, %.1f ms, %.0f fuel"
		b.say(figures, r.Version, r.Figures.Candidate.Calls, r.Figures.Candidate.Failed, r.CandidateMS, r.CandidateFuel)
		b.say(figures, r.StableVersion, r.Figures.Stable.Calls, r.Figures.Stable.Failed, r.StableMS, r.StableFuel)
		if r.Replays != "" {
			b.say("             before the trial: %s", r.Replays)
		}
	}
	if s := a.Installed; s != nil && s.Trial != nil {
		tr := s.Trial
		b.say("%-10s the trial of %s %s on %s by %s%s", "last trial:", tr.Version, tr.Verdict.Words(), when(tr.EndedAt), tr.EndedBy, because(tr.Reason, nil))
	}
}

func (b *block) tools(m *manifests.Manifest) {
	if !m.Type.IsCode() && len(m.Tools) == 0 {
		return
	}
	b.say("tools:")
	for _, tool := range m.Tools {
		b.say("  %s:%s  %s", m.Name, tool.Name, tool.Description)
		b.properties(tool)
	}
}

func (b *block) properties(tool manifests.Tool) {
	for _, p := range tool.Properties() {
		need := ""
		if p.Required {
			need = ", required"
		}
		b.say("      %s (%s%s) %s", p.Name, p.Type, need, p.Description)
	}
}

// maxPromptLines is how many lines of a prompt are shown in brief.
const maxPromptLines = 40

// prompt writes what a prompt takes and says; nothing for a skill that runs code.
func (b *block) prompt(m *manifests.Manifest) {
	tool, ok := m.PromptTool()
	if !ok {
		return
	}
	b.promptFacts(m)
	b.say("parameters:%s", none(len(m.Parameters)))
	b.properties(tool)
	b.text("prompt", m.Prompt)
	b.text("template", m.PromptTemplate)
}

// promptFacts are what a manifest says about a prompt beside its text.
func (b *block) promptFacts(m *manifests.Manifest) {
	b.fact("model", m.Model)
	b.fact("answer", m.OutputFormat)
	if m.ContextWindow > 0 {
		b.fact("window", count(m.ContextWindow, "token"))
	}
	if c := m.ContextFiles; c != nil {
		files := fmt.Sprintf("%s; at most %d of %d KB each", strings.Join(c.Patterns, ", "), c.Files(), c.FileBytes()>>10)
		if len(c.ExcludePatterns) > 0 {
			files += "; not " + strings.Join(c.ExcludePatterns, ", ")
		}
		b.fact("context", files)
	}
	if s := m.AgentSkill; s != nil {
		if len(s.AllowedTools) > 0 {
			b.fact("tools", "it would like an agent to use "+strings.Join(s.AllowedTools, ", ")+" without asking you: that approves nothing here")
		}
		b.fact("needs", s.Compatibility)
		b.fact("not run", notRun(s.Scripts))
	}
}

// text writes the first lines of a text.
func (b *block) text(label, text string) {
	if text == "" {
		return
	}
	b.say("%s:", label)
	n, most := 0, maxPromptLines
	if b.full() {
		most = math.MaxInt
	}
	for line := range strings.Lines(text) {
		if n++; n > most {
			b.say("    ... all of it is in %s", b.All)
			return
		}
		b.say("    | %s", visible(strings.TrimSuffix(line, "\n")))
	}
}

// maxReadTools is how many tools are shown of what models read.
const maxReadTools = 20

// read writes what models read of a skill.
func (b *block) read(r *admit.ReadByModels) {
	b.say("  what models read of it:")
	b.say("    | %s", visible(r.Description))
	for i, tool := range r.Tools {
		if i >= maxReadTools && !b.full() {
			b.more("  ", len(r.Tools)-i, "tool")
			break
		}
		b.say("  tool %s: %s", visible(tool.Name), visible(tool.Description))
		b.properties(tool)
	}
	b.text("  prompt", r.Prompt)
	b.text("  template", r.PromptTemplate)
}

// notRun names the scripts that no interpreter of this host is made for.
func notRun(scripts []manifests.Script) string {
	var all []string
	for _, s := range scripts {
		if s.Tool == "" {
			all = append(all, s.Path)
		}
	}
	return strings.Join(all, ", ")
}

// sessionBounds says what holds for the sessions of a skill.
func sessionBounds(s manifests.Sessions) string {
	text := fmt.Sprintf("up to %d at once, end after %s without a call", s.Max, time.Duration(s.Seconds*float64(time.Second)))
	if !s.Persist {
		return text + " and with the program"
	}
	if !s.Discard {
		text += ", and can be resumed then"
	}
	return text
}

// bounds writes the limits of a skill behind a label, and which of them the host made smaller.
func (b *block) bounds(label string, of limit.Bounds) {
	var all []string
	for _, l := range limit.All() {
		if v := l.Of(of.Limits); v > 0 {
			all = append(all, l.Brief(v))
		}
	}
	b.say("%s %s", label, strings.Join(all, ", "))
	for _, c := range of.Cut {
		b.say("    %s: the manifest says %s, and the setting %s of this host allows %s", c.Limit, c.Asked, c.Setting, c.Allowed)
	}
}
