package secret_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/host/base/secret"
)

func open(t *testing.T) (*secret.Vault, string) {
	t.Helper()
	home := t.TempDir()
	return secret.Open(filepath.Join(home, "secrets"), secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile})), home
}

func TestSetGetListDelete(t *testing.T) {
	v, home := open(t)
	ctx := t.Context()
	if _, err := v.Get(ctx, "github"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("get of a missing secret: %v", err)
	}
	for name, value := range map[string]string{"github": "hunter2hunter2", "aws.key-1": "\x00\xff"} {
		if err := v.Set(ctx, name, []byte(value)); err != nil {
			t.Fatal(err)
		}
		got, err := v.Get(ctx, name)
		if err != nil || string(got) != value {
			t.Errorf("get %s: %q, %v", name, got, err)
		}
		raw, err := os.ReadFile(filepath.Join(home, "secrets", name+".age"))
		if err != nil || bytes.Contains(raw, []byte(value)) {
			t.Errorf("%s lies in the open: %v", name, err)
		}
	}
	infos, err := v.List(ctx)
	if err != nil || len(infos) != 2 || infos[0].Name != "aws.key-1" || infos[1].Name != "github" {
		t.Errorf("list: %v, %v", infos, err)
	}
	if err := v.Delete(ctx, "github"); err != nil {
		t.Fatal(err)
	}
	if ok, err := v.Has(ctx, "github"); ok || err != nil {
		t.Errorf("has after delete: %v, %v", ok, err)
	}
	if err := v.Delete(ctx, "github"); !errors.Is(err, secret.ErrNotFound) {
		t.Errorf("second delete: %v", err)
	}
}

func TestNames(t *testing.T) {
	v, _ := open(t)
	for _, name := range []string{"", "../x", "a/b", ".hidden", "UPPER", "a b", strings.Repeat("a", 65), "a\x00"} {
		if err := v.Set(t.Context(), name, []byte("v")); !errors.Is(err, secret.ErrName) {
			t.Errorf("set %q: %v, want ErrName", name, err)
		}
	}
	if err := v.Set(t.Context(), "big", make([]byte, secret.MaxBytes+1)); !errors.Is(err, secret.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
}

func TestEveryFlippedBitIsNoticed(t *testing.T) {
	v, home := open(t)
	if err := v.Set(t.Context(), "k", []byte("value")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(home, "secrets", "k.age")
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := v.Get(t.Context(), "k"); err == nil && string(got) != "value" {
			t.Fatalf("byte %d: wrong value %q", i, got)
		} else if err != nil && !errors.Is(err, secret.ErrDamaged) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

func TestRenamedFileIsNoticed(t *testing.T) {
	v, home := open(t)
	if err := v.Set(t.Context(), "low", []byte("value")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "secrets")
	if err := os.Rename(filepath.Join(dir, "low.age"), filepath.Join(dir, "high.age")); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(t.Context(), "high"); !errors.Is(err, secret.ErrDamaged) {
		t.Errorf("get under another name: %v", err)
	}
}

func TestKeyFileMustBePrivate(t *testing.T) {
	v, home := open(t)
	if err := v.Set(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(home, "keys", "identity"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(t.Context(), "k"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key others can read was used: %v", err)
	}
}

func TestMissingKey(t *testing.T) {
	v, home := open(t)
	if err := v.Set(t.Context(), "k", []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(home, "keys", "identity")); err != nil {
		t.Fatal(err)
	}
	if _, err := v.Get(t.Context(), "k"); !errors.Is(err, secret.ErrNoKey) {
		t.Errorf("get without the key: %v", err)
	}
	if err := v.Set(t.Context(), "other", []byte("v")); !errors.Is(err, secret.ErrNoKey) {
		t.Errorf("a second key was made while secrets of the first exist: %v", err)
	}
}

func TestConcurrentFirstUseMakesOneKey(t *testing.T) {
	_, home := open(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			v := secret.Open(filepath.Join(home, "secrets"), secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile}))
			if err := v.Set(t.Context(), string(rune('a'+i)), []byte("v")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	v := secret.Open(filepath.Join(home, "secrets"), secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile}))
	for i := range 8 {
		if _, err := v.Get(t.Context(), string(rune('a'+i))); err != nil {
			t.Error(err)
		}
	}
}
