package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/author"
	"github.com/skillet-run/skillet/host/app/invoke"
)

func (t *terminal) inspectCommand() *cli.Command {
	return command("inspect", nil, t.withHost(t.inspect))
}

func (t *terminal) inspect(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one module, package or skill")
	if err != nil {
		return err
	}
	r := author.InspectRequest{Progress: t.progress}
	shown := func() {}
	if filepath.Ext(args[0]) == ".wasm" {
		r.Module = args[0]
	} else {
		if r.Address, err = invoke.ParseAddress(args[0]); err != nil {
			return err
		}
		progress := t.downloading(args)
		r.Fetched, shown = progress.of(0), progress.show(0)
	}
	out, err := h.Author().Inspect(ctx, t.person(), r)
	shown()
	t.noteAll(out.Notes)
	return answered(t, out, err, t.showInspected)
}

func (t *terminal) showInspected(i author.Inspected) {
	t.say("%s: %s, sha256:%s, %s", plain(cmp.Or(i.Skill, i.Path)), size(i.Bytes), i.Digest.Short(), i.ABI)
	if len(i.Tools) > 0 {
		t.say("tools: %s", plain(strings.Join(i.Tools, ", ")))
	}
	if i.Skill != "" {
		t.sayAsks(i.Asks)
	}
	t.sayImports(i.Imports)
	var exports []string
	for _, e := range i.Exports {
		exports = append(exports, e.Name+" "+e.Signature)
	}
	t.say("exports: %s", visible(few(exports)))
	t.saySections(i)
	t.sayMakers(i)
	t.sayCosts(i)
}

// sayAsks lists what a manifest asks for.
func (t *terminal) sayAsks(asks []author.Ask) {
	if len(asks) == 0 {
		t.say("asks for nothing: it can compute and answer")
		return
	}
	t.say("asks to:")
	for _, a := range asks {
		t.say("  %s  (%s)%s", plain(a.Words), plain(a.Capability.String()), because(plain(a.Reason), nil))
	}
}

// sayImports lists what a module imports by what it is good for.
func (t *terminal) sayImports(all []author.Function) {
	if len(all) == 0 {
		t.say("imports nothing")
		return
	}
	t.say("imports %s:", count(len(all), "function"))
	for _, g := range author.Groups(all) {
		t.say("  %s (%s): %s", visible(g.Words), visible(g.Module), visible(few(g.Names)))
	}
}

// few are the first names of a list.
func few(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func (t *terminal) saySections(i author.Inspected) {
	all := author.LargestFirst(i.Sections)
	const most = 12
	t.say("sections:")
	for _, s := range all[:min(len(all), most)] {
		name := s.Name
		if s.Custom {
			name = "custom " + name
		}
		t.say("  %9s  %4.1f %%  %s", size(s.Bytes), 100*float64(s.Bytes)/float64(i.Bytes), visible(name))
	}
	if len(all) > most {
		t.say("  and %d smaller ones", len(all)-most)
	}
	if m := i.Memory; m != nil {
		end := "no maximum of its own"
		if m.Max != nil {
			end = "at most " + size(*m.Max)
		}
		t.say("memory: %s, %s", size(m.Min), end)
	}
}

func (t *terminal) sayMakers(i author.Inspected) {
	var made []string
	for _, p := range i.Producers {
		made = append(made, strings.TrimSpace(p.Name+" "+p.Version))
	}
	if len(made) > 0 {
		t.say("made with: %s", visible(strings.Join(made, ", ")))
	}
	if i.Names != nil {
		t.say("names: %s of %s have one", fmt.Sprint(i.Names.Functions), count(len(i.Imports)+i.Functions, "function")) // which names imports too
	}
}

func (t *terminal) sayCosts(i author.Inspected) {
	in := i.Instrumented
	share := 0.0
	if before := in.Bytes - in.AddedBytes; before > 0 {
		share = 100 * float64(in.AddedBytes) / float64(before)
	}
	t.say("instrumentation: %s in %d places take fuel, %s more (%.0f %%)", size(in.CodeBytes)+" of code", in.Points, size(in.AddedBytes), share)
	how := "compiled in " + millis(i.CompileMS)
	if i.Cached {
		how = "compiled before: read in " + millis(i.CompileMS)
	}
	t.say("%s", how)
	for _, p := range in.Pinned {
		t.say("each call gets a new instance: %s", plain(p))
	}
	switch {
	case i.Snapshot != nil:
		t.say("snapshot: %s of memory, %s of it in use, %s; its initialisation takes %d fuel",
			size(i.Snapshot.MemoryBytes), size(i.Snapshot.UsedBytes), count(i.Snapshot.Globals, "global"), i.Snapshot.Fuel)
	case len(in.Pinned) == 0:
		t.say("snapshot: none: %s", plain(i.Note))
	}
}
