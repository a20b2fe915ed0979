package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/memory"
	"github.com/skillet-run/skillet/host/store"
)

// memoryFigures is what --json prints of memory stats.
type memoryFigures struct {
	memory.Stats
	// Due says why a consolidation is due; empty when none is.
	Due string `json:"due,omitempty"`
}

func (t *terminal) memoryStats() *cli.Command {
	return &cli.Command{
		Name:        "stats",
		Usage:       "figures of the memory",
		Description: "Examples:\n  skillet memory stats\n  skillet memory stats --json",
		Action: t.withMemory(func(ctx context.Context, _ *cli.Context, m *memory.Memory) error {
			f, err := figuresOfMemory(ctx, m)
			if err != nil {
				return err
			}
			return t.answer(f, func() { t.printMemoryStats(f) })
		}),
	}
}

func figuresOfMemory(ctx context.Context, m *memory.Memory) (f memoryFigures, err error) {
	if f.Stats, err = m.Stats(ctx); err == nil {
		f.Due, err = m.Due(ctx)
	}
	return f, err
}

// maxTags is how many tags the figures name.
const maxTags = 10

func (t *terminal) printMemoryStats(f memoryFigures) {
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
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *memory.Memory) error {
			if c.Bool("if-due") {
				why, err := m.Due(ctx)
				if err != nil {
					return err
				}
				if why == "" {
					return t.answer(memory.Outcome{Reason: "none is due", Records: m.Len()}, func() { t.note("none is due") })
				}
			}
			done := t.waitingFor(func() string { return "consolidating: " + count(m.Len(), "memory record") })
			o, err := m.Consolidate(ctx)
			done()
			if errors.Is(err, store.ErrHeld) {
				return fault.Wrap(fault.KindConflict, err).WithHint("another command is at it; `skillet memory stats` shows when it is done")
			}
			if err != nil {
				return err
			}
			return t.answer(o, func() {
				t.say("merged %d into %d, forgot %d, tidied up %d: %s left", o.Merged, o.Made, o.Forgotten, o.Swept, count(o.Records, "record"))
				if o.Unfinished {
					t.note("there is more to do: run it again")
				}
			})
		}),
	}
}

// reindexed is what --json prints of memory reindex.
type reindexed struct {
	Embedder string `json:"embedder"`
	// Made is how many embeddings were missing and are there now, Waiting how many
	// still are missing.
	Made    int `json:"made"`
	Waiting int `json:"waiting"`
}

func (t *terminal) memoryReindex() *cli.Command {
	return &cli.Command{
		Name:  "reindex",
		Usage: "make the embeddings that are missing, after another embedder was set",
		Description: "A memory without an embedding of the setting memory.embedder is found by its words only.\n" +
			"Every command that opens the memory makes some of them; this one makes all. What was\n" +
			"made stays when it is interrupted, and the next one goes on.\n\n" +
			"Examples:\n  skillet config set memory.embedder minilm/all-MiniLM-L6-v2 --yes\n  skillet memory reindex\n  skillet memory reindex --json",
		Action: t.withMemory(func(ctx context.Context, _ *cli.Context, m *memory.Memory) error {
			before, err := m.Stats(ctx)
			if err != nil {
				return err
			}
			var made atomic.Int64
			done := t.waitingFor(func() string {
				return fmt.Sprintf("embedding: %d of %s", made.Load(), count(before.Waiting, "memory record"))
			})
			_, failed := m.Embed(ctx, func(n int) { made.Store(int64(n)) })
			done()
			after, err := m.Stats(context.WithoutCancel(ctx))
			if err != nil {
				return err
			}
			out := reindexed{after.Embedder, before.Waiting - after.Waiting, after.Waiting}
			if failed != nil {
				return fault.Wrap(fault.AsError(failed).Kind, failed).WithHint("%s made, %d still wait: run it again to go on", count(out.Made, "embedding"), out.Waiting)
			}
			return t.answer(out, func() { t.say("%s made by %s", count(out.Made, "embedding"), plain(out.Embedder)) })
		}),
	}
}

// noteWaiting says that not all memories are found by what they mean.
func (t *terminal) noteWaiting(ctx context.Context, m *memory.Memory) error {
	if t.json {
		return nil
	}
	s, err := m.Stats(ctx)
	if err == nil && s.Waiting > 0 {
		t.note("%d of %s have no embedding of %s yet, and are found by their words only; `skillet memory reindex` makes them",
			s.Waiting, count(s.Records, "memory record"), plain(s.Embedder))
	}
	return err
}

// waitingFor is [terminal.waiting] for what changes meanwhile.
func (t *terminal) waitingFor(look func() string) (done func()) {
	if !t.errTTY || t.json {
		return func() {}
	}
	return t.err.watching(func() (string, int64, int64) { return plain(look()), 0, 0 })
}

// memoryExported is what --json prints of memory export.
type memoryExported struct {
	Path    string `json:"path"`
	Records int    `json:"records"`
}

func (t *terminal) memoryExport() *cli.Command {
	return &cli.Command{
		Name:        "export",
		Usage:       "write memories as lines of JSON, to a file or a pipe",
		ArgsUsage:   "FILE|-",
		Description: "Embeddings are not in it; they are made again where it is imported.\n\nExamples:\n  skillet memory export memory.jsonl\n  skillet memory export - --area main | ssh laptop skillet memory import -",
		Flags:       filterFlags(),
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *memory.Memory) error {
			args, err := need(c, 1, "one file, or - for standard output")
			if err != nil {
				return err
			}
			f, err := memoryFilter(c)
			if err != nil {
				return err
			}
			if args[0] == "-" {
				_, err := m.Export(ctx, t.out, f)
				return err
			}
			n, err := exportMemory(ctx, m, args[0], f)
			if err != nil {
				return err
			}
			return t.answer(memoryExported{args[0], n}, func() { t.note("wrote %s: %s", plain(args[0]), count(n, "record")) })
		}),
	}
}

// exportMemory writes a file that must not exist, which appears whole or not at all.
func exportMemory(ctx context.Context, m *memory.Memory, path string, f memory.Filter) (n int, err error) {
	if exists(path) {
		return 0, fault.Errorf(fault.KindConflict, "%s exists already", path).WithHint("name another file")
	}
	file, err := os.OpenFile(path+".part", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, fault.Errorf(fault.KindConflict, "%s.part exists: another export is at work, or one was cut short", path).WithHint("delete it, or name another file")
	}
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(file.Name())
	w := bufio.NewWriter(file)
	n, err = m.Export(ctx, w, f)
	if err == nil {
		err = cmp.Or(w.Flush(), file.Sync())
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return n, err
	}
	return n, os.Rename(file.Name(), path)
}

func (t *terminal) memoryImport() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "add the memories that export wrote",
		ArgsUsage: "FILE|-",
		Description: "All lines are checked before anything is stored. What is there already stays as it is.\n\n" +
			"Examples:\n  skillet memory import memory.jsonl\n  skillet memory import memory.jsonl --replace --json",
		Flags: []cli.Flag{&cli.BoolFlag{Name: "replace", Usage: "replace what is there by what was changed later"}},
		Action: t.withMemory(func(ctx context.Context, c *cli.Context, m *memory.Memory) error {
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
			done, err := t.importMemory(ctx, m, from, c.Bool("replace"))
			if err != nil {
				return err
			}
			return t.answer(done, func() {
				t.note("added %s, replaced %d, %d were there already", count(done.Added, "record"), done.Replaced, done.Known)
			})
		}),
	}
}

func (t *terminal) importMemory(ctx context.Context, m *memory.Memory, from io.Reader, replace bool) (memory.Imported, error) {
	before := m.Len()
	done := t.waitingFor(func() string { return "importing: " + count(m.Len()-before, "new record") })
	defer done()
	return m.Import(ctx, from, replace)
}
