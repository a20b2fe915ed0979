package govern

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/outfile"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/host/record/trust"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
	"github.com/skillet-run/skillet/manifests/signature/keyless"
)

// Revocations returns what was revoked here and by the lists of signers that are known,
// newest first.
func (s *Signers) Revocations(ctx context.Context, by approval.Principal) ([]Revocation, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return nil, err
	}
	all, err := s.p.Trust.Revocations(ctx)
	return append([]Revocation{}, all...), err
}

// isolate puts every installed version that is revoked into quarantine, where it does not
// run. It returns those that were not there yet.
func (s *Signers) isolate(ctx context.Context, by approval.Human) ([]string, error) {
	reasons, err := s.reasons(ctx)
	if err != nil || len(reasons) == 0 {
		return []string{}, err
	}
	skills, err := s.p.Installer.IsolateAll(ctx, by.Actor(), reasons)
	return refsOf(skills), err
}

// release ends the quarantine of what is not revoked any more, and returns it.
func (s *Signers) release(ctx context.Context, by approval.Human) ([]string, error) {
	still, err := s.reasons(ctx)
	if err != nil {
		return []string{}, err
	}
	skills, err := s.p.Installer.Release(ctx, by, still)
	return refsOf(skills), err
}

func refsOf(skills []registry.Skill) []string {
	refs := []string{}
	for _, s := range skills {
		refs = append(refs, s.Ref())
	}
	return refs
}

// reasons say of packages why they are revoked. What was accepted is judged as it was then,
// with all of its signers; of a version that is installed without a record of that, its
// bytes are all there is to go by.
func (s *Signers) reasons(ctx context.Context) (map[manifests.Digest]string, error) {
	accepted, err := s.p.Trust.RevokedPackages(ctx)
	if err != nil {
		return nil, err
	}
	reasons := map[manifests.Digest]string{}
	for _, p := range accepted {
		reasons[p.Package.Content] = whyRevoked(p.Revocation)
	}
	all, err := s.p.Registry.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		_, err := s.p.Trust.Package(ctx, i.Digest)
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		r, revoked, err := s.p.Trust.Revocation(ctx, trust.Target{Content: i.Digest, Artifact: i.Artifact})
		if err != nil {
			return nil, err
		}
		if revoked {
			reasons[i.Digest] = whyRevoked(r)
		}
	}
	return reasons, nil
}

func whyRevoked(r Revocation) string { return fmt.Sprintf("revoked by %s: %s", r.By, r.Reason) }

// Bounds on what is read of a revocation list, its signature and a trust root, in bytes.
const (
	MaxListBytes      = trust.MaxListBytes
	MaxSignatureBytes = signature.MaxBytes
	MaxRootBytes      = keyless.MaxRootBytes
)

// SignatureExtension is what the name of a signature ends in that is beside a file.
const SignatureExtension = signature.Extension

// An ImportList asks for the revocation list of a known signer to be taken over.
type ImportList struct {
	// Source is where it is published: oci://HOST/REPO, oci-layout:DIR or https://HOST/FILE.
	// Without one, Content is the list.
	Source    string
	PlainHTTP bool
	Content   []byte
	// Signatures are its Sigstore bundles; none for those that are published with it.
	Signatures [][]byte
}

// An Import is what the list of one signer changed.
type Import = trust.Import

// An ImportedList is what a revocation list changed.
type ImportedList struct {
	Import
	// Also is what it changed for other signers of the same list.
	Also []Import `json:"also,omitempty"`
	// Isolated are the installed versions that are in quarantine now, and Released those
	// that are not any more, because the list revokes less.
	Isolated []string `json:"isolated"`
	Released []string `json:"released"`
	// Source is the list by its digest; From where its bytes came from, if that is
	// elsewhere.
	Source string `json:"-"`
	From   string `json:"-"`
}

// Imports has one for each known signer of the list.
func (l ImportedList) Imports() []Import {
	if l.Signer == "" {
		return []Import{}
	}
	return append([]Import{l.Import}, l.Also...)
}

// ImportRevocations takes over a revocation list for every known signer who signed it, and
// puts what it revokes into quarantine. Signatures by others are passed over as long as one
// counts: anybody may attach one in a registry. An older list of one signer is an error,
// which wraps [trust.ErrRollback], whoever else signed it; what was imported is returned all
// the same.
func (s *Signers) ImportRevocations(ctx context.Context, by approval.Human, req ImportList) (ImportedList, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return ImportedList{}, err
	}
	d := source.Document{Content: req.Content}
	if req.Source != "" {
		var err error
		if d, err = s.fetch(ctx, req.Source, source.Options{PlainHTTP: req.PlainHTTP}); err != nil {
			return ImportedList{}, err
		}
	}
	if len(req.Signatures) > 0 {
		d.Signatures = req.Signatures
	}
	return s.take(ctx, by, d)
}

// take takes over a list that was read.
func (s *Signers) take(ctx context.Context, by approval.Human, d source.Document) (ImportedList, error) {
	out := ImportedList{Isolated: []string{}, Released: []string{}, Source: d.Source, From: d.From}
	if len(d.Signatures) == 0 {
		return out, fault.Errorf(fault.KindVerification, "import revocation list: it is not signed").
			WithHint("tell whoever published it: %s signs", fault.PublishRevocations())
	}
	imports, err := s.takeSigned(ctx, by, d)
	if len(imports) == 0 {
		return out, err
	}
	var ierr, rerr error
	out.Import, out.Also = imports[0], imports[1:]
	out.Isolated, ierr = s.isolate(ctx, by)
	out.Released, rerr = s.release(ctx, by)
	return out, cmp.Or(err, ierr, rerr)
}

func (s *Signers) takeSigned(ctx context.Context, by approval.Human, d source.Document) (imports []Import, failed error) {
	var passed error
	for _, b := range d.Signatures {
		done, err := s.p.Trust.ImportList(ctx, by, d.Content, b)
		switch {
		case err == nil && !slices.ContainsFunc(imports, func(i Import) bool { return i.Signer == done.Signer }):
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

// listType is that of revocation lists as they are published.
func listType() source.DocumentType {
	return source.DocumentType{MediaType: trust.ListMediaType, MaxBytes: trust.MaxListBytes}
}

// fetch gets a list from where it is published.
func (s *Signers) fetch(ctx context.Context, place string, o source.Options) (source.Document, error) {
	r, err := listRef(place)
	if err != nil {
		return source.Document{}, err
	}
	return s.p.Sources.Document(ctx, r, listType(), o)
}

// listRef reads where a list is published.
func listRef(place string) (source.Ref, error) {
	r, err := source.Parse(place)
	if err != nil {
		return r, fault.Wrap(fault.KindUsage, err).WithHint("it may be oci://HOST/REPO, oci-layout:DIR, https://HOST/FILE or a file")
	}
	return r, nil
}

// An UpdateLists asks for the lists of the setting revocation_lists.
type UpdateLists struct {
	// Begins is called with each place before it is asked, and Done with what came of it;
	// nil for nobody.
	Begins func(place string)
	Done   func(UpdatedList)
}

// An UpdatedList is what came of one place of a list.
type UpdatedList struct {
	OK   bool   `json:"ok"`
	List string `json:"list"` // as the settings name it
	// Source is the list by its digest; From where its bytes came from, if that is
	// elsewhere.
	Source  string   `json:"source,omitempty"`
	From    string   `json:"from,omitempty"`
	Imports []Import `json:"imports"`
	// Isolated are the installed versions that are in quarantine now, and Released those
	// that are not any more.
	Isolated []string `json:"isolated"`
	Released []string `json:"released"`
	// Error is why it was not taken over; nil when OK is set.
	Error *fault.Error `json:"error,omitempty"`
}

// UpdateRevocations takes over the lists of the setting revocation_lists. One that cannot be
// had, or is refused, says so and does not keep the others out.
func (s *Signers) UpdateRevocations(ctx context.Context, by approval.Human, req UpdateLists) ([]UpdatedList, error) {
	if err := s.p.begin(ctx, by); err != nil {
		return nil, err
	}
	if len(s.p.RevocationLists) == 0 {
		return nil, fault.Errorf(fault.KindUsage, "no revocation lists are configured").
			WithHint("list where they are under revocation_lists in config.yaml in the home, such as oci://HOST/REPO")
	}
	all := []UpdatedList{}
	for _, place := range s.p.RevocationLists {
		if req.Begins != nil {
			req.Begins(place)
		}
		u, err := s.update(ctx, by, place)
		if ctx.Err() != nil {
			return all, cmp.Or(err, ctx.Err())
		}
		u.OK, u.Error = err == nil, s.p.Explain(err)
		all = append(all, u)
		if req.Done != nil {
			req.Done(u)
		}
	}
	return all, nil
}

func (s *Signers) update(ctx context.Context, by approval.Human, place string) (UpdatedList, error) {
	u := UpdatedList{List: place, Imports: []Import{}, Isolated: []string{}, Released: []string{}}
	d, err := s.fetch(ctx, place, source.Options{})
	if err != nil {
		return u, err
	}
	got, err := s.take(ctx, by, d)
	u.Source, u.From, u.Isolated, u.Released, u.Imports = got.Source, got.From, got.Isolated, got.Released, got.Imports()
	if err != nil {
		return u, fmt.Errorf("%s: %w", place, err)
	}
	return u, nil
}

// A ListFiles is a list that was written to files.
type ListFiles struct {
	List      string           `json:"list"`
	Signature string           `json:"signature"`
	Signer    signature.Signer `json:"signer"`
	// NewKey says that the key that signs was made for it.
	NewKey bool `json:"-"`
}

// An ExportList asks for a list of what was revoked here in a file. Over has files written
// over that are there; without it they are a conflict.
type ExportList struct {
	Path string
	Over bool
}

// ExportRevocations writes what was revoked here to a file as a list, and its signature
// beside it, for others to import. Each export has the next number.
func (s *Signers) ExportRevocations(ctx context.Context, by approval.Human, req ExportList) (ListFiles, error) {
	if err := by.Check(); err != nil {
		return ListFiles{}, err
	}
	sig := req.Path + signature.Extension
	if err := cmp.Or(outfile.Check(req.Path, req.Over), outfile.Check(sig, req.Over)); err != nil {
		return ListFiles{}, err
	}
	key, made, err := s.keys.Ensure(ctx, by)
	if err != nil {
		return ListFiles{}, err
	}
	document, bundle, err := s.p.Trust.ExportList(ctx, by, key, filepath.Base(req.Path))
	if err != nil {
		return ListFiles{}, err
	}
	for file, b := range map[string][]byte{req.Path: document, sig: bundle} {
		_, err := outfile.Write(file, outfile.Options{Mode: 0o644, Over: req.Over}, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
		if err != nil {
			return ListFiles{}, fmt.Errorf("write the revocation list: %w", err)
		}
	}
	return ListFiles{req.Path, sig, key.Identity(), made}, nil
}

// A PushList asks for a list of what was revoked here to be published.
type PushList struct {
	// To is a registry or a layout folder: oci://HOST/REPO or oci-layout:DIR.
	To        string
	PlainHTTP bool
}

// A PublishedList says where a revocation list was published.
type PublishedList struct {
	Sequence uint64           `json:"sequence"`
	Signer   signature.Signer `json:"signer"`
	source.Pushed
	// NewKey says that the key that signs was made for it.
	NewKey bool `json:"-"`
}

// PushRevocations makes a signed list of what was revoked here, and publishes it: under its
// number, and as the latest. A number whose publication failed is not used again.
func (s *Signers) PushRevocations(ctx context.Context, by approval.Human, req PushList) (PublishedList, error) {
	if err := approval.CheckPrincipal(by); err != nil {
		return PublishedList{}, err
	}
	to, err := listRef(req.To)
	if err == nil {
		err = source.TakesDocuments(to) // before a key is made
	}
	if err != nil {
		return PublishedList{}, err
	}
	key, made, err := s.keys.Ensure(ctx, by)
	if err != nil {
		return PublishedList{}, err
	}
	const name = "revocations.json"
	document, bundle, err := s.p.Trust.ExportList(ctx, by, key, name)
	if err != nil {
		return PublishedList{}, err
	}
	l, err := trust.ParseList(document)
	if err != nil {
		return PublishedList{}, err
	}
	d := source.Document{Content: document, Signatures: [][]byte{bundle}}
	pushed, err := s.p.Sources.PushDocument(ctx, to, listType(), name, strconv.FormatUint(l.Sequence, 10), d, source.Options{PlainHTTP: req.PlainHTTP})
	return PublishedList{l.Sequence, key.Identity(), pushed, made}, err
}
