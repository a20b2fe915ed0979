package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/edge/lines"
)

func (t *terminal) memoryCommand() *cli.Command {
	return &cli.Command{
		Name: "memory",
		Description: "A memory is a text with an area, a type and tags. It is found by its words and by what it\n" +
			"means, as far as the embedder knows meaning: the setting memory.embedder.\n\n" +
			"Areas: " + named(work.Areas()) + ".\nTypes: " + named(work.MemoryTypes()) + ".\n\n" +
			"Examples:\n  skillet memory add 'The build needs Go 1.26.' --tag build\n  skillet memory search 'what does the build need?'\n" +
			"  skillet memory list --area solutions --since 7d",
		Subcommands: []*cli.Command{
			command("add", memoryFlags(), t.withMemory(t.addMemory)),
			command("search recall", searchFlags(), t.withMemory(one("one query", t.searchMemory))),
			command("list ls", append(filterFlags(), &cli.IntFlag{Name: "limit", Usage: "the `NUMBER` of memories to list; 0 lists all", Value: 50}), t.withMemory(t.listMemories)),
			command("show", nil, t.withMemory(one("one ID", func(ctx context.Context, _ *cli.Context, m *work.Memories, id string) error {
				r, err := m.Show(ctx, t.person(), id)
				return printLines(t, r, err, lines.Record)
			}))),
			command("remove rm", []cli.Flag{yesFlag("forget them")}, t.withMemory(t.removeMemories)),
			command("stats", nil, t.withMemory(func(ctx context.Context, _ *cli.Context, m *work.Memories) error {
				f, err := m.Stats(ctx, t.person())
				return printLines(t, f, err, lines.MemoryStats)
			})),
			command("reindex", nil, t.withMemory(t.reindexMemory)),
			command("consolidate", []cli.Flag{&cli.BoolFlag{Name: "if-due", Usage: "do nothing when none is due"}}, t.withMemory(t.consolidateMemory)),
			command("export", append(filterFlags(), overFlag()), t.withMemory(one("one file, or - for standard output", t.exportMemories))),
			command("import", []cli.Flag{&cli.BoolFlag{Name: "replace", Usage: "replace what is there by what was changed later"}}, t.withMemory(one("one file, or - for standard input", t.importMemories))),
		},
	}
}

func named[T ~string](all []T) string { return strings.Join(as[string](all), ", ") }

// as has names as another type.
func as[To, From ~string](names []From) []To {
	var all []To
	for _, n := range names {
		all = append(all, To(n))
	}
	return all
}

// withMemory hands on the memory of the home, and shows that it is read.
func (t *terminal) withMemory(do func(context.Context, *cli.Context, *work.Memories) error) cli.ActionFunc {
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
		&cli.StringSliceFlag{Name: "area", Usage: "of this `AREA`; may be repeated"},
		&cli.StringSliceFlag{Name: "type", Usage: "of this `TYPE`; may be repeated"},
		&cli.StringSliceFlag{Name: "tag", Usage: "with this `TAG`; with all of them when several are given"},
		&cli.StringFlag{Name: "since", Usage: "changed at this `TIME` or later: a date, or how long ago, such as 7d"},
		&cli.StringFlag{Name: "until", Usage: "changed before this `TIME`"},
	}
}

func memoryFilter(c *cli.Context) (f work.Filter, err error) {
	f.Areas, f.Types, f.Tags = as[work.Area](c.StringSlice("area")), as[work.MemoryType](c.StringSlice("type")), c.StringSlice("tag")
	now := time.Now()
	if f.Since, err = moment(c, "since", now); err != nil {
		return f, err
	}
	f.Until, err = moment(c, "until", now)
	return f, err
}

// memoryFlags describe a memory.
func memoryFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "area", Usage: "the `AREA` it goes into"},
		&cli.StringFlag{Name: "type", Usage: "the `TYPE` of what it tells", Value: string(work.Knowledge)},
		&cli.StringSliceFlag{Name: "tag", Usage: "a `TAG`; may be repeated"},
		&cli.StringSliceFlag{Name: "meta", Usage: "`KEY=VALUE` that goes with it; may be repeated"},
		&cli.StringFlag{Name: "task", Usage: "the `ID` of the task it comes from"},
		&cli.BoolFlag{Name: "failed", Usage: "it tells of something that did not succeed"},
		&cli.BoolFlag{Name: "pin", Usage: "never merge or forget it"},
	}
}

func (t *terminal) addMemory(ctx context.Context, c *cli.Context, m *work.Memories) error {
	d, err := t.memoryDraft(c)
	if err != nil {
		return err
	}
	r, err := m.Add(ctx, t.person(), d)
	return answered(t, r, err, func(r work.Record) {
		t.say("%s", r.ID)
		t.note("remembered in %s as %s", r.Area, r.Type)
	})
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
			return d, fault.Errorf(fault.KindUsage, "--meta %q is not KEY=VALUE", pair).WithHint("such as --meta repo=skillet")
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

func searchFlags() []cli.Flag {
	return append(filterFlags(),
		&cli.IntFlag{Name: "limit", Usage: "the `NUMBER` of memories to show", Value: work.DefaultLimit},
		&cli.StringFlag{Name: "by", Usage: "the `ORDER`: importance, or rank, which is how well it fits alone", Value: "importance"},
		&cli.Float64Flag{Name: "min-relevance", Usage: "leave out what is less near than this `NUMBER`, 0 to 1, and has no word of the query; 0 leaves out nothing (default: what the embedder can tell apart)"},
		&cli.BoolFlag{Name: "quiet", Usage: "do not count what is found as found"},
	)
}

func (t *terminal) searchMemory(ctx context.Context, c *cli.Context, m *work.Memories, query string) error {
	f, err := memoryFilter(c)
	if err != nil {
		return err
	}
	q := work.Query{Text: query, Filter: f, Limit: c.Int("limit"), MinRelevance: c.Float64("min-relevance"), Quiet: c.Bool("quiet")}
	if c.IsSet("min-relevance") && q.MinRelevance == 0 { // leave out nothing
		q.MinRelevance = -1
	}
	if by := c.String("by"); by != "importance" {
		q.Order = work.Order(by)
	}
	found, err := m.Search(ctx, t.person(), q)
	if err == nil && !t.json && found.Waiting > 0 {
		t.note("%d of %s have no embedding of %s yet, and are found by their words only; `skillet memory reindex` makes them",
			found.Waiting, count(found.Records, "memory record"), plain(found.Embedder))
	}
	return answered(t, found.Matches, err, func(all []work.Match) {
		if len(all) == 0 {
			t.note("no memory matches")
		}
		for _, r := range all {
			t.say("%.2f  %s  (near %.2f)", r.Importance.Total, lines.Memory(r.Record), r.Importance.Relevance)
		}
	})
}

func (t *terminal) listMemories(ctx context.Context, c *cli.Context, m *work.Memories) error {
	f, err := memoryFilter(c)
	if err != nil {
		return err
	}
	limit := c.Int("limit")
	all, n, err := m.List(ctx, t.person(), f, limit)
	return answered(t, all, err, func(all []work.Record) {
		if len(all) == 0 {
			t.note("no memory matches; `skillet memory add TEXT` adds one")
		}
		for _, r := range all {
			t.say("%s", lines.Memory(r))
		}
		if len(all) == limit && n > limit {
			t.note("there may be more: %s in all; --limit 0 lists all", count(n, "memory record"))
		}
	})
}

func (t *terminal) removeMemories(ctx context.Context, c *cli.Context, m *work.Memories) error {
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
			t.note("%s", lines.Memory(r))
		}
	}
	if err := t.agreed(c, "Forget "+count(len(all), "memory record")+"?"); err != nil {
		return err
	}
	return answered(t, all, m.Remove(ctx, t.person(), all), func(all []work.Record) { t.note("forgot %s", count(len(all), "memory record")) })
}
