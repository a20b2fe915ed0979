package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/manifests/signature/keyless"
)

func (t *terminal) trustCommand() *cli.Command {
	return &cli.Command{
		Name:  "trust",
		Usage: "see and decide who may sign which skills, and what is revoked",
		Description: "Who signs the first version of a skill that you install is remembered. A version by another\n" +
			"signer, from another source or without a signature has to be accepted by a flag that says so.\n\n" +
			"A signer is the holder of a key, key:sha256:HEX, or an identity that a Sigstore certificate\n" +
			"names, keyless:ISSUER/IDENTITY.\n\n" +
			"Examples:\n  skillet trust list\n  skillet trust add acme.pub --label acme --for 'acme-*'\n" +
			"  skillet trust revoke csv@1.2.0 --reason 'it sends what it reads'",
		Subcommands: []*cli.Command{t.trustList(), t.trustAdd(), t.trustRemove(), t.trustRevoke(), t.trustRevocations()},
	}
}

// trusted is what --json prints of all that is known.
type trusted struct {
	Signers []trust.Signer `json:"signers"`
	Skills  []trust.Skill  `json:"skills"`
	Roots   []rootInfo     `json:"roots"`
	// Revoked is what was revoked here or by a list, and Quarantined the installed
	// versions that are not run for that.
	Revoked     []trust.Revocation `json:"revoked"`
	Quarantined []string           `json:"quarantined"`
}

type rootInfo struct {
	Name   string           `json:"name"`
	Digest manifests.Digest `json:"digest"`
	By     string           `json:"by"`
}

func (t *terminal) trustList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list the signers, skills and trust roots that are known, and what is revoked",
		Description: "Examples:\n  skillet trust list\n  skillet trust list --json",
		Action: t.withState(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			all, err := everythingTrusted(ctx, h)
			if err != nil {
				return err
			}
			return t.answer(all, func() { t.showTrusted(all) })
		}),
	}
}

func everythingTrusted(ctx context.Context, h *host.Host) (trusted, error) {
	all := trusted{Signers: []trust.Signer{}, Skills: []trust.Skill{}, Roots: []rootInfo{}, Revoked: []trust.Revocation{}, Quarantined: []string{}}
	signers, err := h.Trust.Signers(ctx)
	if err != nil {
		return all, err
	}
	skills, err := h.Trust.Skills(ctx)
	if err != nil {
		return all, err
	}
	roots, err := h.Trust.Roots(ctx)
	for _, r := range roots {
		all.Roots = append(all.Roots, rootInfo{r.Name, manifests.DigestOf(r.Document), r.By})
	}
	all.Signers, all.Skills = append(all.Signers, signers...), append(all.Skills, skills...)
	if err != nil {
		return all, err
	}
	revoked, err := h.Trust.Revocations(ctx)
	if err != nil {
		return all, err
	}
	all.Revoked = append(all.Revoked, revoked...)
	installed, err := h.Registry.List(ctx)
	for _, s := range installed {
		if s.Disabled != nil && s.Disabled.Quarantined {
			all.Quarantined = append(all.Quarantined, s.Ref())
		}
	}
	return all, err
}

func (t *terminal) showTrusted(all trusted) {
	if len(all.Signers)+len(all.Skills)+len(all.Roots)+len(all.Revoked) == 0 {
		t.note("nobody is known yet: who signs what you install first is remembered")
	}
	titles := map[signature.Signer]string{}
	for _, s := range all.Signers {
		titles[s.Signer] = s.Title()
		t.say("signer %s  %s", plain(s.Title()), plain(string(s.Signer)))
		for _, line := range signerLines(s) {
			t.say("  %s", plain(line))
		}
	}
	for _, s := range all.Skills {
		by := "not signed"
		if s.Signer != "" {
			by = "signed by " + titles[s.Signer]
			if titles[s.Signer] == "" {
				by = "signed by " + s.Signer.Short()
			}
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

func signerLines(s trust.Signer) []string {
	var lines []string
	if len(s.Names) > 0 {
		lines = append(lines, "has the names: "+strings.Join(s.Names, ", "))
	}
	if s.Revoker {
		lines = append(lines, "may revoke what others signed")
	}
	return append(lines, fmt.Sprintf("known since %s, by %s", when(s.At), s.By))
}

func (t *terminal) trustAdd() *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "make a signer known, and give it names of skills; or add a trust root",
		ArgsUsage: "KEY.pub|SIGNER",
		Description: "The names that a signer is given with --for are its own: only it may sign them, it needs no\n" +
			"first use, and it may sign no others. Without --for, it is known and is met with each skill.\n\n" +
			"A trust root, a trusted_root.json of Sigstore, makes keyless signatures verifiable, offline.\n\n" +
			"Examples:\n  skillet trust add acme.pub --label acme --for 'acme-*' --for csv\n" +
			"  skillet trust add keyless:token.actions.githubusercontent.com/https://github.com/acme/skills/.github/workflows/release.yml@refs/heads/main --for 'acme-*'\n" +
			"  skillet trust add security.pub --revoker\n" +
			"  skillet trust add --root trusted_root.json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "label", Usage: "what you call the signer, as `TEXT`"},
			&cli.StringSliceFlag{Name: "for", Usage: "a `NAME` of skills that is the signer's own; 'acme-*' is for all that begin so"},
			&cli.BoolFlag{Name: "revoker", Usage: "its revocation lists count for what others signed, too"},
			&cli.StringFlag{Name: "root", Usage: "add the trust root in this `FILE`"},
		},
		Action: t.withState(t.addTrust),
	}
}

func (t *terminal) addTrust(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.IsSet("root") {
		return t.addRoot(ctx, c, h)
	}
	args, err := need(c, 1, "one key or signer")
	if err != nil {
		return err
	}
	s, err := t.namedSigner(ctx, h, args[0])
	if err != nil {
		return err
	}
	s.Label, s.Names, s.Revoker = c.String("label"), c.StringSlice("for"), c.Bool("revoker")
	if s, err = h.Trust.Add(ctx, t.person(), s); err != nil {
		return err
	}
	return t.answer(s, func() {
		t.note("knows %s", plain(s.Title()))
		for _, line := range signerLines(s) {
			t.note("  %s", plain(line))
		}
	})
}

// namedSigner is the signer that a word names: a file of a public key, a
// signer's text, or one that is known.
func (t *terminal) namedSigner(ctx context.Context, h *host.Host, word string) (trust.Signer, error) {
	if who, err := signature.ParseSigner(word); err == nil {
		return trust.Signer{Signer: who}, nil
	}
	text, err := readSmall(ctx, word, maxKeyFile)
	if err == nil {
		k, err := signature.ParseKey(text)
		if err != nil {
			return trust.Signer{}, fault.Errorf(fault.KindUsage, "%s: %w", word, err).WithHint("name a public key in PEM, as `skillet key export` and `cosign public-key` write it")
		}
		return trust.Signer{Signer: k.Signer(), Key: k}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return trust.Signer{}, err
	}
	s, ferr := h.Trust.Find(ctx, word)
	if ferr != nil {
		return trust.Signer{}, fault.Errorf(fault.KindNotFound, "%s is neither a file, nor a signer, nor one that is known", word).
			WithHint("`skillet trust list` shows who is known")
	}
	return trust.Signer{Signer: s.Signer, Key: s.Key}, nil
}

func (t *terminal) addRoot(ctx context.Context, c *cli.Context, h *host.Host) error {
	if c.NArg() > 0 || c.IsSet("for") || c.IsSet("label") || c.IsSet("revoker") {
		return fault.Errorf(fault.KindUsage, "trust add --root takes no signer: whom it names is trusted in a second step")
	}
	path := c.String("root")
	document, err := readSmall(ctx, path, keyless.MaxRootBytes)
	if err != nil {
		return err
	}
	name := strings.ToLower(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	if err := h.Trust.AddRoot(ctx, t.person(), name, document); err != nil {
		return err
	}
	return t.answer(rootInfo{name, manifests.DigestOf(document), t.person().Actor()}, func() {
		t.note("keyless signatures are verified with the trust root %s; nobody is trusted by that alone", plain(name))
	})
}

func (t *terminal) trustRemove() *cli.Command {
	return &cli.Command{
		Name: "remove", Aliases: []string{"rm"},
		Usage:     "forget a signer, a skill or a trust root",
		ArgsUsage: "SIGNER|SKILL|ROOT",
		Description: "What is forgotten is met for the first time again. To have it refused instead, revoke it.\n\n" +
			"Examples:\n  skillet trust remove csv\n  skillet trust remove acme --yes",
		Flags: []cli.Flag{yesFlag("forget it")},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			args, err := need(c, 1, "one signer, skill or trust root")
			if err != nil {
				return err
			}
			if !c.Bool("yes") {
				if err := t.confirm("trust remove", "Forget "+plain(args[0])+"?"); err != nil {
					return err
				}
			}
			words, err := h.Trust.Remove(ctx, t.person(), args[0])
			if err != nil {
				return err
			}
			return t.answer(words, func() { t.note("forgot %s", plain(strings.Join(words, ", "))) })
		}),
	}
}

func (t *terminal) trustRevoke() *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "refuse a package, an artifact or all that a signer signed",
		ArgsUsage: "SKILL[@VERSION]|sha256:DIGEST|artifact:sha256:DIGEST|SIGNER",
		Description: "A digest is the content digest of a package, as `skillet info` shows it; with artifact: in front,\n" +
			"that of a .skill file or of an artifact in a registry.\n\n" +
			"Examples:\n  skillet trust revoke csv@1.2.0 --reason 'it sends what it reads'\n" +
			"  skillet trust revoke acme --reason 'the key was stolen'\n  skillet trust revoke acme --undo",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "reason", Usage: "why, as `TEXT`; shown wherever it is refused"},
			&cli.BoolFlag{Name: "undo", Usage: "take back what was revoked here; what nothing else revokes runs again"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show what would be put into quarantine"},
			yesFlag("revoke it"),
		},
		Action: t.withState(t.revokeTrust),
	}
}

func (t *terminal) revokeTrust(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one package, artifact or signer")
	if err != nil {
		return err
	}
	e, err := t.revocable(ctx, h, args[0])
	if err != nil {
		return err
	}
	if c.Bool("undo") {
		if c.Bool("dry-run") {
			return fault.Errorf(fault.KindUsage, "trust revoke --undo has no --dry-run").WithHint("`skillet trust revocations list` shows what is revoked here")
		}
		released, err := h.Unrevoke(ctx, t.person(), e)
		if err != nil {
			return err
		}
		return t.answer(e, func() {
			t.note("%s is not revoked here any more", plain(e.Target()))
			t.noteReleased(released)
		})
	}
	if e.Reason = c.String("reason"); e.Reason == "" {
		return fault.Errorf(fault.KindUsage, "trust revoke needs a reason, for whoever meets the refusal").WithHint("add --reason TEXT")
	}
	hit, err := h.RevokedBy(ctx, e)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return t.answer(hit, func() { t.noteHit(hit) })
	}
	if len(hit) > 0 && !c.Bool("yes") && t.canAsk() {
		t.noteHit(hit)
		if err := t.confirm("trust revoke", "Revoke "+plain(e.Target())+"?"); err != nil {
			return err
		}
	}
	revoked, err := h.Trust.Revoke(ctx, t.person(), e)
	if err != nil {
		return err
	}
	isolated, err := h.IsolateRevoked(ctx, t.person())
	if err != nil {
		return err
	}
	return t.answer(append([]trust.RevokedPackage{}, revoked...), func() {
		t.note("revoked %s", plain(e.Target()))
		t.noteRevoked(revoked)
		t.noteIsolated(isolated)
	})
}

// noteHit says what revoking something would stop.
func (t *terminal) noteHit(skills []registry.Skill) {
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

func (t *terminal) noteReleased(skills []registry.Skill) {
	for _, s := range skills {
		t.note("  %s is not in quarantine any more", plain(s.Ref()))
	}
}

func (t *terminal) noteIsolated(skills []registry.Skill) {
	for _, s := range skills {
		t.note("  %s is in quarantine: it is not run any more", plain(s.Ref()))
	}
}

// revocable is what a word names that can be revoked.
func (t *terminal) revocable(ctx context.Context, h *host.Host, word string) (trust.Entry, error) {
	if d, err := manifests.ParseDigest(strings.TrimPrefix(word, "artifact:")); err == nil {
		if strings.HasPrefix(word, "artifact:") {
			return trust.Entry{Artifact: d}, nil
		}
		return trust.Entry{Content: d}, nil
	}
	if who, err := signature.ParseSigner(word); err == nil {
		return trust.Entry{Signer: who}, nil
	}
	if s, err := h.Trust.Find(ctx, word); err == nil {
		return trust.Entry{Signer: s.Signer, Name: s.Label}, nil
	}
	s, err := t.lookup(ctx, h, word)
	if err != nil {
		return trust.Entry{}, err
	}
	return trust.Entry{Content: s.Digest, Name: s.Ref()}, nil
}

func (t *terminal) noteRevoked(revoked []trust.RevokedPackage) {
	for _, r := range revoked {
		t.note("  %s, which was accepted here on %s, is revoked by that", plain(r.Package.Skill+"@"+r.Package.Version), when(r.Package.At))
	}
}

// noteNewKey says, once, that the home signs with a key of its own now.
func (t *terminal) noteNewKey(who signature.Signer) {
	t.note("made a signing key, %s: `skillet key export` prints its public part", who.Short())
}
