package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// runResearch runs a loop whose texts are numbered sources, and checks its answer: one
// with a number that is not a source, or without any number, is asked for once more.
// Without any source the goal has no answer.
func runResearch(ctx context.Context, w *work) (agent.Report, error) {
	s := &sources{}
	l := w.loop()
	l.messages = w.opening(func(_ int, p agent.Passage) string {
		return s.shown(p.Source, p.Text)
	})
	l.shown = func(c provider.ToolCall, r agent.ToolResult) string {
		address := addressOf(c.Input)
		if !r.OK || address == "" && !r.Untrusted {
			return provider.MarkData(c.Name, clip(r.Text))
		}
		if address == "" {
			address = c.Name + " " + brief(compact(c.Input))
		}
		return s.shown(address, r.Text)
	}
	o, err := l.run(ctx)
	if err == nil && o.problem == "" && len(s.all) > 0 {
		o, err = l.hold(ctx, s, o)
	}
	if err != nil {
		r, err := w.failed(err, l.partial())
		r.Sources = s.all
		return r, err
	}
	return l.cite(s, o), nil
}

// hold asks once more when an answer is not held by its sources.
func (l *loop) hold(ctx context.Context, s *sources, o outcome) (outcome, error) {
	wrong := s.wrong(o.answer)
	if wrong == "" || l.thoughts >= l.limit {
		return o, nil
	}
	l.tally.repairs++
	l.notes = []string{"An answer to this was sent back: " + wrong + " Answer again, with the numbers of the sources."}
	r, err := l.ask(ctx, "cite")
	if err != nil || len(r.Calls) > 0 || strings.TrimSpace(r.Text) == "" {
		return o, dropRefusal(ctx, err)
	}
	return l.ended(r), nil
}

// dropRefusal forgets why a second attempt could not be had: the first stands then.
// A task that was cancelled stays so.
func dropRefusal(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return nil
}

// cite is the report of an answer, with the sources it names, numbered anew.
func (l *loop) cite(s *sources, o outcome) agent.Report {
	if len(s.all) == 0 {
		l.tally.unsourced = true
		r := l.reportOf(outcome{"No source was found, so the question has no answer.", "nothing that was read says anything about it"})
		r.NextSteps = []string{"Name a page or a file to read, or give the task a tool that searches or fetches."}
		return r
	}
	answer, cited, unknown := s.renumber(o.answer)
	if o.problem == "" && unknown > 0 {
		l.decide("%s in the answer named no source and were taken out.", times(unknown, "number"))
		l.tally.repairs++
	}
	if len(cited) == 0 {
		l.tally.unsourced = true
		l.decide("The answer does not say what is from which source; everything that was read is listed.")
		cited = s.all
	}
	r := l.reportOf(outcome{answer, o.problem})
	r.Sources = cited
	return r
}

// sources are the texts that were read, in order; the first has the number 1.
type sources struct{ all []agent.Passage }

// shown is a text as a numbered source. The same source keeps its number.
func (s *sources) shown(source, text string) string {
	i := slices.IndexFunc(s.all, func(p agent.Passage) bool { return p.Source == source })
	if i < 0 {
		i = len(s.all)
		s.all = append(s.all, agent.Passage{Source: source, Text: brief(text)})
	}
	return fmt.Sprintf("Source [%d]:\n%s", i+1, provider.MarkData(source, clip(text)))
}

var citation = lazyregexp.New(`\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]`)

// wrong says in a sentence why an answer is not held by the sources; empty when
// it is.
func (s *sources) wrong(answer string) string {
	_, cited, unknown := s.renumber(answer)
	switch {
	case unknown > 0:
		return fmt.Sprintf("it names sources that there are not; there are [1] to [%d].", len(s.all))
	case len(cited) == 0:
		return "it names no source."
	}
	return ""
}

// renumber numbers the sources that an answer names from 1, in the order in which
// it does, and takes out and counts the numbers that are not sources.
func (s *sources) renumber(answer string) (text string, cited []agent.Passage, unknown int) {
	numbers := map[int]int{}
	text = citation().ReplaceAllStringFunc(answer, func(m string) string {
		var kept []string
		for _, field := range strings.Split(strings.Trim(m, "[]"), ",") {
			n, err := strconv.Atoi(strings.TrimSpace(field))
			if err != nil || n < 1 || n > len(s.all) {
				unknown++
				continue
			}
			if numbers[n] == 0 {
				cited = append(cited, s.all[n-1])
				numbers[n] = len(cited)
			}
			kept = append(kept, fmt.Sprintf("[%d]", numbers[n]))
		}
		return strings.Join(kept, "")
	})
	return text, cited, unknown
}

// addressOf is the address or path that an input names first; empty for none.
func addressOf(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range []string{"url", "uri", "href", "address", "base_url", "path", "file"} {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			return brief(text)
		}
	}
	return ""
}
