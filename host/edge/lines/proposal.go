package lines

import (
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/limit"
)

// What is shown in brief of the evidence for a proposal.
const (
	maxShownFindings = 20
	maxShownTests    = 10
	maxShownText     = 100
)

// Proposal is a proposal with the evidence about it, and what became of it.
func Proposal(style Style, v govern.Proposed) []string {
	return written(style, func(b *block) { b.proposal(v) })
}

// Settings are what a proposal changes of the settings.
func Settings(c *govern.ConfigChange) []string {
	return written(Style{}, func(b *block) { b.settings(c) })
}

// summary writes what should not be missed, as the last thing before a person is asked.
func (b *block) summary(title string, points []govern.Point) {
	if len(points) == 0 {
		return
	}
	b.say("in short, %s:", title)
	b.points(points)
}

func (b *block) proposal(v govern.Proposed) {
	b.head(v.Proposal)
	switch {
	case v.Agent != nil:
		b.change(v.Agent)
	case v.Call != nil:
		b.call(v.Proposal)
	case v.Type.Package() && !govern.Undecided(v.Proposal):
		b.requested(v.Kind, v.Requested)
	}
	if !govern.Undecided(v.Proposal) {
		if v.Config != nil {
			b.settings(v.Config)
		}
		b.steps(v.Proposal)
		return
	}
	if v.Type.Package() {
		b.evidence(v)
	} else if v.Agent != nil {
		b.findings(v)
	}
	if v.Status == govern.StatusQuarantined {
		b.steps(v.Proposal)
	}
	b.summary(v.Title, v.Summary)
}

// head writes who proposes what, and why.
func (b *block) head(p govern.Proposal) {
	b.say("proposal %s: %s (%s, %s)", p.ID, p.Title, p.Type, p.Status)
	from := ""
	if p.Source != "" {
		from = fmt.Sprintf(", from %s (%s)", plain(p.Source), plain(p.Origin))
	}
	b.say("  proposed by %s on %s%s", p.ProposedBy, when(p.CreatedAt), from)
	if p.Signer != "" {
		b.say("  signed by %s", p.Signer)
	}
	if p.Replaces != "" {
		b.say("  replaces %s@%s as the active version", p.Skill, p.Replaces)
	}
	if p.Rationale != "" {
		b.say("  because: %s", p.Rationale)
	}
	b.say("  digest %s", p.Digest)
	if p.Status == govern.StatusPending {
		b.say("  waits until %s", when(p.ExpiresAt))
	}
}

// settings writes what settings are changed, without what they were before if that was no
// more than their default.
func (b *block) settings(c *govern.ConfigChange) { b.points(govern.SettingPoints(*c)) }

// points writes what is worth knowing, each behind its mark.
func (b *block) points(all []govern.Point) {
	for _, p := range all {
		b.say("%s %s", p.Mark, visible(p.Text))
	}
}

// maxInputLines is how much of the input of a call is shown.
const maxInputLines = 40

func (b *block) call(p govern.Proposal) {
	b.say("  the tool %s of %s (sha256:%s), once, with this input:", p.Call.Tool, p.Ref(), p.Call.Digest.Short())
	n := 0
	for line := range strings.Lines(p.Call.Shown) {
		if n++; n > maxInputLines && !b.full() {
			b.say("    ... all of it is in %s", b.All)
			break
		}
		b.say("    | %s", visible(strings.TrimSuffix(line, "\n")))
	}
	for _, a := range p.Requested {
		b.say("+ it would %s%s", a.Words, because(a.Reason, a.Policies))
		b.say("      %s", a.Capability.String())
	}
}

// requested writes what a proposal asks for; a + marks what no earlier
// version was granted.
func (b *block) requested(k manifests.Kind, asks []govern.ProposalAsk) {
	if len(asks) == 0 {
		b.say("  asks for nothing: %s", govern.Unaided(k))
	}
	for _, a := range asks {
		mark := map[bool]string{true: "+", false: " "}[a.New]
		b.say("%s asks to %s%s", mark, a.Words, because(a.Reason, nil))
		b.say("      %s", a.Capability.String())
	}
}

// steps writes what became of a proposal.
func (b *block) steps(p govern.Proposal) {
	if len(p.Steps) == 0 && p.DecidedBy != "" { // decided before steps were kept
		b.say("  %s by %s on %s%s", p.Status, p.DecidedBy, when(p.DecidedAt), because(p.Notes, nil))
	}
	for _, s := range p.Steps {
		b.say("  %s by %s on %s, decision %d%s", s.Status, s.By, when(s.At), s.Decision, because(s.Notes, nil))
	}
}

func (b *block) evidence(v govern.Proposed) {
	b.requested(v.Kind, v.Requested)
	if v.Kind.IsCode() {
		b.bounds("  limits:", limit.Bounds{Limits: v.Limits, Cut: v.Cut})
	}
	b.upgrade(v.Upgrade)
	if v.Read != nil {
		b.read(v.Read)
	}
	if len(v.Interprets) > 0 {
		b.say("  note: %s", govern.InterpreterWords(v.Interprets))
	}
	b.findings(v)
	if v.Tests != nil && !v.Kind.IsPlugin() {
		b.tests(v)
	}
	b.shadow(v.Replays)
	for _, s := range v.Similar {
		b.say("  much like %s (%.2f: %s): %s", s.Skill, s.Score, strings.Join(s.Shared, ", "), short(s.Description, maxShownText))
	}
	b.compared(v.Compared())
}

func (b *block) findings(v govern.Proposed) {
	fs := v.Findings.Findings
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
	for _, m := range v.Findings.More {
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

func (b *block) tests(v govern.Proposed) {
	s := v.Tests
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

// change writes what would be different about a definition.
func (b *block) change(c *govern.AgentChange) {
	of := ""
	if c.Before == nil && c.Builtin != nil {
		of = ", compared with the one that comes with the program"
	}
	b.say("  the definition of the agent %s%s:", c.Agent, of)
	d := govern.CompareDefinitions(c)
	for _, line := range d.Diff {
		b.say("    | %s", visible(line))
	}
	if d.More > 0 {
		b.say("    ... %s%s", count(d.More, "more line"), b.behind(": ", "%s has the whole file", fault.ShowCall()))
	}
}
