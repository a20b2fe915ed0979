package local

import (
	"fmt"
	"slices"
	"strings"

	cut "github.com/skillet-run/skillet/internal/text"
	"github.com/skillet-run/skillet/plugins/provider"
)

// made is the last line of an answer that was made of what tools said.
const made = "Made by matching words to tools, without a language model."

// text is the answer: what tools said, what failed, and what could not be done.
func (w *run) text() string {
	others := w.others()
	if len(w.steps)+len(others) == 0 {
		return w.unfit()
	}
	var parts, undone []string
	rest := 0
	for _, o := range w.done {
		if len(o.made) == 0 {
			rest++
			if p, ok := w.step(restID(rest)); ok {
				parts = append(parts, fmt.Sprintf("**%s** (%s)\n\n%s", escapeMarks(brief(o.clause.text())), p.source, quote(shown(p.text))))
				continue
			}
			undone = append(undone, w.undone(o))
			continue
		}
		for _, i := range o.made {
			parts = append(parts, w.section(o, i))
		}
		if missed := w.unseen(o); len(missed) > 0 {
			undone = append(undone, "- “"+brief(o.clause.text())+"”: nothing was made of “"+brief(strings.Join(missed, " "))+"”, so this may be no answer to it.")
		}
	}
	parts = append(parts, others...)
	if problems := w.problems(); len(problems) > 0 {
		parts = append(parts, "Went wrong:\n"+strings.Join(problems, "\n"))
	}
	if len(undone) > 0 {
		parts = append(parts, "Not done:\n"+strings.Join(undone, "\n"))
	}
	if len(undone) > 0 || w.failed() {
		parts = append([]string{provider.LowConfidence + " Not all of the goal was reached."}, parts...)
	}
	return strings.Join(append(parts, made), "\n\n") + "\n"
}

// cannot is in every answer to a goal that no tool fits.
const cannot = "I cannot do this:"

// step is what a step for an agent came to, unless it could do nothing either.
func (w *run) step(id string) (passage, bool) {
	i := slices.IndexFunc(w.passages, func(p passage) bool {
		return strings.HasPrefix(p.source, "step:") && strings.HasSuffix(p.source, id) && !strings.Contains(p.text, cannot)
	})
	if i < 0 {
		return passage{}, false
	}
	return w.passages[i], true
}

func (w *run) undone(o outcome) string {
	line := "- “" + brief(o.clause.text()) + "”: the words of no tool fit, or what a tool needs is not named."
	if len(o.near) > 0 {
		line += " Nearest: " + strings.Join(o.near, ", ") + "."
	}
	return line
}

// unseen are the words of a clause that nothing accounts for. A word that is in what was
// measured of a table is the name of one of its columns.
func (w *run) unseen(o outcome) []string {
	return slices.DeleteFunc(slices.Clone(o.missed), func(missed string) bool {
		return slices.ContainsFunc(o.made, func(i int) bool {
			a := w.state[i].answer
			return a != nil && slices.Contains(w.steps[i].tool.name, "count") && strings.Contains(strings.ToLower(a.text), strings.ToLower(missed))
		})
	})
}

// failed says whether a call did not answer what it should.
func (w *run) failed() bool {
	return slices.ContainsFunc(w.state, func(p progress) bool {
		return p.answer == nil || p.answer.failed || parseAnswer(p.answer.text).status >= 400
	})
}

// problems are the failures of calls and what was not called because of them.
func (w *run) problems() []string {
	var all []string
	for i, p := range w.state {
		name := w.steps[i].tool.Name
		switch {
		case p.problem != "":
			all = append(all, "- `"+name+"` was not called: "+p.problem+".")
		case p.answer == nil:
			all = append(all, "- `"+name+"` was not called: no turn was left for it.")
		case p.answer.failed:
			all = append(all, "- `"+name+"` failed: "+brief(p.answer.text))
		case parseAnswer(p.answer.text).status >= 400:
			all = append(all, fmt.Sprintf("- `%s` answered with the status %d.", name, parseAnswer(p.answer.text).status))
		case p.partial:
			all = append(all, "- `"+name+"` was given the beginning of a text only, because the whole was too long to come here.")
		}
	}
	return all
}

// section is what one call of a clause came to.
func (w *run) section(o outcome, i int) string {
	p, t := w.state[i], w.steps[i].tool
	head := fmt.Sprintf("**%s** (`%s`)%s", escapeMarks(brief(o.clause.text())), t.Name, w.citations(i))
	if p.answer == nil || p.answer.failed {
		return head + "\n\nNo answer."
	}
	if t.gives == jsonForm {
		return head + "\n\n" + block(p.answer.text)
	}
	return head + "\n\n" + render(parseAnswer(p.answer.text), t.field)
}

// citations are the numbers of the sources that a call's answer rests on.
func (w *run) citations(i int) string {
	var numbers []string
	var visit func(i int)
	visit = func(i int) {
		if a := w.state[i].answer; a != nil && a.number != "" && !slices.Contains(numbers, "["+a.number+"]") {
			numbers = append(numbers, "["+a.number+"]")
		}
		for _, f := range w.steps[i].fields {
			if f.ref != nil {
				visit(f.ref.step)
			}
		}
	}
	visit(i)
	if len(numbers) == 0 {
		return ""
	}
	return " " + strings.Join(numbers, "")
}

// others are what calls came to that are none of this plan's: somebody else made
// them for the same goal.
func (w *run) others() []string {
	var all []string
	for _, c := range w.called {
		r, answered := w.results[c.ID]
		ours := slices.ContainsFunc(w.state, func(p progress) bool { return p.id == c.ID })
		if !answered || ours {
			continue
		}
		head := "`" + c.Name + "`"
		if r.number != "" {
			head += " [" + r.number + "]"
		}
		if r.failed {
			all = append(all, head+" failed: "+brief(r.text))
			continue
		}
		all = append(all, head+":\n\n"+render(parseAnswer(r.text), ""))
	}
	return all
}

// unfit is the answer to a goal that no tool fits: what is remembered about it, or
// that there is nothing.
func (w *run) unfit() string {
	if p, ok := w.recall(); ok {
		return fmt.Sprintf("From %s:\n\n%s\n\n%s", p.source, quote(p.text), "Found by the words it has in common with the question, without a language model.\n")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s “%s”. I match the words of a goal to tools, without a language model, and no tool fits.\n", provider.LowConfidence, cannot, brief(w.goal))
	if len(w.tools) == 0 {
		b.WriteString("\nI have no tools. With some I can read, convert, count, compare, search and the like; with a language model a provider could answer by itself.\n")
		return b.String()
	}
	near := w.nearest()
	if len(near) > 0 {
		b.WriteString("\nNearest come:\n")
	}
	for _, t := range near {
		first, _, _ := strings.Cut(t.Description, ". ")
		fmt.Fprintf(&b, "- `%s`: %s\n", t.Name, brief(first))
	}
	fmt.Fprintf(&b, "\nThere are %d tools: %s. Name what one of them does, and the file, address or text it is to work on.\n", len(w.tools), w.families())
	return b.String()
}

// maxNear is how many tools are named that come nearest to a goal that none fits.
const maxNear = 5

// nearest are the tools that come nearest to the goal; all of them when they are few.
func (w *run) nearest() []*tool {
	if len(w.tools) <= maxNear {
		return w.tools
	}
	var all []*tool
	for _, o := range w.done {
		for _, name := range o.near {
			i := slices.IndexFunc(w.tools, func(t *tool) bool { return t.Name == name })
			if len(all) < maxNear && !slices.Contains(all, w.tools[i]) {
				all = append(all, w.tools[i])
			}
		}
	}
	return all
}

// families are the first parts of the names of tools, which say what they belong to.
func (w *run) families() string {
	var all []string
	for _, t := range w.tools {
		name, _, _ := strings.Cut(t.Name, "__")
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	if more := len(all) - maxListed; more > 0 {
		all = append(all[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

// maxListed is how many tools, rows and items are listed.
const maxListed = 50

// brief is a text in one line of at most 300 characters.
func brief(text string) string {
	return cut.Short(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "), 300)
}

// reasons say how the plan came about, for a person.
func (p *planner) reasons() string {
	var b strings.Builder
	for _, o := range p.done {
		if len(o.made) == 0 {
			fmt.Fprintf(&b, "“%s”: no tool fits (nearest: %s).\n", brief(o.clause.text()), strings.Join(o.near, ", "))
			continue
		}
		fmt.Fprintf(&b, "“%s”: %s, score %.2f.\n", brief(o.clause.text()), p.steps[o.made[0]].tool.Name, o.score)
	}
	if b.Len() == 0 {
		return "The goal names nothing to do.\n"
	}
	return b.String()
}
