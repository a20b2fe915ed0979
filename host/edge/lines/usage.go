package lines

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/internal/text"
)

// Figures are what was used, in sections with an empty line between them.
func Figures(style Style, f work.Figures) []string {
	return written(style, func(b *block) { b.figures(f) })
}

// figures writes the sections that are there, with an empty line between them.
func (b *block) figures(f work.Figures) {
	var shown []func()
	if f.Skills != nil {
		shown = append(shown, func() { b.skillStats(*f.Skills) })
	}
	if f.Models != nil {
		shown = append(shown, func() { b.modelStats(*f.Models) })
	}
	if f.Memory != nil {
		shown = append(shown, func() { b.say("memory:"); b.memoryStats(*f.Memory) })
	}
	if f.Events != nil {
		shown = append(shown, func() { b.eventStats(*f.Events) })
	}
	if f.Queue != nil {
		shown = append(shown, func() { b.queueStats(*f.Queue) })
	}
	for i, show := range shown {
		if i > 0 {
			b.say("")
		}
		show()
	}
}

func (b *block) skillStats(all []work.SkillStats) {
	if len(all) == 0 {
		b.say("skills: nothing ran")
		return
	}
	b.say("skills:")
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{
			"  " + s.Skill, fmt.Sprint(s.Calls), fmt.Sprint(s.Parts), failuresIn(s), fmt.Sprint(s.Denials), fmt.Sprint(s.Cached),
			fmt.Sprint(s.Fuel), size(int64(s.PeakMemoryBytes)), took(s.Latency.P50MS), took(s.Latency.P90MS), took(s.Latency.P99MS), when(s.Last),
		})
	}
	b.table("  SKILL\tCALLS\tPARTS\tFAILED\tDENIED\tCACHED\tFUEL\tMEMORY\tP50\tP90\tP99\tLAST", rows)
}

// failuresIn are the failures by kind.
func failuresIn(s work.SkillStats) string {
	n := s.Failed()
	if n == 0 {
		return "0"
	}
	var kinds []string
	for _, k := range slices.Sorted(maps.Keys(s.Failures)) {
		kinds = append(kinds, string(k)+" "+fmt.Sprint(s.Failures[k]))
	}
	return fmt.Sprintf("%d (%s)", n, strings.Join(kinds, ", "))
}

// took is a time in milliseconds as people read it.
func took(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

func (b *block) eventStats(e work.EventStats) {
	b.say("events: %d", e.Events)
	if e.Events > 0 {
		b.say("  from %s to %s", when(e.First), when(e.Last))
		for _, d := range work.EventTypes() {
			if n := e.Types[d.Type]; n > 0 {
				b.say("  %-22s %6d  %s", d.Type, n, d.Doc)
			}
		}
	}
}

func (b *block) queueStats(q work.QueueStats) {
	b.say("queue: %d waiting, %d delayed, %d running, %s", q.Waiting, q.Delayed, q.Running, count(q.DeadLetters, "dead letter"))
	if len(q.Priorities) > 0 {
		b.say("  priorities %s", counted(q.Priorities, 0))
		b.say("  owners     %s", counted(q.Owners, maxTags))
		b.say("  the oldest has waited %s", text.Span(q.OldestSeconds))
	}
	b.say("  room for %d, %d at the same time", q.Limit, q.Concurrency)
	s := q.Totals
	b.say("  in all: %d pushed, %d turned away, %d begun, %d done, %d failed, %d tried again, %d given up, %d taken over, %d cancelled",
		s.Pushed, s.Shed, s.Begun, s.Done, s.Failed, s.Retried, s.Dead, s.TakenOver, s.Cancelled)
	if s.Begun > 0 {
		b.say("  on average waited %s, worked %s", took(float64(s.WaitMS)/float64(s.Begun)), took(float64(s.WorkMS)/float64(s.Begun)))
	}
}

// dollars are millionths of US dollars as people read them.
func dollars(micro int64) string { return fmt.Sprintf("$%.4f", float64(micro)/1e6) }

func (b *block) modelStats(m work.ModelStats) {
	if m.Total.Calls+m.Total.Cached == 0 {
		b.say("models: none was asked")
	} else {
		b.say("models: %s, %d failed, %d from the cache, %s", count(int(m.Total.Calls), "call"), m.Total.Failed, m.Total.Cached, dollars(m.Total.MicroUSD))
	}
	for _, part := range []struct {
		name string
		rows []work.ModelUse
	}{{"MODEL", m.Models}, {"TIER", m.Tiers}, {"DAY", m.Days}} {
		if len(part.rows) == 0 {
			continue
		}
		var rows [][]string
		for _, u := range part.rows {
			rows = append(rows, []string{
				"  " + u.Name, fmt.Sprint(u.Calls), fmt.Sprint(u.Failed), fmt.Sprint(u.Cached), fmt.Sprint(u.InputTokens), fmt.Sprint(u.OutputTokens), dollars(u.MicroUSD),
				took(float64(u.TookMS) / float64(max(1, u.Calls))),
			})
		}
		b.table("  "+part.name+"\tCALLS\tFAILED\tCACHED\tTOKENS IN\tOUT\tCOST\tEACH", rows)
	}
	for _, one := range m.Budgets {
		b.say("  %s", budgetWords(one))
	}
}
