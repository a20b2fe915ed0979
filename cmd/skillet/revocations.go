package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/invoke"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/signer"
	sources "github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/trust"
	"github.com/skillet-run/skillet/manifests/signature"
)

func (t *terminal) trustRevocations() *cli.Command {
	return &cli.Command{
		Name:  "revocations",
		Usage: "list what is revoked; take over and hand on revocation lists",
		Description: "A revocation list is a JSON document with a Sigstore bundle: beside it, FILE.sigstore.json,\n" +
			"or attached to it in a registry.\n\n" +
			"Examples:\n  skillet trust revocations list\n  skillet trust revocations import revoked.json\n" +
			"  skillet trust revocations push oci://registry.example/security/revoked\n" +
			"  skillet trust revocations update",
		Subcommands: []*cli.Command{
			t.revocationsList(), t.revocationsImport(), t.revocationsUpdate(), t.revocationsExport(), t.revocationsPush(),
		},
	}
}

func (t *terminal) revocationsList() *cli.Command {
	return &cli.Command{
		Name: "list", Aliases: []string{"ls"},
		Usage:       "list what is revoked, by whom and why",
		Description: "Examples:\n  skillet trust revocations list\n  skillet trust revocations list --json",
		Action: t.withState(func(ctx context.Context, _ *cli.Context, h *host.Host) error {
			all, err := h.Trust.Revocations(ctx)
			if err != nil {
				return err
			}
			return t.answer(append([]trust.Revocation{}, all...), func() {
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
func revocationLine(r trust.Revocation) string {
	return fmt.Sprintf("%s  %s  %s  by %s: %s", r.RevokedAt.Format("2006-01-02"), r.Target(), r.Name, r.By, r.Reason)
}

func (t *terminal) revocationsImport() *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "take over the revocation list of a known signer",
		ArgsUsage: "FILE|REF|URL",
		Description: "A list takes the place of the one before it of the same signer; one that is older is refused.\n" +
			"The list of a signer that was not added with --revoker counts for what it signed itself.\n" +
			"Without a tag, a registry or a layout folder is asked for the latest list.\n\n" +
			"Examples:\n  skillet trust revocations import revoked.json\n" +
			"  skillet trust revocations import revoked.json --signature elsewhere.sigstore.json\n" +
			"  skillet trust revocations import oci://registry.example/security/revoked\n" +
			"  skillet trust revocations import oci-layout:/media/stick/revoked:7\n" +
			"  skillet trust revocations import https://security.example/revoked.json",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "signature", Usage: "its Sigstore bundle, if that is not beside it, as `FILE`"},
			plainHTTPFlag(),
		},
		Action: t.withState(t.importRevocations),
	}
}

// importedList is what --json prints of a list that was imported.
type importedList struct {
	trust.Import
	// Also is what it changed for other signers of the same list.
	Also []trust.Import `json:"also,omitempty"`
	// Isolated are the installed versions that are in quarantine now, and Released
	// those that are not any more.
	Isolated []string `json:"isolated"`
	Released []string `json:"released"`
}

func (t *terminal) importRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one file, reference or address")
	if err != nil {
		return err
	}
	d, err := t.revocationsFrom(ctx, h, args[0], c)
	if err != nil {
		return err
	}
	got, err := h.ImportRevocations(ctx, t.person(), d.Content, d.Signatures)
	if err != nil {
		if !t.json {
			t.noteImported(got)
		}
		return err
	}
	return t.answer(importedList{got.Imports[0], got.Imports[1:], refsOf(got.Isolated), refsOf(got.Released)}, func() { t.noteImported(got) })
}

func refsOf(skills []registry.Skill) []string {
	refs := []string{}
	for _, s := range skills {
		refs = append(refs, s.Ref())
	}
	return refs
}

// noteImported says what a list changed.
func (t *terminal) noteImported(got host.ImportedRevocations) {
	for _, i := range got.Imports {
		t.note("list %d of %s, issued on %s: %d more revoked, %d less", i.Sequence, plain(i.Signer.Short()), when(i.IssuedAt), len(i.Added), len(i.Dropped))
		t.noteRevoked(i.Revoked)
	}
	t.noteIsolated(got.Isolated)
	t.noteReleased(got.Released)
}

// revocationsFrom reads a list where a person says that it is.
func (t *terminal) revocationsFrom(ctx context.Context, h *host.Host, place string, c *cli.Context) (d sources.Document, err error) {
	bundle := c.String("signature")
	if at, bad := invoke.ParseAddress(place); bad == nil && at.Source != "" {
		d, err = t.fetchRevocations(ctx, h, place, sources.Options{PlainHTTP: c.Bool("plain-http")})
	} else {
		bundle = cmp.Or(bundle, place+signature.Extension)
		d.Content, err = readSmall(ctx, place, trust.MaxListBytes)
	}
	if err != nil || bundle == "" {
		return d, err
	}
	b, err := readSmall(ctx, bundle, signature.MaxBytes)
	d.Signatures = [][]byte{b}
	return d, err
}

func (t *terminal) fetchRevocations(ctx context.Context, h *host.Host, place string, o sources.Options) (sources.Document, error) {
	r, err := listRef(place)
	if err != nil {
		return sources.Document{}, err
	}
	defer t.waiting("fetching %s", place)()
	return h.FetchRevocations(ctx, r, o)
}

// listRef reads where a list is published.
func listRef(place string) (sources.Ref, error) {
	r, err := sources.Parse(place)
	if err != nil {
		return r, fault.Wrap(fault.KindUsage, err).WithHint("it may be oci://HOST/REPO, oci-layout:DIR, https://HOST/FILE or a file")
	}
	return r, nil
}

func (t *terminal) revocationsUpdate() *cli.Command {
	return &cli.Command{
		Name:  "update",
		Usage: "fetch and take over the revocation lists of config.yaml",
		Description: "The setting revocation_lists in config.yaml says where they are. Each is taken over as `import`\n" +
			"does. One that cannot be had, or is refused, is named, and does not keep the others out; the\n" +
			"exit code is then that of the first.\n\n" +
			"Examples:\n  skillet trust revocations update\n  skillet trust revocations update --json",
		Action: t.withState(t.updateRevocations),
	}
}

// updatedList is what --json prints of one place of a list.
type updatedList struct {
	OK   bool   `json:"ok"`
	List string `json:"list"` // as the settings name it
	// Source is the list by its digest; From where its bytes came from, if that
	// is elsewhere.
	Source  string         `json:"source,omitempty"`
	From    string         `json:"from,omitempty"`
	Imports []trust.Import `json:"imports"`
	// Isolated are the installed versions that are in quarantine now, and Released
	// those that are not any more.
	Isolated []string     `json:"isolated"`
	Released []string     `json:"released"`
	Error    *fault.Error `json:"error,omitempty"`
}

func (t *terminal) updateRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	if _, err := need(c, 0, "no arguments"); err != nil {
		return err
	}
	places := h.Config.Settings().RevocationLists
	if len(places) == 0 {
		return fault.Errorf(fault.KindUsage, "no revocation lists are configured").
			WithHint("list where they are under revocation_lists in %s in the home, such as oci://HOST/REPO", config.FileName)
	}
	all := []updatedList{}
	var failed *fault.Error
	for _, place := range places {
		u, err := t.updateList(ctx, h, place)
		if ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		u.OK, u.Error = err == nil, explain(err)
		failed = cmp.Or(failed, u.Error)
		all = append(all, u)
		if err != nil && !t.json {
			t.tell(u.Error)
		}
	}
	return t.answerEach(all, failed)
}

func (t *terminal) updateList(ctx context.Context, h *host.Host, place string) (updatedList, error) {
	u := updatedList{List: place, Imports: []trust.Import{}, Isolated: []string{}, Released: []string{}}
	d, err := t.fetchRevocations(ctx, h, place, sources.Options{})
	if err != nil {
		return u, err
	}
	got, err := h.ImportRevocations(ctx, t.person(), d.Content, d.Signatures)
	u.Source, u.From, u.Isolated, u.Released = d.Source, d.From, refsOf(got.Isolated), refsOf(got.Released)
	u.Imports = append(u.Imports, got.Imports...)
	if !t.json {
		t.noteImported(got)
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w", place, err)
	}
	return u, nil
}

func (t *terminal) revocationsExport() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write what was revoked here as a signed list, for others to import",
		ArgsUsage: "FILE",
		Description: "Writes FILE and FILE.sigstore.json. Each export has the next number.\n\n" +
			"Examples:\n  skillet trust revocations export revoked.json",
		Action: t.withState(t.exportRevocations),
	}
}

// revocationFiles is what --json prints of a list that was written.
type revocationFiles struct {
	List      string           `json:"list"`
	Signature string           `json:"signature"`
	Signer    signature.Signer `json:"signer"`
}

// revokingKey is the key that signs a revocation list, which is made when there is
// none.
func (t *terminal) revokingKey(ctx context.Context, h *host.Host) (signer.Key, error) {
	k, made, err := h.Govern().Keys.Ensure(ctx, t.person())
	if err != nil {
		return k, err
	}
	if made {
		t.noteNewKey(k.Identity())
	}
	return k, nil
}

func (t *terminal) exportRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one file")
	if err != nil {
		return err
	}
	k, err := t.revokingKey(ctx, h)
	if err != nil {
		return err
	}
	document, bundle, err := h.Trust.ExportList(ctx, t.person(), k, filepath.Base(args[0]))
	if err != nil {
		return err
	}
	for path, b := range map[string][]byte{args[0]: document, args[0] + signature.Extension: bundle} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return fmt.Errorf("write the revocation list: %w", err)
		}
	}
	return t.answer(revocationFiles{args[0], args[0] + signature.Extension, k.Identity()}, func() { t.note("wrote %s and %s", plain(args[0]), plain(args[0]+signature.Extension)) })
}

func (t *terminal) revocationsPush() *cli.Command {
	return &cli.Command{
		Name:      "push",
		Usage:     "publish what was revoked here as a signed list, to a registry or a folder",
		ArgsUsage: "REF",
		Description: "The list is an OCI artifact with its signature attached. Each has the next number, which is its\n" +
			"tag, and is the latest. Give every signer a repository of its own.\n\n" +
			"Examples:\n  skillet trust revocations push oci://registry.example/security/revoked\n" +
			"  skillet trust revocations push oci-layout:/media/stick/revoked",
		Flags:  []cli.Flag{plainHTTPFlag()},
		Action: t.withState(t.pushRevocations),
	}
}

func (t *terminal) pushRevocations(ctx context.Context, c *cli.Context, h *host.Host) error {
	args, err := need(c, 1, "one place to publish to")
	if err != nil {
		return err
	}
	to, err := listRef(args[0])
	if err != nil {
		return err
	}
	if err := sources.TakesDocuments(to); err != nil { // before a key is made
		return err
	}
	k, err := t.revokingKey(ctx, h)
	if err != nil {
		return err
	}
	done := t.waiting("publishing to %s", args[0])
	out, err := h.PublishRevocations(ctx, t.person(), k, to, sources.Options{PlainHTTP: c.Bool("plain-http")})
	done()
	if err != nil {
		return err
	}
	return t.answer(out, func() {
		t.say("%s", plain(out.Source))
		t.note("published list %d as %s and :latest", out.Sequence, plain(out.Ref))
		t.note("  signed by %s", out.Signer)
	})
}
