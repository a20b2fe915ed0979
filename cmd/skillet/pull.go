package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func (t *terminal) pullCommand() *cli.Command {
	return &cli.Command{
		Name:      "pull",
		Usage:     "fetch a package to a .skill file, with its signature beside it",
		ArgsUsage: "REF",
		Description: "Installs nothing, and judges no signature. A REF is one of\n\n" +
			"  NAME, NAME@^1.2            the newest version in the registries of config.yaml\n" +
			"  oci://HOST/REPO:TAG        an artifact of a registry; @sha256:... for the tag\n" +
			"  oci-layout:DIR:TAG         one in a folder\n" +
			"  https://HOST/FILE.skill    a file; #sha256:... demands its digest\n" +
			"  git+https://HOST/REPO#REF:DIR\n" +
			"  ./DIR, FILE.skill\n\n" +
			"A signature counts for the form it was made for: that of a registry is about the\n" +
			"artifact there, and, in its second subject, about the package in any form.\n\n" +
			"Examples:\n" +
			"  skillet pull csv@^1.2\n" +
			"  skillet pull oci://registry.example/skills/csv:1.2.0 -o dist\n" +
			"  skillet pull 'git+https://git.example/tools#main:skills/csv' -o csv.skill",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: ".", Usage: "the `DIR` or FILE.skill to write"},
			&cli.BoolFlag{Name: "replace", Usage: "write over another package of that name"},
			plainHTTPFlag(),
		},
		Action: t.withHost(t.pull),
	}
}

func plainHTTPFlag() cli.Flag {
	return &cli.BoolFlag{Name: "plain-http", Usage: "reach the place without TLS: anybody on the way can see and change what is sent"}
}

// pulledFile is what --json prints of pull.
type pulledFile struct {
	Name       string           `json:"name"`
	Version    string           `json:"version"`
	Digest     manifests.Digest `json:"digest"`
	Source     string           `json:"source"`
	From       string           `json:"from,omitempty"`
	Artifact   manifests.Digest `json:"artifact,omitempty"`
	Path       string           `json:"path"`
	Signatures []string         `json:"signatures"` // paths
}

func (t *terminal) pull(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one package")
	if err != nil {
		return err
	}
	got, err := t.fetch(ctx, h, args[0], c.Bool("plain-http"))
	if err != nil {
		return err
	}
	out := c.String("output")
	if st, err := os.Stat(out); filepath.Ext(out) != bundle.Extension || err == nil && st.IsDir() {
		out = filepath.Join(out, got.Package.FileName())
	}
	signatures, err := h.Sources().Write(got, out, c.Bool("replace"))
	if err != nil {
		return err
	}
	m := got.Package.Manifest()
	p := pulledFile{m.Name, m.Version, got.Package.Digest(), got.Source, got.From, got.Artifact, out, signatures}
	return t.answer(p, func() {
		t.say("%s", p.Path)
		t.note("%s@%s sha256:%s from %s", plain(p.Name), plain(p.Version), p.Digest.Short(), plain(p.Source))
		if p.From != "" {
			t.note("  the bytes came from %s", plain(p.From))
		}
		for _, s := range p.Signatures {
			t.note("  its signature, which nobody has verified yet: %s", s)
		}
		if len(p.Signatures) == 0 {
			t.note("  it is not signed")
		}
	})
}

// sourceRef reads a reference of a command that is not a fetch.
func sourceRef(text string, kinds ...sources.Kind) (sources.Ref, error) {
	r, err := sources.ParseArgument(text)
	if err != nil {
		return r, err
	}
	for _, k := range kinds {
		if r.Kind == k {
			return r, nil
		}
	}
	return r, fault.Errorf(fault.KindUsage, "nothing can be published to a %s, as %s is", r.Kind, text).
		WithHint("name oci://HOST/REPO, oci-layout:DIR, a FILE.skill, or a name that a registry in config.yaml serves")
}

// fetch gets one package, and shows on a terminal how much of it came.
func (t *terminal) fetch(ctx context.Context, h *host.Host, text string, plain bool) (*sources.Fetched, error) {
	progress := t.downloading([]string{text})
	defer progress.show(0)()
	r, err := sources.ParseArgument(text)
	if err != nil {
		return nil, err
	}
	got, err := h.Sources().Fetch(ctx, r, sources.Options{PlainHTTP: plain, Progress: progress.of(0)})
	if e := fault.AsError(err); e != nil && r.Kind == sources.KindName && r.Constraint == "" && exists(text) {
		return nil, e.WithHint("there is a file of that name: to mean it, write ./%s", text)
	}
	return got, err
}
