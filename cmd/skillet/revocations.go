package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/host/base/fault"
)

func (t *terminal) trustRevocations() *cli.Command {
	return &cli.Command{
		Name: "revocations",
		Subcommands: []*cli.Command{
			t.revocationsList(), t.revocationsImport(), t.revocationsUpdate(), t.revocationsExport(), t.revocationsPush(),
		},
	}
}

func (t *terminal) revocationsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Action: t.withHost(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			all, err := h.Govern().Signers.Revocations(ctx, t.person())
			return t.answered(all, err, func() {
				if len(all) == 0 {
					t.note("nothing is revoked")
				}
				for _, r := range all {
					t.say("%s", plain(revocationLine(r)))
				}
			})
		}),
	}
}

// revocationLine is what was revoked, when, by whom and why.
func revocationLine(r govern.Revocation) string {
	return fmt.Sprintf("%s  %s  %s  by %s: %s", r.RevokedAt.Format("2006-01-02"), r.Target(), r.Name, r.By, r.Reason)
}

func (t *terminal) revocationsImport() *cli.Command {
	return &cli.Command{
		Name: "import",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "signature", Usage: "its Sigstore bundle, if that is not beside it, as `FILE`"},
			plainHTTPFlag(),
		},
		Action: t.withHost(t.importRevocations),
	}
}

func (t *terminal) importRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	args := c.Args().Slice()
	req, err := readList(ctx, args[0], c)
	if err != nil {
		return err
	}
	done := func() {}
	if req.Source != "" {
		done = t.waiting("fetching %s", args[0])
	}
	got, err := h.Govern().Signers.ImportRevocations(ctx, t.person(), req)
	done()
	if err != nil {
		if !t.json {
			t.noteImported(got.Imports(), got.Isolated, got.Released)
		}
		return err
	}
	return t.answer(got, func() { t.noteImported(got.Imports(), got.Isolated, got.Released) })
}

// noteImported says what a list changed.
func (t *terminal) noteImported(imports []govern.Import, isolated, released []string) {
	for _, i := range imports {
		t.note("list %d of %s, issued on %s: %d more revoked, %d less", i.Sequence, plain(i.Signer.Short()), when(i.IssuedAt), len(i.Added), len(i.Dropped))
		t.noteRevoked(i.Revoked)
	}
	t.noteIsolated(isolated)
	t.noteReleased(released)
}

// readList reads a list where a person says that it is, or names where it is published.
func readList(ctx context.Context, place string, c *cli.Context) (req govern.ImportList, err error) {
	bundle := c.String("signature")
	if at, bad := invoke.ParseAddress(place); bad == nil && at.Source != "" {
		req.Source, req.PlainHTTP = place, c.Bool("plain-http")
	} else {
		bundle = cmp.Or(bundle, place+govern.SignatureExtension)
		req.Content, err = readSmall(ctx, place, govern.MaxListBytes)
	}
	if err != nil || bundle == "" {
		return req, err
	}
	b, err := readSmall(ctx, bundle, govern.MaxSignatureBytes)
	req.Signatures = [][]byte{b}
	return req, err
}

func (t *terminal) revocationsUpdate() *cli.Command {
	return &cli.Command{
		Name:   "update",
		Action: t.withHost(t.updateRevocations),
	}
}

func (t *terminal) updateRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	done := func() {}
	var failed *fault.Error
	all, err := h.Govern().Signers.UpdateRevocations(ctx, t.person(), govern.UpdateLists{
		Begins: func(place string) { done = t.waiting("fetching %s", place) },
		Done: func(u govern.UpdatedList) {
			done()
			failed = cmp.Or(failed, u.Error)
			t.noteUpdated(u)
		},
	})
	if err != nil {
		done()
		return err
	}
	for i, u := range all {
		if u.Error != nil {
			all[i].Error = explain(u.Error)
		}
	}
	return t.answerEach(all, failed)
}

// noteUpdated says what came of one list.
func (t *terminal) noteUpdated(u govern.UpdatedList) {
	if t.json {
		return
	}
	t.noteImported(u.Imports, u.Isolated, u.Released)
	if u.Error != nil {
		t.tell(explain(u.Error))
	}
}

func (t *terminal) revocationsExport() *cli.Command {
	return &cli.Command{
		Name:   "export",
		Flags:  []cli.Flag{overFlag()},
		Action: t.withHost(t.exportRevocations),
	}
}

func (t *terminal) exportRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	args := c.Args().Slice()
	out, err := h.Govern().Signers.ExportRevocations(ctx, t.person(), govern.ExportList{Path: args[0], Over: c.Bool("force")})
	if err != nil {
		return err
	}
	t.noteNewKey(out.NewKey, out.Signer.Short())
	return t.answer(out, func() { t.note("wrote %s and %s", plain(out.List), plain(out.Signature)) })
}

func (t *terminal) revocationsPush() *cli.Command {
	return &cli.Command{
		Name:   "push",
		Flags:  []cli.Flag{plainHTTPFlag()},
		Action: t.withHost(t.pushRevocations),
	}
}

func (t *terminal) pushRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	args := c.Args().Slice()
	done := t.waiting("publishing to %s", args[0])
	out, err := h.Govern().Signers.PushRevocations(ctx, t.person(), govern.PushList{To: args[0], PlainHTTP: c.Bool("plain-http")})
	done()
	if err != nil {
		return err
	}
	t.noteNewKey(out.NewKey, out.Signer.Short())
	return t.answer(out, func() {
		t.say("%s", plain(out.Source))
		t.note("published list %d as %s and :latest", out.Sequence, plain(out.Ref))
		t.note("  signed by %s", out.Signer)
	})
}
