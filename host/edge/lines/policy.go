package lines

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// PolicyReport is what is wrong with policies.
func PolicyReport(r govern.PolicyReport) []string {
	return written(Style{}, func(b *block) { b.policyReport(r) })
}

// PolicyOutcomes are the cases of policies that did not end as wanted, and how many are.
func PolicyOutcomes(all []govern.CaseOutcome, failed int) []string {
	return written(Style{}, func(b *block) { b.outcomes(all, failed) })
}

// Explanation is what policies say of a request, and why.
func Explanation(style Style, e govern.Explanation) []string {
	return written(style, func(b *block) { b.explanation(e) })
}

// PolicyListing has a row for each policy.
func PolicyListing(all []govern.Policy) Listing {
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{p.ID, p.Effect, fmt.Sprintf("%s:%d", p.File, p.Line), p.Reason})
	}
	return Listing{"POLICY\tDOES\tFROM\tREASON", rows}
}

// PolicyTexts are policies as they are written.
func PolicyTexts(all []govern.Policy) []string {
	return written(Style{}, func(b *block) {
		for _, p := range all {
			b.say("// %s:%d", p.File, p.Line)
			for line := range strings.Lines(p.Text) {
				b.say("%s", strings.TrimRight(line, "\n"))
			}
		}
	})
}

// policyPlace is the file of a problem, and the line where that is known.
func policyPlace(p govern.PolicyProblem) string {
	if p.Line == 0 {
		return plain(p.File)
	}
	return fmt.Sprintf("%s:%d", plain(p.File), p.Line)
}

func (b *block) policyReport(r govern.PolicyReport) {
	for _, p := range r.Problems {
		b.say("%s: %s", policyPlace(p), p.Message)
	}
	for _, w := range r.Warnings {
		b.say("warning: %s: %s", policyPlace(w), w.Message)
	}
	switch {
	case !r.OK:
	case len(r.Warnings) > 0:
		b.say("%s, no mistakes, %s", count(r.Policies, "policy"), count(len(r.Warnings), "warning"))
	default:
		b.say("%s, all well", count(r.Policies, "policy"))
	}
}

func (b *block) outcomes(outcomes []govern.CaseOutcome, failed int) {
	for _, o := range outcomes {
		if !o.OK {
			b.say("FAIL  %s: %s %s: %s", filepath.Base(o.File), cmp.Or(o.Name, o.Skill), cmp.Or(o.Request, "install "+o.Install), o.Problem)
		}
	}
	b.say("%d of %s as wanted", len(outcomes)-failed, count(len(outcomes), "case"))
}

func (b *block) explanation(e govern.Explanation) {
	b.say("%s: %s", e.Effect, e.Reason)
	if e.Grant != "" {
		b.say("  covered by the grant %s", e.Grant)
	}
	b.decided(e.Policies)
	if e.IfGranted != "" {
		b.say("  if it were granted: %s", e.IfGranted)
	}
	if e.Call != nil {
		b.say("  in a call%s by %s %s at %s, with arguments of a %s", ofTool(e.Call.Tool), e.Call.Caller.Kind, e.Call.Caller.Name, e.Call.Began.Format("2006-01-02 15:04 MST"), e.Call.ArgumentsFrom)
	}
	if g := e.Granting; g != nil {
		b.say("  granting it: %s: %s", g.Effect, g.Reason)
		b.decided(g.Policies)
	}
	if len(e.Remedies) > 0 && b.Way != nil {
		b.say("  %s", b.Way(fault.Hint{Text: e.Hint, Remedies: e.Remedies}))
	}
}

// decided writes the policies that decided.
func (b *block) decided(all []govern.Policy) {
	for _, p := range all {
		b.say("  %s %s (%s:%d): %s", p.Effect, p.ID, p.File, p.Line, p.Reason)
	}
}

func ofTool(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

// PolicyTemplates are templates, with what can be said of each.
func PolicyTemplates(all []govern.PolicyTemplate) []string {
	return written(Style{}, func(b *block) {
		for _, t := range all {
			b.say("%s: %s", t.Name, t.About)
			for _, v := range t.Values {
				b.say("  %s=%s  %s", v.Name, cmp.Or(v.Default, strings.ToUpper(v.Name)), v.About)
			}
		}
	})
}

// NewPolicy is what a template made.
func NewPolicy(n govern.NewPolicy) []string {
	return written(Style{}, func(b *block) {
		if n.Written {
			b.say("%s is in force; its test cases are %s", n.File, n.Tests)
		} else {
			b.say("// %s, which is not written", n.File)
			b.file(n.Policy)
			b.say("// %s, which is not written", n.Tests)
			b.file(n.Cases)
		}
		failed := 0
		for _, o := range n.Outcomes {
			if !o.OK {
				failed++
			}
		}
		for _, line := range PolicyOutcomes(n.Outcomes, failed) {
			b.say("%s", line)
		}
	})
}

func (b *block) file(text string) {
	for line := range strings.Lines(text) {
		b.say("%s", strings.TrimRight(line, "\n"))
	}
}
