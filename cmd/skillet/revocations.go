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
	return group("revocations",
		t.revocationsList(),
		command("import", []cli.Flag{
			&cli.StringFlag{Name: "signature", Usage: "its Sigstore bundle, if that is not beside it, as `FILE`"},
			plainHTTPFlag(),
		}, t.withHost(t.importRevocations)), command("update", nil, t.withHost(t.updateRevocations)), command("export", []cli.Flag{overFlag()}, t.withHost(t.exportRevocations)), command("push", []cli.Flag{plainHTTPFlag()}, t.withHost(t.pushRevocations)),
	)
}

func (t *terminal) revocationsList() *cli.Command {
	return command("list ls", nil, t.withHost(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
		all, err := h.Govern().Signers.Revocations(ctx, t.person())
		return t.answered(all, err, func() {
			if len(all) == 0 {
				t.note("nothing is revoked")
			}
			for _, r := range all {
				t.say("%s", plain(revocationLine(r)))
			}
		})
	}))
}

// revocationLine is what was revoked, when, by whom and why.
func revocationLine(r govern.Revocation) string {
	return fmt.Sprintf("%s  %s  %s  by %s: %s", r.RevokedAt.Format("2006-01-02"), r.Target(), r.Name, r.By, r.Reason)
}

func (t *terminal) importRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	req, err := readList(ctx, c.Args().First(), c)
	if err != nil {
		return err
	}
	done := func() {}
	if req.Source != "" {
		done = t.waiting("fetching %s", c.Args().First())
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

func (t *terminal) exportRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	out, err := h.Govern().Signers.ExportRevocations(ctx, t.person(), govern.ExportList{Path: c.Args().First(), Over: c.Bool("force")})
	if err != nil {
		return err
	}
	t.noteNewKey(out.NewKey, out.Signer.Short())
	return t.answer(out, func() { t.note("wrote %s and %s", plain(out.List), plain(out.Signature)) })
}

func (t *terminal) pushRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	done := t.waiting("publishing to %s", c.Args().First())
	out, err := h.Govern().Signers.PushRevocations(ctx, t.person(), govern.PushList{To: c.Args().First(), PlainHTTP: c.Bool("plain-http")})
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
