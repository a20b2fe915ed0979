package trust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/signature"
)

// ListFormat is what a revocation list says it is.
const ListFormat = "skillet-revocations/v1"

// ListMediaType is the type of a revocation list where it is published as an
// artifact of its own.
const ListMediaType = "application/vnd.skillet.revocations.v1+json"

// Bounds on every revocation list.
const (
	MaxListBytes = 256 << 10
	MaxEntries   = 1000
	maxReason    = 500 // bytes of a reason
)

var (
	// ErrList means that a document is not a revocation list.
	ErrList = errors.New("not a valid revocation list")
	// ErrRollback means that a list is older than one of the same signer that is
	// known, or has its number and says something else.
	ErrRollback = errors.New("an older revocation list")
)

// A List is what a signer revoked: all of it, not only what is new. Its
// signature is a Sigstore bundle beside it.
type List struct {
	Format string `json:"format"` // ListFormat
	// Sequence rises with each list of the signer, so that an older one cannot
	// be put in place of a newer. The first is 1.
	Sequence uint64    `json:"sequence"`
	IssuedAt time.Time `json:"issued_at"`
	Entries  []Entry   `json:"revocations"`
}

// An Entry revokes one thing: a package, by its content digest; an artifact; or
// everything a signer signed.
type Entry struct {
	Content  manifests.Digest `json:"content,omitempty"`
	Artifact manifests.Digest `json:"artifact,omitempty"`
	Signer   signature.Signer `json:"signer,omitempty"`
	// Name says for people what it is, such as "csv@1.2.0".
	Name string `json:"name,omitempty"`
	// Reason says why, in a sentence.
	Reason    string    `json:"reason"`
	RevokedAt time.Time `json:"revoked_at"`
}

// Target is the text of what is revoked: a digest or a signer.
func (e Entry) Target() string {
	switch {
	case e.Content != "":
		return "content:" + string(e.Content)
	case e.Artifact != "":
		return "artifact:" + string(e.Artifact)
	}
	return string(e.Signer)
}

// title is what is revoked, for people.
func (e Entry) title() string {
	what := "the signer " + e.Signer.Short()
	switch {
	case e.Content != "":
		what = "the package " + e.Content.Short()
	case e.Artifact != "":
		what = "the artifact " + e.Artifact.Short()
	}
	if e.Name != "" {
		what += " (" + e.Name + ")"
	}
	return what
}

func (e Entry) check() error {
	given := 0
	for _, text := range []string{string(e.Content), string(e.Artifact), string(e.Signer)} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return errors.New("want one of content, artifact and signer")
	}
	for _, d := range []manifests.Digest{e.Content, e.Artifact} {
		if d == "" {
			continue
		}
		if _, err := manifests.ParseDigest(string(d)); err != nil {
			return err
		}
	}
	if e.Signer != "" {
		if _, err := signature.ParseSigner(string(e.Signer)); err != nil {
			return err
		}
	}
	switch {
	case e.RevokedAt.IsZero():
		return errors.New("it has no revoked_at")
	case strings.TrimSpace(e.Reason) == "" || len(e.Reason)+len(e.Name) > maxReason || !printable(e.Reason) || !printable(e.Name):
		return fmt.Errorf("want a reason, of one line and at most %d bytes", maxReason)
	}
	return nil
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// ParseList reads a revocation list. Members it does not know and duplicate ones
// are refused: a revocation that is not understood must not be passed over. The
// error wraps [ErrList].
func ParseList(data []byte) (List, error) {
	if len(data) > MaxListBytes {
		return List{}, fmt.Errorf("read revocation list: %w: it has %d bytes, at most %d are accepted", ErrList, len(data), MaxListBytes)
	}
	var l List
	if err := json.Unmarshal(data, &l, json.RejectUnknownMembers(true)); err != nil {
		return List{}, fmt.Errorf("read revocation list: %w: %s", ErrList, signature.Reason(err))
	}
	if err := l.check(); err != nil {
		return List{}, fmt.Errorf("read revocation list: %w: %w", ErrList, err)
	}
	return l, nil
}

func (l List) check() error {
	switch {
	case l.Format != ListFormat:
		return fmt.Errorf("its format is %q, want %q", l.Format, ListFormat)
	case l.Sequence == 0:
		return errors.New("it has no sequence number")
	case l.IssuedAt.IsZero():
		return errors.New("it has no issued_at")
	case len(l.Entries) > MaxEntries:
		return fmt.Errorf("it has %d entries, at most %d are accepted", len(l.Entries), MaxEntries)
	}
	seen := map[string]bool{}
	for i, e := range l.Entries {
		if err := e.check(); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if seen[e.Target()] {
			return fmt.Errorf("entry %d: %s is there twice", i+1, e.Target())
		}
		seen[e.Target()] = true
	}
	return nil
}

// encode is the text of the list.
func (l List) encode() ([]byte, error) {
	b, err := json.Marshal(l, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write revocation list: %w", err)
	}
	return append(b, '\n'), nil
}

// A Revocation is an entry that is known here, and who says so.
type Revocation struct {
	Entry
	// By is the signer of the list it is from, or the person who revoked it here.
	By string `json:"by"`
	// wide is whether it counts for packages of everybody; otherwise only for
	// those of the signer By.
	wide bool
}

// words say what was revoked and why.
func (r Revocation) words(k Known) string {
	by := r.By
	if s, err := signature.ParseSigner(r.By); err == nil {
		by = k.signer(s).Title()
	}
	return fmt.Sprintf("revoked: %s, on %s by %s: %s", r.title(), r.RevokedAt.Format(time.DateOnly), by, r.Reason)
}

// A Target is a package that may be revoked.
type Target struct {
	Content, Artifact manifests.Digest
	// Signers are those whose signatures are good.
	Signers []signature.Signer
	// Owner is who is remembered for the skill; may be empty.
	Owner signature.Signer
}

// revocationOf finds what revokes a target: its content, its artifact, or all of
// its signers.
func revocationOf(rs []Revocation, t Target) (Revocation, bool) {
	for _, r := range rs {
		if (r.Content != "" && r.Content == t.Content || r.Artifact != "" && r.Artifact == t.Artifact) && r.counts(t) {
			return r, true
		}
	}
	var found Revocation
	for _, s := range t.Signers {
		i := slices.IndexFunc(rs, func(r Revocation) bool { return r.Signer == s && (r.wide || r.By == string(s)) })
		if i < 0 {
			return Revocation{}, false
		}
		found = rs[i]
	}
	return found, len(t.Signers) > 0
}

// counts reports whether who revoked may revoke this package.
func (r Revocation) counts(t Target) bool {
	by := signature.Signer(r.By)
	return r.wide || by == t.Owner || slices.Contains(t.Signers, by)
}

// imported is a list as it is kept.
type imported struct {
	Signer signature.Signer `json:"signer"`
	Digest manifests.Digest `json:"digest"` // of the document
	List   List             `json:"list"`
	By     string           `json:"by,omitempty"`
	At     time.Time        `json:"at,omitzero"`
}

// Lists returns the signers whose lists were imported, with the number of each.
func (b *Store) Lists(ctx context.Context) (map[signature.Signer]uint64, error) {
	all, err := list[imported](ctx, b.kv, "trust/list/")
	if err != nil {
		return nil, fmt.Errorf("list revocation lists: %w", err)
	}
	numbers := map[signature.Signer]uint64{}
	for _, l := range all {
		numbers[l.Signer] = l.List.Sequence
	}
	return numbers, nil
}

// Revocations returns what was revoked here and by the lists of signers that are
// known, newest first.
func (b *Store) Revocations(ctx context.Context) ([]Revocation, error) {
	all, err := list[Revocation](ctx, b.kv, "trust/revoked/")
	if err != nil {
		return nil, fmt.Errorf("list revocations: %w", err)
	}
	for i := range all {
		all[i].wide = true
	}
	lists, err := list[imported](ctx, b.kv, "trust/list/")
	if err != nil {
		return nil, fmt.Errorf("list revocations: %w", err)
	}
	for _, l := range lists {
		s, err := b.Signer(ctx, l.Signer)
		if err != nil {
			return nil, err
		}
		if s.At.IsZero() { // not known any more
			continue
		}
		for _, e := range l.List.Entries {
			all = append(all, Revocation{Entry: e, By: string(l.Signer), wide: s.Revoker})
		}
	}
	slices.SortStableFunc(all, func(a, b Revocation) int { return b.RevokedAt.Compare(a.RevokedAt) })
	return all, nil
}

// Revokes reports whether an entry that a person makes would revoke a package that
// nothing else revokes: beside are all revocations that there are.
func (e Entry) Revokes(t Target, beside []Revocation) bool {
	_, already := revocationOf(beside, t)
	_, then := revocationOf(append(slices.Clone(beside), Revocation{Entry: e, wide: true}), t)
	return then && !already
}

// Undoing is the entry that a person made here without which nothing revokes a package;
// false for none.
func (b *Store) Undoing(ctx context.Context, t Target) (Entry, bool, error) {
	all, err := b.Revocations(ctx)
	if err != nil {
		return Entry{}, false, err
	}
	for i, r := range all {
		_, list := signature.ParseSigner(r.By)
		if list != nil && r.Revokes(t, slices.Delete(slices.Clone(all), i, i+1)) {
			return r.Entry, true, nil
		}
	}
	return Entry{}, false, nil
}

// TargetOf is what is known of an installed package by which it may be revoked: of
// one that was never judged, its digests.
func (b *Store) TargetOf(ctx context.Context, skill string, content, artifact manifests.Digest) (Target, error) {
	p, err := b.Package(ctx, content)
	if errors.Is(err, store.ErrNotFound) {
		return Target{Content: content, Artifact: artifact}, nil
	}
	if err != nil {
		return Target{}, err
	}
	s, err := get[Skill](ctx, b.kv, skillKey(skill))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Target{}, err
	}
	return Target{p.Content, p.Artifact, p.Signers, s.Signer}, nil
}
