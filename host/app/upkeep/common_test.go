package upkeep_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/policies"
)

// A service has nothing in common with a command that would open the home with other settings or
// within other bounds of the administrator.
func TestCommon(t *testing.T) {
	t.Parallel()
	home, system := t.TempDir(), t.TempDir()
	common := upkeep.Common{Home: home, System: system}
	digest := func() string {
		t.Helper()
		d, err := common.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := digest()
	if digest() != before {
		t.Fatal("the digest is not the same twice")
	}
	for _, path := range []string{filepath.Join(home, upkeep.SettingsFile), filepath.Join(home, upkeep.EnvironmentFile), filepath.Join(system, policies.MaximumFile)} {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		now := digest()
		if now == before {
			t.Errorf("%s has been written, and the digest is the same", path)
		}
		before = now
	}
}
