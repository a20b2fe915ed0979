package lines

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/host/app/author"
)

// mostNames is how many names of a module are shown in a line.
const mostNames = 12

// Inspected is what a module is made of, imports and costs.
func Inspected(i author.Inspected) []string {
	return written(Style{}, func(b *block) { b.inspected(i) })
}

func (b *block) inspected(i author.Inspected) {
	b.say("%s: %s, sha256:%s, %s", cmp.Or(i.Skill, i.Path), size(i.Bytes), i.Digest.Short(), i.ABI)
	if len(i.Tools) > 0 {
		b.say("tools: %s", strings.Join(i.Tools, ", "))
	}
	if i.Skill != "" {
		b.moduleAsks(i.Asks)
	}
	b.imports(i.Imports)
	var exports []string
	for _, e := range i.Exports {
		exports = append(exports, e.Name+" "+e.Signature)
	}
	b.say("exports: %s", visible(first(exports, mostNames)))
	b.sections(i)
	b.makers(i)
	b.costs(i)
}

// moduleAsks writes what a manifest asks for.
func (b *block) moduleAsks(asks []author.Ask) {
	if len(asks) == 0 {
		b.say("asks for nothing: it can compute and answer")
		return
	}
	b.say("asks to:")
	for _, a := range asks {
		b.say("  %s  (%s)%s", a.Words, a.Capability.String(), because(a.Reason, nil))
	}
}

// imports writes what a module imports by what it is good for.
func (b *block) imports(all []author.Function) {
	if len(all) == 0 {
		b.say("imports nothing")
		return
	}
	b.say("imports %s:", count(len(all), "function"))
	for _, g := range author.Groups(all) {
		b.say("  %s (%s): %s", visible(g.Words), visible(g.Module), visible(first(g.Names, mostNames)))
	}
}

func (b *block) sections(i author.Inspected) {
	all := author.LargestFirst(i.Sections)
	const most = 12
	b.say("sections:")
	for _, s := range all[:min(len(all), most)] {
		name := s.Name
		if s.Custom {
			name = "custom " + name
		}
		b.say("  %9s  %4.1f %%  %s", size(s.Bytes), 100*float64(s.Bytes)/float64(i.Bytes), visible(name))
	}
	if len(all) > most {
		b.say("  and %d smaller ones", len(all)-most)
	}
	if m := i.Memory; m != nil {
		end := "no maximum of its own"
		if m.Max != nil {
			end = "at most " + size(*m.Max)
		}
		b.say("memory: %s, %s", size(m.Min), end)
	}
}

func (b *block) makers(i author.Inspected) {
	var made []string
	for _, p := range i.Producers {
		made = append(made, strings.TrimSpace(p.Name+" "+p.Version))
	}
	if len(made) > 0 {
		b.say("made with: %s", visible(strings.Join(made, ", ")))
	}
	if i.Names != nil {
		b.say("names: %s of %s have one", fmt.Sprint(i.Names.Functions), count(len(i.Imports)+i.Functions, "function")) // which names imports too
	}
}

func (b *block) costs(i author.Inspected) {
	in := i.Instrumented
	share := 0.0
	if before := in.Bytes - in.AddedBytes; before > 0 {
		share = 100 * float64(in.AddedBytes) / float64(before)
	}
	b.say("instrumentation: %s in %d places take fuel, %s more (%.0f %%)", size(in.CodeBytes)+" of code", in.Points, size(in.AddedBytes), share)
	how := "compiled in " + millis(i.CompileMS)
	if i.Cached {
		how = "compiled before: read in " + millis(i.CompileMS)
	}
	b.say("%s", how)
	for _, p := range in.Pinned {
		b.say("each call gets a new instance: %s", p)
	}
	switch {
	case i.Snapshot != nil:
		b.say("snapshot: %s of memory, %s of it in use, %s; its initialisation takes %d fuel",
			size(i.Snapshot.MemoryBytes), size(i.Snapshot.UsedBytes), count(i.Snapshot.Globals, "global"), i.Snapshot.Fuel)
	case len(in.Pinned) == 0:
		b.say("snapshot: none: %s", i.Note)
	}
}
