package lines

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/invoke"
)

// Case is what came of a test case: of one that failed all that is wrong with it, and of
// others nothing unless verbose is set.
func Case(r author.CaseResult, verbose bool) []string {
	return written(Style{}, func(b *block) { b.result(r, verbose) })
}

func (b *block) result(r author.CaseResult, verbose bool) {
	at := fmt.Sprintf("%s:%d: %s", visible(r.File), r.Line, visible(r.Name))
	switch {
	case r.Outcome == author.CaseFailed:
		b.say("FAIL %s (%s)", at, visible(r.Tool))
		b.sayAll("       ", r.Lines())
	case !verbose:
		return
	case r.Outcome == author.CaseSkipped:
		b.say("skip %s: %s", at, visible(r.Detail))
		return
	default:
		b.say("pass %s (%s)", at, visible(r.Tool))
	}
	if !verbose {
		return
	}
	b.say("       %.1f ms, %d fuel, %s, %s", r.DurationMS, r.Fuel, size(int64(r.PeakMemoryBytes)), count(r.HostCalls, "host call"))
	for _, l := range r.Logs {
		b.say("       [%s] %s%s", visible(l.Level), visible(l.Message), visible(Fields(l)))
	}
	for _, d := range r.Denials {
		b.say("       refused %s: %s", visible(d.Request), visible(d.Reason))
	}
}

// Tested is how the test cases of a skill went.
func Tested(out author.Tested) []string { return written(Style{}, func(b *block) { b.tested(out) }) }

func (b *block) tested(out author.Tested) {
	r := out.Report
	for _, p := range r.Problems {
		mark := "FAIL "
		for line := range strings.Lines(p) {
			b.say("%s%s", mark, strings.TrimSuffix(line, "\n"))
			mark = "       "
		}
	}
	for _, f := range out.Updated {
		b.say("updated %s", visible(f))
	}
	if out.Recorded != "" {
		b.say("recorded %s", visible(out.Recorded))
	}
	most := ""
	if r.Fuel > 0 { // not for a prompt
		most = fmt.Sprintf("; at most %d fuel, %s", r.Fuel, size(int64(r.PeakMemoryBytes)))
	}
	b.say("%s@%s: %s in %.2f s%s", r.Skill, r.Version, Tally(r), r.DurationMS/1000, most)
}

// Tally says how many test cases passed.
func Tally(r author.CaseReport) string {
	text := fmt.Sprintf("%d passed", r.Passed)
	for _, x := range []struct {
		n    int
		what string
	}{{r.Failed, "failed"}, {r.Skipped, "skipped"}} {
		if x.n > 0 {
			text += fmt.Sprintf(", %d %s", x.n, x.what)
		}
	}
	if n := len(r.Problems); n > 0 {
		text += ", " + count(n, "file") + " that cannot be read"
	}
	if r.Note != "" {
		text += "; " + plain(r.Note)
	}
	return text
}

// Built is what came of a build.
func Built(made author.Built) []string { return written(Style{}, func(b *block) { b.built(made) }) }

func (b *block) built(made author.Built) {
	switch {
	case len(made.Packages) > 0:
		b.say("%s: brought these packages of Python into the directory vendor, and locked them: %s", filepath.Base(made.Dir), strings.Join(made.Packages, ", "))
	case made.Language == "" && made.Module == "":
		b.say("%s: it has no code, and there is nothing to build", filepath.Base(made.Dir))
	case made.Language == "":
		b.say("%s: it has no source to build; the module is there", made.Module)
	case made.Module == "":
		b.say("%s is run by an interpreter: there is nothing to build", made.Language.Title())
	default:
		same := ""
		if !made.Changed {
			same = ", the same as before"
		}
		b.say("%s: %s from %s in %s%s", made.Module, size(made.Bytes), made.Language.Title(), millis(made.DurationMS), same)
	}
	if made.Output != "" {
		b.say("%s", made.Output)
	}
}

// Benched is what calls of a tool cost.
func Benched(style Style, made author.Benched) []string {
	return written(style, func(b *block) { b.benched(made) })
}

func (b *block) benched(made author.Benched) {
	b.say("%s:%s", made.Skill, made.Tool)
	row := func(name string, s author.Series) []string {
		if s.Calls == 0 {
			return []string{name, "0", "", "", "", ""}
		}
		return []string{name, fmt.Sprint(s.Calls), millis(s.Call.Median), millis(s.Call.P95), millis(s.Instantiate.Median), millis(s.Reset.Median)}
	}
	b.table("\tCALLS\tMEDIAN\tP95\tINSTANTIATE\tRESET", [][]string{row("made anew", made.Fresh), row("used before", made.Warm)})
	fuel := fmt.Sprint(made.FuelMost)
	if made.FuelLeast != made.FuelMost {
		fuel = fmt.Sprintf("%d to %d", made.FuelLeast, made.FuelMost)
	}
	b.say("a call: %s fuel, %s of memory at most, %s, %s of output", fuel, size(int64(made.PeakMemoryBytes)), count(made.HostCalls, "host call"), size(int64(made.OutputBytes)))
	b.say("load %s, first call %s, snapshot %s", millis(made.LoadMS), millis(made.FirstMS), millis(made.SnapshotMS))
	if made.Strategy != "" {
		b.say("reset: %s, %s of 4 KiB written", made.Strategy, count(int(made.DirtyPages), "page"))
	}
	if made.Warm.Calls == 0 {
		b.say("each call gets a new instance: inspect it to see why")
	}
}

// Fields are the fields of a log line, in order of their names.
func Fields(l invoke.LogLine) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.Fields)) {
		fmt.Fprintf(&b, " %s=%s", plain(name), plain(l.Fields[name]))
	}
	return b.String()
}
