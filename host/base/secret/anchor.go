package secret

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"

	"filippo.io/age"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// ErrReplaced means that the keys of a home are not those it is known by:
// somebody replaced files of the home, or took some away.
var ErrReplaced = errors.New("the keys of this home are not those it is known by")

// An Anchor is what a home is known by. It is kept in the keyring, where who
// can only write the home's files cannot change it, and in two places of the
// home, which tell when only one of them was changed. The zero value says
// nothing.
type Anchor struct {
	// Home is the path of the home when this was written.
	Home string `json:"home"`
	// Location is where the identity is kept, and Identity its fingerprint: the
	// recipient itself would let anybody seal something to it.
	Location Location `json:"place"`
	Identity string   `json:"identity"`
	// AuditKey is the public key that the audit log is signed with.
	AuditKey string `json:"audit_key"`
	// Signed has, for each part of the audit log, the number of an entry up to
	// which it is known to be signed.
	Signed map[string]uint64 `json:"signed"`
	// Since is when this was first written.
	Since time.Time `json:"since"`
	// Found says that the key was there before: it was taken as it was found.
	Found bool `json:"found"`
}

// equal reports whether two anchors say the same.
func (a Anchor) equal(b Anchor) bool {
	return a.Home == b.Home && a.Location == b.Location && a.Identity == b.Identity && a.AuditKey == b.AuditKey &&
		maps.Equal(a.Signed, b.Signed) && a.Since.Equal(b.Since) && a.Found == b.Found
}

// summed is the stored form of an Anchor. Sum is the SHA-256 of the form without
// it, so that a damaged one is not taken for another.
type summed struct {
	Anchor
	Sum string `json:"sum"`
}

func (a Anchor) encode() ([]byte, error) {
	plain, err := json.Marshal(summed{Anchor: a})
	if err != nil {
		return nil, fmt.Errorf("write what the home is known by: %w", err)
	}
	sum := sha256.Sum256(plain)
	b, err := json.MarshalIndent(summed{a, hex.EncodeToString(sum[:])}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write what the home is known by: %w", err)
	}
	return append(b, '\n'), nil
}

// decodeAnchor accepts exactly what encode writes.
func decodeAnchor(b []byte) (*Anchor, error) {
	var s summed
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	again, err := s.Anchor.encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(bytes.TrimSpace(again), bytes.TrimSpace(b)) {
		return nil, errors.New("it does not match its checksum")
	}
	return &s.Anchor, nil
}

// An AnchorStore keeps the copy of an anchor that is in the store of the home.
type AnchorStore interface {
	// Load returns what was saved last; nil when nothing was.
	Load(ctx context.Context) ([]byte, error)
	Save(ctx context.Context, b []byte) error
}

// Known is what a home is known by: what its keyring says, or, where that says
// nothing, what its files say. The zero value is a home that nobody knows yet.
type Known struct {
	// Anchors are those that count, all of which the home's keys have to fit.
	Anchors []Anchor
	// Locations are where they were found, for people.
	Locations []string

	copies [places]*Anchor // as they were found
	there  [places]bool    // whether the place can have one
}

// The places of an anchor, the strongest first.
const (
	placeKeyring = iota
	placeStore
	placeMarker
	places
)

// says reports whether every place that can have one has this anchor.
func (k Known) says(a Anchor) bool {
	for i, c := range k.copies {
		if k.there[i] && (c == nil || !c.equal(a)) {
			return false
		}
	}
	return true
}

// Names of places, for people.
const (
	inKeyring = "the keyring"
	inStore   = "the store"
)

// last is the anchor to go on from.
func (k Known) last() Anchor {
	if len(k.Anchors) == 0 {
		return Anchor{}
	}
	return k.Anchors[0]
}

// Signed is the number of an entry up to which a part of the audit log is known
// to be signed; 0 when that is not known.
func (k Known) Signed(log string) uint64 {
	n := uint64(0)
	for _, a := range k.Anchors {
		n = max(n, a.Signed[log])
	}
	return n
}

// Anchors keeps what one home is known by. It is safe for concurrent use.
type Anchors struct {
	home, marker string
	ring         Keyring // nil when it is not to be asked

	mu       sync.Mutex
	store    AnchorStore // nil until [Anchors.UseStore]
	known    *Known
	seen     fs.FileInfo // the marker that known was read with; nil for none
	trusting bool
}

// UseStore says where the copy in the store is.
func (a *Anchors) UseStore(s AnchorStore) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store, a.known = s, nil
}

// Refill copies to the store what the keyring and the marker say. A store that was
// restored may be older than they are.
func (a *Anchors) Refill(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known = nil
	marker, _ := a.fromMarker()
	kept, err := a.fromKeyring(marker)
	if errors.Is(err, ErrNoKeyring) {
		kept, err = marker, nil
	}
	if err != nil || kept == nil || a.store == nil {
		return err
	}
	b, err := kept.encode()
	if err != nil {
		return err
	}
	return a.store.Save(ctx, b)
}

// account is the name of a home's anchor in a keyring.
func account(home string) string { return "home:" + home }

// Load returns what the home is known by. It fails with [ErrLocked] while the
// keyring does not answer, and with [ErrReplaced] when nothing says what the home is known
// by but what is damaged.
func (a *Anchors) Load(ctx context.Context) (Known, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.trusting {
		return Known{}, nil
	}
	if a.known != nil && !a.changed() {
		return *a.known, nil
	}
	seen, _ := os.Stat(a.marker)
	k, err := a.read(ctx)
	if err != nil {
		return Known{}, err
	}
	a.known, a.seen = &k, seen
	return k, nil
}

// Changed reports whether what was loaded may not hold any more.
func (a *Anchors) Changed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known == nil || a.changed()
}

func (a *Anchors) changed() bool {
	now, err := os.Stat(a.marker)
	if err != nil || a.seen == nil {
		return (err == nil) != (a.seen != nil)
	}
	return !os.SameFile(now, a.seen) || !now.ModTime().Equal(a.seen.ModTime()) || now.Size() != a.seen.Size()
}

func (a *Anchors) read(ctx context.Context) (Known, error) {
	marker, merr := a.fromMarker()
	kept, err := a.fromKeyring(marker)
	answers := a.ring != nil && !errors.Is(err, ErrNoKeyring)
	if err != nil && answers {
		return Known{}, err
	}
	stored, serr := a.fromStore(ctx)
	k := Known{copies: [places]*Anchor{kept, stored, marker}, there: [places]bool{answers, a.store != nil, a.marker != ""}}
	for i, place := range []string{inKeyring, inStore, a.marker} {
		if c := k.copies[i]; c != nil && (i == placeKeyring || kept == nil) {
			k.Anchors, k.Locations = append(k.Anchors, *c), append(k.Locations, place)
		}
	}
	if len(k.Anchors) == 0 {
		return k, errors.Join(merr, serr)
	}
	return k, nil
}

// fromKeyring is the copy in the keyring; nil when there is none. A home that
// was moved, or copied, is known there by where it was. The error is
// [ErrNoKeyring] when no keyring answers.
func (a *Anchors) fromKeyring(marker *Anchor) (*Anchor, error) {
	if a.ring == nil {
		return nil, ErrNoKeyring
	}
	homes := []string{a.home}
	if marker != nil && marker.Home != a.home {
		homes = append(homes, marker.Home)
	}
	for _, home := range homes {
		text, err := a.ring.Get(account(home))
		switch {
		case errors.Is(err, ErrNoEntry):
			continue
		case errors.Is(err, ErrNoKeyring):
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("look up in the keyring what the home is known by: %w", err)
		}
		kept, err := decodeAnchor([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("%w: what the keyring says of it is damaged: %w", ErrReplaced, err)
		}
		return kept, nil
	}
	return nil, nil
}

func (a *Anchors) fromStore(ctx context.Context) (*Anchor, error) {
	if a.store == nil {
		return nil, nil
	}
	b, err := a.store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("read in the store what the home is known by: %w", err)
	}
	if b == nil {
		return nil, nil
	}
	stored, err := decodeAnchor(b)
	if err != nil {
		return nil, fmt.Errorf("%w: what the store says of it is damaged: %w", ErrReplaced, err)
	}
	return stored, nil
}

// maxMarker is the largest size of a home's marker in bytes.
const maxMarker = 64 << 10

// fromMarker is the copy in the file that marks the home, behind its words.
func (a *Anchors) fromMarker() (*Anchor, error) {
	_, b, err := a.readMarker()
	if err != nil || len(b) == 0 {
		return nil, err
	}
	marker, err := decodeAnchor(b)
	if err != nil {
		return nil, fmt.Errorf("%w: what %s says of it is damaged: %w", ErrReplaced, a.marker, err)
	}
	return marker, nil
}

// readMarker returns the two parts of the marker: words, and an anchor.
func (a *Anchors) readMarker() (words, anchor []byte, err error) {
	if a.marker == "" {
		return nil, nil, nil
	}
	f, err := os.Open(a.marker)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read what the home is known by: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxMarker))
	if err != nil {
		return nil, nil, fmt.Errorf("read what the home is known by: %w", err)
	}
	if at := bytes.IndexByte(b, '{'); at >= 0 {
		return b[:at], b[at:], nil
	}
	return b, nil, nil
}

// keep records next as what the home is known by. What is kept already is not
// written again.
func (a *Anchors) keep(ctx context.Context, next Anchor) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known != nil && !a.trusting && a.known.says(next) {
		return nil
	}
	b, err := next.encode()
	if err != nil {
		return err
	}
	err = a.toKeyring(next.Location, b)
	if err == nil && a.store != nil {
		err = a.store.Save(ctx, b)
	}
	if err == nil { // last: other processes look whether it has changed
		err = a.toMarker(b)
	}
	if err != nil {
		return fmt.Errorf("keep what the home is known by: %w", err)
	}
	a.known, a.trusting = nil, false
	return nil
}

func (a *Anchors) toKeyring(place Location, b []byte) error {
	if a.ring == nil {
		return nil
	}
	err := a.ring.Set(account(a.home), string(bytes.TrimSpace(b)))
	if errors.Is(err, ErrNoKeyring) && place != LocationKeyring {
		return nil
	}
	return err
}

func (a *Anchors) toMarker(b []byte) error {
	if a.marker == "" {
		return nil
	}
	words, _, err := a.readMarker()
	if err != nil {
		return err
	}
	words = append(bytes.TrimRight(words, "\n"), '\n', '\n')
	return atomicfile.Write(a.marker, append(words, b...))
}

// trust stops the comparison until the next anchor is stored: a person decided
// that the home gets other keys.
func (a *Anchors) trust() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trusting, a.known = true, nil
}

// fingerprint identifies an identity without telling what to seal to it.
func fingerprint(id *age.X25519Identity) string {
	sum := sha256.Sum256([]byte(id.Recipient().String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}
