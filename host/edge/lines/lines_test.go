package lines_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
	"github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/manifests"
)

// hostile is what a skill or a model may have written.
const hostile = "a\x1b[2J\u202etxt\r\nskillet: approved\u009b"

// fill sets all that can be set in v: each text is hostile, and each list has one element.
func fill(v reflect.Value, depth int) {
	if depth == 0 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth-1)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth-1)
		fill(value, depth-1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth-1)
		}
	}
}

// whole is a value of which every part is hostile; change makes of it what can be.
func whole[T any](change ...func(*T)) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 7)
	for _, do := range change {
		do(&v)
	}
	return v
}

// Whatever others wrote, each line is one line, and nothing in it moves or hides what is beside it.
func TestNothingPassesForALineOfOurs(t *testing.T) {
	full := lines.Style{Detail: lines.Full, Way: func(h fault.Hint) string { return h.Text }}
	plan := whole[admit.Plan]()
	for name, got := range map[string][]string{
		"agent":        lines.Agent(whole[work.AgentView]()),
		"allowance":    lines.Allowance(whole[govern.Allowance]()),
		"audit repair": lines.AuditRepair(whole[upkeep.AuditRepair]()),
		"case":         lines.Case(whole(func(r *author.CaseResult) { r.Outcome = author.CaseFailed }), true),
		"diagnosis":    lines.Diagnosis(whole[work.Diagnosis]()),
		"explanation":  lines.Explanation(full, whole[govern.Explanation]()),
		"figures":      lines.Figures(lines.Style{Columns: 200}, whole[work.Figures]()),
		"findings":     lines.Findings(whole[author.Findings]()),
		"info":         lines.Info(full, whole(func(i *admit.Info) { i.Manifest.Type = manifests.KindConversation })),
		"inspected":    lines.Inspected(whole[author.Inspected]()),
		"models":       lines.ModelListing(whole[[]work.Listed]()).Lines(),
		"plan":         lines.Plan(full, &plan, func(*admit.Package) string { return "all" }),
		"proposal":     lines.Proposal(full, whole[govern.Proposed]()),
		"record":       lines.Record(whole[work.Record]()),
		"renewal":      lines.RebuildReport("made", whole[upkeep.RebuildReport]()),
		"replay":       lines.Replay(full, whole(func(r *invoke.Replayed) { r.Error = nil }), true),
		"session":      lines.Session(whole(func(s *invoke.Session) { s.Damaged = false })),
		"skills":       lines.SkillListing(whole[[]admit.Skill]()).Lines(),
		"suggestion":   lines.Suggestion(whole[govern.Suggestion]()),
		"summary":      lines.Summary(plan.Packages),
		"tested":       lines.Tested(whole[author.Tested]()),
		"tree":         lines.Tree(whole[[]admit.Branch]()),
		"verification": lines.Verification(whole[govern.Verification]()),
	} {
		if !strings.Contains(strings.Join(got, "\n"), "approved") {
			t.Errorf("%s shows nothing of what others wrote: %q", name, got)
		}
		for _, line := range got {
			if strings.ContainsFunc(line, func(r rune) bool { return r != text.Harmless(r) }) || strings.HasPrefix(line, "skillet: ") {
				t.Errorf("%s: %q", name, line)
			}
		}
	}
}

// What has nothing in it, and an edge that says no hints, are no reason to fail.
func TestZeroValues(t *testing.T) {
	lines.Proposal(lines.Style{}, govern.Proposed{})
	lines.Info(lines.Style{}, admit.Info{Manifest: &manifests.Manifest{}})
	lines.Plan(lines.Style{}, &admit.Plan{Packages: []admit.Package{{}}}, func(*admit.Package) string { return "" })
	lines.Explanation(lines.Style{}, govern.Explanation{})
	lines.Figures(lines.Style{}, work.Figures{})
	lines.Inspected(author.Inspected{})
	lines.Diagnosis(work.Diagnosis{})
}
