package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/openfile"
)

func (t *terminal) keyCommand() *cli.Command {
	return group("key",
		command("show", nil, t.withHost(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			k, err := h.Govern().Keys.Show(ctx, t.person())
			if err != nil {
				return err
			}
			return t.showSigningKey(k)
		})),
		command("create", nil, t.withHost(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			k, err := h.Govern().Keys.Create(ctx, t.person())
			if err != nil {
				return err
			}
			return t.showSigningKey(k)
		})),
		t.keyExport(),
		command("import", []cli.Flag{&cli.BoolFlag{Name: "replace", Usage: "retire the key that is there"}}, t.withHost(t.importKey)),
		t.keyRotate(),
	)
}

func (t *terminal) showSigningKey(info govern.SigningKey) error {
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

func (t *terminal) keyExport() *cli.Command {
	return command("export", []cli.Flag{&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "write it to this `FILE`; - for standard output"}, overFlag()}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if path := c.String("output"); path != "" && path != standardOutput {
			return t.writePublic(ctx, h, govern.ExportKey{Path: path, Over: c.Bool("force")})
		}
		k, err := h.Govern().Keys.Show(ctx, t.person())
		if err != nil {
			return err
		}
		if t.json {
			return t.showSigningKey(k)
		}
		_, err = t.out.Write(k.PublicKey.PEM())
		return err
	}))
}

func (t *terminal) writePublic(ctx context.Context, h *host.Host, to govern.ExportKey) error {
	f, err := h.Govern().Keys.Export(ctx, t.person(), to)
	return t.answered(f, err, func() { t.note("wrote the public key of %s to %s", f.Signer.Short(), plain(f.Path)) })
}

// maxKeyFile is the longest file of a private key that is read, in bytes.
const maxKeyFile = 64 << 10

func (t *terminal) importKey(ctx context.Context, c *cli.Context, h *host.Host) (err error) {
	req := govern.ImportKey{Replace: c.Bool("replace")}
	if req.PEM, err = readSmall(ctx, c.Args().First(), maxKeyFile); err != nil {
		return err
	}
	if govern.NeedsPassphrase(req.PEM) {
		if req.Passphrase, err = t.readSecret("the passphrase"); err != nil {
			return err
		}
	}
	k, err := h.Govern().Keys.Import(ctx, t.person(), req)
	if err != nil {
		return err
	}
	return t.showSigningKey(k)
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
	return command("rotate", []cli.Flag{yesFlag("make a new key")}, t.withHost(func(ctx context.Context, c *cli.Context, h *host.Host) error {
		if _, err := h.Govern().Keys.Show(ctx, t.person()); err != nil {
			return err
		}
		if err := t.agreed(c, "Retire the signing key and make a new one?"); err != nil {
			return err
		}
		k, err := h.Govern().Keys.Rotate(ctx, t.person())
		if err != nil {
			return err
		}
		if !t.json {
			t.note("retired %s", k.Retired[len(k.Retired)-1].Key.Signer())
		}
		return t.showSigningKey(k)
	}))
}
