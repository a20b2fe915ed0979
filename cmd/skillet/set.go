package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/admit"
	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/skillset"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write installed skills to one file, for another machine",
		ArgsUsage: "FILE [SKILL[@VERSION]...]",
		Description: "Without names, everything that is installed. The file has the packages with their signatures,\n" +
			"and what is active, gone back from, pinned, disabled and granted here; secrets, trials and\n" +
			"what skills keep are not in it. The same skills make the same bytes.\n\n" +
			"Examples:\n  skillet export skills.set\n  skillet export reports.set csv text@1.2.0",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be in it"},
			&cli.BoolFlag{Name: "force", Usage: "write over a file that is there"},
		},
		Action: t.withHost(t.export),
	}
}

func (t *terminal) export(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "export takes the file to write").WithHint("`skillet export FILE`, such as skills.set")
	}
	r := admit.ExportRequest{Path: c.Args().First(), Overwrite: c.Bool("force"), DryRun: c.Bool("dry-run")}
	for _, arg := range c.Args().Tail() {
		ref, err := skillRef(arg)
		if err != nil {
			return err
		}
		r.Skills = append(r.Skills, ref)
	}
	e, err := h.Admit().Export(ctx, t.person(), r)
	if err != nil {
		return err
	}
	return t.answer(e, func() {
		for _, s := range e.Skills {
			t.say("%s@%s", plain(s.Name), plain(s.Version))
		}
		if r.DryRun {
			t.note("would write %s: %s", plain(e.Path), count(len(e.Skills), "package"))
		} else {
			t.note("wrote %s: %s, %d bytes", plain(e.Path), count(len(e.Skills), "package"), e.Bytes)
		}
	})
}

// visited numbers names so that each comes after those that it leads to, as far as
// they do not lead to each other, and otherwise in alphabetical order.
func visited(leads map[string][]string) map[string]int {
	order, seen := map[string]int{}, map[string]bool{"": true}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		for _, n := range slices.Sorted(slices.Values(leads[name])) {
			visit(n)
		}
		order[name] = len(order)
	}
	for _, name := range slices.Sorted(maps.Keys(leads)) {
		visit(name)
	}
	return order
}

// lastingGrants are those without an end, in the order of their texts, so that
// the same skills make the same set.
func lastingGrants(gs []approval.Grant) []skillset.Grant {
	var all []skillset.Grant
	for _, g := range gs {
		if g.Standing(time.Now()) && g.ExpiresAt.IsZero() {
			all = append(all, skillset.Grant{Capability: g.Capability, Reason: g.Reason})
		}
	}
	slices.SortFunc(all, func(a, b skillset.Grant) int { return strings.Compare(a.Capability.String(), b.Capability.String()) })
	return slices.Compact(all)
}

func (t *terminal) importCommand() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "install the skills of a file that export wrote",
		ArgsUsage: "FILE",
		Description: "Each package is checked and asked about as `skillet install` does. The versions that are active\n" +
			"in the file will be active here, also those that somebody went back to, which no update leaves\n" +
			"by itself, and what is pinned or disabled there will be so here. What was granted elsewhere\n" +
			"is not granted here: the commands that would are shown. When a flag is missing that accepts\n" +
			"what a package lacks, nothing is imported.\n\n" +
			"Examples:\n  skillet import skills.set --dry-run\n  skillet import skills.set --yes",
		Flags: []cli.Flag{
			yesFlag("grant what the packages ask for"),
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
			fullFlag(), trustSignerFlag(), acceptSourceFlag(), allowUnsignedFlag(), despiteFlag(), noTestsFlag(), allowFailingFlag(),
			workspaceFlag(),
		},
		Action: t.withState(t.importSet),
	}
}

// imported is what --json prints of one package.
type imported struct {
	admit.Installed
	// Wanted are the capabilities that were granted elsewhere and are not here.
	Wanted []wantedGrant `json:"granted_elsewhere"`
}

// A wantedGrant is a grant that somebody made elsewhere.
type wantedGrant struct {
	Capability capability.Capability `json:"capability"`
	Command    string                `json:"command"`
}

func (t *terminal) importSet(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one file")
	if err != nil {
		return err
	}
	f, err := openfile.Open(ctx, args[0])
	if err != nil {
		return fmt.Errorf("read set: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return fault.Errorf(fault.KindUsage, "read set: %s is a directory, not a set", args[0]).
			WithHint("`skillet export FILE` makes a set; `skillet install %s` installs what is in a directory", args[0])
	}
	r, err := skillset.NewReader(f)
	if err != nil {
		return notASet(err)
	}
	if err := t.acceptable(ctx, c, h, r); err != nil {
		return err
	}
	all := []imported{}
	there := isThere(ctx, h, r.Set())
	var failed *fault.Error
	for content, err := range r.All() {
		if err != nil {
			return notASet(err)
		}
		in, err := t.importOne(ctx, c, h, content, there)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		in.OK, in.Path = err == nil, content.Name+"@"+content.Version
		if in.Error = explain(err); err != nil {
			failed = cmp.Or(failed, in.Error)
			if !t.json {
				t.tell(in.Error)
			}
		}
		all = append(all, in)
	}
	if err := t.settleSet(ctx, c, h, r.Set()); err != nil {
		return err
	}
	return t.answerEach(all, failed)
}

// settleSet has what was imported stand as it did where the set comes from, when all
// of it is there: what one package needs may have made another version of the next
// the active one.
func (t *terminal) settleSet(ctx context.Context, c *cli.Context, h *host.Host, s skillset.Set) error {
	if c.Bool("dry-run") {
		return nil
	}
	var all []install.Standing
	for _, e := range s.Skills {
		w := install.Standing{
			Skill: e.Name, Version: e.Version, Digest: e.Digest, Active: e.Active, Avoided: e.Avoided, Pinned: e.Pinned, PinReason: e.Reason,
		}
		if e.Stopped != nil {
			w.Stopped = &registry.Stop{All: e.Stopped.All, Reason: e.Stopped.Reason}
		}
		all = append(all, w)
	}
	lines, err := h.Installer.StandAs(ctx, t.person(), c.Args().First(), all)
	for _, l := range lines {
		if !t.json {
			t.note("%s, as where the set comes from", plain(l))
		}
	}
	return err
}

// maxNamed is how many packages are named in one message.
const maxNamed = 5

// acceptable refuses a set with packages that lack what a flag would accept, all of
// them at once, before any is installed.
func (t *terminal) acceptable(ctx context.Context, c *cli.Context, h *host.Host, r *skillset.Reader) error {
	var words []string
	var flags []trust.Flag
	for content, err := range r.All() {
		if err != nil {
			return notASet(err)
		}
		req, err := t.request(c, arrived(c, content), closure.Step{})
		if err != nil {
			return err
		}
		v, err := h.Installer.Judge(ctx, req)
		if err != nil {
			return err
		}
		if missing := v.Missing(accepted(c)...); len(missing) > 0 {
			words, flags = append(words, v.Refusal(accepted(c)...).Error()), append(flags, missing...)
		}
	}
	if len(words) == 0 {
		return nil
	}
	if more := len(words) - maxNamed; more > 0 {
		words = append(words[:maxNamed], "and "+count(more, "more package"))
	}
	slices.Sort(flags)
	flags = slices.Compact(flags)
	hint := "if that is meant, add"
	for _, f := range flags {
		hint += " " + string(f)
	}
	if slices.Contains(flags, trust.AllowUnsigned) {
		hint = "what was installed from a directory has no signature in a set; " + hint
	}
	return fault.Errorf(fault.KindVerification, "nothing of %s is imported: %s", c.Args().First(), strings.Join(words, "; ")).WithHint("%s", hint)
}

func notASet(err error) error {
	if errors.Is(err, skillset.ErrMalformed) || errors.Is(err, bundle.ErrDamaged) {
		return fault.Wrap(fault.KindVerification, err).WithHint("it is no file of `skillet export`, or one that was damaged on its way: get it again")
	}
	return err
}

// arrived is a package of a set as one that may be installed.
func arrived(c *cli.Context, content skillset.Content) *sources.Fetched {
	got := &sources.Fetched{Package: content.Package, Kind: sources.KindFile, Source: content.Source, Place: content.Source, Version: content.Version}
	// A set is believed in nothing: only what names the package by its digest counts.
	got.Artifact, got.Signatures = content.Digest, content.Signatures
	if got.Source == "" {
		got.Source, got.Place = c.Args().First(), c.Args().First()
	}
	return got
}

// isThere reports whether all of a set is installed already, and active where it says so.
func isThere(ctx context.Context, h *host.Host, s skillset.Set) bool {
	return !slices.ContainsFunc(s.Skills, func(e skillset.Entry) bool {
		has, err := h.Registry.Lookup(ctx, manifests.Ref{Name: e.Name, Version: e.Version})
		return err != nil || has.Digest != e.Digest || has.Active != e.Active
	})
}

// importOne installs a package of a set. Where all of the set is there nothing is: to
// install what is not active would make it the active version for a while, which others of
// the set may not fit.
func (t *terminal) importOne(ctx context.Context, c *cli.Context, h *host.Host, content skillset.Content, there bool) (imported, error) {
	if there {
		return t.importedBefore(ctx, c, h, content)
	}
	in, err := t.installOne(ctx, c, h, admit.Arrived(content.File(), arrived(c, content)))
	result := imported{Installed: in, Wanted: []wantedGrant{}}
	if err != nil || in.Skill == nil {
		return result, err
	}
	if content.Needed {
		if err := t.unasked(ctx, h, content.Name); err != nil {
			return result, err
		}
	}
	result.Wanted, err = t.wanted(ctx, h, content)
	return result, err
}

// importedBefore says that a package of a set is there, and which grants are not.
func (t *terminal) importedBefore(ctx context.Context, c *cli.Context, h *host.Host, content skillset.Content) (imported, error) {
	s, err := h.Registry.Lookup(ctx, manifests.Ref{Name: content.Name, Version: content.Version})
	if err != nil {
		return imported{}, err
	}
	if !t.json && !c.Bool("dry-run") {
		t.note("already installed: %s (sha256:%s)", plain(s.Ref()), s.Digest.Short())
	}
	wanted, err := t.wanted(ctx, h, content)
	return imported{Installed: admit.Installed{Outcome: install.Outcome{Skill: &s, Unchanged: true}}, Wanted: wanted}, err
}

// unasked notes that nobody asked for a skill of a set: others needed it.
func (t *terminal) unasked(ctx context.Context, h *host.Host, skill string) error {
	s, err := h.Registry.Lookup(ctx, manifests.Ref{Name: skill})
	if err != nil || s.Needed {
		return err
	}
	_, err = h.Installer.AcceptGroup(ctx, t.person(), install.Group{Kind: "import", Subject: s.Ref(), Asked: map[string]*registry.Asked{skill: nil}})
	return err
}

// wanted are the grants of a set that do not hold here.
func (t *terminal) wanted(ctx context.Context, h *host.Host, content skillset.Content) ([]wantedGrant, error) {
	gs, err := h.Desk.Grants(ctx, content.Digest)
	if err != nil {
		return nil, err
	}
	var have []capability.Capability
	for _, g := range lastingGrants(gs) {
		have = append(have, g.Capability)
	}
	set, all := capability.NewSet(have...), []wantedGrant{}
	for _, g := range content.Grants {
		if set.Covers(g.Capability) {
			continue
		}
		w := wantedGrant{g.Capability, fmt.Sprintf("skillet permission grant %s@%s '%s'", content.Name, content.Version, g.Capability)}
		if all = append(all, w); !t.json {
			t.note("  it could %s where it comes from; to allow it here: %s", plain(g.Capability.Words()), plain(w.Command))
		}
	}
	return all, nil
}
