package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/skillet-run/skillet/host/fault"

	"github.com/skillet-run/skillet/host/approval"
	"github.com/skillet-run/skillet/host/registry"
	"github.com/skillet-run/skillet/host/source"
	"github.com/skillet-run/skillet/host/store"
	"github.com/skillet-run/skillet/host/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// IsolateRevoked puts every installed version that is revoked into quarantine,
// where it does not run. It returns those that were not there yet. Call it after
// something was revoked.
func (h *Host) IsolateRevoked(ctx context.Context, by approval.Human) ([]registry.Skill, error) {
	reasons, err := h.revoked(ctx)
	if err != nil || len(reasons) == 0 {
		return nil, err
	}
	return h.Installer.IsolateAll(ctx, by.Actor(), reasons)
}

// Unrevoke takes back what was revoked here, and ends the quarantine of what nothing
// else revokes. It returns the versions that run again.
func (h *Host) Unrevoke(ctx context.Context, by approval.Human, e trust.Entry) ([]registry.Skill, error) {
	if err := h.Trust.Unrevoke(ctx, by, e); err != nil {
		return nil, err
	}
	return h.releaseUnrevoked(ctx, by)
}

func (h *Host) releaseUnrevoked(ctx context.Context, by approval.Human) ([]registry.Skill, error) {
	still, err := h.revoked(ctx)
	if err != nil {
		return nil, err
	}
	return h.Installer.Release(ctx, by, still)
}

// RevokedBy are the installed versions that an entry would put into quarantine.
func (h *Host) RevokedBy(ctx context.Context, e trust.Entry) ([]registry.Skill, error) {
	all, err := h.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	rs, err := h.Trust.Revocations(ctx)
	if err != nil {
		return nil, err
	}
	hit := []registry.Skill{}
	for _, s := range all {
		t, err := h.Trust.TargetOf(ctx, s.Name, s.Digest, s.Artifact)
		if err != nil {
			return nil, err
		}
		if e.Revokes(t, rs) {
			hit = append(hit, s)
		}
	}
	return hit, nil
}

// revoked says of packages why they are revoked. What was accepted is judged as it
// was then, with all of its signers; of a version that is installed without a
// record of that, its bytes are all there is to go by.
func (h *Host) revoked(ctx context.Context) (map[manifests.Digest]string, error) {
	accepted, err := h.Trust.RevokedPackages(ctx)
	if err != nil {
		return nil, err
	}
	reasons := map[manifests.Digest]string{}
	for _, p := range accepted {
		reasons[p.Package.Content] = whyRevoked(p.Revocation)
	}
	all, err := h.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		_, err := h.Trust.Package(ctx, s.Digest)
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		r, revoked, err := h.Trust.Revocation(ctx, trust.Target{Content: s.Digest, Artifact: s.Artifact})
		if err != nil {
			return nil, err
		}
		if revoked {
			reasons[s.Digest] = whyRevoked(r)
		}
	}
	return reasons, nil
}

func whyRevoked(r trust.Revocation) string { return fmt.Sprintf("revoked by %s: %s", r.By, r.Reason) }

// revocationLists are revocation lists as they are published.
func revocationLists() source.DocumentType {
	return source.DocumentType{MediaType: trust.ListMediaType, MaxBytes: trust.MaxListBytes}
}

// FetchRevocations gets a revocation list from a registry, a layout folder or an
// address. Nothing of it counts before it was imported.
func (h *Host) FetchRevocations(ctx context.Context, from source.Ref, o source.Options) (source.Document, error) {
	return h.sources.Document(ctx, from, revocationLists(), o)
}

// ImportedRevocations are what a revocation list changed.
type ImportedRevocations struct {
	// Imports has one for each known signer of the list.
	Imports []trust.Import
	// Isolated are the installed versions that are in quarantine now because of
	// it.
	Isolated []registry.Skill
	// Released are those that are not any more, because the list revokes less.
	Released []registry.Skill
}

// ImportRevocations takes over a revocation list for every known signer who
// signed it, and puts what it revokes into quarantine. Signatures by others are
// passed over as long as one counts: anybody may attach one in a registry. An
// older list of one signer is an error, which wraps [trust.ErrRollback], whoever
// else signed it; what was imported is returned all the same.
func (h *Host) ImportRevocations(ctx context.Context, by approval.Human, document []byte, bundles [][]byte) (ImportedRevocations, error) {
	if len(bundles) == 0 {
		return ImportedRevocations{}, fault.Errorf(fault.KindVerification, "import revocation list: it is not signed").
			WithHint("tell whoever published it: `skillet trust revocations push` and `export` sign")
	}
	imports, err := h.importSigned(ctx, by, document, bundles)
	if len(imports) == 0 {
		return ImportedRevocations{}, err
	}
	isolated, ierr := h.IsolateRevoked(ctx, by)
	released, rerr := h.releaseUnrevoked(ctx, by)
	return ImportedRevocations{imports, isolated, released}, cmp.Or(err, ierr, rerr)
}

func (h *Host) importSigned(ctx context.Context, by approval.Human, document []byte, bundles [][]byte) (imports []trust.Import, failed error) {
	var passed error
	for _, b := range bundles {
		done, err := h.Trust.ImportList(ctx, by, document, b)
		switch {
		case err == nil && !slices.ContainsFunc(imports, func(i trust.Import) bool { return i.Signer == done.Signer }):
			imports = append(imports, done)
		case err == nil:
		case errors.Is(err, trust.ErrRollback) || fault.AsError(err).Kind != fault.KindVerification:
			failed = cmp.Or(failed, err)
		default:
			passed = cmp.Or(passed, err)
		}
	}
	if len(imports) == 0 {
		failed = cmp.Or(failed, passed)
	}
	return imports, failed
}

// PublishedRevocations say where a revocation list was published.
type PublishedRevocations struct {
	Sequence uint64           `json:"sequence"`
	Signer   signature.Signer `json:"signer"`
	source.Pushed
}

// PublishRevocations makes a revocation list of what was revoked here, signed by
// key, and publishes it to a registry or a layout folder: under its number, and
// as the latest. A number whose publication failed is not used again.
func (h *Host) PublishRevocations(ctx context.Context, by approval.Human, key trust.ListSigner, to source.Ref, o source.Options) (PublishedRevocations, error) {
	if err := source.TakesDocuments(to); err != nil {
		return PublishedRevocations{}, err
	}
	const name = "revocations.json"
	document, bundle, err := h.Trust.ExportList(ctx, by, key, name)
	if err != nil {
		return PublishedRevocations{}, err
	}
	l, err := trust.ParseList(document)
	if err != nil {
		return PublishedRevocations{}, err
	}
	d := source.Document{Content: document, Signatures: [][]byte{bundle}}
	pushed, err := h.sources.PushDocument(ctx, to, revocationLists(), name, strconv.FormatUint(l.Sequence, 10), d, o)
	return PublishedRevocations{l.Sequence, key.Identity(), pushed}, err
}
