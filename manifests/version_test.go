package manifests_test

import (
	"slices"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

func TestCompareVersions(t *testing.T) {
	want := []string{"0.9.0", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.2.0", "1.10.0", "2.0.0"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, manifests.CompareVersions)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if manifests.CompareVersions("1.0.0+a", "1.0.0+b") != 0 {
		t.Error("build metadata has no precedence")
	}
}
