package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/urfave/cli/v2"
)

func (t *terminal) memoryStats() *cli.Command {
	return &cli.Command{
		Name:        "stats",
		Usage:       "figures of the memory",
		Description: "Examples:\n  skillet memory stats\n  skillet memory stats --json",
		Action: t.withMemory(func(ctx context.Context, _ *cli.Context, m *work.Memories) error {
			f, err := m.Stats(ctx, t.person())
			if err != nil {
				return err
			}
			return t.answer(f, func() { t.printMemoryStats(f) })
		}),
	}
}

// maxTags is how many tags the figures name.
const maxTags = 10

func (t *terminal) printMemoryStats(f work.MemoryStats) {
	t.say("%s, %s of text", count(f.Records, "record"), size(f.TextBytes))
	t.say("  areas     %s", counted(f.Areas, 0))
	t.say("  types     %s", counted(f.Types, 0))
	t.say("  tags      %s", counted(f.Tags, maxTags))
	t.say("  failed    %d, pinned %d, merged %d", f.Failed, f.Pinned, f.Merged)
	t.say("  found     %s", count(int(f.Retrievals), "time"))
	if f.Records > 0 {
		t.say("  changed   from %s to %s", when(f.Oldest), when(f.Newest))
	}
	t.say("  vectors   %s, %d dimensions, %d waiting, %s", plain(f.Embedder), f.Vectors.Dimensions, f.Waiting, size(f.Vectors.Bytes))
	if f.Consolidated.IsZero() {
		t.say("  never consolidated")
	} else {
		t.say("  consolidated %s", when(f.Consolidated))
	}
	if f.Due != "" {
		t.say("  a consolidation is due: %s", f.Due)
	}
}

// counted are names with their counts, the largest first; at most so many, or all
// when max is 0.
func counted[K ~string](counts map[K]int, most int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	var all []string
	for i, n := range names {
		if most > 0 && i == most {
			all = append(all, fmt.Sprintf("and %d more", len(names)-most))
			break
		}
		all = append(all, fmt.Sprintf("%s %d", plain(string(n)), counts[n]))
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}

func (t *terminal) memoryConsolidate() *cli.Command {
	return &cli.Command{
		Name:  "consolidate",
		Usage: "merge what says the same, and forget what matters least",
		Description: "Tasks do it when it is due, which `skillet memory stats` shows; the settings memory.* say\n" +
			"when. What is merged is deleted only when what was made of it is stored.\n\n" +
			"Examples:\n  skillet memory consolidate\n  skillet memory consolidate --if-due --json",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "if-due", Usage: "do nothing when none is due"}},
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *work.Memories) error {
			q := work.ConsolidateRequest{IfDue: c.Bool("if-due"), Progress: t.following(func(n int) string { return "consolidating: " + count(n, "memory record") })}
			o, done, err := m.Consolidate(ctx, t.person(), q)
			if err != nil {
				return err
			}
			return t.answer(o, func() {
				if !done {
					t.note("none is due")
					return
				}
				t.say("merged %d into %d, forgot %d, tidied up %d: %s left", o.Merged, o.Made, o.Forgotten, o.Swept, count(o.Records, "record"))
				if o.Unfinished {
					t.note("there is more to do: run it again")
				}
			})
		}),
	}
}

// following shows how far long work is, by a number that is looked at.
func (t *terminal) following(words func(n int) string) work.Progress {
	return func(look func() int) (done func()) {
		if !t.errTTY || t.json {
			return func() {}
		}
		return t.err.Watching(func() (string, int64, int64) { return plain(words(look())), 0, 0 })
	}
}

func (t *terminal) memoryReindex() *cli.Command {
	return &cli.Command{
		Name:  "reindex",
		Usage: "make the embeddings that are missing, after another embedder was set",
		Description: "A memory without an embedding of the setting memory.embedder is found by its words only.\n" +
			"Every command that opens the memory makes some of them; this one makes all. What was\n" +
			"made stays when it is interrupted, and the next one goes on.\n\n" +
			"Examples:\n  skillet config set memory.embedder minilm/all-MiniLM-L6-v2 --yes\n  skillet memory reindex\n  skillet memory reindex --json",
		Action: t.withMemory(func(ctx context.Context, _ *cli.Context, m *work.Memories) error {
			out, err := m.Reindex(ctx, t.person(), func(waiting int) work.Progress {
				return t.following(func(n int) string { return fmt.Sprintf("embedding: %d of %s", n, count(waiting, "memory record")) })
			})
			if err != nil {
				return fault.Wrap(fault.AsError(err).Kind, err).WithHint("%s made, %d still wait: run it again to go on", count(out.Made, "embedding"), out.Waiting)
			}
			return t.answer(out, func() { t.say("%s made by %s", count(out.Made, "embedding"), plain(out.Embedder)) })
		}),
	}
}

// noteWaiting says that not all memories are found by what they mean.
func (t *terminal) noteWaiting(f work.Found) {
	if !t.json && f.Waiting > 0 {
		t.note("%d of %s have no embedding of %s yet, and are found by their words only; `skillet memory reindex` makes them",
			f.Waiting, count(f.Records, "memory record"), plain(f.Embedder))
	}
}

func (t *terminal) memoryExport() *cli.Command {
	return &cli.Command{
		Name:        "export",
		Usage:       "write memories as lines of JSON, to a file or a pipe",
		ArgsUsage:   "FILE|-",
		Description: "Embeddings are not in it; they are made again where it is imported.\n\nExamples:\n  skillet memory export memory.jsonl\n  skillet memory export - --area main | ssh laptop skillet memory import -",
		Flags:       append(filterFlags(), overFlag()),
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *work.Memories) error {
			args, err := need(c, 1, "one file, or - for standard output")
			if err != nil {
				return err
			}
			f, err := memoryFilter(c)
			if err != nil {
				return err
			}
			if args[0] == standardOutput {
				_, err := m.Export(ctx, t.person(), t.out, f)
				return err
			}
			out, err := m.ExportFile(ctx, t.person(), work.ExportFile{Path: args[0], Over: c.Bool("force")}, f)
			if err != nil {
				return err
			}
			return t.answer(out, func() { t.note("wrote %s: %s", plain(out.Path), count(out.Records, "record")) })
		}),
	}
}

func (t *terminal) memoryImport() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "add the memories that export wrote",
		ArgsUsage: "FILE|-",
		Description: "All lines are checked before anything is stored. What is there already stays as it is.\n\n" +
			"Examples:\n  skillet memory import memory.jsonl\n  skillet memory import memory.jsonl --replace --json",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "replace", Usage: "replace what is there by what was changed later"}},
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *work.Memories) error {
			args, err := need(c, 1, "one file, or - for standard input")
			if err != nil {
				return err
			}
			from := t.in
			if args[0] != "-" {
				f, err := openfile.Open(ctx, args[0])
				if err != nil {
					return fmt.Errorf("import memories: %w", err)
				}
				defer f.Close()
				from = f
			}
			done, err := m.Import(ctx, t.person(), work.ImportRequest{
				From: from, Replace: c.Bool("replace"), Progress: t.following(func(n int) string { return "importing: " + count(n, "new record") }),
			})
			if err != nil {
				return err
			}
			return t.answer(done, func() {
				t.note("added %s, replaced %d, %d were there already", count(done.Added, "record"), done.Replaced, done.Known)
			})
		}),
	}
}
