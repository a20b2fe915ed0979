package lines

import (
	"fmt"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/app/govern"
)

// Permissions are the grants of a skill, and what else its manifest asks for; from is what
// relative paths mean in that.
func Permissions(p govern.Permissions, from string) []string {
	return written(Style{}, func(b *block) {
		b.say("%s (sha256:%s) is granted:%s", p.Skill, p.Digest.Short(), none(len(p.Grants)))
		for _, g := range p.Grants {
			b.say("  %s", standing(g))
		}
		if len(p.Asks) > 0 {
			b.say("its manifest asks for more, seen from %s:", from)
		}
		for _, a := range p.Asks {
			b.say("  %s  (%s)%s", a.Words, a.Capability.String(), because(a.Reason, nil))
		}
	})
}

// Grants are the grants of many skills, below the name of each.
func Grants(all []govern.ListedGrant) []string {
	return written(Style{}, func(b *block) {
		if len(all) == 0 {
			b.say("nothing is granted")
		}
		for i, g := range all {
			if i == 0 || all[i-1].Skill != g.Skill || all[i-1].Digest != g.Digest {
				b.say("%s%s", g.Skill, inactive(g))
			}
			b.say("  %s%s", standing(g.Grant), usedLately(g))
			if g.Forbidden != "" {
				b.say("      forbidden now: %s", g.Forbidden)
			}
		}
	})
}

func inactive(g govern.ListedGrant) string {
	if g.Active {
		return ""
	}
	return " (not the active version)"
}

// usedLately says how often a grant of an active version was used.
func usedLately(g govern.ListedGrant) string {
	switch {
	case !g.Active:
		return ""
	case g.Used == 0:
		return ", never used" + countedSince(g)
	}
	return fmt.Sprintf(", used %s%s, last on %s", count(g.Used, "time"), countedSince(g), when(g.LastUsed))
}

// countedSince is since when uses were counted: 30 days, or less when there were many calls.
func countedSince(g govern.ListedGrant) string {
	if g.CountedSince.IsZero() || time.Since(g.CountedSince) > govern.SuggestWindow-time.Hour {
		return " within 30 days"
	}
	return " since " + when(g.CountedSince)
}

// Granted is a grant in one line: what, as a capability, and on which terms.
func Granted(g govern.Grant) string {
	terms := []string{g.Capability.String()}
	if g.MaxUses > 0 {
		terms = append(terms, count(g.MaxUses, "run"))
	}
	if !g.ExpiresAt.IsZero() {
		terms = append(terms, "until "+when(g.ExpiresAt))
	}
	if words := g.Words(); words != "" {
		terms = append(terms, "only "+words)
	}
	return plain(fmt.Sprintf("%s (%s)", g.Capability.Words(), strings.Join(terms, ", ")))
}

// standing is a grant in one line, with who gave it and what became of it.
func standing(g govern.Grant) string {
	line := fmt.Sprintf("%s by %s on %s", Granted(g), plain(g.By), when(g.At))
	if g.MaxUses > 0 {
		line += fmt.Sprintf(", used %d of %d times", g.Uses, g.MaxUses)
	}
	if !g.Live(time.Now()) {
		line += " (ended)"
	}
	return line
}

// Suggestion is what is proposed about the grants of a skill.
func Suggestion(s govern.Suggestion) []string {
	return written(Style{}, func(b *block) {
		b.say("%s, %d runs since %s:%s", s.Skill, s.Runs, s.Since.Local().Format(time.DateOnly), none(len(s.Grants)))
		for _, a := range s.Grants {
			b.say("  %-6s  %s  (%s)", a.Verdict, a.Capability.String(), timesUsed(a))
			for _, c := range a.To {
				b.say("     to   %s", c.String())
			}
		}
	})
}

func timesUsed(a govern.Advice) string {
	if a.Uses == 0 {
		return a.Why
	}
	return fmt.Sprintf("used %d times, last on %s; %s", a.Uses, a.LastUsed.Local().Format(time.DateOnly), a.Why)
}

// Allowance is what a policy of another program allows a skill, and what of it is not granted.
func Allowance(p govern.Allowance) []string {
	return written(Style{}, func(b *block) {
		b.say("the policy allows %s:%s", p.Skill, none(len(p.Permits)))
		for _, permit := range p.Permits {
			b.say("  + %s", permit.Capability.Words())
			b.say("      %s  (line %d: %s)", permit.Capability.String(), permit.Line, permit.From)
		}
		if len(p.Refused) > 0 {
			b.say("what is not granted:")
		}
		for _, r := range p.Refused {
			b.say("  - line %d: %s: %s", r.Line, r.Field, visible(r.Reason))
			if r.Hint != "" {
				b.say("      hint: %s", r.Hint)
			}
		}
	})
}
