package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/manifests"
)

func (t *terminal) approvalsShow() *cli.Command {
	return command("show", []cli.Flag{fullFlag(), &cli.BoolFlag{Name: "no-tests", Usage: "do not run the tests of the package, and replay nothing"}}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		return t.showProposal(ctx, h, govern.ShowProposal{ID: c.Args().First(), Full: c.Bool("full"), NoTests: c.Bool("no-tests")})
	}))
}

// proposed is a proposal as it is shown.
type proposed struct {
	govern.Proposed
	// full is set when nothing is left out.
	full bool
}

func (t *terminal) showProposal(ctx context.Context, h *host.Host, req govern.ShowProposal) error {
	done := t.waiting("looking at %s", req.ID)
	v, err := h.Govern().Proposals.Show(ctx, t.person(), req)
	done()
	return t.answered(v, err, func() { t.printProposal(proposed{v, req.Full}) })
}

// showSummary prints what should not be missed, as the last thing before a person
// is asked.
func showSummary(print printer, title string, points []govern.Point) {
	if len(points) == 0 {
		return
	}
	print("in short, %s:", plain(title))
	for _, p := range points {
		print("%s %s", p.Mark, visible(p.Text))
	}
}

func (t *terminal) printProposal(v proposed) {
	t.printHead(v.Proposal)
	switch {
	case v.Agent != nil:
		t.printAgent(v.Agent)
	case v.Call != nil:
		t.printCall(v.Proposal)
	case v.Type.Package() && !govern.Undecided(v.Proposal):
		t.printRequested(v.Kind, v.Requested)
	}
	if !govern.Undecided(v.Proposal) {
		if v.Config != nil {
			t.printSettings(v.Config)
		}
		t.printSteps(v.Proposal)
		return
	}
	if v.Type.Package() {
		t.printEvidence(v)
	} else if v.Agent != nil {
		t.printFindings(v)
	}
	if v.Status == govern.StatusQuarantined {
		t.printSteps(v.Proposal)
	}
	showSummary(t.say, v.Title, v.Summary)
	t.say("  decide: skillet approvals approve %s --digest %s%s", v.ID, v.Digest.Short(), despite(v))
	t.say("      or: skillet approvals reject %s --notes 'why'", v.ID)
}

// printHead says who proposes what, and why.
func (t *terminal) printHead(p govern.Proposal) {
	t.say("proposal %s: %s (%s, %s)", p.ID, plain(p.Title), p.Type, p.Status)
	from := ""
	if p.Source != "" {
		from = fmt.Sprintf(", from %s (%s)", plain(p.Source), plain(p.Origin))
	}
	t.say("  proposed by %s on %s%s", plain(p.ProposedBy), when(p.CreatedAt), from)
	if p.Signer != "" {
		t.say("  signed by %s", plain(p.Signer))
	}
	if p.Replaces != "" {
		t.say("  replaces %s@%s as the active version", plain(p.Skill), plain(p.Replaces))
	}
	if p.Rationale != "" {
		t.say("  because: %s", plain(p.Rationale))
	}
	t.say("  digest %s", p.Digest)
	if p.Status == govern.StatusPending {
		t.say("  waits until %s", when(p.ExpiresAt))
	}
}

// printSettings says what settings were changed, without what they were before if
// that was no more than their default.
func (t *terminal) printSettings(c *govern.ConfigChange) {
	for _, p := range govern.SettingPoints(*c) {
		t.say("%s %s", p.Mark, visible(p.Text))
	}
}

// maxInputLines is how much of the input of a call is shown.
const maxInputLines = 40

func (t *terminal) printCall(p govern.Proposal) {
	t.say("  the tool %s of %s (sha256:%s), once, with this input:", plain(p.Call.Tool), plain(p.Ref()), p.Call.Digest.Short())
	n := 0
	for line := range strings.Lines(p.Call.Shown) {
		if n++; n > maxInputLines {
			t.say("    ... all of it is in `skillet approvals show %s --json`", p.ID)
			break
		}
		t.say("    | %s", visible(strings.TrimSuffix(line, "\n")))
	}
	for _, a := range p.Requested {
		t.say("+ it would %s%s", plain(a.Words), because(plain(a.Reason), a.Policies))
		t.say("      %s", plain(a.Capability.String()))
	}
}

// printRequested lists what a proposal asks for; a + marks what no earlier
// version was granted.
func (t *terminal) printRequested(k manifests.Kind, asks []govern.ProposalAsk) {
	if len(asks) == 0 {
		t.say("  asks for nothing: %s", govern.Unaided(k))
	}
	for _, a := range asks {
		mark := map[bool]string{true: "+", false: " "}[a.New]
		t.say("%s asks to %s%s", mark, plain(a.Words), because(plain(a.Reason), nil))
		t.say("      %s", plain(a.Capability.String()))
	}
}

// printSteps says what became of a proposal.
func (t *terminal) printSteps(p govern.Proposal) {
	if len(p.Steps) == 0 && p.DecidedBy != "" { // decided before steps were kept
		t.say("  %s by %s on %s%s", p.Status, plain(p.DecidedBy), when(p.DecidedAt), because(plain(p.Notes), nil))
	}
	for _, s := range p.Steps {
		t.say("  %s by %s on %s, decision %d%s", s.Status, plain(s.By), when(s.At), s.Decision, because(plain(s.Notes), nil))
	}
}

func (t *terminal) printEvidence(v proposed) {
	t.printRequested(v.Kind, v.Requested)
	if v.Kind.IsCode() {
		bounds{v.Limits, v.Cut}.show(t.say, "  limits:")
	}
	t.showUpgrade(t.say, v.Upgrade)
	if v.Read != nil {
		(*readByModels)(v.Read).show(t.say, v.full, "`skillet approvals show "+v.ID+" --full`")
	}
	if len(v.Interprets) > 0 {
		t.say("  note: %s", plain(govern.InterpreterWords(v.Interprets)))
	}
	t.printFindings(v)
	if v.Tests != nil && !v.Kind.IsPlugin() {
		t.printTests(v)
	}
	showShadow(t.say, v.Replays, v.full)
	for _, s := range v.Similar {
		t.say("  much like %s (%.2f: %s): %s", plain(s.Skill), s.Score, plain(strings.Join(s.Shared, ", ")), short(plain(s.Description), maxShownText))
	}
	all := "`skillet approvals show " + v.ID + " --full` shows them"
	showLines(t.say, v.Compared().Lines(v.full, all))
}

// What is shown of the evidence without --full.
const (
	maxShownFindings = 20
	maxShownTests    = 10
	maxShownText     = 100
)

func (t *terminal) printFindings(v proposed) {
	fs := v.Findings.Findings
	if len(fs) == 0 {
		t.say("  the scan found nothing")
		return
	}
	t.say("  the scan found:")
	for i, f := range fs {
		if !v.full && i == maxShownFindings {
			t.say("    ... and %s: --full shows them", count(len(fs)-i, "more finding"))
			break
		}
		t.say("    %-5s %s  %s%s", f.Severity, plain(f.Rule), place(f), visible(f.Message))
		if f.Excerpt != "" {
			t.say("          | %s", visible(f.Excerpt))
		}
	}
	for _, m := range v.Findings.More {
		t.say("    ... and %d more of %s", m.Count, plain(m.Rule))
	}
	t.say("    `skillet explain RULE` says what a rule looks for")
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

func (t *terminal) printTests(v proposed) {
	s := v.Tests
	if len(s.Results) == 0 && s.Note == "" && len(s.Problems) == 0 {
		t.say("  it has no tests")
		return
	}
	t.say("  its tests, with nothing real behind them: %d passed, %d failed, %d skipped; at most %d fuel, %.1f MB",
		s.Passed, s.Failed, s.Skipped, s.Fuel, float64(s.PeakMemoryBytes)/(1<<20))
	shown := 0
	for _, r := range s.Results {
		if r.Outcome == govern.TestPassed && !v.full {
			continue
		}
		if shown++; shown > maxShownTests && !v.full {
			t.say("    ... --full shows all of them")
			break
		}
		t.say("    %-7s %s of %s%s", r.Outcome, visible(r.Name), visible(r.Tool), because(visible(r.Detail), nil))
	}
	for _, p := range s.Problems {
		t.say("    %s", visible(p))
	}
	if s.Note != "" {
		t.say("    %s", visible(s.Note))
	}
}

// despite are the flags with which a package in quarantine can be approved.
func despite(v proposed) string {
	var b strings.Builder
	for _, rule := range v.Findings.Blocking() {
		b.WriteString(" --despite " + rule)
	}
	return b.String()
}
