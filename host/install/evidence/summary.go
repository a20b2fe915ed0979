package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/review/findings"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/limit"
)

// A Mark says at a glance what a [Point] is about.
type Mark string

// The marks.
const (
	More  Mark = "+" // is asked for, or may be used, and was not before
	Less  Mark = "-" // was asked for, or might be used, and no longer
	Other Mark = "~" // is different in another way
	Look  Mark = "!" // is a reason to look more closely
	Plain Mark = " " // is as it was, or only said
)

// A Point is one line of a summary. Its text may hold the package's own words.
type Point struct {
	Mark Mark   `json:"mark"`
	Text string `json:"text"`
}

// A Page is a package as a person decides about it, wherever they do: what it is, what it asks
// for, and the evidence. Fields that are nil or empty were not looked at, or say nothing.
type Page struct {
	Skill   string
	Version string
	Digest  manifests.Digest
	Kind    manifests.Kind
	// Source is where it comes from and Signer who signed it, each empty for none; Origin
	// is what brought it.
	Source string
	Origin string
	Signer string
	// Replaces is the version that it replaces as the active one; empty for none.
	Replaces string
	// Asks are what it asks for, and Bounds the limits that hold on this host.
	Asks   []approval.Ask
	Bounds limit.Bounds
	// Effect is what policies say to the whole, with the Reason and the names of Policies.
	Effect, Reason string
	Policies       []string
	// Notes are what else a person should know.
	Notes []string
	// Read is what models read of a new skill.
	Read *review.ReadByModels
	Evidence
}

// Title says in a few words what would be done.
func (p Page) Title() string {
	if p.Replaces != "" && p.Replaces != p.Version {
		return "replace " + p.Skill + "@" + p.Replaces + " by " + p.Version
	}
	return "install " + p.Skill + "@" + p.Version
}

// Summary is all that a person should not miss when they decide about a package,
// in a few lines: what it asks for, what becomes different, and what speaks
// against it.
func (p Page) Summary() []Point {
	return slices.Concat(p.asks(), p.changes(), p.signature(), FindingPoints(p.Findings), p.tests(), p.replays())
}

func (s Page) asks() []Point {
	if len(s.Asks) == 0 {
		return []Point{{Plain, "asks for nothing: " + Unaided(s.Kind)}}
	}
	var ps []Point
	for _, a := range s.Asks {
		p := Point{Plain, "asks to " + a.Words}
		switch {
		case a.New:
			p.Mark = More
		case s.Replaces != "":
			p.Text += " (as " + s.Replaces + " did)"
		}
		if a.Reason != "" {
			p.Text += ": " + a.Reason
		}
		ps = append(ps, p)
	}
	return ps
}

// Unaided is what a skill can do with nothing granted.
func Unaided(k manifests.Kind) string {
	switch {
	case k.IsPlugin():
		return "it is a program"
	case k.IsMCP():
		return "it is a server"
	case k.IsCode() || k == "":
		return "it can compute and answer"
	}
	return "it is text for a model"
}

// changes are what becomes different; what is newly asked for is said by the asks.
func (s Page) changes() []Point {
	if s.Upgrade == nil {
		return nil
	}
	var ps []Point
	for _, c := range s.Upgrade.Capabilities {
		if c.Change == review.Removed || c.Change == review.Narrowed || strings.Contains(c.Words, "secret is sent") {
			ps = append(ps, stepPoint(c))
		}
	}
	for _, c := range s.Upgrade.Limits {
		ps = append(ps, stepPoint(c))
	}
	for _, t := range s.Upgrade.Tools {
		if t.Breaking {
			ps = append(ps, Point{Look, fmt.Sprintf("tool %s is %s, which may break its callers: %s", t.Tool, t.Change, strings.Join(t.Details, "; "))})
		}
	}
	for _, c := range slices.Concat(s.Upgrade.Tests, s.Upgrade.Dependencies) {
		ps = append(ps, stepPoint(c))
	}
	for _, c := range []*review.Step{s.Upgrade.Signer, s.Upgrade.Data} {
		if c != nil {
			ps = append(ps, stepPoint(*c))
		}
	}
	return ps
}

// stepPoint is a difference as a point. A lost signature, another signer and a lost
// test case are reasons to look.
func stepPoint(s review.Step) Point {
	marks := map[review.Change]Mark{
		review.Added: More, review.Widened: More, review.Raised: More,
		review.Removed: Less, review.Narrowed: Less, review.Lowered: Less, review.Changed: Other,
	}
	if s.Alarming {
		return Point{Look, s.Words}
	}
	return Point{marks[s.Change], s.Words}
}

func (s Page) signature() []Point {
	from := ""
	if s.Source != "" {
		from = "from " + s.Source
	}
	switch {
	case s.Upgrade != nil && s.Upgrade.Signer != nil: // said as what becomes different
		if from == "" {
			return nil
		}
		return []Point{{Plain, from}}
	case s.Signer == "":
		return []Point{{Plain, strings.TrimSuffix("nobody signed it, "+from, ", ")}}
	}
	return []Point{{Plain, strings.TrimSuffix("signed by "+s.Signer+", "+from, ", ")}}
}

// maxWorst is how many findings a summary names.
const maxWorst = 3

// FindingPoints say what a scan found: how much, and the worst of it. Beside the first they name
// others only where they are more than information, one for each rule.
func FindingPoints(r findings.Report) []Point {
	if len(r.Findings) == 0 {
		return []Point{{Plain, "the scan found nothing"}}
	}
	var counts []string
	for _, s := range []findings.Severity{findings.Block, findings.Warn, findings.Info} {
		if n := r.Count(s); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	worst := r.Findings[0]
	p := Point{Look, fmt.Sprintf("the scan found %s; the worst is %s in %s: %s", strings.Join(counts, ", "), worst.Rule, worst.File, worst.Message)}
	if worst.Severity == findings.Info {
		p.Mark = Plain
	}
	ps, named := []Point{p}, []string{worst.Rule}
	for _, f := range r.Findings[1:] {
		if len(ps) < maxWorst && f.Severity != findings.Info && !slices.Contains(named, f.Rule) {
			ps, named = append(ps, Point{Look, fmt.Sprintf("and %s in %s: %s", f.Rule, f.File, f.Message)}), append(named, f.Rule)
		}
	}
	return ps
}

func (s Page) tests() []Point {
	switch {
	case s.Tests == nil:
		return nil
	case len(s.Tests.Results)+len(s.Tests.Problems) == 0 && s.Tests.Note == "":
		return []Point{{Plain, "it has no test cases"}}
	}
	p := Point{Plain, fmt.Sprintf("its test cases: %d passed, %d failed, %d skipped", s.Tests.Passed, s.Tests.Failed, s.Tests.Skipped)}
	if s.Tests.Failed > 0 || len(s.Tests.Problems) > 0 {
		p.Mark = Look
	}
	return []Point{p}
}

func (s Page) replays() []Point {
	if s.Replays == nil {
		return nil
	}
	p := Point{Plain, s.Replays.Summary()}
	if s.Replays.Different > 0 {
		p.Mark = Look
	}
	return []Point{p}
}

// SettingPoints are what settings are and what they would be. usual is the value of
// a setting that no file sets.
func SettingPoints(c approval.ConfigChange, usual func(key string) string) []Point {
	var ps []Point
	for _, s := range c.Settings {
		was := s.Old
		if was == "" {
			was = quoted(usual(s.Key)) + " (default)"
		}
		will := quoted(s.New)
		if s.Unset {
			will = quoted(usual(s.Key)) + " (default)"
		}
		ps = append(ps, Point{Other, fmt.Sprintf("%s: %s -> %s", s.Key, was, will)})
	}
	return ps
}

// quoted makes an empty value visible.
func quoted(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// AgentPoints are what a person should not miss about another definition of an agent, which
// names some tools that are not there.
func AgentPoints(c approval.AgentChange, missing []string, r findings.Report) []Point {
	ps := []Point{{More, "adds the agent " + c.Agent}}
	switch {
	case c.Before == nil && c.Builtin != nil:
		ps = []Point{{Look, "replaces the built-in agent " + c.Agent}}
	case c.After == nil && c.Builtin != nil:
		ps = []Point{{Other, "goes back to the built-in agent " + c.Agent}}
	case c.After == nil:
		return []Point{{Less, "removes the agent " + c.Agent}}
	case c.Before != nil:
		ps = []Point{{Other, "changes the agent " + c.Agent}}
	}
	if len(missing) > 0 {
		ps = append(ps, Point{Look, "names tools that are not installed, and cannot call them: " + strings.Join(missing, ", ")})
	}
	return append(ps, FindingPoints(r)...)
}
