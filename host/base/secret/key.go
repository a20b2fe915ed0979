package secret

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"filippo.io/age"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// ErrNoKey means that secrets exist whose identity cannot be found.
var ErrNoKey = errors.New("the identity that seals the secrets is missing")

// ErrExposed means that others than its owner can read the identity.
var ErrExposed = errors.New("the identity that seals the secrets can be read by others")

// A Location is where the identity that seals the secrets is kept.
type Location string

// The places an identity can be kept in.
const (
	// LocationAuto uses the keyring when it has the identity, else the file when
	// there is one, else makes one in the keyring, or in the file when there is no
	// keyring. It is the zero value's meaning too.
	LocationAuto Location = "auto"
	// LocationFile is a file of mode 0600 in the home.
	LocationFile Location = "file"
	// LocationKeyring is the operating system's keyring.
	LocationKeyring Location = "keyring"
)

// KeyOptions say where the identity of a home is, and what it is known by.
type KeyOptions struct {
	// Home is the directory of the home.
	Home string
	// Location may be empty. A file does not count in a home whose identity the
	// keyring has or had, whatever Place says.
	Location Location
	// Keyring is nil when no keyring is to be asked.
	Keyring Keyring
	// Marker is the file of the home that has a copy of its [Anchor]; empty for
	// none.
	Marker string
}

// A Key finds the age identity that seals the secrets of one home.
type Key struct {
	home     string
	location Location
	ring     Keyring
	anchors  *Anchors

	unknown atomic.Bool // the keyring was asked, and does not know the home
}

// NewKey makes a Key.
func NewKey(o KeyOptions) *Key {
	return &Key{
		home: o.Home, location: o.Location, ring: o.Keyring,
		anchors: &Anchors{home: o.Home, marker: o.Marker, ring: o.Keyring},
	}
}

// Anchors are what the home is known by.
func (k *Key) Anchors() *Anchors { return k.anchors }

// Where says where the identity is kept now, for people: "keyring", a path, or
// "not made yet".
func (k *Key) Where() string {
	_, place, err := k.find()
	switch {
	case err != nil:
		return "not made yet"
	case place == LocationKeyring:
		return "keyring"
	}
	return k.path()
}

func (k *Key) path() string { return filepath.Join(k.home, "keys", "identity") }

// identityOf is the name of a home's identity in a keyring.
func identityOf(home string) string { return "identity:" + home }

// load finds the identity, and checks that the home is known by it. It fails
// with ErrNoKey when there is none.
func (k *Key) load(ctx context.Context) (*age.X25519Identity, error) {
	id, _, err := k.locate(ctx)
	return id, err
}

// locate is load that says where the identity is, too.
func (k *Key) locate(ctx context.Context) (*age.X25519Identity, Location, error) {
	id, place, err := k.find()
	if err != nil {
		return nil, "", err
	}
	known, err := k.anchors.Load(ctx)
	if err != nil {
		return nil, "", err
	}
	for i, a := range known.Anchors {
		if a.Identity != fingerprint(id) {
			return nil, "", fmt.Errorf("%w: the identity in %s is another one than %s says", ErrReplaced, k.named(place), known.Locations[i])
		}
	}
	return id, place, nil
}

// named is what people call a place.
func (k *Key) named(p Location) string {
	if p == LocationKeyring {
		return inKeyring
	}
	return k.path()
}

// find looks where the identity is.
func (k *Key) find() (*age.X25519Identity, Location, error) {
	text, err := k.fromKeyring()
	switch {
	case errors.Is(err, ErrNoEntry), errors.Is(err, ErrNoKeyring):
		if k.location == LocationKeyring {
			return nil, "", fmt.Errorf("%w (looked for it in the keyring: %w)", ErrNoKey, err)
		}
		id, ferr := k.fromFile()
		k.unknown.Store(ferr == nil)
		if errors.Is(ferr, ErrNoKey) && k.ring != nil {
			ferr = fmt.Errorf("%w (and looked for it in the keyring: %w)", ferr, err)
		}
		return id, LocationFile, ferr
	case err != nil:
		return nil, "", err
	}
	if _, err := os.Lstat(k.path()); err == nil {
		return nil, LocationKeyring, fmt.Errorf("%w: its identity is in the keyring, and there is a file with one, too, which skillet did not put there: %s", ErrReplaced, k.path())
	}
	id, err := parseIdentity(text, inKeyring)
	return id, LocationKeyring, err
}

// fromKeyring is the identity in the keyring. A home that was moved, or copied, has it
// under the path where it was. It fails with ErrNoEntry when the keyring never
// had one, and with ErrNoKey when it has it no more.
func (k *Key) fromKeyring() (string, error) {
	if k.ring == nil || k.unknown.Load() {
		return "", ErrNoEntry
	}
	text, err := k.ring.Get(identityOf(k.home))
	if !errors.Is(err, ErrNoEntry) {
		return text, err
	}
	marker, _ := k.anchors.fromMarker()
	if marker != nil && marker.Location == LocationKeyring && marker.Home != k.home {
		if text, err = k.ring.Get(identityOf(marker.Home)); err == nil {
			return text, k.ring.Set(identityOf(k.home), text)
		}
		if !errors.Is(err, ErrNoEntry) {
			return "", err
		}
	}
	anchor, err := k.anchors.fromKeyring(marker)
	if err != nil {
		return "", err
	}
	if anchor != nil && anchor.Location == LocationKeyring {
		return "", fmt.Errorf("%w: the keyring had it, and has it no more", ErrNoKey)
	}
	return "", ErrNoEntry
}

func (k *Key) fromFile() (*age.X25519Identity, error) {
	st, err := os.Lstat(k.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNoKey, k.path())
	}
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %o, run `chmod 600 %s`", ErrExposed, k.path(), st.Mode().Perm(), k.path())
	}
	b, err := os.ReadFile(k.path())
	if err != nil {
		return nil, err
	}
	return parseIdentity(string(b), k.path())
}

func parseIdentity(text, where string) (*age.X25519Identity, error) {
	id, err := age.ParseX25519Identity(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("the identity in %s is damaged: restore it from a backup, or delete it and set the secrets again", where)
	}
	return id, nil
}

// create makes an identity and keeps it in the key's place.
func (k *Key) create() (*age.X25519Identity, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	if k.location != LocationFile && k.ring != nil {
		err := k.ring.Set(identityOf(k.home), id.String())
		if err == nil {
			return id, nil
		}
		if k.location == LocationKeyring || !errors.Is(err, ErrNoKeyring) {
			return nil, fmt.Errorf("store the identity in the keyring: %w", err)
		}
	}
	return k.createFile(id)
}

// createFile writes the identity unless another process was first, and returns
// the one that holds.
func (k *Key) createFile(id *age.X25519Identity) (*age.X25519Identity, error) {
	if err := os.MkdirAll(filepath.Dir(k.path()), 0o700); err != nil {
		return nil, err
	}
	err := atomicfile.Create(k.path(), []byte(id.String()+"\n"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return k.fromFile()
}

// Pin records that the home is known by its identity and an audit key, and by
// the number of an entry up to which a part of the log is signed; no log leaves
// that as it is. found says that the key was there before. It writes nothing that
// is written already.
func (k *Key) Pin(ctx context.Context, auditKey, log string, signed uint64, found bool) error {
	next, _, err := k.next(ctx, auditKey, found)
	if err != nil {
		return err
	}
	switch {
	case log != "" && signed > 0:
		next.Signed[log] = signed
	case log != "":
		delete(next.Signed, log)
	}
	return k.anchors.keep(ctx, next)
}

// Pinned reports whether [Key.Pin] would have nothing to write.
func (k *Key) Pinned(ctx context.Context, auditKey string) (bool, error) {
	next, known, err := k.next(ctx, auditKey, false)
	return known.says(next), err
}

// next is what the home is to be known by, as far as it is not about the log
// what it is known by now.
func (k *Key) next(ctx context.Context, auditKey string, found bool) (Anchor, Known, error) {
	id, place, err := k.locate(ctx)
	if err != nil {
		return Anchor{}, Known{}, err
	}
	known, err := k.anchors.Load(ctx)
	if err != nil {
		return Anchor{}, known, err
	}
	now := Anchor{
		Home: k.home, Location: place, Identity: fingerprint(id), AuditKey: auditKey, Signed: map[string]uint64{},
		Since: time.Now().UTC().Truncate(time.Second), Found: found,
	}
	if was := known.last(); was.AuditKey != "" {
		now.Since, now.Found = was.Since, was.Found
	}
	for _, a := range known.Anchors {
		for l := range a.Signed {
			now.Signed[l] = known.Signed(l)
		}
	}
	return now, known, nil
}

// SetAside makes room for other keys, because a person decided that the home gets
// them: a file with an identity that is not the home's is renamed, and nothing is
// compared with what the home is known by until [Key.Pin]. It returns the new
// name of the file; empty when there was none to rename. It fails with [ErrLocked] while the keyring does not answer.
func (k *Key) SetAside(ctx context.Context) (aside string, err error) {
	foreign, err := k.foreign(ctx)
	if err != nil {
		return "", err
	}
	k.anchors.trust()
	if !foreign {
		return "", nil
	}
	aside = k.path() + ".aside-" + time.Now().UTC().Format("20060102-150405.000000")
	if err := os.Rename(k.path(), aside); err != nil {
		return "", fmt.Errorf("set the identity aside: %w", err)
	}
	k.unknown.Store(false)
	return aside, nil
}

// foreign reports whether there is a file with an identity that is not the
// home's.
func (k *Key) foreign(ctx context.Context) (bool, error) {
	id, place, err := k.find()
	switch {
	case errors.Is(err, ErrLocked):
		return false, err
	case errors.Is(err, ErrReplaced):
		return true, nil
	case err != nil || place != LocationFile:
		return false, nil
	}
	known, err := k.anchors.Load(ctx)
	if errors.Is(err, ErrReplaced) { // nothing says what it has to be
		return false, nil
	}
	for _, a := range known.Anchors {
		if a.Identity != fingerprint(id) {
			return true, nil
		}
	}
	return false, err
}
