package lines

import (
	"cmp"
	"strings"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/limit"
)

// Plan is all that would be installed, and what else would change; all names what shows
// everything about one package: see [Style.All].
func Plan(style Style, p *admit.Plan, all func(*admit.Package) string) []string {
	return written(style, func(b *block) {
		for i := range p.Packages {
			if who := p.Packages[i].For; who != "" {
				b.say("needed by %s:", who)
			}
			b.All = all(&p.Packages[i])
			b.pkg(&p.Packages[i])
		}
		b.rest(p)
	})
}

// Rest is what a plan changes beside the packages that it installs, and what it leaves out.
func Rest(p *admit.Plan) []string { return written(Style{}, func(b *block) { b.rest(p) }) }

// Summary is what should not be missed of packages, as the last thing before a person is asked
// about them.
func Summary(all []admit.Package) []string {
	return written(Style{}, func(b *block) {
		for _, p := range all {
			title := "install " + p.Skill + "@" + p.Version
			if p.Replaces != "" {
				title = "replace " + p.Skill + "@" + p.Replaces + " by " + p.Version
			}
			b.summary(title, p.Summary)
		}
	})
}

// Upgrade is what becomes different from the version that is replaced.
func Upgrade(u *admit.Upgrade) []string { return written(Style{}, func(b *block) { b.upgrade(u) }) }

func (b *block) rest(p *admit.Plan) {
	for _, l := range p.Links {
		b.say("%s will use %s", l.Name, linkWords(l))
	}
	for _, s := range p.Activate {
		b.say("%s becomes the active version again", s.Ref())
	}
	for _, o := range p.Omitted {
		b.say("%s %s, which is optional for %s, is left out:", o.Skill, o.Constraint, cmp.Or(o.By, "what you asked for"))
		for l := range strings.Lines(o.Reason) {
			b.say("  | %s", strings.TrimSuffix(l, "\n"))
		}
	}
}

// pkg writes what is known about a package, or of that what no summary says.
func (b *block) pkg(p *admit.Package) {
	b.say("%s@%s (%s, sha256:%s) from %s", p.Skill, p.Version, p.Origin, p.Digest.Short(), p.Source)
	if b.Detail != Brief {
		b.content(p)
	}
	for _, w := range p.Warnings {
		b.say("  note: %s", w)
	}
	if l := p.Forgets; l != nil {
		b.say("  what another skill of this name kept is deleted: the one from %s", l.Source)
	}
	if b.Detail != Brief {
		b.say("  policies say: %s%s", p.Effect, because(p.Reason, p.Policies))
	}
	if p.Carried {
		b.say("  the same signer: what %s was granted is carried over", p.Replaces)
	}
}

// content writes what a package is, asks for and did in its tests.
func (b *block) content(p *admit.Package) {
	if p.Replaces != "" {
		b.say("  replaces %s as the active version", p.Replaces)
	}
	if p.Difference.With != "" && !p.Installed || b.full() {
		b.compared(p.Difference)
	}
	b.shadow(p.Replays)
	b.asks(p.Kind, p.Asks)
	if p.Kind.IsCode() {
		b.bounds("  limits:", limit.Bounds{Limits: p.Limits, Cut: p.Cut})
	}
	b.upgrade(p.Upgrade)
	if p.Read != nil {
		b.read(p.Read)
	}
	if p.Tests != nil {
		b.say("  its test cases: %s", Tally(*p.Tests))
	}
}

// linkWords are what a skill will use.
func linkWords(l admit.Link) string {
	var texts []string
	for _, d := range l.Dependencies {
		if d.Digest != "" {
			texts = append(texts, d.Chosen()+"@"+d.Version)
		}
	}
	return cmp.Or(strings.Join(texts, ", "), "nothing")
}

// upgrade writes all that becomes different from the version that is replaced.
func (b *block) upgrade(u *admit.Upgrade) {
	if u == nil || u.IsEmpty() {
		return
	}
	b.say("  what becomes different:")
	for _, line := range u.Lines() {
		b.say("    %s", line)
	}
}

// asks writes capabilities in words, the new ones marked.
func (b *block) asks(k manifests.Kind, asks []admit.Ask) {
	if len(asks) == 0 {
		b.say("  asks for nothing: %s", govern.Unaided(k))
		return
	}
	b.say("  asks to:")
	for _, a := range asks {
		mark := " "
		if a.New {
			mark = "+"
		}
		b.say("  %s %s", mark, a.Words)
		if a.Reason != "" {
			b.say("      because: %s", a.Reason)
		}
		b.say("      %s", a.Capability.String())
	}
}
