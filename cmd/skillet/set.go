package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/admit"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/capability"
)

func (t *terminal) exportCommand() *cli.Command {
	return command("export", []cli.Flag{
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be in it"},
		overFlag(),
	}, t.withHost(t.export))
}

func (t *terminal) export(ctx context.Context, c *cli.Context, h *host.Host) error {
	if !c.Args().Present() {
		return fault.Errorf(fault.KindUsage, "export takes the file to write").WithHint("`skillet export FILE`, such as skills.set")
	}
	r := admit.ExportRequest{Path: c.Args().First(), Overwrite: c.Bool("force"), DryRun: c.Bool("dry-run")}
	if r.Path == standardOutput && !r.DryRun {
		if err := t.notShown("a set"); err != nil {
			return err
		}
		r.To = t.out
	}
	var err error
	if r.Skills, err = skillRefs(c.Args().Tail()); err != nil {
		return err
	}
	e, err := h.Admit().Export(ctx, t.person(), r)
	if r.To != nil {
		return err
	}
	return t.answered(e, err, func() {
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

func (t *terminal) importCommand() *cli.Command {
	return command("import", packageFlags(
		yesFlag("grant what the packages ask for"),
		&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
	), t.withHost(t.importSet))
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
	ws, err := workspace(c)
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	plan, r, err := t.carryOut(ctx, c, h, admit.Import{Set: c.Args().First(), Terms: t.terms(c, ws, dry)}, dry, showInstallation)
	imports := r.Imports
	if dry && plan != nil {
		imports = plan.Imports
	}
	all, failed := []imported{}, (*fault.Error)(nil)
	for _, in := range imports {
		if in.Error != nil {
			in.Error = explain(in.Error)
			failed = cmp.Or(failed, in.Error)
		}
		if !t.json {
			t.showImported(in, dry)
		}
		all = append(all, imported{in.Installed, wantedGrants(in)})
	}
	if err != nil && failed == nil {
		return err
	}
	for _, l := range r.Settled {
		if !t.json {
			t.note("%s, as where the set comes from", plain(l))
		}
	}
	return t.answerEach(all, failed)
}

// showImported says what became of one package of a set; of a plan, what is wrong with it.
func (t *terminal) showImported(in admit.Imported, dry bool) {
	switch {
	case in.Error != nil:
		t.tell(in.Error)
	case dry:
	case in.Change != nil:
		if !slices.ContainsFunc(in.Change.Packages, func(p admit.Package) bool { return p.Looked }) { // nobody was told before
			t.tellTrust(in.Change)
		}
		t.noteInstalled(in.Change, in.Result)
	case in.Skill != nil:
		t.note("already installed: %s (sha256:%s)", plain(in.Skill.Ref()), in.Skill.Digest.Short())
	}
	for _, w := range wantedGrants(in) {
		t.note("  it could %s where it comes from; to allow it here: %s", plain(w.Capability.Words()), plain(w.Command))
	}
}

// wantedGrants are the grants of a set that do not hold here, with what would give them.
func wantedGrants(in admit.Imported) []wantedGrant {
	all := []wantedGrant{}
	for _, c := range in.Wanted {
		all = append(all, wantedGrant{c, fmt.Sprintf("skillet permission grant %s@%s '%s'", in.Name, in.Version, c)})
	}
	return all
}
