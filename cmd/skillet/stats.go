package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
)

func (t *terminal) statsCommand() *cli.Command {
	return &cli.Command{
		Name:      "stats",
		Usage:     "figures of what ran: skills, models, memory, events, queue",
		ArgsUsage: "[SECTION...]",
		Description: "Figures of skills are made from the audit log. Those of the memory and of the queue are of\n" +
			"now, whatever --since says, and models are counted by days of UTC.\n\n" +
			"A time is a date (2026-11-21), RFC 3339, or how long ago (36h, 30d).\n\n" +
			"Examples:\n  skillet stats\n  skillet stats skills models --since 7d\n  skillet stats --json",
		Flags:  []cli.Flag{&cli.StringFlag{Name: "since", Usage: "leave out what was before this `TIME`"}},
		Action: t.withState(t.stats),
	}
}

// figures are what --json prints of stats; sections that nobody asked for are left
// out.
type figures struct {
	Since  time.Time          `json:"since,omitzero"`
	Skills *[]work.SkillStats `json:"skills,omitempty"`
	Models *work.ModelStats   `json:"models,omitempty"`
	Memory *work.MemoryStats  `json:"memory,omitempty"`
	Events *work.EventStats   `json:"events,omitempty"`
	Queue  *work.QueueStats   `json:"queue,omitempty"`
}

// A section is one part of the figures: how it is got, and how it is shown.
type section struct {
	name string
	get  func(ctx context.Context, t *terminal, h *host.Host, f *figures) error
	show func(t *terminal, f *figures)
}

// sections are all of them, in the order in which they are shown.
func sections() []section {
	return []section{
		{"skills", func(ctx context.Context, t *terminal, h *host.Host, f *figures) error {
			s, err := h.Work().Usage().Skills(ctx, t.person(), f.Since)
			f.Skills = &s
			return err
		}, (*terminal).showSkillStats},
		{"models", func(ctx context.Context, t *terminal, h *host.Host, f *figures) error {
			s, err := h.Work().Usage().Models(ctx, t.person(), f.Since)
			f.Models = &s
			return err
		}, (*terminal).showModelStats},
		{"memory", func(ctx context.Context, t *terminal, h *host.Host, f *figures) error {
			done := t.waiting("reading the memory")
			s, err := h.Work().Memories().Stats(ctx, t.person())
			done()
			f.Memory = &s
			return err
		}, func(t *terminal, f *figures) { t.say("memory:"); t.printMemoryStats(*f.Memory) }},
		{"events", func(ctx context.Context, t *terminal, h *host.Host, f *figures) error {
			s, err := h.Work().Usage().Events(ctx, t.person(), f.Since)
			f.Events = &s
			return err
		}, (*terminal).showEventStats},
		{"queue", func(ctx context.Context, t *terminal, h *host.Host, f *figures) error {
			s, err := h.Work().Usage().Queue(ctx, t.person())
			f.Queue = &s
			return err
		}, (*terminal).showQueueStats},
	}
}

func sectionNames() []string {
	var names []string
	for _, s := range sections() {
		names = append(names, s.name)
	}
	return names
}

func (t *terminal) stats(ctx context.Context, c *cli.Context, h *host.Host) error {
	since, err := moment(c, "since", time.Now())
	if err != nil {
		return err
	}
	wanted, err := oneOf("section", c.Args().Slice(), sectionNames())
	if err != nil {
		return err
	}
	f := figures{Since: since}
	var chosen []section
	for _, s := range sections() {
		if len(wanted) > 0 && !slices.Contains(wanted, s.name) {
			continue
		}
		if err := s.get(ctx, t, h, &f); err != nil {
			return fmt.Errorf("figures of %s: %w", s.name, err)
		}
		chosen = append(chosen, s)
	}
	return t.answer(f, func() {
		for i, s := range chosen {
			if i > 0 {
				t.say("")
			}
			s.show(t, &f)
		}
	})
}

func (t *terminal) showSkillStats(f *figures) {
	if len(*f.Skills) == 0 {
		t.say("skills: nothing ran")
		return
	}
	t.say("skills:")
	var rows [][]string
	for _, s := range *f.Skills {
		rows = append(rows, []string{
			"  " + s.Skill, fmt.Sprint(s.Calls), fmt.Sprint(s.Parts), failuresIn(s), fmt.Sprint(s.Denials), fmt.Sprint(s.Cached),
			fmt.Sprint(s.Fuel), size(int64(s.PeakMemoryBytes)), took(s.Latency.P50MS), took(s.Latency.P90MS), took(s.Latency.P99MS), when(s.Last),
		})
	}
	t.table("  SKILL\tCALLS\tPARTS\tFAILED\tDENIED\tCACHED\tFUEL\tMEMORY\tP50\tP90\tP99\tLAST", rows)
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

func (t *terminal) showEventStats(f *figures) {
	t.say("events: %d", f.Events.Events)
	if f.Events.Events > 0 {
		t.say("  from %s to %s", when(f.Events.First), when(f.Events.Last))
		for _, d := range work.EventTypes() {
			if n := f.Events.Types[d.Type]; n > 0 {
				t.say("  %-22s %6d  %s", d.Type, n, d.Doc)
			}
		}
	}
}

func (t *terminal) showQueueStats(f *figures) {
	q := f.Queue
	t.say("queue: %d waiting, %d delayed, %d running, %s", q.Waiting, q.Delayed, q.Running, count(q.DeadLetters, "dead letter"))
	if len(q.Priorities) > 0 {
		t.say("  priorities %s", counted(q.Priorities, 0))
		t.say("  owners     %s", counted(q.Owners, maxTags))
		t.say("  the oldest has waited %s", ago(q.OldestSeconds))
	}
	t.say("  room for %d, %d at the same time", q.Limit, q.Concurrency)
	s := q.Totals
	t.say("  in all: %d pushed, %d turned away, %d begun, %d done, %d failed, %d tried again, %d given up, %d taken over, %d cancelled",
		s.Pushed, s.Shed, s.Begun, s.Done, s.Failed, s.Retried, s.Dead, s.TakenOver, s.Cancelled)
	if s.Begun > 0 {
		t.say("  on average waited %s, worked %s", took(float64(s.WaitMS)/float64(s.Begun)), took(float64(s.WorkMS)/float64(s.Begun)))
	}
}

// dollars are millionths of US dollars as people read them.
func dollars(micro int64) string { return fmt.Sprintf("$%.4f", float64(micro)/1e6) }

func (t *terminal) showModelStats(f *figures) {
	m := f.Models
	if m.Total.Calls+m.Total.Cached == 0 {
		t.say("models: none was asked")
	} else {
		t.say("models: %s, %d failed, %d from the cache, %s", count(int(m.Total.Calls), "call"), m.Total.Failed, m.Total.Cached, dollars(m.Total.MicroUSD))
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
		t.table("  "+part.name+"\tCALLS\tFAILED\tCACHED\tTOKENS IN\tOUT\tCOST\tEACH", rows)
	}
	for _, b := range m.Budgets {
		t.say("  %s", plain(budgetWords(b)))
	}
}

// statSections are the sections, for completion.
func statSections(question) ([]candidate, error) {
	var found []candidate
	for _, name := range sectionNames() {
		found = append(found, candidate{Word: name, About: "a section"})
	}
	return found, nil
}
