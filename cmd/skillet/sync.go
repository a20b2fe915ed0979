package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/admit"
	"github.com/skillet-run/skillet/host/closure"
	"github.com/skillet-run/skillet/host/install"
	"github.com/skillet-run/skillet/host/registry"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/internal/openfile"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/lockfile"
)

func (t *terminal) syncCommand() *cli.Command {
	return &cli.Command{
		Name:      "sync",
		Usage:     "install exactly what a lock says",
		ArgsUsage: "[FILE]",
		Description: "Installs what is missing, from the sources and with the digests and signers of the lock; other\n" +
			"bytes, or another signer, are refused (exit code 7). You are asked about what is new, as when\n" +
			"you install. Each package is whole or not there: after an interruption, run it again.\n" +
			"With --check nothing is changed: the exit code is 8 when the home is not what the lock says,\n" +
			"or the lock is not what its packages need.\n\n" +
			"Examples:\n  skillet sync\n  skillet sync tools.lock --yes --prune\n  skillet sync --check",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "check", Usage: "only compare, for CI"},
			&cli.BoolFlag{Name: "prune", Usage: "remove what is not in the lock"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would happen"},
			yesFlag("grant what the packages ask for, and remove what --prune removes"),
			trustSignerFlag(), acceptSourceFlag(), allowUnsignedFlag(), despiteFlag(), noTestsFlag(), allowFailingFlag(),
			fullFlag(),
			workspaceFlag(),
		},
		Action: t.withState(t.sync),
	}
}

// synced is what --json prints of sync.
type synced struct {
	OK        bool           `json:"ok"`
	Installed []admit.Needed `json:"installed"`
	Removed   []string       `json:"removed"`
	// Missing are packages that are not installed yet, Extra those that are not in
	// the lock.
	Missing []string `json:"missing"`
	Extra   []string `json:"extra"`
	// Changed is true when what is installed was resolved otherwise than now.
	Changed bool `json:"changed"`
	// NotRun are the versions of the lock that are installed, and disabled or in
	// quarantine here, with why.
	NotRun []string `json:"not_run,omitempty"`
	// Difference says what differs, for --check, one line each.
	Difference []string `json:"difference,omitempty"`
}

func (t *terminal) sync(ctx context.Context, c *cli.Context, h *host.Host) error {
	path := lockfile.FileName
	if c.NArg() > 1 {
		return fault.Errorf(fault.KindUsage, "sync takes one lock, and %q is one too many", c.Args().Get(1))
	}
	if c.Args().Present() {
		path = c.Args().First()
	}
	if c.Bool("check") && (c.Bool("prune") || c.Bool("yes") || c.Bool("dry-run")) {
		return fault.Errorf(fault.KindUsage, "--check changes nothing: it goes without --prune, --yes and --dry-run")
	}
	if c.Bool("check") {
		return t.checkLock(ctx, h, path)
	}
	l, err := readLock(ctx, path)
	if err != nil {
		return err
	}
	catalog, err := h.Catalog(ctx, closure.Settings{})
	if err != nil {
		return err
	}
	s, err := catalog.Sync(ctx, l)
	if err != nil {
		return err
	}
	y := &syncing{t: t, h: h, c: c, catalog: catalog, sync: s, out: synced{Installed: []admit.Needed{}, Removed: []string{}, Missing: []string{}, Extra: []string{}}}
	if err := y.run(ctx, l); err != nil {
		return err
	}
	if y.out.NotRun, err = stopped(ctx, h, l); err != nil {
		return err
	}
	y.out.OK = true
	return t.answer(y.out, y.told)
}

// stopped names the versions of a lock that are disabled or in quarantine, which no
// lock says.
func stopped(ctx context.Context, h *host.Host, l *lockfile.Lock) ([]string, error) {
	all, err := h.Registry.List(ctx)
	var lines []string
	for _, s := range all {
		locked := slices.ContainsFunc(l.Packages, func(p lockfile.Package) bool { return p.Name == s.Name && p.Version == s.Version })
		switch d := s.Disabled; {
		case !locked || d == nil:
		case d.Quarantined:
			lines = append(lines, fmt.Sprintf("%s is in quarantine: %s", s.Ref(), d.Reason))
		default:
			lines = append(lines, fmt.Sprintf("%s is disabled by %s%s", s.Ref(), d.By, because(d.Reason, nil)))
		}
	}
	return lines, err
}

// syncing is a sync on its way.
type syncing struct {
	t       *terminal
	h       *host.Host
	c       *cli.Context
	catalog *closure.Catalog
	sync    *closure.Sync
	plans   []install.Plan
	got     []*sources.Fetched
	out     synced
}

func (y *syncing) run(ctx context.Context, l *lockfile.Lock) error {
	for _, m := range y.sync.Missing {
		y.out.Missing = append(y.out.Missing, m.Package.Name+"@"+m.Package.Version)
	}
	for _, s := range y.sync.Extra {
		y.out.Extra = append(y.out.Extra, s.Ref())
	}
	if err := y.fetch(ctx); err != nil {
		return err
	}
	if err := y.show(ctx); err != nil || y.c.Bool("dry-run") {
		return err
	}
	if err := y.install(ctx); err != nil {
		return err
	}
	if err := y.settle(ctx, l); err != nil {
		return err
	}
	return y.prune(ctx)
}

// fetch gets and checks everything that is missing, before anything is asked.
func (y *syncing) fetch(ctx context.Context) error {
	for _, m := range y.sync.Missing {
		done := y.t.waiting("fetching %s", m.Package.Name)
		got, err := y.catalog.FetchLocked(ctx, m)
		done()
		if err != nil {
			return err
		}
		p, err := y.t.planLocked(ctx, y.c, y.h, got, closure.Step{Dependencies: m.Dependencies, Needed: m.Needed, Asked: m.Asked, Beside: m.Beside})
		if err != nil {
			return err
		}
		if p.Signer != m.Package.Signer && m.Package.Signer != "" {
			return fault.Errorf(fault.KindVerification, "%s is signed by %s, and was by %s when it was locked", m.Package.ID(), signerWords(p.Signer), m.Package.Signer).
				WithHint("find out why before you lock again")
		}
		y.plans, y.got = append(y.plans, p), append(y.got, got)
	}
	return nil
}

func signerWords(s string) string {
	if s == "" {
		return "nobody"
	}
	return s
}

func (y *syncing) waits() bool { return slices.ContainsFunc(y.plans, install.Plan.Waits) }

// show shows what will be installed, and asks once about all of it.
func (y *syncing) show(ctx context.Context) error {
	ask := y.waits() && !y.c.Bool("yes") && y.t.canAsk()
	if !ask && !y.c.Bool("dry-run") {
		return nil
	}
	var shown []admit.Package
	for n, p := range y.plans {
		s, err := y.t.showLocked(ctx, y.c, y.h, p, y.got[n])
		if err != nil {
			return err
		}
		shown = append(shown, s)
		if y.c.Bool("dry-run") {
			y.out.Installed = append(y.out.Installed, admit.Needed{Skill: p.Skill, Version: p.Version, Plan: &s})
		}
	}
	if !y.t.json {
		y.t.summarize(shown)
	}
	if !ask || y.c.Bool("dry-run") {
		return nil
	}
	if err := y.t.confirm("sync", fmt.Sprintf("Install and grant all of this, %s?", count(len(y.plans), "package"))); err != nil {
		return err
	}
	for i, p := range y.plans {
		y.plans[i] = p.Despite()
	}
	return nil
}

// install installs one package after the other, what is needed first. Without a
// person who agreed, what has to be asked about waits, and with it what needs it.
func (y *syncing) install(ctx context.Context) error {
	agreed := y.c.Bool("yes") || y.t.canAsk()
	var waiting []install.Plan
	var names []string
	for n, p := range y.plans {
		needs := slices.ContainsFunc(y.sync.Missing[n].Dependencies, func(d registry.Dependency) bool {
			return slices.ContainsFunc(waiting, func(w install.Plan) bool { return w.Digest == d.Digest })
		})
		if p.Waits() && !agreed || needs {
			waiting, names = append(waiting, p), append(names, p.Skill+"@"+p.Version)
			continue
		}
		out, err := y.h.Installer.AcceptGroup(ctx, y.t.person(), install.Group{Kind: "sync", Subject: p.Skill + "@" + p.Version, Plans: []install.Plan{p}})
		if err != nil {
			return err
		}
		y.out.Installed = append(y.out.Installed, admit.Needed{Skill: p.Skill, Version: p.Version, Outcome: out[0]})
		if !y.t.json {
			y.t.showOutcome(&admit.Package{Plan: p}, out[0])
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	_, err := y.h.Installer.SubmitGroup(ctx, install.Group{Kind: "sync", Subject: strings.Join(names, ", "), Plans: waiting})
	return err
}

// settle makes the rest so: what is asked for, what is active, and what each was
// resolved to.
func (y *syncing) settle(ctx context.Context, l *lockfile.Lock) error {
	if err := y.catalog.Refresh(ctx); err != nil {
		return err
	}
	s, err := y.catalog.Sync(ctx, l)
	if err != nil || s.IsEmpty() {
		return err
	}
	g := install.Group{Kind: "sync", Subject: "lock", Links: s.Links, Activate: s.Activate, Asked: map[string]*registry.Asked{}}
	for _, a := range s.Asked {
		g.Asked[a.Skill] = a.Asked
	}
	for _, name := range s.Needed {
		g.Asked[name] = nil
	}
	y.out.Changed = true
	_, err = y.h.Installer.AcceptGroup(ctx, y.t.person(), g)
	return err
}

// prune removes what is not in the lock.
func (y *syncing) prune(ctx context.Context) error {
	if !y.c.Bool("prune") || len(y.sync.Extra) == 0 {
		return nil
	}
	if !y.c.Bool("yes") {
		if err := y.t.confirm("sync --prune", "Remove "+plain(names(y.sync.Extra))+" and end all grants?"); err != nil {
			return err
		}
	}
	what := install.Removing{Force: true}
	for _, s := range y.sync.Extra {
		what.Refs = append(what.Refs, manifests.Ref{Name: s.Name, Version: s.Version})
	}
	r, err := y.h.Installer.RemoveAll(ctx, y.t.person().Actor(), what)
	for _, s := range r.Gone {
		y.out.Removed = append(y.out.Removed, s.Ref())
	}
	return err
}

func (y *syncing) told() {
	t, dry := y.t, y.c.Bool("dry-run")
	for _, line := range y.out.NotRun {
		t.note("%s; it is not run", plain(line))
	}
	for _, ref := range y.out.Removed {
		t.note("removed %s, which is not in the lock", plain(ref))
	}
	if len(y.out.Extra) > 0 && (!y.c.Bool("prune") || dry) {
		what := "it stays; --prune removes it"
		if y.c.Bool("prune") {
			what = "it would be removed"
		}
		for _, ref := range y.out.Extra {
			t.note("%s is not in the lock: %s", plain(ref), what)
		}
	}
	switch {
	case dry && len(y.out.Missing) > 0:
		t.note("would install %s: %s", count(len(y.out.Missing), "package"), plain(strings.Join(y.out.Missing, ", ")))
	case dry && !y.sync.IsEmpty():
		t.note("everything is installed; it would be resolved as the lock says")
	case len(y.out.Installed) == 0 && !y.out.Changed && len(y.out.Removed) == 0:
		t.note("everything is as the lock says")
	default:
		t.note("the home is what the lock says: %s installed", count(len(y.out.Installed), "package"))
	}
}

// checkLock compares the home with a lock, and the lock with itself.
func (t *terminal) checkLock(ctx context.Context, h *host.Host, path string) error {
	l, err := h.Admit().CheckLock(ctx, t.person(), path)
	if err != nil {
		return err
	}
	return t.answer(synced{OK: true, Installed: []admit.Needed{}, Removed: []string{}, Missing: []string{}, Extra: []string{}}, func() {
		t.note("the home is what %s says: %s", plain(path), count(l.Packages, "package"))
	})
}

// sayLines prints lines of a text that others may have written.
func (t *terminal) sayLines(text string) {
	for l := range strings.Lines(text) {
		t.say("%s", plain(strings.TrimSuffix(l, "\n")))
	}
}

func readLock(ctx context.Context, path string) (*lockfile.Lock, error) {
	b, err := openfile.Read(ctx, path, lockfile.MaxBytes)
	switch {
	case errors.Is(err, openfile.ErrTooLarge):
		return nil, fault.Errorf(fault.KindUsage, "read lock %s: it has more than %d bytes", path, lockfile.MaxBytes).WithHint("name a file that `skillet lock` wrote")
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap(fault.KindNotFound, fmt.Errorf("read lock: %w", err)).WithHint("`skillet lock` writes one")
	case err != nil:
		return nil, fmt.Errorf("read lock: %w", err)
	}
	l, err := lockfile.Parse(b)
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, fmt.Errorf("%s: %w", path, err)).WithHint("undo what was changed by hand, or `skillet lock` again")
	}
	return l, nil
}
