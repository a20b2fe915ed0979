package work

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A Transcript turns what happens to a task into lines for a person. It says nothing twice:
// a failure that an event told of is not told again with its step or in the report. The lines
// hold texts of models and skills, which an edge makes safe to show. The zero value leaves
// hints out.
type Transcript struct {
	// Way puts a hint into the words of an edge.
	Way   func(fault.Hint) string
	lines []string
}

// words is a text without the way it is spaced, by which texts are compared.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// Contains reports whether the transcript has a text.
func (t *Transcript) Contains(text string) bool {
	return words(text) != "" && slices.Contains(t.lines, words(text))
}

func (t *Transcript) say(text string) { t.lines = append(t.lines, words(text)) }

// Reset forgets what was told.
func (t *Transcript) Reset() { t.lines = nil }

// Hint is what helps, as the edge says it; empty if it was told.
func (t *Transcript) Hint(h fault.Hint) string {
	text := t.way(h)
	if text == "" || t.Contains(text) {
		return ""
	}
	t.say(text)
	return text
}

func (t *Transcript) way(h fault.Hint) string {
	if t.Way == nil {
		return ""
	}
	return t.Way(h)
}

// Event returns the lines for an event: none for one that says nothing to a person, or what
// the end of the task says.
func (t *Transcript) Event(e Event) []string {
	text := eventText(e)
	if e.Type == StepDenied && t.Contains(text) { // of a call first, then of its step
		return nil
	}
	line := eventLine(e, text)
	if line == "" {
		return nil
	}
	t.say(text)
	lines := []string{line}
	if err := e.Step().Error; err != nil {
		if hint := t.Hint(err.Way()); hint != "" {
			lines = append(lines, "    hint: "+hint)
		}
	}
	return lines
}

// eventText is the text of an event, or of the error that it tells of.
func eventText(e Event) string {
	if err := e.Step().Error; e.Text == "" && err != nil {
		return err.Message
	}
	return e.Text
}

// maxDone is how many characters of what a step answered are told on the way.
const maxDone = 100

func eventLine(e Event, text string) string {
	d := e.Step()
	took := ""
	if d.TookMS > 0 {
		took = fmt.Sprintf(" (%s)", time.Duration(d.TookMS*float64(time.Millisecond)).Round(time.Millisecond))
	}
	by := strings.Trim(d.Agent+" "+d.Tool, " ")
	switch e.Type {
	case TaskPlanned:
		return "plan: " + text
	case TaskProgress:
		return "  " + text
	case TaskRecovered:
		return "trying in another way: " + text
	case TaskPaused, TaskCancelled, TaskResumed:
		return strings.TrimRight(strings.TrimPrefix(string(e.Type), "task.")+": "+text, ": ")
	case StepStarted:
		return "> " + text
	case StepCompleted:
		if d.Tool == "" { // what an agent answers is the answer, or part of it
			return "  done" + took
		}
		return "  done" + took + ": " + short(text, maxDone)
	case StepFailed:
		return "  failed: " + text + took
	case StepDenied:
		return "  denied: " + by + ": " + text
	case StepUncertain:
		return "  nobody knows whether it happened: " + text
	case StepCalled:
		if d.OK != nil && !*d.OK {
			return "  " + by + " failed: " + text
		}
		return "  " + by
	}
	return ""
}

// short cuts text to n characters.
func short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimRight(string(r[:n-1]), " \t\n") + "…"
	}
	return s
}

// Failure returns the lines for what went wrong with a step: none when nothing did, or when
// it waits for a person.
func (t *Transcript) Failure(s Step) []string {
	if s.Error == nil || Undecided(s) {
		return nil
	}
	t.say(s.Error.Message)
	lines := []string{s.Error.Message}
	if hint := t.way(s.Error.Way()); hint != "" {
		t.say(hint)
		lines = append(lines, "hint: "+hint)
	}
	return lines
}

// Notes returns the lines for what a person should know besides the answer of a task.
func (t *Transcript) Notes(r Report) []string {
	var lines []string
	for _, s := range r.Sources {
		lines = append(lines, "source: "+s)
	}
	for _, d := range r.Denials {
		if !t.Contains(d.Reason) {
			lines = append(lines, "denied: "+d.Tool+": "+d.Reason)
			t.say(d.Reason)
		}
		if hint := t.Hint(fault.Hint{Text: d.Hint, Remedies: d.Remedies}); hint != "" {
			lines = append(lines, "  hint: "+hint)
		}
	}
	for _, a := range r.Artifacts {
		if a.Kind == "proposal" {
			lines = append(lines, "proposed: "+a.Title+"; "+t.way(fault.Hintf("%s shows it", fault.ShowProposal(a.Name))))
		}
	}
	return lines
}

// NextSteps are what a person could do now, and was not told yet: the next steps of the
// report, and what helps against its failure and its denials.
func (t *Transcript) NextSteps(r Report) []string {
	steps := slices.Clone(r.NextSteps)
	if r.Error != nil {
		steps = append(steps, t.way(r.Error.Way()))
	}
	for _, d := range r.Denials {
		steps = append(steps, t.way(fault.Hint{Text: d.Hint, Remedies: d.Remedies}))
	}
	var left []string
	for _, s := range steps {
		if s != "" && !t.Contains(s) && !slices.Contains(left, s) {
			left = append(left, s)
		}
	}
	return left
}

// FailedStep is the ID of the first step whose failure was told; empty for none.
func (t *Transcript) FailedStep(r Run) string {
	i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Error != nil && t.Contains(s.Error.Message) })
	if i < 0 {
		return ""
	}
	return r.Steps[i].ID
}

// Unreached says why the goal of a task was not reached, unless that was told with a step;
// name is what it is called. Its hint is the first step that a person could take now; it has
// none when there is none.
func (t *Transcript) Unreached(name string, r Run) *fault.Error {
	e := fault.Errorf(fault.KindSkill, "the goal of %s was not reached", name)
	if r.Report == nil {
		return e
	}
	if failed := r.Report.Error; failed != nil {
		why := failed.Message
		if s := t.FailedStep(r); s != "" {
			why = "see the step " + s
		}
		e = fault.Errorf(failed.Kind, "the goal of %s was not reached: %s", name, why)
	}
	if next := t.NextSteps(*r.Report); len(next) > 0 {
		e = e.WithHint("%s", next[0])
	}
	return e
}

// Undecided reports whether a step waits for a decision of [Tasks.Decide].
func Undecided(s Step) bool { return s.State == StepWaiting && s.Proposal == "" }

// A Retry is ways of recovering that were tried for the same reason and came to the same.
type Retry struct {
	Strategies       []string
	Because, Outcome string
}

// Retries are what was tried in other ways, those together that came to the same.
func Retries(all []Recovery) (tried []Retry) {
	for _, r := range all {
		n := len(tried) - 1
		if n < 0 || tried[n].Because != r.Because || tried[n].Outcome != r.Outcome {
			tried, n = append(tried, Retry{Because: r.Because, Outcome: r.Outcome}), n+1
		}
		tried[n].Strategies = append(tried[n].Strategies, string(r.Strategy))
	}
	return tried
}

// StepsDone is how many steps of a task are done; those that failed or were skipped are not.
func StepsDone(r Run) (n int) {
	for _, s := range r.Steps {
		if s.State == StepDone {
			n++
		}
	}
	return n
}
