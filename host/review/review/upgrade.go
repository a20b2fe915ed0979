package review

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
	"github.com/skillet-run/skillet/policies/limit"
)

// The ways in which what a package asks for, or is bounded by, changes, beside
// [Added], [Removed] and [Changed].
const (
	Widened  Change = "widened"
	Narrowed Change = "narrowed"
	Raised   Change = "raised"
	Lowered  Change = "lowered"
)

// A Side is one of the two packages that are compared.
type Side struct {
	Package *bundle.Package
	// Signer is its verified signer; empty for none.
	Signer string
	// Workspace is the absolute directory that relative paths of the manifest mean.
	Workspace string
}

// An Upgrade is what becomes different when one version of a skill takes the
// place of another, in the words of a person who decides about it.
type Upgrade struct {
	// From and To are the versions.
	From string `json:"from"`
	To   string `json:"to"`
	// Capabilities are what it asks for and did not, or not so, and the other way
	// round; Limits the bounds of a call.
	Capabilities []Step `json:"capabilities"`
	Limits       []Step `json:"limits"`
	// Tools are those whose description in the manifest changed.
	Tools []ToolStep `json:"tools"`
	// Prompt is what is different about a prompt beside its text, and Texts what is
	// different in its text.
	Prompt []Step     `json:"prompt,omitempty"`
	Texts  []TextStep `json:"texts,omitempty"`
	// Calls are what its module newly calls, or calls no more, by what that is good
	// for.
	Calls []Step `json:"calls"`
	// Signer, Dependencies and Data are nil or empty when nothing changed. Data is
	// the schema version of what the skill keeps.
	// Tests are test cases that it lost, or in which something else is expected.
	Tests        []Step `json:"tests"`
	Signer       *Step  `json:"signer,omitempty"`
	Dependencies []Step `json:"dependencies"`
	Data         *Step  `json:"data,omitempty"`
}

// A Step is one difference.
type Step struct {
	Change Change `json:"change"`
	// Words are a whole sentence without its end: "may now read files in /data".
	Words string `json:"words"`
	// Before and After are what was compared; empty for what is not there.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Alarming is true for what is seldom an honest change: a signature that is
	// gone, another signer, test cases that are gone.
	Alarming bool `json:"alarming,omitempty"`
}

// A ToolStep is what is different about one tool.
type ToolStep struct {
	Change Change `json:"change"`
	Tool   string `json:"tool"`
	// Breaking is true when a caller of the earlier version may fail with the later
	// one.
	Breaking bool `json:"breaking"`
	// Details say what, one line each.
	Details []string `json:"details"`
}

// CompareSides says what becomes different when after takes the place of before.
func CompareSides(before, after Side) (*Upgrade, error) {
	b, a := before.Package.Manifest(), after.Package.Manifest()
	u := &Upgrade{From: b.Version, To: a.Version}
	var err error
	if u.Capabilities, err = capabilitySteps(before, after); err != nil {
		return nil, err
	}
	u.Limits = limitSteps(b.Limits(), a.Limits())
	u.Tools = toolSteps(toolsOf(b), toolsOf(a))
	u.Prompt, u.Texts = promptSteps(b, a), textSteps(b, a)
	u.Calls = callSteps(compareModules(before.Package, after.Package))
	u.Tests = testSteps(before.Package, after.Package)
	u.Signer = signerStep(before.Signer, after.Signer)
	u.Dependencies = append(nameSteps("needs", needs(b), needs(a)), nameSteps("provides", b.Provides, a.Provides)...)
	u.Data = dataStep(b, a)
	return u, nil
}

// Grows reports whether the later version asks for something the earlier one did
// not ask for: a capability, or that a secret goes elsewhere.
func (u *Upgrade) Grows() bool {
	return slices.ContainsFunc(u.Capabilities, func(s Step) bool { return s.Change == Added || s.Change == Widened })
}

// Breaks reports whether a caller of the earlier version may fail with the later
// one.
func (u *Upgrade) Breaks() bool {
	return slices.ContainsFunc(u.Tools, func(t ToolStep) bool { return t.Breaking })
}

// IsEmpty reports whether nothing is different but code and data.
func (u *Upgrade) IsEmpty() bool { return len(u.Lines()) == 0 }

// Lines are what is different, one line each, marked with + for what is added or
// becomes more, - for what is removed or becomes less, and ~ for the rest.
func (u *Upgrade) Lines() []string {
	var lines []string
	steps := slices.Concat(u.Capabilities, u.Limits)
	for _, s := range steps {
		lines = append(lines, s.line())
	}
	for _, t := range u.Tools {
		lines = append(lines, t.lines()...)
	}
	for _, s := range slices.Concat(u.Prompt, u.Calls) {
		lines = append(lines, s.line())
	}
	for _, t := range u.Texts {
		lines = append(lines, t.lines()...)
	}
	if u.Signer != nil {
		lines = append(lines, u.Signer.line())
	}
	for _, s := range slices.Concat(u.Tests, u.Dependencies) {
		lines = append(lines, s.line())
	}
	if u.Data != nil {
		lines = append(lines, u.Data.line())
	}
	return lines
}

var marks = map[Change]string{Added: "+", Widened: "+", Raised: "+", Removed: "-", Narrowed: "-", Lowered: "-", Changed: "~"}

func (s Step) line() string { return marks[s.Change] + " " + s.Words }

func (t ToolStep) lines() []string {
	text := marks[t.Change] + " tool " + t.Tool + " is " + string(t.Change)
	if t.Breaking {
		text += ", which may break its callers"
	}
	lines := []string{text}
	for _, d := range t.Details {
		lines = append(lines, "    "+d)
	}
	return lines
}

func capabilitySteps(before, after Side) ([]Step, error) {
	old, oldSent, err := asked(before)
	if err != nil {
		return nil, err
	}
	now, sent, err := asked(after)
	if err != nil {
		return nil, err
	}
	d := capability.Diff(old, now)
	steps := []Step{}
	for _, list := range []struct {
		change  Change
		changes []capability.Change
	}{{Added, d.Added}, {Widened, d.Widened}, {Narrowed, d.Narrowed}, {Removed, d.Removed}} {
		for _, c := range list.changes {
			steps = append(steps, Step{Change: list.change, Words: asks(list.change, c), Before: texts(c.Old), After: texts(c.New)})
		}
	}
	return append(steps, sentSteps(oldSent, sent)...), nil
}

// asks says a change of what is asked for: no more is granted by it.
func asks(change Change, c capability.Change) string {
	switch change {
	case Added:
		return "asks to " + words(c.New)
	case Removed:
		return "no longer asks to " + words(c.Old)
	case Widened:
		return "asks for more: to " + words(c.New) + " (before: " + words(c.Old) + ")"
	}
	return "asks for less: to " + words(c.New) + " (before: " + words(c.Old) + ")"
}

func words(cs []capability.Capability) string {
	var all []string
	for _, c := range cs {
		all = append(all, c.Words())
	}
	return strings.Join(all, "; ")
}

func texts(cs []capability.Capability) string {
	var all []string
	for _, c := range cs {
		all = append(all, c.String())
	}
	return strings.Join(all, ", ")
}

// asked is what a package asks for, and where the secrets among it go.
func asked(s Side) (capability.Set, map[string]bool, error) {
	rs, err := s.Package.Manifest().Requests(s.Workspace)
	if err != nil {
		return capability.Set{}, nil, fmt.Errorf("compare %s: %w", s.Package.Manifest().Name, err)
	}
	var cs []capability.Capability
	sent := map[string]bool{}
	for _, r := range rs {
		cs = append(cs, r.Capability)
		if r.Inject != nil {
			sent[r.Capability.Resource()+" "+r.Inject.Words()] = true
		}
	}
	return capability.NewSet(cs...), sent, nil
}

// sentSteps are secrets that go elsewhere.
func sentSteps(before, after map[string]bool) []Step {
	var steps []Step
	for _, s := range slices.Sorted(maps.Keys(after)) {
		if !before[s] {
			steps = append(steps, Step{Change: Added, Words: "asks that a secret is sent: " + s, After: s})
		}
	}
	for _, s := range slices.Sorted(maps.Keys(before)) {
		if !after[s] {
			steps = append(steps, Step{Change: Removed, Words: "no longer asks that a secret is sent: " + s, Before: s})
		}
	}
	return steps
}

// limitSteps compare the limits of a call.
func limitSteps(before, after limit.Set) []Step {
	steps := []Step{}
	for _, l := range limit.All() {
		was, is := l.Of(before), l.Of(after)
		if was == is || was == 0 || is == 0 { // what it may keep follows from whether it asks to
			continue
		}
		s := Step{Change: Raised, Before: l.Text(was), After: l.Text(is)}
		verb := "may use more"
		if is < was {
			s.Change, verb = Lowered, "may use less"
		}
		s.Words = fmt.Sprintf("%s: %s at most %s (before: %s)", verb, l.What(), s.After, s.Before)
		steps = append(steps, s)
	}
	return steps
}

func signerStep(before, after string) *Step {
	switch {
	case before == after:
		return nil
	case before == "":
		return &Step{Change: Added, Words: "is signed now, by " + after, After: after}
	case after == "":
		return &Step{Change: Removed, Words: "is not signed any more (before: by " + before + ")", Before: before, Alarming: true}
	}
	return &Step{Change: Changed, Words: "is signed by " + after + " (before: by " + before + ")", Before: before, After: after, Alarming: true}
}

// needs are the dependencies of a package, each with what it says about it.
func needs(m *manifests.Manifest) map[string]string {
	all := map[string]string{}
	for name, d := range m.Dependencies {
		all[name] = d.Version
		if d.Optional {
			all[name] += ", optional"
		}
		if d.Isolated {
			all[name] += ", isolated"
		}
	}
	return all
}

// nameSteps compare names with versions.
func nameSteps(verb string, before, after map[string]string) []Step {
	steps := []Step{}
	names := maps.Clone(before)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		switch {
		case had && has && was == is:
		case !had:
			steps = append(steps, Step{Change: Added, Words: fmt.Sprintf("%s %s %s", verb, name, is), After: name + " " + is})
		case !has:
			steps = append(steps, Step{Change: Removed, Words: fmt.Sprintf("%s no %s any more (before: %s)", verb, name, was), Before: name + " " + was})
		default:
			steps = append(steps, Step{Change: Changed, Words: fmt.Sprintf("%s %s %s (before: %s)", verb, name, is, was), Before: name + " " + was, After: name + " " + is})
		}
	}
	return steps
}

// dataStep compares the schema versions of what the skill keeps.
func dataStep(before, after *manifests.Manifest) *Step {
	was, is := schema(before), schema(after)
	if was == is || was == 0 || is == 0 {
		return nil // a skill that begins to keep data, or stops, asks for it or not
	}
	s := &Step{Before: strconv.Itoa(was), After: strconv.Itoa(is), Change: Raised}
	s.Words = fmt.Sprintf("changes what it keeps from schema version %d to %d", was, is)
	if is < was {
		s.Change, s.Words = Lowered, fmt.Sprintf("knows schema version %d of what it keeps (before: %d)", is, was)
	}
	return s
}

func schema(m *manifests.Manifest) int {
	kv := m.Security.Permissions.KV
	if kv == nil {
		return 0
	}
	return max(kv.SchemaVersion, 1)
}

// callSteps say what a module newly calls, by what that is good for. Calls of the
// same purpose that both have are left out: the differences of single functions
// are in [Module].
func callSteps(m *Module) []Step {
	steps := []Step{}
	if m == nil {
		return steps
	}
	if m.Note != "" {
		return append(steps, Step{Change: Changed, Words: "has a module that cannot be compared: " + m.Note})
	}
	for _, list := range []struct {
		change Change
		text   string
	}{{Added, "has code that can newly "}, {Removed, "has no code any more to "}} {
		names := map[string][]string{}
		for _, f := range m.Imports {
			if f.Change == list.change {
				names[f.Words] = append(names[f.Words], f.Name)
			}
		}
		for _, w := range slices.Sorted(maps.Keys(names)) {
			s := Step{Change: list.change, Words: list.text + w + " (" + strings.Join(names[w], ", ") + ")"}
			steps = append(steps, s)
		}
	}
	return steps
}
