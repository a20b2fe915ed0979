package review

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/manifests"
)

// maxTextLines is how many lines of the difference of a prompt are shown.
const maxTextLines = 60

// A TextStep is what is different about a text that is sent to a model. The texts
// of a manifest stand there with escapes, so they are compared by themselves.
type TextStep struct {
	Change Change `json:"change"`
	// Field is the field of the manifest: "prompt" or "prompt_template".
	Field string `json:"field"`
	// Diff has the lines of a unified diff, at most 60, and More counts the others.
	Diff []string `json:"diff"`
	More int      `json:"more_lines,omitempty"`
}

func (s TextStep) lines() []string {
	all := []string{fmt.Sprintf("%s the text of its %s is %s:", marks[s.Change], s.Field, s.Change)}
	for _, line := range s.Diff {
		all = append(all, "    "+line)
	}
	if s.More > 0 {
		all = append(all, fmt.Sprintf("    ... and %d more lines", s.More))
	}
	return all
}

// textSteps compare the prompts of two manifests.
func textSteps(before, after *manifests.Manifest) []TextStep {
	steps := []TextStep{}
	for _, t := range []struct{ field, was, is string }{
		{"prompt", before.Prompt, after.Prompt},
		{"prompt_template", before.PromptTemplate, after.PromptTemplate},
	} {
		s := TextStep{Change: Changed, Field: t.field}
		switch {
		case t.was == t.is:
			continue
		case t.was == "":
			s.Change = Added
		case t.is == "":
			s.Change = Removed
		}
		f := File{Diff: lines(t.was, t.is)}
		f.cut(maxTextLines)
		s.Diff, s.More = f.Diff, f.More
		steps = append(steps, s)
	}
	return steps
}

// promptSteps compare what is said about a prompt beside its text, and of what
// kind the two skills are.
func promptSteps(before, after *manifests.Manifest) []Step {
	steps := []Step{}
	was, is := promptFacts(before), promptFacts(after)
	for i, f := range is {
		if b := was[i].value; b != f.value {
			steps = append(steps, Step{Change: Changed, Words: fmt.Sprintf("%s: %s (before: %s)", f.what, orNone(f.value), orNone(b)), Before: b, After: f.value})
		}
	}
	return steps
}

type fact struct{ what, value string }

func promptFacts(m *manifests.Manifest) []fact {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	all := []fact{
		{"the kind of skill", string(m.Type)}, {"the model it is meant for", m.Model},
		{"the form of the answer", m.OutputFormat}, {"the tokens it may fill", number(m.ContextWindow)},
	}
	c := m.ContextFiles
	if c == nil {
		c = &manifests.ContextFiles{}
	}
	return append(all,
		fact{"the files it takes", strings.Join(c.Patterns, ", ")},
		fact{"the files it leaves out", strings.Join(c.ExcludePatterns, ", ")},
		fact{"how many files at most", number(c.MaxFiles)},
		fact{"how many KB a file at most", number(c.MaxFileSizeKB)},
	)
}

func orNone(text string) string {
	if text == "" {
		return "none said"
	}
	return text
}

// toolsOf are the tools of a skill; of a prompt, the prompt itself.
func toolsOf(m *manifests.Manifest) []manifests.Tool {
	if t, ok := m.PromptTool(); ok {
		return append([]manifests.Tool{t}, m.Tools...)
	}
	return m.Tools
}
