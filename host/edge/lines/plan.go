package lines

import (
	"cmp"
	"strings"

	"github.com/skillet-run/skillet/host/app/admit"
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
			b.page(p.Packages[i].Page())
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
			b.summary(p.Page().Title(), p.Summary)
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
