package main

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/skillet-run/skillet/host/fault"
	"github.com/skillet-run/skillet/internal/openfile"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/signer"
	"github.com/skillet-run/skillet/manifests/signature"
)

func (t *terminal) keyCommand() *cli.Command {
	return &cli.Command{
		Name:  "key",
		Usage: "show, make, export, import and replace the key that signs packages",
		Description: "A home has one signing key. It is made when the first package is packed or pushed, and kept sealed,\n" +
			"with the key to it in the keyring of the system or in a file that only you can read. Who gets your\n" +
			"packages needs its public part, which signatures bring along.\n\n" +
			"Examples:\n  skillet key show\n  skillet key export --output me.pub\n  skillet key import cosign.key",
		Subcommands: []*cli.Command{t.keyShow(), t.keyCreate(), t.keyExport(), t.keyImport(), t.keyRotate()},
	}
}

// keyInfo is what --json prints of the signing key.
type keyInfo struct {
	Signer    signature.Signer `json:"signer"`
	Algorithm string           `json:"algorithm"`
	PublicKey signature.Key    `json:"public_key"`
	MadeAt    time.Time        `json:"made_at"`
	Imported  bool             `json:"imported"`
	SealedBy  string           `json:"sealed_by"`
	Retired   []signer.Retired `json:"retired"`
}

func (t *terminal) showSigningKey(h *host.Host, k signer.Key) error {
	info := keyInfo{k.Identity(), k.Public().Algorithm(), k.Public(), k.MadeAt(), k.Imported(), h.SecretKey.Where(), k.Retired()}
	return t.answer(info, func() {
		origin := "made here"
		if info.Imported {
			origin = "imported"
		}
		t.say("%s", info.Signer)
		t.say("%s, %s on %s, sealed with the key in: %s", info.Algorithm, origin, when(info.MadeAt), plain(info.SealedBy))
		for _, r := range info.Retired {
			t.say("before, until %s: %s", when(r.RetiredAt), r.Key.Signer())
		}
	})
}

// explainKey says how to get out of an error about the signing key.
func explainKey(err error) error {
	switch {
	case errors.Is(err, signer.ErrNoKey):
		return fault.Wrap(fault.KindNotFound, err).WithHint("`skillet key create` makes one; so does the first package that is signed")
	case errors.Is(err, signer.ErrExists):
		return fault.Wrap(fault.KindConflict, err).WithHint("`skillet key show` shows it; `skillet key rotate` replaces it, and `skillet key import --replace` takes another instead")
	case errors.Is(err, signer.ErrPassphrase):
		return fault.Wrap(fault.KindUsage, err).WithHint("the same command asks again")
	case errors.Is(err, signer.ErrImport):
		return fault.Wrap(fault.KindUsage, err).WithHint("name a private key in PEM: PKCS #8, or cosign's cosign.key")
	}
	return err
}

func (t *terminal) keyShow() *cli.Command {
	return &cli.Command{
		Name:        "show",
		Usage:       "show which key signs, and the keys before it",
		Description: "Examples:\n  skillet key show\n  skillet key show --json",
		Action: t.withState(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			k, err := h.Signer.Key(ctx)
			if err != nil {
				return explainKey(err)
			}
			return t.showSigningKey(h, k)
		}),
	}
}

func (t *terminal) keyCreate() *cli.Command {
	return &cli.Command{
		Name:        "create",
		Usage:       "make the signing key now, and not when it is first needed",
		Description: "Examples:\n  skillet key create",
		Action: t.withState(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			k, err := h.CreateKey(ctx, t.person())
			if err != nil {
				return explainKey(err)
			}
			return t.showSigningKey(h, k)
		}),
	}
}

func (t *terminal) keyExport() *cli.Command {
	return &cli.Command{
		Name:        "export",
		Usage:       "print the public key, for `cosign verify --key` and `skillet trust add`",
		Description: "The private key is never printed.\n\nExamples:\n  skillet key export\n  skillet key export --output me.pub",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "output", Usage: "write it to this `FILE`"}},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			k, err := h.Signer.Key(ctx)
			if err != nil {
				return explainKey(err)
			}
			if path := c.String("output"); path != "" {
				return t.writePublic(k, path)
			}
			if t.json {
				return t.showSigningKey(h, k)
			}
			_, err = t.out.Write(k.Public().PEM())
			return err
		}),
	}
}

func (t *terminal) writePublic(k signer.Key, path string) error {
	if err := os.WriteFile(path, k.Public().PEM(), 0o644); err != nil {
		return fmt.Errorf("write the public key: %w", err)
	}
	return t.answer(keyFile{path, k.Identity()}, func() { t.note("wrote the public key of %s to %s", k.Identity().Short(), plain(path)) })
}

// keyFile is what --json prints of a public key that was written.
type keyFile struct {
	Path   string           `json:"path"`
	Signer signature.Signer `json:"signer"`
}

func (t *terminal) keyImport() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "sign with a key that you have already",
		ArgsUsage: "FILE",
		Description: "FILE is a private key in PEM: PKCS #8, or the cosign.key of `cosign generate-key-pair`, whose\n" +
			"passphrase is asked for, or read from standard input.\n\n" +
			"Examples:\n  skillet key import cosign.key\n  skillet key import release.pem --replace",
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "replace", Usage: "retire the key that is there"}},
		Action: t.withState(t.importKey),
	}
}

// maxKeyFile is the longest file of a private key that is read, in bytes.
const maxKeyFile = 64 << 10

func (t *terminal) importKey(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one file")
	if err != nil {
		return err
	}
	private, err := t.readPrivate(ctx, args[0])
	if err != nil {
		return explainKey(err)
	}
	k, err := h.ImportKey(ctx, t.person(), private, c.Bool("replace"))
	if err != nil {
		return explainKey(err)
	}
	return t.showSigningKey(h, k)
}

func (t *terminal) readPrivate(ctx context.Context, path string) (crypto.Signer, error) {
	text, err := readSmall(ctx, path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	return signer.ParsePrivate(text, func() ([]byte, error) { return t.readSecret("the passphrase") })
}

// readSmall reads a file of at most limit bytes.
func readSmall(ctx context.Context, path string, limit int64) ([]byte, error) {
	b, err := openfile.Read(ctx, path, limit)
	switch {
	case errors.Is(err, openfile.ErrTooLarge):
		return nil, fault.Errorf(fault.KindUsage, "read %s: it is longer than %d bytes", path, limit).WithHint("check that it is the file you mean")
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

func (t *terminal) keyRotate() *cli.Command {
	return &cli.Command{
		Name:  "rotate",
		Usage: "make a new signing key, and retire the one that is there",
		Description: "What the old key signed stays signed. Whoever gets your packages is asked whether the new\n" +
			"signer is meant: tell them its name beforehand. If the old key was stolen, revoke it as well:\n" +
			"`skillet trust revoke KEY --reason stolen`.\n\n" +
			"Examples:\n  skillet key rotate --yes",
		Flags: []cli.Flag{yesFlag("make a new key")},
		Action: t.withState(func(ctx context.Context, c *cli.Context, h *host.Host) error {
			if _, err := h.Signer.Key(ctx); err != nil {
				return explainKey(err)
			}
			if !c.Bool("yes") {
				if err := t.confirm("key rotate", "Retire the signing key and make a new one?"); err != nil {
					return err
				}
			}
			k, old, err := h.RotateKey(ctx, t.person())
			if err != nil {
				return explainKey(err)
			}
			t.noteRotated(old)
			return t.showSigningKey(h, k)
		}),
	}
}

func (t *terminal) noteRotated(old signer.Key) {
	if !t.json {
		t.note("retired %s", old.Identity())
	}
}
