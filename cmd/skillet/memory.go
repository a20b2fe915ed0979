package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/nearest"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
)

func (t *terminal) memoryCommand() *cli.Command {
	return &cli.Command{
		Name:  "memory",
		Usage: "what tasks learnt: add, search, list, consolidate, export",
		Description: "A memory is a text with an area, a type and tags. It is found by its words and by what it\n" +
			"means, as far as the embedder knows meaning: the setting memory.embedder.\n\n" +
			"Areas: " + named(work.Areas()) + ".\nTypes: " + named(work.MemoryTypes()) + ".\n\n" +
			"Examples:\n  skillet memory add 'The build needs Go 1.26.' --tag build\n  skillet memory search 'what does the build need?'\n" +
			"  skillet memory list --area solutions --since 7d",
		Subcommands: []*cli.Command{
			t.memoryAdd(), t.memorySearch(), t.memoryList(), t.memoryShow(), t.memoryRemove(),
			t.memoryStats(), t.memoryReindex(), t.memoryConsolidate(), t.memoryExport(), t.memoryImport(),
		},
	}
}

func named[T ~string](all []T) string {
	var names []string
	for _, a := range all {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}

// withMemory hands on the memory of the home, and what shows that it is read.
func (t *terminal) withMemory(do func(ctx context.Context, c *cli.Context, m *work.Memories) error) cli.ActionFunc {
	return t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		m := h.Work().Memories()
		done := t.waiting("reading the memory")
		_, err := m.Stats(ctx, t.person()) // reads it
		done()
		if err != nil {
			return err
		}
		return do(ctx, c, m)
	})
}

// filterFlags select records.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "area", Usage: "of this `AREA`; several may be given"},
		&cli.StringSliceFlag{Name: "type", Usage: "of this `TYPE`; several may be given"},
		&cli.StringSliceFlag{Name: "tag", Usage: "with this `TAG`; with all of them when several are given"},
		&cli.StringFlag{Name: "since", Usage: "changed at this `TIME` or later: a date, or how long ago, such as 7d"},
		&cli.StringFlag{Name: "until", Usage: "changed before this `TIME`"},
	}
}

func memoryFilter(c *cli.Context) (f work.Filter, err error) {
	if f.Areas, err = oneOf("area", c.StringSlice("area"), work.Areas()); err != nil {
		return f, err
	}
	if f.Types, err = oneOf("type", c.StringSlice("type"), work.MemoryTypes()); err != nil {
		return f, err
	}
	f.Tags = c.StringSlice("tag")
	now := time.Now()
	if f.Since, err = moment(c, "since", now); err != nil {
		return f, err
	}
	f.Until, err = moment(c, "until", now)
	return f, err
}

// oneOf refuses names that are none of those there are.
func oneOf[T ~string](what string, names []string, all []T) ([]T, error) {
	var found []T
	for _, n := range names {
		if !slices.Contains(all, T(n)) {
			e := fault.Errorf(fault.KindUsage, "there is no %s %q", what, n)
			var known []string
			for _, a := range all {
				known = append(known, string(a))
			}
			if best, ok := nearest.Name(n, known); ok {
				return nil, e.WithHint("did you mean %s? there are %s", best, named(all))
			}
			return nil, e.WithHint("there are %s", named(all))
		}
		found = append(found, T(n))
	}
	return found, nil
}

func (t *terminal) memoryAdd() *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "remember something",
		ArgsUsage: "TEXT|-",
		Description: "- reads the text from standard input. Without --area it goes where its type belongs.\n\n" +
			"Examples:\n  skillet memory add 'Ada wants reports as tables.' --type user_preference --pin\n" +
			"  git log -1 | skillet memory add - --type task_execution --tag release --meta repo=skillet",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "area", Usage: "the `AREA` it goes into"},
			&cli.StringFlag{Name: "type", Usage: "the `TYPE` of what it tells", Value: string(work.Knowledge)},
			&cli.StringSliceFlag{Name: "tag", Usage: "a `TAG`; several may be given"},
			&cli.StringSliceFlag{Name: "meta", Usage: "`KEY=VALUE` that goes with it; several may be given"},
			&cli.StringFlag{Name: "task", Usage: "the `ID` of the task it comes from"},
			&cli.BoolFlag{Name: "failed", Usage: "it tells of something that did not succeed"},
			&cli.BoolFlag{Name: "pin", Usage: "never merge or forget it"},
		},
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *work.Memories) error {
			d, err := t.memoryDraft(c)
			if err != nil {
				return err
			}
			r, err := m.Add(ctx, t.person(), d)
			if err != nil {
				return err
			}
			return t.answer(r, func() {
				t.say("%s", r.ID)
				t.note("remembered in %s as %s", r.Area, r.Type)
			})
		}),
	}
}

func (t *terminal) memoryDraft(c *cli.Context) (work.MemoryDraft, error) {
	args, err := need(c, 1, "one text, or - for standard input")
	if err != nil {
		return work.MemoryDraft{}, err
	}
	d := work.MemoryDraft{
		Text: args[0], Area: work.Area(c.String("area")), Type: work.MemoryType(c.String("type")), Tags: c.StringSlice("tag"),
		Failed: c.Bool("failed"), Pinned: c.Bool("pin"), Task: c.String("task"),
	}
	for _, pair := range c.StringSlice("meta") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return d, fault.Errorf(fault.KindUsage, "--meta %q is no KEY=VALUE", pair).WithHint("such as --meta repo=skillet")
		}
		if d.Metadata == nil {
			d.Metadata = map[string]string{}
		}
		d.Metadata[key] = value
	}
	if d.Text == "-" {
		b, err := io.ReadAll(io.LimitReader(t.in, work.MaxText+1))
		if err != nil {
			return d, fmt.Errorf("read the text: %w", err)
		}
		d.Text = strings.TrimSuffix(string(b), "\n")
	}
	return d, nil
}

func (t *terminal) memorySearch() *cli.Command {
	return &cli.Command{
		Name: "search", Aliases: []string{"recall"},
		Usage:     "find what is remembered about something",
		ArgsUsage: "QUERY",
		Description: "What matters most comes first: how recent it is, whether it tells of a success, how near it\n" +
			"is to the query, and how often it was found. docs/memory.md has the formula.\n\n" +
			"Examples:\n  skillet memory search 'how do we release?'\n  skillet memory search proxy --area solutions --limit 3 --json\n" +
			"  skillet memory search 'reports for Ada' --by rank --quiet",
		Flags: append(filterFlags(),
			&cli.IntFlag{Name: "limit", Usage: "the `NUMBER` of memories to show", Value: work.DefaultLimit},
			&cli.StringFlag{Name: "by", Usage: "the `ORDER`: importance, or rank, which is how well it fits alone", Value: "importance"},
			&cli.Float64Flag{Name: "min-relevance", Usage: "leave out what is less near than this `NUMBER`, 0 to 1, and has no word of the query; 0 leaves out nothing (default: what the embedder can tell apart)"},
			&cli.BoolFlag{Name: "quiet", Usage: "do not count what is found as found"},
		),
		Action: t.withMemory(t.searchMemory),
	}
}

// orders are the orders of a search by their names.
var orders = map[string]work.Order{"importance": work.ByImportance, "rank": work.ByRank}

func (t *terminal) searchMemory(ctx context.Context, c *cli.Context, m *work.Memories) error {
	args, err := need(c, 1, "one query")
	if err != nil {
		return err
	}
	f, err := memoryFilter(c)
	if err != nil {
		return err
	}
	if _, err := oneOf("order", []string{c.String("by")}, slices.Sorted(maps.Keys(orders))); err != nil {
		return err
	}
	least := c.Float64("min-relevance")
	if c.IsSet("min-relevance") && least == 0 { // leave out nothing
		least = -1
	}
	found, err := m.Search(ctx, t.person(), work.Query{
		Text: args[0], Filter: f, Limit: c.Int("limit"), Order: orders[c.String("by")], MinRelevance: least, Quiet: c.Bool("quiet"),
	})
	if err != nil {
		return err
	}
	t.noteWaiting(found)
	return t.answer(append([]work.Match{}, found.Matches...), func() {
		if len(found.Matches) == 0 {
			t.note("nothing is remembered about that")
		}
		for _, r := range found.Matches {
			t.say("%.2f  %s  (near %.2f)", r.Importance.Total, t.memoryLine(r.Record), r.Importance.Relevance)
		}
	})
}

// memoryLine is a record in one line.
func (t *terminal) memoryLine(r work.Record) string {
	line := fmt.Sprintf("%s  %s  %-9s %s", r.ID[:8], when(r.Updated), r.Area, short(plain(work.Shown(r.Text)), 100))
	if o := r.Origin(); o != "" {
		line += "  by " + plain(o)
		if r.Task != "" {
			line += " in " + plain(shortID(r.Task))
		}
	}
	if len(r.Tags) > 0 {
		line += "  #" + plain(strings.Join(r.Tags, " #"))
	}
	for _, mark := range []struct {
		is   bool
		word string
	}{{r.Failed, "failed"}, {r.Pinned, "pinned"}} {
		if mark.is {
			line += "  [" + mark.word + "]"
		}
	}
	return line
}

func (t *terminal) memoryList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list what is remembered, the latest first",
		Description: "Examples:\n  skillet memory list\n  skillet memory list --type failure_pattern --since 30d --limit 10 --json",
		Flags:       append(filterFlags(), &cli.IntFlag{Name: "limit", Usage: "the `NUMBER` of memories to list; 0 lists all", Value: 50}),
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *work.Memories) error {
			f, err := memoryFilter(c)
			if err != nil {
				return err
			}
			limit := c.Int("limit")
			all, n, err := m.List(ctx, t.person(), f, limit)
			if err != nil {
				return err
			}
			return t.answer(append([]work.Record{}, all...), func() {
				if len(all) == 0 {
					t.note("nothing fits; `skillet memory add TEXT` remembers something")
				}
				for _, r := range all {
					t.say("%s", t.memoryLine(r))
				}
				if len(all) == limit && n > limit {
					t.note("there may be more: %s in all; --limit 0 lists all", count(n, "memory record"))
				}
			})
		}),
	}
}

func (t *terminal) memoryShow() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show one memory whole",
		ArgsUsage:   "ID",
		Description: "The beginning of an ID is enough.\n\nExamples:\n  skillet memory show 1f0c2a9b\n  skillet memory show 1f0c2a9b --json",
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *work.Memories) error {
			args, err := need(c, 1, "one ID")
			if err != nil {
				return err
			}
			r, err := m.Show(ctx, t.person(), args[0])
			if err != nil {
				return err
			}
			return t.answer(r, func() { t.printMemory(r) })
		}),
	}
}

func (t *terminal) printMemory(r work.Record) {
	t.say("%s  %s in %s", r.ID, r.Type, r.Area)
	t.say("  written %s, changed %s, found %s", when(r.Created), when(r.Updated), count(int(r.Retrievals), "time"))
	for _, fact := range []struct {
		is   bool
		text string
	}{
		{r.Failed, "tells of a failure"},
		{r.Pinned, "pinned: it is never merged or forgotten"},
		{len(r.Tags) > 0, "tags: " + strings.Join(r.Tags, ", ")},
		{r.Task != "", "of task " + r.Task},
		{len(r.Sources) > 0, "made of " + count(len(r.Sources), "memory record")},
	} {
		if fact.is {
			t.say("  %s", plain(fact.text))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(r.Metadata)) {
		t.say("  %s = %s", plain(k), plain(work.Shown(r.Metadata[k])))
	}
	for line := range strings.Lines(work.Shown(r.Text)) {
		t.say("  | %s", plain(strings.TrimSuffix(line, "\n")))
	}
}

func (t *terminal) memoryRemove() *cli.Command {
	return &cli.Command{
		Name: "remove", Aliases: []string{"rm"},
		Usage:       "forget memories",
		ArgsUsage:   "ID...",
		Description: "The beginning of an ID is enough. It cannot be undone; `skillet memory export` keeps a copy.\n\nExamples:\n  skillet memory remove 1f0c2a9b\n  skillet memory remove 1f0c2a9b 77de0c31 --yes",
		Flags:       []cli.Flag{yesFlag("forget them")},
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *work.Memories) error {
			if !c.Args().Present() {
				_, err := need(c, 1, "at least one ID")
				return err
			}
			var all []work.Record
			for _, prefix := range c.Args().Slice() {
				r, err := m.Show(ctx, t.person(), prefix)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			if !c.Bool("yes") {
				for _, r := range all {
					t.note("%s", t.memoryLine(r))
				}
				if err := t.confirm("memory remove", "Forget "+count(len(all), "memory record")+"?"); err != nil {
					return err
				}
			}
			if err := m.Remove(ctx, t.person(), all); err != nil {
				return err
			}
			return t.answer(all, func() { t.note("forgot %s", count(len(all), "memory record")) })
		}),
	}
}
