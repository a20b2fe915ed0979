// Package secret keeps credentials at rest: one encrypted file each, sealed to
// an age identity that lives in the operating system's keyring or in a file
// that only its owner can read.
//
// It hands values to the host, never to a guest, and it knows neither skills
// nor grants.
//
// # Files
//
//	DIR/NAME.age      age encryption (age-encryption.org/v1) of {"name":NAME,"value":base64},
//	                  with "login":true and "tokens":[...] for a login
//	KEYS/identity     an age X25519 identity, when the keyring does not hold it
package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/internal/lazyregexp"
)

var (
	// ErrNotFound means that no secret has that name.
	ErrNotFound = errors.New("no such secret")
	// ErrName means that the name is not one a secret can have.
	ErrName = errors.New("a secret's name is 1 to 64 lower-case letters, digits, dots, dashes and underscores, and starts with a letter or digit")
	// ErrDamaged means that a secret's file does not decrypt to what was set.
	ErrDamaged = errors.New("the secret's file is damaged")
	// ErrLogin means that the secret is a login, see [Vault.SetLogin]: its tokens go to the
	// server that gave them, and to nobody who asks for a secret.
	ErrLogin = errors.New("the secret is a login, which is used at its own server alone")
	// ErrTooLarge means that the value is longer than [MaxBytes].
	ErrTooLarge = fmt.Errorf("a secret has at most %d bytes", MaxBytes)
)

// MaxBytes is the longest value a secret can have.
const MaxBytes = 64 << 10

var nameForm = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// An Info tells about a secret without its value.
type Info struct {
	Name      string    `json:"name"`
	UpdatedAt time.Time `json:"updated_at"`
}

// A Vault keeps secrets in a directory. It is safe for concurrent use, also by
// several processes: each write replaces one file atomically.
type Vault struct {
	dir string
	key *Key
}

// Open makes a Vault over dir, which need not exist yet.
func Open(dir string, key *Key) *Vault { return &Vault{dir: dir, key: key} }

// CheckName returns [ErrName] for a name no secret can have.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("secret %q: %w", name, ErrName)
	}
	return nil
}

type sealed struct {
	Name  string `json:"name"`
	Value []byte `json:"value"`
	// Login says that the value is a login, and Tokens are what is secret in it.
	Login  bool     `json:"login,omitempty"`
	Tokens []string `json:"tokens,omitempty"`
}

// Set stores value under name, replacing an earlier one.
func (v *Vault) Set(ctx context.Context, name string, value []byte) error {
	return v.set(ctx, name, sealed{Name: name, Value: value})
}

// SetLogin stores a login under name, replacing what was there. [Vault.Login] gives it back,
// and [Vault.Get] does not. tokens are what is secret in it, to be struck out of texts.
func (v *Vault) SetLogin(ctx context.Context, name string, value []byte, tokens []string) error {
	return v.set(ctx, name, sealed{name, value, true, tokens})
}

func (v *Vault) set(ctx context.Context, name string, s sealed) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if len(s.Value) > MaxBytes {
		return fmt.Errorf("set secret %s: %w", name, ErrTooLarge)
	}
	id, err := v.identity(ctx)
	if err != nil {
		return fmt.Errorf("set secret %s: %w", name, err)
	}
	b, err := seal(id, s)
	if err != nil {
		return fmt.Errorf("set secret %s: %w", name, err)
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return fmt.Errorf("set secret %s: %w", name, err)
	}
	if err := atomicfile.Write(v.path(name), b); err != nil {
		return fmt.Errorf("set secret %s: %w", name, err)
	}
	return nil
}

// identity finds the identity to seal with, and makes one only when there is
// nothing yet that a lost one could have sealed.
func (v *Vault) identity(ctx context.Context) (*age.X25519Identity, error) {
	id, err := v.key.load(ctx)
	if !errors.Is(err, ErrNoKey) {
		return id, err
	}
	infos, lerr := v.List(ctx)
	if lerr != nil {
		return nil, lerr
	}
	if len(infos) > 0 {
		// Another process may have made both since the first look.
		if id, err := v.key.load(ctx); err == nil {
			return id, nil
		}
		return nil, fmt.Errorf("%w: restore it, or delete the %d secrets it sealed first", err, len(infos))
	}
	known, lerr := v.key.anchors.Load(ctx)
	if lerr != nil {
		return nil, lerr
	}
	if len(known.Anchors) > 0 {
		return nil, fmt.Errorf("%w, and the home is known by it", err)
	}
	return v.key.create()
}

// Values returns the values of all secrets, to strike them out of texts. One that cannot
// be read is left out: who uses it is told why.
func (v *Vault) Values(ctx context.Context) []string {
	infos, err := v.List(ctx)
	if err != nil {
		return nil
	}
	var values []string
	for _, s := range infos {
		if texts, err := v.Texts(ctx, s.Name); err == nil {
			values = append(values, texts...)
		}
	}
	return values
}

// Version is another text after a secret was set or deleted, by this process or another.
func (v *Vault) Version() string {
	st, err := os.Stat(v.dir)
	if err != nil {
		return ""
	}
	return st.ModTime().Format(time.RFC3339Nano)
}

// Get returns the value of a secret. It fails with [ErrNotFound], [ErrDamaged] or [ErrLogin].
func (v *Vault) Get(ctx context.Context, name string) ([]byte, error) {
	s, err := v.get(ctx, name)
	if err == nil && s.Login {
		err = fmt.Errorf("secret %s: %w", name, ErrLogin)
	}
	if err != nil {
		return nil, err
	}
	return s.Value, nil
}

// Login returns a login; ok is false for a secret that is not one. It fails with
// [ErrNotFound] or [ErrDamaged].
func (v *Vault) Login(ctx context.Context, name string) (value []byte, ok bool, err error) {
	s, err := v.get(ctx, name)
	if err != nil || !s.Login {
		return nil, false, err
	}
	return s.Value, true, nil
}

// Texts are the value of a secret, or all that is secret in a login, to strike them out of
// texts. It fails with [ErrNotFound] or [ErrDamaged].
func (v *Vault) Texts(ctx context.Context, name string) ([]string, error) {
	s, err := v.get(ctx, name)
	if err != nil || s.Login {
		return s.Tokens, err
	}
	return []string{string(s.Value)}, nil
}

func (v *Vault) get(ctx context.Context, name string) (s sealed, err error) {
	if err := CheckName(name); err != nil {
		return s, err
	}
	b, err := os.ReadFile(v.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("secret %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return s, fmt.Errorf("get secret %s: %w", name, err)
	}
	id, err := v.key.load(ctx)
	if err != nil {
		return s, fmt.Errorf("get secret %s: %w", name, err)
	}
	if s, err = unseal(id, b); err != nil || s.Name != name {
		return sealed{}, fault.Errorf(fault.KindVerification, "secret %s: %w", name, ErrDamaged).WithHint("set it again: %s", fault.SetSecret(name))
	}
	return s, nil
}

// Has reports whether a secret of that name is set.
func (v *Vault) Has(_ context.Context, name string) (bool, error) {
	if err := CheckName(name); err != nil {
		return false, err
	}
	_, err := os.Lstat(v.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// List returns what secrets there are, in order of name.
func (v *Vault) List(context.Context) ([]Info, error) {
	entries, err := os.ReadDir(v.dir)
	if absent.Is(err, v.dir) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	var infos []Info
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".age")
		if !ok || CheckName(name) != nil {
			continue
		}
		st, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("list secrets: %w", err)
		}
		infos = append(infos, Info{name, st.ModTime().UTC()})
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// Delete removes a secret. It fails with [ErrNotFound].
func (v *Vault) Delete(_ context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := os.Remove(v.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("secret %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("delete secret %s: %w", name, err)
	}
	return atomicfile.SyncDir(v.dir)
}

// File is the path of the file that has a secret, or would have it.
func (v *Vault) File(name string) string { return v.path(name) }

func (v *Vault) path(name string) string { return filepath.Join(v.dir, name+".age") }

func seal(id *age.X25519Identity, s sealed) ([]byte, error) {
	plain, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, id.Recipient())
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func unseal(id *age.X25519Identity, b []byte) (sealed, error) {
	var s sealed
	r, err := age.Decrypt(bytes.NewReader(b), id)
	if err != nil {
		return s, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, 4*MaxBytes))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(plain, &s)
}
