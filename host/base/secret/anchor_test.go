package secret_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/secret"
)

// savedAnchor is the copy in a store.
type savedAnchor struct{ b []byte }

func (s *savedAnchor) Load(context.Context) ([]byte, error)   { return s.b, nil }
func (s *savedAnchor) Save(_ context.Context, b []byte) error { s.b = b; return nil }

// known makes a key for a home without a keyring.
func known(home string, s *savedAnchor) *secret.Key {
	k := secret.NewKey(secret.KeyOptions{Home: home, Location: secret.LocationFile, Marker: filepath.Join(home, "marker")})
	k.Anchors().UseStore(s)
	return k
}

// Every flipped bit of one copy is mended from the other; of both, it is seen.
func TestEveryFlippedBitOfAnAnchor(t *testing.T) {
	t.Parallel()
	home, s := t.TempDir(), &savedAnchor{}
	marker := filepath.Join(home, "marker")
	write := func(b []byte) {
		if err := os.WriteFile(marker, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("Words.\n"))
	k := known(home, s)
	if err := secret.Open(filepath.Join(home, "secrets"), k).Set(t.Context(), "x", []byte("y")); err != nil {
		t.Fatal(err)
	}
	if err := k.Pin(t.Context(), "a-key", "runs", 3, false); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(marker)
	if err != nil || !bytes.HasPrefix(good, []byte("Words.\n")) {
		t.Fatalf("%s %v", good, err)
	}
	stored := s.b
	for at := len("Words.\n\n"); at < len(good)-1; at++ {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		write(bad)
		s.b = stored
		got, err := known(home, s).Anchors().Load(t.Context())
		if err != nil || got.Signed("runs") != 3 {
			t.Fatalf("byte %d: %+v %v", at, got, err)
		}
		s.b = bad[len("Words.\n\n"):]
		if got, err := known(home, s).Anchors().Load(t.Context()); err == nil && len(got.Anchors) > 0 {
			t.Fatalf("byte %d of both: %+v", at, got)
		} else if err != nil && !errors.Is(err, secret.ErrReplaced) {
			t.Fatalf("byte %d of both: %v", at, err)
		}
	}
	write([]byte("Words.\n"))
	s.b = stored
	k = known(home, s)
	if done, err := k.Pinned(t.Context(), "a-key"); done || err != nil {
		t.Errorf("one copy is missing: %v %v", done, err)
	}
	if err := k.Pin(t.Context(), "a-key", "", 0, true); err != nil {
		t.Fatal(err)
	}
	if again, err := os.ReadFile(marker); err != nil || !bytes.Equal(again, good) {
		t.Errorf("%s %v", again, err)
	}
}

func FuzzMarker(f *testing.F) {
	f.Add([]byte("{}"))
	f.Add([]byte(`words {"home":"/h","place":"file","identity":"","audit_key":"","signed":null,"since":"0001-01-01T00:00:00Z","found":false,"sum":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		home := t.TempDir()
		if err := os.WriteFile(filepath.Join(home, "marker"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := known(home, &savedAnchor{}).Anchors().Load(t.Context())
		if err != nil && !errors.Is(err, secret.ErrReplaced) {
			t.Errorf("%v is no ErrReplaced", err)
		}
		if len(got.Anchors) > 0 && !strings.Contains(string(b), "sum") {
			t.Errorf("%q was read as %+v", b, got)
		}
	})
}
