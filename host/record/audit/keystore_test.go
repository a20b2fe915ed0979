package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/record/checkpoint"
)

func TestOneKeyForAllProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if r, err := newKeystore(dir).Keyring(t.Context()); r != nil || err != nil {
		t.Fatalf("before there is a key: %v %v", r, err)
	}
	const many = 6
	made := make([]checkpoint.Public, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { made[i] = must(newKeystore(dir).Make(context.Background())).Current() })
	}
	all.Wait()
	for _, k := range made {
		if k != made[0] {
			t.Fatalf("two keys were made: %v", made)
		}
	}
	info := must(os.Stat(filepath.Join(dir, "keys", "audit.age")))
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file has mode %o", info.Mode().Perm())
	}
}

// A rotation is seen by whoever had the keys before.
func TestRotationIsSeenByOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := newKeystore(dir), newKeystore(dir)
	first := must(a.Make(t.Context())).Current()
	must(b.Make(t.Context()))
	during := 0
	last := must(a.Rotate(t.Context(), func(ctx context.Context) error {
		during = len(must(b.Keyring(ctx)).Valid())
		return nil
	}))
	if during != 2 {
		t.Errorf("while it was under way %d keys held, want both", during)
	}
	seen := must(b.Keyring(t.Context()))
	if seen.Current() != last.Current() || seen.Current() == first || len(seen.Valid()) != 1 {
		t.Errorf("the other sees %+v", seen)
	}
}

// An interrupted rotation leaves both keys in force.
func TestInterruptedRotation(t *testing.T) {
	t.Parallel()
	k := newKeystore(t.TempDir())
	failed := errors.New("interrupted")
	if _, err := k.Rotate(t.Context(), func(context.Context) error { return failed }); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if r := must(k.Keyring(t.Context())); len(r.Keys) != 2 || len(r.Valid()) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestKeyThatCannotBeHad(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"without the identity": func(dir string) error { return os.Remove(filepath.Join(dir, "keys", "identity")) },
		"damaged": func(dir string) error {
			path := filepath.Join(dir, "keys", "audit.age")
			b := must(os.ReadFile(path))
			b[len(b)-1] ^= 1
			return os.WriteFile(path, b, 0o600)
		},
		"with an exposed identity": func(dir string) error { return os.Chmod(filepath.Join(dir, "keys", "identity"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(newKeystore(dir).Make(t.Context()))
			must(0, spoil(dir))
			for range 2 {
				if r, err := newKeystore(dir).Make(t.Context()); !errors.Is(err, ErrNoKey) {
					t.Errorf("Make = %v, %v", r, err)
				}
			}
		})
	}
}

// While the identity that sealed the secrets is out of reach, no key is made:
// it would need another identity, and that would take the place of the first.
func TestNoKeyBesideLostSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	identity := secret.NewKey(secret.KeyOptions{Home: dir, Location: secret.LocationFile})
	must(0, secret.Open(filepath.Join(dir, "secrets"), identity).Set(t.Context(), "github", []byte("x")))
	path := filepath.Join(dir, "keys", "identity")
	must(0, os.Rename(path, path+".away"))
	if r, err := newKeystore(dir).Make(t.Context()); !errors.Is(err, ErrNoKey) {
		t.Fatalf("Make = %v, %v", r, err)
	}
	must(0, os.Rename(path+".away", path))
	must(newKeystore(dir).Make(t.Context()))
}

func BenchmarkRing(b *testing.B) {
	dir := b.TempDir()
	k := newKeystore(dir)
	must(k.Make(b.Context()))
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			must(k.Keyring(b.Context()))
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			must(newKeystore(dir).Keyring(b.Context()))
		}
	})
}
