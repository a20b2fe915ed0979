package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/openfile"
)

func (t *terminal) consolidateMemory(ctx context.Context, c *cli.Context, m *work.Memories) error {
	o, done, err := m.Consolidate(ctx, t.person(), work.ConsolidateRequest{
		IfDue: c.Bool("if-due"), Progress: t.following(func(n int) string { return "consolidating: " + count(n, "memory record") }),
	})
	return answered(t, o, err, func(o work.Outcome) {
		if !done {
			t.note("none is due")
			return
		}
		t.say("merged %d into %d, forgot %d, tidied up %d: %s left", o.Merged, o.Made, o.Forgotten, o.Swept, count(o.Records, "record"))
		if o.Unfinished {
			t.note("there is more to do: run it again")
		}
	})
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

func (t *terminal) reindexMemory(ctx context.Context, _ *cli.Context, m *work.Memories) error {
	out, err := m.Reindex(ctx, t.person(), func(waiting int) work.Progress {
		return t.following(func(n int) string { return fmt.Sprintf("embedding: %d of %s", n, count(waiting, "memory record")) })
	})
	if err != nil {
		return fault.Wrap(fault.AsError(err).Kind, err).WithHint("%s made, %d still wait: run it again to go on", count(out.Made, "embedding"), out.Waiting)
	}
	return t.answer(out, func() { t.say("%s made by %s", count(out.Made, "embedding"), plain(out.Embedder)) })
}

func (t *terminal) exportMemories(ctx context.Context, c *cli.Context, m *work.Memories, file string) error {
	f, err := memoryFilter(c)
	if err != nil {
		return err
	}
	if file == standardOutput {
		_, err := m.Export(ctx, t.person(), t.out, f)
		return err
	}
	out, err := m.ExportFile(ctx, t.person(), work.ExportFile{Path: file, Over: c.Bool("force")}, f)
	return answered(t, out, err, func(e work.Exported) { t.note("wrote %s: %s", plain(e.Path), count(e.Records, "record")) })
}

func (t *terminal) importMemories(ctx context.Context, c *cli.Context, m *work.Memories, file string) error {
	from := t.in
	if file != "-" {
		f, err := openfile.Open(ctx, file)
		if err != nil {
			return fmt.Errorf("import memories: %w", err)
		}
		defer f.Close()
		from = f
	}
	done, err := m.Import(ctx, t.person(), work.ImportRequest{
		From: from, Replace: c.Bool("replace"), Progress: t.following(func(n int) string { return "importing: " + count(n, "new record") }),
	})
	return answered(t, done, err, func(done work.Imported) {
		t.note("added %s, replaced %d, %d were there already", count(done.Added, "record"), done.Replaced, done.Known)
	})
}
