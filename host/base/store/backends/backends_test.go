package backends

import (
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/store"
)

// The setting takes the names of the backends, and has the same default.
func TestSettingTakesEachBackend(t *testing.T) {
	var names []string
	for _, b := range All() {
		names = append(names, b.Name())
		if Named(b.Name()).Name() != b.Name() {
			t.Errorf("%s cannot be found", b.Name())
		}
	}
	if !slices.Equal(names, config.StoreBackends()) || config.Defaults().StoreBackend != Named("").Name() {
		t.Errorf("the backends are %v, the setting takes %v", names, config.StoreBackends())
	}
}

func TestOf(t *testing.T) {
	for _, made := range All() {
		for _, wanted := range All() {
			dir := t.TempDir() + "/store"
			if got := Of(dir, wanted); got.Name() != wanted.Name() {
				t.Errorf("nothing is there: %s, want %s", got.Name(), wanted.Name())
			}
			if err := made.Create(t.Context(), nil, dir, store.Options{FreeBytes: -1}, nil, 0); err != nil {
				t.Fatal(err)
			}
			if got := Of(dir, wanted); got.Name() != made.Name() {
				t.Errorf("made by %s: %s", made.Name(), got.Name())
			}
		}
	}
}
