package lines

import (
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
)

// What is shown of the evidence for a package where it is cut short.
const (
	maxShownFindings = 20
	maxShownTests    = 10
	maxShownText     = 100
)

// page writes what a person decides on, in whatever command. In brief, it leaves to the summary
// what that says.
func (b *block) page(p govern.Page) {
	b.say("%s@%s (%s, sha256:%s) from %s", p.Skill, p.Version, p.Origin, p.Digest.Short(), p.Source)
	if b.Detail != Brief {
		b.asked(p)
	}
	for _, n := range p.Notes {
		b.say("  note: %s", n)
	}
	if b.Detail != Brief {
		b.evidence(p)
	}
}

// asked writes who signed a package, what it asks for, and what it may use.
func (b *block) asked(p govern.Page) {
	if p.Signer != "" {
		b.say("  signed by %s", p.Signer)
	}
	if p.Replaces != "" {
		b.say("  replaces %s as the active version", p.Replaces)
	}
	b.asks(p.Kind, p.Asks)
	if p.Kind.IsCode() {
		b.bounds("  limits:", p.Bounds)
	}
	if p.Effect != "" {
		b.say("  policies say: %s%s", p.Effect, because(p.Reason, p.Policies))
	}
	b.upgrade(p.Upgrade)
	if p.Read != nil {
		b.read(p.Read)
	}
}

// evidence writes what is known about a package beside what it says itself.
func (b *block) evidence(p govern.Page) {
	b.findings(p.Findings)
	if p.Tests != nil && !p.Kind.IsPlugin() {
		b.tests(p.Tests)
	}
	b.shadow(p.Replays)
	for _, s := range p.Similar {
		b.say("  much like %s (%.2f: %s): %s", s.Skill, s.Score, strings.Join(s.Shared, ", "), short(s.Description, maxShownText))
	}
	b.compared(p.Compared())
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

// findings writes what the scan found, the worst first.
func (b *block) findings(r govern.CodeFindings) {
	fs := r.Findings
	if len(fs) == 0 {
		b.say("  the scan found nothing")
		return
	}
	b.say("  the scan found:")
	for i, f := range fs {
		if !b.full() && i == maxShownFindings {
			b.more("    ", len(fs)-i, "finding")
			break
		}
		b.say("    %-5s %s  %s%s", f.Severity, f.Rule, place(f), visible(f.Message))
		if f.Excerpt != "" {
			b.say("          | %s", visible(f.Excerpt))
		}
	}
	for _, m := range r.More {
		b.say("    ... and %d more of %s", m.Count, m.Rule)
	}
	if hint := b.way("%s says what a rule looks for", fault.ShowRule("")); hint != "" {
		b.say("    %s", hint)
	}
}

// place is where a finding is: "main.js:3:1: ".
func place(f govern.CodeFinding) string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return visible(f.File) + ": "
	}
	return fmt.Sprintf("%s:%d:%d: ", visible(f.File), f.Line, f.Column)
}

// tests writes how the test cases of a package went.
func (b *block) tests(s *author.CaseReport) {
	if len(s.Results) == 0 && s.Note == "" && len(s.Problems) == 0 {
		b.say("  it has no tests")
		return
	}
	b.say("  its tests, with nothing real behind them: %d passed, %d failed, %d skipped; at most %d fuel, %.1f MB",
		s.Passed, s.Failed, s.Skipped, s.Fuel, float64(s.PeakMemoryBytes)/(1<<20))
	shown := 0
	for _, r := range s.Results {
		if r.Outcome == govern.TestPassed && !b.full() {
			continue
		}
		if shown++; shown > maxShownTests && !b.full() {
			b.cut("    ")
			break
		}
		b.say("    %-7s %s of %s%s", r.Outcome, visible(r.Name), visible(r.Tool), because(visible(r.Detail), nil))
	}
	for _, p := range s.Problems {
		b.say("    %s", visible(p))
	}
	if s.Note != "" {
		b.say("    %s", visible(s.Note))
	}
}
