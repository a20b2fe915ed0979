package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"github.com/zalando/go-keyring"

	"github.com/skillet-run/skillet/host/store/atomicfile"
)

// ErrNoKey means that secrets exist whose identity cannot be found.
var ErrNoKey = errors.New("the identity that seals the secrets is missing")

// ErrExposed means that others than its owner can read the identity.
var ErrExposed = errors.New("the identity that seals the secrets can be read by others")

// A Place is where the identity that seals the secrets is kept.
type Place string

// The places an identity can be kept in.
const (
	// PlaceAuto uses the file when there is one, else the keyring when it
	// answers, else makes the file. It is the zero value's meaning too.
	PlaceAuto Place = "auto"
	// PlaceFile is a file of mode 0600 in the home.
	PlaceFile Place = "file"
	// PlaceKeyring is the operating system's keyring.
	PlaceKeyring Place = "keyring"
)

// A Key finds the age identity that seals the secrets of one home.
type Key struct {
	home  string
	place Place
}

// NewKey makes a Key for the home directory; place may be empty.
func NewKey(home string, place Place) *Key { return &Key{home: home, place: place} }

// Where says where the identity is kept now, for people: "keyring", a path, or
// "not made yet".
func (k *Key) Where() string {
	if _, err := os.Lstat(k.path()); err == nil {
		return k.path()
	}
	if k.place != PlaceFile {
		if _, err := keyring.Get(service, k.account()); err == nil {
			return "keyring"
		}
	}
	return "not made yet"
}

const service = "skillet"

func (k *Key) path() string    { return filepath.Join(k.home, "keys", "identity") }
func (k *Key) account() string { return "identity:" + k.home }

// load finds the identity; it fails with ErrNoKey when there is none.
func (k *Key) load() (*age.X25519Identity, error) {
	if k.place != PlaceKeyring {
		id, err := k.fromFile()
		if err == nil || !errors.Is(err, ErrNoKey) || k.place == PlaceFile {
			return id, err
		}
	}
	text, err := keyring.Get(service, k.account())
	if err != nil {
		return nil, fmt.Errorf("%w (looked for %s and in the keyring: %w)", ErrNoKey, k.path(), err)
	}
	return parseIdentity(text, "the keyring")
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
	if k.place != PlaceFile {
		err := keyring.Set(service, k.account(), id.String())
		if err == nil {
			return id, nil
		}
		if k.place == PlaceKeyring {
			return nil, fmt.Errorf("store the identity in the keyring: %w (or set secret_key: file)", err)
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
