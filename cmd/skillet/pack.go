package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/store/atomicfile"
	"github.com/skillet-run/skillet/host/toolchain"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

func (t *terminal) packCommand() *cli.Command {
	return &cli.Command{
		Name:      "pack",
		Usage:     "make a .skill file of a directory, the same bytes every time, and sign it",
		ArgsUsage: "[DIR]",
		Description: "Without DIR it is this directory. A module whose source was changed after `skillet build`, `test` or\n" +
			"`dev` built it is built again first. The signature is written beside the file, as a Sigstore bundle. It is made with the key of\n" +
			"this home, which is made when it is first needed; `skillet key show` shows it.\n\n" +
			"Examples:\n  skillet pack ./skills/text\n  skillet pack ./skills/text --output dist\n  skillet pack ./skills/text --no-sign",
		Flags: append(buildFlags(),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: ".", Usage: "the `DIR` or FILE.skill to write"},
			&cli.BoolFlag{Name: "no-build", Usage: "pack the module that is there, whatever became of its source"},
			&cli.BoolFlag{Name: "no-sign", Usage: "make no signature, and use no home: whoever installs it has to accept that"},
		),
		Action: func(c *cli.Context) error {
			if c.Bool("no-sign") {
				return t.withoutHome(t.packUnsigned)(c)
			}
			return t.withState(t.packSigned)(c)
		},
	}
}

// packed is what --json prints of pack.
type packed struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	Path    string           `json:"path"`
	Files   []bundle.File    `json:"files"`
	// Signer made the signature at the path Signature; both empty for none.
	Signer    string `json:"signer,omitempty"`
	Signature string `json:"signature,omitempty"`
}

func (t *terminal) packUnsigned(ctx context.Context, c *cli.Context) error {
	p, out, err := t.pack(ctx, c)
	if err != nil {
		return err
	}
	// What is there belongs to the file that was replaced.
	if err := os.Remove(out.Path + signature.Extension); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete the old signature: %w", err)
	}
	return t.showPacked(p, out)
}

func (t *terminal) packSigned(ctx context.Context, c *cli.Context, h *host.Host) error {
	p, out, err := t.pack(ctx, c)
	if err != nil {
		return err
	}
	archive, err := os.ReadFile(out.Path)
	if err != nil {
		return fmt.Errorf("sign the package: %w", err)
	}
	b, by, err := t.sign(ctx, h, p, manifests.DigestOf(archive))
	if err != nil {
		return err
	}
	out.Signer, out.Signature = string(by), out.Path+signature.Extension
	if err := cmp.Or(atomicfile.Write(out.Signature, b), os.Chmod(out.Signature, 0o644)); err != nil {
		return fmt.Errorf("write the signature: %w", err)
	}
	return t.showPacked(p, out)
}

func (t *terminal) pack(ctx context.Context, c *cli.Context) (*bundle.Package, packed, error) {
	dir := "."
	if c.Args().Present() {
		args, err := need(c, 1, "one directory")
		if err != nil {
			return nil, packed{}, err
		}
		dir = args[0]
	}
	if err := t.buildStale(ctx, c, dir); err != nil {
		return nil, packed{}, err
	}
	p, path, err := packTo(dir, c.String("output"))
	if err != nil {
		return nil, packed{}, err
	}
	m := p.Manifest()
	return p, packed{Name: m.Name, Version: m.Version, Digest: p.Digest(), Path: path, Files: p.Files()}, nil
}

// buildStale builds a directory whose source was changed since its module was built.
func (t *terminal) buildStale(ctx context.Context, c *cli.Context, dir string) error {
	if c.Bool("no-build") || toolchain.Current(dir) == nil {
		return nil
	}
	b := t.builders(c)
	defer b.close(ctx)
	made, err := t.buildModule(ctx, b, dir)
	if err == nil && !t.json {
		t.note("skillet: built %s, whose source was changed", plain(made.Module))
	}
	return err
}

func (t *terminal) showPacked(p *bundle.Package, out packed) error {
	return t.answer(out, func() {
		t.say("%s", out.Path)
		signed := "not signed"
		if out.Signer != "" {
			signed = "signed by " + out.Signer
		}
		t.note("%s@%s sha256:%s, %d files, %s", plain(out.Name), plain(out.Version), p.Digest().Short(), len(out.Files), signed)
	})
}

// withoutHome is a command that needs no home.
func (t *terminal) withoutHome(do func(context.Context, *cli.Context) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		t.json = c.Bool("json")
		return do(c.Context, c)
	}
}

// packTo packs a directory to a file, or into a directory, which it makes.
func packTo(dir, out string) (*bundle.Package, string, error) {
	if err := packable(dir); err != nil {
		return nil, "", err
	}
	if filepath.Ext(out) != bundle.Extension {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return nil, "", fmt.Errorf("make the output directory: %w", err)
		}
	}
	p, err := bundle.Pack(dir, out)
	if err != nil {
		return nil, "", err
	}
	if filepath.Ext(out) != bundle.Extension {
		out = filepath.Join(out, p.FileName())
	}
	return p, out, nil
}

// packable refuses what would make a package that nobody can run.
func packable(dir string) error {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return fault.Errorf(fault.KindUsage, "pack %s: it is not a directory", dir).WithHint("name the directory with the skill.json")
	}
	_, err := bundle.ReadDir(dir)
	if errors.Is(err, bundle.ErrNoModule) {
		return fault.Wrap(fault.KindUsage, err).WithHint("build the module first, where \"command\" says it is: `skillet build DIR`")
	}
	return err
}
