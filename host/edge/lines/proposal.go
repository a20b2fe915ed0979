package lines

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// Proposal is a proposal with the evidence about it, and what became of it.
func Proposal(style Style, v govern.Proposed) []string {
	return written(style, func(b *block) { b.proposal(v) })
}

// ProposalListing has a row for each proposal: what each asks for that is new, what a scan found in it
// when it was proposed, how its test cases went then, and when that was.
func ProposalListing(all []govern.Proposal) Listing {
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{p.ID, string(p.Status), p.Title, asked(p), scanned(p.Scanned), tested(p), p.ProposedBy, when(p.CreatedAt)})
	}
	return Listing{"ID\tSTATUS\tPROPOSAL\tASKS\tFINDINGS\tTESTS\tBY\tSINCE", rows}
}

// asked are the actions of what a proposal asks for and no earlier version was granted, each
// with how often.
func asked(p govern.Proposal) string {
	var actions []string
	times := map[string]int{}
	for _, a := range p.Requested {
		if action := string(a.Capability.Action()); a.New || p.Call != nil {
			if times[action]++; times[action] == 1 {
				actions = append(actions, action)
			}
		}
	}
	for i, a := range actions {
		if n := times[a]; n > 1 {
			actions[i] = fmt.Sprintf("%s x%d", a, n)
		}
	}
	return cmp.Or(first(actions, maxAskedActions), "-")
}

// maxAskedActions is how many actions a line of a list names.
const maxAskedActions = 3

func scanned(c *govern.ScanCount) string {
	switch {
	case c == nil:
		return "-"
	case c.Block+c.Warn+c.Info == 0:
		return "nothing"
	}
	var words []string
	for _, x := range []struct {
		n    int
		what string
	}{{c.Block, "block"}, {c.Warn, "warn"}, {c.Info, "info"}} {
		if x.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(words, ", ")
}

func tested(p govern.Proposal) string {
	switch c := p.Tested; {
	case c != nil && c.Failed > 0:
		return fmt.Sprintf("%d of %d failed", c.Failed, c.Failed+c.Passed+c.Skipped)
	case c != nil:
		return fmt.Sprintf("%d passed", c.Passed)
	case p.Type.Package():
		return "not run"
	}
	return "-"
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
		b.call(v)
	case v.Type.Package() && !govern.Undecided(v.Proposal):
		b.asks(v.Kind, v.Requested)
	}
	if !govern.Undecided(v.Proposal) {
		if v.Config != nil {
			b.settings(v.Config)
		}
		b.steps(v.Proposal)
		return
	}
	if v.Type.Package() {
		b.page(v.Page())
	} else if v.Agent != nil {
		b.findings(v.Findings)
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
	if onPage := p.Type.Package() && govern.Undecided(p); !onPage {
		b.fate(p)
	}
	if p.Rationale != "" {
		b.say("  because: %s", p.Rationale)
	}
	b.say("  digest %s", p.Digest)
	if p.Status == govern.StatusPending {
		b.say("  waits until %s", when(p.ExpiresAt))
	}
}

// fate writes who signed a package that was decided about, and what it replaced.
func (b *block) fate(p govern.Proposal) {
	if p.Signer != "" {
		b.say("  signed by %s", p.Signer)
	}
	if p.Replaces != "" {
		b.say("  replaces %s@%s as the active version", p.Skill, p.Replaces)
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

func (b *block) call(v govern.Proposed) {
	p := v.Proposal
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
	if p.Call.Script != nil {
		b.script(v)
	}
	if p.Loop != nil {
		b.say("  its script may make such calls without being asked about, %s; %s so far", visible(p.Loop.Words()), count(p.Loop.Uses, "call"))
	}
}

// maxScriptLines and maxScriptCalls are how much of a script, and of what it did, is shown.
const (
	maxScriptLines = 200
	maxScriptCalls = 20
)

// script writes the script that makes a call.
func (b *block) script(v govern.Proposed) {
	s := v.Call.Script
	b.say("  call %d of a script of %s, in %s, run %s, %s", s.Number, plain(s.Actor), plain(s.Language), plain(s.Run), s.Digest)
	if v.Script == nil {
		if govern.Undecided(v.Proposal) {
			b.say("  the script has ended or is not kept any more: nothing but this call can be approved")
		}
		return
	}
	n := 0
	for line := range strings.Lines(v.Script.Code) {
		if n++; n > maxScriptLines && !b.full() {
			b.say("    ... all of it is in %s", b.All)
			break
		}
		b.say("    %3d | %s", n, visible(strings.TrimSuffix(line, "\n")))
	}
	if v.Script.Data != nil {
		b.say("  it was given %s", visible(short(string(v.Script.Data), maxPreview)))
	}
	b.say("  it has made %s so far%s", count(len(v.Script.Calls), "call"), map[bool]string{true: ":"}[len(v.Script.Calls) > 0])
	for i, c := range v.Script.Calls {
		if i == maxScriptCalls && !b.full() {
			b.say("    ... all of them are in %s", b.All)
			break
		}
		outcome := "-> " + short(c.Answer, maxPreview)
		if c.Error != "" {
			outcome = "failed: " + short(c.Error, maxPreview)
		}
		b.say("    %s:%s %s %s", plain(c.Skill), plain(c.Tool), visible(short(string(c.Input), maxPreview)), visible(outcome))
	}
	if v.Lifts != nil {
		b.say("  if more such calls of it are approved, it is not asked about again, within what was granted:")
		for _, c := range v.Lifts.All() {
			b.say("+   to %s", c.Words())
			b.say("      %s", c.String())
		}
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
