package main

import (
	"context"
	"errors"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/registry"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/toolchain"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

func (t *terminal) pushCommand() *cli.Command {
	return &cli.Command{
		Name:      "push",
		Usage:     "sign a package and publish it to a registry, a folder or a file",
		ArgsUsage: "PATH | NAME[@VERSION]  REF",
		Description: "The package is a directory, a .skill file or an installed skill. It is signed with the\n" +
			"key of this home, which is made when it is first needed. In a registry it gets its\n" +
			"version for a tag; a version that was published stays as it is.\n\n" +
			"Examples:\n" +
			"  skillet push ./csv oci://registry.example/skills/csv\n" +
			"  skillet push csv@1.2.0 oci://registry.example/skills/csv --tag latest\n" +
			"  skillet push ./csv oci-layout:/media/stick/skills\n" +
			"  skillet push ./csv ./dist --no-sign",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "no-sign", Usage: "publish it without a signature"},
			&cli.StringSliceFlag{Name: "tag", Usage: "a further `TAG`, such as latest; may be repeated"},
			&cli.BoolFlag{Name: "replace", Usage: "replace what was published under the same version: whoever has it will see other bytes"},
			plainHTTPFlag(),
		},
		Action: t.withState(t.push),
	}
}

// pushedPackage is what --json prints of push.
type pushedPackage struct {
	Name    string           `json:"name"`
	Version string           `json:"version"`
	Digest  manifests.Digest `json:"digest"`
	sources.Pushed
	Signer string `json:"signer,omitempty"`
}

func (t *terminal) push(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 2, "a package and a place to publish it to")
	if err != nil {
		return err
	}
	to, err := sourceRef(args[1], sources.KindRegistry, sources.KindLayout, sources.KindFile, sources.KindDirectory, sources.KindName)
	if err != nil {
		return err
	}
	p, err := packageOf(ctx, h, args[0])
	if err != nil {
		return err
	}
	parcel, err := h.Sources().Parcel(p, to)
	if err != nil {
		return err
	}
	m := p.Manifest()
	out := pushedPackage{Name: m.Name, Version: m.Version, Digest: p.Digest()}
	progress := t.downloading([]string{parcel.To.String()})
	how := sources.Pushing{Tags: c.StringSlice("tag"), Replace: c.Bool("replace")}
	how.PlainHTTP, how.Progress = c.Bool("plain-http"), progress.of(0)
	if !c.Bool("no-sign") {
		b, by, err := t.sign(ctx, h, p, parcel.Artifact)
		if err != nil {
			return err
		}
		how.Signatures, out.Signer = [][]byte{b}, string(by)
	}
	done := progress.show(0)
	out.Pushed, err = h.Sources().Push(ctx, parcel, how)
	done()
	if err != nil {
		return err
	}
	return t.answer(out, func() { t.showPushed(out) })
}

func (t *terminal) showPushed(p pushedPackage) {
	t.say("%s", p.Source)
	t.note("published %s@%s as %s", plain(p.Name), plain(p.Version), plain(p.Ref))
	if !p.Signed {
		t.note("  it is not signed: whoever installs it has to accept that")
		return
	}
	t.note("  signed by %s", p.Signer)
}

// sign signs a package in the form in which it is published: the artifact, and
// the package whatever its form.
func (t *terminal) sign(ctx context.Context, h *host.Host, p *bundle.Package, artifact manifests.Digest) ([]byte, signature.Signer, error) {
	key, made, err := h.Govern().Keys.Ensure(ctx, t.person())
	if err != nil {
		return nil, "", err
	}
	if made {
		t.note("skillet: made the key that signs packages: %s", key.Identity())
	}
	m := p.Manifest()
	b, err := key.Sign(
		signature.Subject{Name: m.Name, Digest: artifact},
		signature.Subject{Name: m.Name + "@" + m.Version, Digest: p.Digest()},
	)
	return b, key.Identity(), err
}

// packageOf is the package at a path, or that of an installed skill.
func packageOf(ctx context.Context, h *host.Host, text string) (*bundle.Package, error) {
	if sources.IsPath(text) {
		if err := toolchain.Current(text); err != nil {
			return nil, err
		}
		return sources.Open(text)
	}
	ref, err := manifests.ParseRef(text)
	if err != nil || ref.Tool != "" {
		return nil, fault.Errorf(fault.KindUsage, "%s is no path of a package and no installed skill", text).
			WithHint("a path begins with ./ or /; `skillet list` shows what is installed")
	}
	s, err := h.Registry.Lookup(ctx, ref)
	if e := fault.AsError(err); e != nil && errors.Is(err, registry.ErrNotFound) && exists(ref.Name) {
		return nil, e.WithHint("there is a file of that name: to mean it, write ./%s", text)
	}
	if err != nil {
		return nil, err
	}
	return h.Registry.Package(ctx, s.Digest)
}
