package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) trustCommand() *cli.Command {
	return group("trust",
		command("list ls", nil, t.withHost(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			all, err := h.Govern().Signers.List(ctx, t.person())
			return t.answered(all, err, func() { t.showTrusted(all) })
		})),
		command("add", []cli.Flag{
			&cli.StringFlag{Name: "label", Usage: "what you call the signer, as `TEXT`"},
			&cli.StringSliceFlag{Name: "for", Usage: "a `NAME` of skills that is the signer's own; 'acme-*' is for all that begin so"},
			&cli.BoolFlag{Name: "revoker", Usage: "its revocation lists count for what others signed, too"},
			&cli.StringFlag{Name: "root", Usage: "add the trust root in this `FILE`"},
		}, t.withHost(t.addTrust)),
		command("remove rm", []cli.Flag{yesFlag("forget it")}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if err := t.agreed(c, "Forget "+plain(c.Args().First())+"?"); err != nil {
				return err
			}
			words, err := h.Govern().Signers.Remove(ctx, t.person(), c.Args().First())
			return t.answered(words, err, func() { t.note("forgot %s", plain(strings.Join(words, ", "))) })
		})),
		command("revoke", []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "why, as `TEXT`; shown wherever it is refused"},
			&cli.BoolFlag{Name: "undo", Usage: "take back what was revoked here; what nothing else revokes runs again"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be put into quarantine"},
			yesFlag("revoke it"),
		}, t.withHost(t.revokeTrust)),
		t.trustRevocations(),
	)
}

func (t *terminal) showTrusted(all govern.Trusted) {
	if len(all.Signers)+len(all.Skills)+len(all.Roots)+len(all.Revoked) == 0 {
		t.note("nobody is known yet: who signs what you install first is remembered")
	}
	titles := map[string]string{}
	for _, s := range all.Signers {
		titles[string(s.Signer)] = s.Title()
		t.say("signer %s  %s", plain(s.Title()), plain(string(s.Signer)))
		for _, line := range signerLines(s) {
			t.say("  %s", plain(line))
		}
	}
	for _, s := range all.Skills {
		by := "not signed"
		if s.Signer != "" {
			by = "signed by " + cmp.Or(titles[string(s.Signer)], s.Signer.Short())
		}
		t.say("skill %s  %s, from %s", plain(s.Name), plain(by), plain(s.Source))
	}
	for _, r := range all.Roots {
		t.say("trust root %s  %s", plain(r.Name), r.Digest)
	}
	for _, r := range all.Revoked {
		t.say("revoked %s", plain(revocationLine(r)))
	}
	for _, ref := range all.Quarantined {
		t.say("in quarantine %s, which is not run", plain(ref))
	}
}

func signerLines(s govern.Signer) []string {
	var lines []string
	if len(s.Names) > 0 {
		lines = append(lines, "has the names: "+strings.Join(s.Names, ", "))
	}
	if s.Revoker {
		lines = append(lines, "may revoke what others signed")
	}
	return append(lines, fmt.Sprintf("known since %s, by %s", when(s.At), s.By))
}

func (t *terminal) addTrust(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.IsSet("root") {
		return t.addRoot(ctx, c, h)
	}
	args, err := need(c, 1, "one key or signer")
	if err != nil {
		return err
	}
	req, err := readSigner(ctx, args[0])
	if err != nil {
		return err
	}
	req.Label, req.Names, req.Revoker = c.String("label"), c.StringSlice("for"), c.Bool("revoker")
	s, err := h.Govern().Signers.Add(ctx, t.person(), req)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return t.answer(s, func() {
		t.note("knows %s", plain(s.Title()))
		for _, line := range signerLines(s) {
			t.note("  %s", plain(line))
		}
	})
}

// readSigner reads what names a signer: a file of a public key, or anything else that the
// host may know it by.
func readSigner(ctx context.Context, word string) (govern.AddSigner, error) {
	if govern.IsSigner(word) {
		return govern.AddSigner{Signer: word}, nil
	}
	key, err := readSmall(ctx, word, maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return govern.AddSigner{Signer: word}, nil
	}
	return govern.AddSigner{Key: key}, err
}

func (t *terminal) addRoot(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.NArg() > 0 || c.IsSet("for") || c.IsSet("label") || c.IsSet("revoker") {
		return fault.Errorf(fault.KindUsage, "trust add --root takes no signer: whom it names is trusted in a second step")
	}
	path := c.String("root")
	document, err := readSmall(ctx, path, govern.MaxRootBytes)
	if err != nil {
		return err
	}
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	root, err := h.Govern().Signers.AddRoot(ctx, t.person(), govern.AddRoot{Name: name, Document: document})
	return t.answered(root, err, func() {
		t.note("keyless signatures are verified with the trust root %s; nobody is trusted by that alone", plain(name))
	})
}

func (t *terminal) revokeTrust(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.Bool("undo") {
		return t.unrevokeTrust(ctx, c, h, c.Args().First())
	}
	if c.String("reason") == "" {
		return fault.Errorf(fault.KindUsage, "trust revoke needs a reason, for whoever meets the refusal").WithHint("add --reason TEXT")
	}
	plan, err := h.Govern().Signers.PlanRevoke(ctx, t.person(), govern.RevokePackages{What: c.Args().First(), Reason: c.String("reason")})
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return t.answer(plan.Skills, func() { t.noteHit(plan.Skills) })
	}
	if len(plan.Skills) > 0 && !c.Bool("yes") && t.canAsk() {
		t.noteHit(plan.Skills)
		if err := t.confirm("trust revoke", "Revoke "+plain(plan.Entry.Target())+"?"); err != nil {
			return err
		}
	}
	done, err := h.Govern().Signers.Revoke(ctx, t.person(), plan)
	return t.answered(done.Packages, err, func() {
		t.note("revoked %s", plain(plan.Entry.Target()))
		t.noteRevoked(done.Packages)
		t.noteIsolated(done.Isolated)
	})
}

func (t *terminal) unrevokeTrust(ctx context.Context, c *cli.Context, h *host.Host, what string) error {
	if c.Bool("dry-run") {
		return fault.Errorf(fault.KindUsage, "trust revoke --undo has no --dry-run").WithHint("`skillet trust revocations list` shows what is revoked here")
	}
	done, err := h.Govern().Signers.Unrevoke(ctx, t.person(), what)
	return t.answered(done, err, func() {
		t.note("%s is not revoked here any more", plain(done.Target()))
		t.noteReleased(done.Released)
	})
}

// noteHit says what revoking something would stop.
func (t *terminal) noteHit(skills []govern.Skill) {
	if len(skills) == 0 {
		t.note("nothing that is installed would be put into quarantine")
	}
	for _, s := range skills {
		active := ""
		if s.Active {
			active = ", the active version"
		}
		t.note("%s%s would be put into quarantine, and not run any more", plain(s.Ref()), active)
	}
}

func (t *terminal) noteReleased(refs []string) {
	for _, ref := range refs {
		t.note("  %s is not in quarantine any more", plain(ref))
	}
}

func (t *terminal) noteIsolated(refs []string) {
	for _, ref := range refs {
		t.note("  %s is in quarantine: it is not run any more", plain(ref))
	}
}

func (t *terminal) noteRevoked(revoked []govern.RevokedPackage) {
	for _, r := range revoked {
		t.note("  %s, which was accepted here on %s, is revoked by that", plain(r.Package.Skill+"@"+r.Package.Version), when(r.Package.At))
	}
}

// noteNewKey says, once, that the home signs with a key of its own now.
func (t *terminal) noteNewKey(made bool, who string) {
	if made {
		t.note("made a signing key, %s: `skillet key export` prints its public part", who)
	}
}
