// Package replay makes recorded calls again and says what is different: exactly,
// against the package they were made of, or as a trial of another version.
//
// Nothing is done for real: guests run in processes of their own with no grants,
// files, store, secrets or network, and only the recording answers them. The
// package decides nothing; whether a difference is a fault is for a person.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/review/review"
	"github.com/skillet-run/skillet/host/run/recording"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
)

// A Report says how a replay went.
type Report struct {
	// Recorded is the skill and version of the recorded call, Tool its tool, and
	// RecordedAt when it was made.
	Recorded   string    `json:"recorded"`
	Tool       string    `json:"tool"`
	RecordedAt time.Time `json:"recorded_at"`
	// Replayed and Digest name the package that ran.
	Replayed string           `json:"replayed"`
	Digest   manifests.Digest `json:"digest"`
	// Equal says that nothing that counts is different: of an exact replay
	// everything counts, of a trial the answer or error, and what the guest asks
	// the host for.
	Equal bool `json:"equal"`
	// Divergence is where an exact replay stops being the recorded call.
	Divergence *recording.Divergence `json:"divergence,omitempty"`
	// Differences are those of how it ended, and Changes of what was asked in a
	// trial.
	Differences []Difference       `json:"differences"`
	Changes     []recording.Change `json:"changes"`
	// Fuel and PeakMemoryBytes are those of the recorded call and of the replay.
	Fuel            Figures `json:"fuel"`
	PeakMemoryBytes Figures `json:"peak_memory_bytes"`
	// Inexact says why a replay of this recording may differ without a cause in the
	// package; empty for none.
	Inexact string `json:"inexact,omitempty"`
	// Error says why the guest could not be run; nil when it was, however it ended.
	Error *fault.Error `json:"error,omitempty"`
}

// Figures are one figure of both sides. Ratio is the replay's over the recorded
// one; 0 when there is none.
type Figures struct {
	Recorded uint64  `json:"recorded"`
	Replayed uint64  `json:"replayed"`
	Ratio    float64 `json:"ratio"`
}

func figures(recorded, replayed uint64) Figures {
	f := Figures{Recorded: recorded, Replayed: replayed}
	if recorded > 0 {
		f.Ratio = float64(replayed) / float64(recorded)
	}
	return f
}

// A Difference is one thing that is not as it was.
type Difference struct {
	// What is "answer", "error", "log", "fuel", ...
	What     string `json:"what"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
	// Diff are the lines of a unified diff; nil when there are no lines to compare.
	Diff []string `json:"diff,omitempty"`
	// Counts is false for what a trial may differ in and still be equal.
	Counts bool `json:"counts"`
}

// A Replayer replays recordings. It is safe for concurrent use.
type Replayer struct {
	runner *runner.Runner
}

// New makes a Replayer. The runner should run in worker processes what was never
// installed.
func New(r *runner.Runner) *Replayer { return &Replayer{r} }

// Usual is the longest a replay may take when nothing else is said: a guest that
// waits for nothing takes no longer than it computed.
const Usual = 30 * time.Second

// Exact replays a recording against the package that it names. The package must
// be that one, byte for byte: otherwise the report has an error of
// [fault.KindVerification].
func (r *Replayer) Exact(ctx context.Context, rec *recording.Recording, t runner.Target, wall time.Duration) Report {
	p := recording.Play(rec)
	res, got := r.runner.Replay(ctx, t, runner.Playback{Host: p, Looks: p, As: rec, Exact: true, Wall: wall})
	rep := begin(rec, t, got)
	if rep.Error = unrun(res, got); rep.Error != nil {
		return rep
	}
	rep.Divergence = p.Divergence()
	if rec.Outcome.Ending.Clock {
		rep.Divergence = within(rep.Divergence, rec)
	} else {
		rep.Differences = everything(rec.Outcome, got)
	}
	if rep.Divergence == nil && len(rep.Differences) > 0 {
		d := rep.Differences[0]
		rep.Divergence = &recording.Divergence{What: "the " + d.What + " is different", Expected: d.Recorded, Got: d.Replayed}
	}
	rep.Equal = rep.Divergence == nil
	return rep
}

// within is a divergence before the end of a recording that the clock ended:
// behind it nothing is known.
func within(d *recording.Divergence, rec *recording.Recording) *recording.Divergence {
	if d != nil && d.Event > len(rec.Events) {
		return nil
	}
	return d
}

// Try replays a recording against another version of the skill.
func (r *Replayer) Try(ctx context.Context, rec *recording.Recording, t runner.Target, wall time.Duration) Report {
	trial := recording.Try(rec)
	res, got := r.runner.Replay(ctx, t, runner.Playback{Host: trial, Looks: trial, As: rec, Wall: wall})
	rep := begin(rec, t, got)
	if rep.Error = unrun(res, got); rep.Error != nil {
		return rep
	}
	rep.Changes = append(rep.Changes, trial.Changes()...)
	rep.Differences = endings(rec.Outcome, got)
	rep.Equal = len(rep.Changes) == 0 && !slices.ContainsFunc(rep.Differences, func(d Difference) bool { return d.Counts })
	return rep
}

func begin(rec *recording.Recording, t runner.Target, got recording.Outcome) Report {
	m := t.Package.Manifest()
	return Report{
		Recorded: rec.Ref(), Tool: rec.Tool, RecordedAt: rec.RecordedAt,
		Replayed: m.Name + "@" + m.Version, Digest: t.Package.Digest(),
		Differences: []Difference{}, Changes: []recording.Change{}, Inexact: rec.Inexact,
		Fuel:            figures(rec.Outcome.Fuel, got.Fuel),
		PeakMemoryBytes: figures(rec.Outcome.PeakMemoryBytes, got.PeakMemoryBytes),
	}
}

// unrun is the error of a replay in which no guest ran.
func unrun(res task.Result, got recording.Outcome) *fault.Error {
	if got.Logs != nil { // a guest that ran has logs, be they none
		return nil
	}
	return res.Error
}

// everything compares all that an exact replay has to have in common.
func everything(was, is recording.Outcome) (all []Difference) {
	add := func(what, a, b string) {
		if a != b {
			all = append(all, Difference{What: what, Recorded: a, Replayed: b, Counts: true})
		}
	}
	if !bytes.Equal(was.Output, is.Output) {
		all = append(all, textDifference("answer", was.Output, is.Output))
	}
	add("ending", endingWords(was), endingWords(is))
	add("standard error", string(was.Stderr), string(is.Stderr))
	add("log", logText(was.Logs), logText(is.Logs))
	for _, f := range []struct {
		what    string
		was, is uint64
	}{
		{"fuel", was.Fuel, is.Fuel}, {"peak memory", was.PeakMemoryBytes, is.PeakMemoryBytes},
		{"number of host calls", uint64(was.HostCalls), uint64(is.HostCalls)},
	} {
		add(f.what, strconv.FormatUint(f.was, 10), strconv.FormatUint(f.is, 10))
	}
	return all
}

// endings compares how a trial ended.
func endings(was, is recording.Outcome) (all []Difference) {
	failed, fails := errorWords(was), errorWords(is)
	if failed != fails {
		all = append(all, Difference{What: "error", Recorded: failed, Replayed: fails, Counts: true})
	}
	if a, b := answer(was), answer(is); a != b && failed == fails { // a guest that fails has no answer
		all = append(all, textDifference("answer", []byte(a), []byte(b)))
	}
	if a, b := logText(was.Logs), logText(is.Logs); a != b {
		d := textDifference("log", []byte(a), []byte(b))
		d.Counts = false
		all = append(all, d)
	}
	return all
}

// textDifference compares two texts line by line, or says that they are none.
func textDifference(what string, was, is []byte) Difference {
	f := review.Text(was, is, review.Brief())
	d := Difference{What: what, Recorded: shorten(string(was)), Replayed: shorten(string(is)), Diff: f.Diff, Counts: true}
	if f.More > 0 {
		d.Diff = append(d.Diff, fmt.Sprintf("... %d more lines", f.More))
	}
	return d
}

// answer is the output as it is compared: JSON that says the same is the same.
func answer(o recording.Outcome) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(o.Output))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return string(o.Output)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil { // which no decoded JSON has
		return string(o.Output)
	}
	return string(b)
}

func endingWords(o recording.Outcome) string {
	e := o.Ending
	text := e.Reason
	for _, s := range []string{e.Kind, e.Message} {
		if s != "" {
			text += ": " + s
		}
	}
	if text == "" {
		text = "an answer"
	}
	if o.ExitCode != 0 {
		text += fmt.Sprintf(" (code %d)", o.ExitCode)
	}
	return text
}

// errorWords are the kind and the words of an error, "none" for an answer. A
// refusal of the host is the guest's to make something of: what it then says is
// what is compared.
func errorWords(o recording.Outcome) string {
	if o.Ending != (recording.Ending{}) {
		return endingWords(o)
	}
	if o.Error != nil {
		return string(o.Error.Kind) + ": " + o.Error.Message
	}
	return "none"
}

func logText(lines []task.LogLine) string {
	var b strings.Builder
	for _, l := range lines {
		fields, _ := json.Marshal(l.Fields) // texts cannot fail to marshal
		fmt.Fprintf(&b, "[%s] %s", l.Level, l.Message)
		if len(l.Fields) > 0 {
			fmt.Fprintf(&b, " %s", fields)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// maxShown is how much of a text is shown where it is only part of a line.
const maxShown = 200

func shorten(text string) string {
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return text
}

// Words say what is different, a line each; none for an equal replay. They hold
// text of guests: clean it before showing it.
func (r Report) Words() (lines []string) {
	if r.Error != nil {
		return []string{"it could not be run: " + r.Error.Message}
	}
	if d := r.Divergence; d != nil {
		at := ""
		if d.Event > 0 {
			at = fmt.Sprintf("at event %d: ", d.Event)
		}
		lines = append(lines, at+d.What, "  expected: "+d.Expected, "  got:      "+d.Got)
	}
	for _, c := range r.Changes {
		lines = append(lines, "it "+c.String())
	}
	for _, d := range r.Differences {
		if r.Divergence == nil {
			lines = append(lines, fmt.Sprintf("the %s is different: %s (before: %s)", d.What, shorten(oneLine(d.Replayed)), shorten(oneLine(d.Recorded))))
		}
		for _, l := range d.Diff {
			lines = append(lines, "  "+l)
		}
	}
	return lines
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
