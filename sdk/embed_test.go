package sdk

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEverythingIsEmbedded: a file that is added to an SDK has to reach new projects.
func TestEverythingIsEmbedded(t *testing.T) {
	t.Parallel()
	left := []string{"_test.go", "testdata/", "target/", "node_modules/"} // not for projects
	for _, language := range Languages() {
		got, err := Files(language)
		if err != nil {
			t.Fatal(err)
		}
		folder := sources()[slices.Index(Languages(), language)].folder
		have, want := list(t, got), list(t, os.DirFS(folder))
		want = slices.DeleteFunc(want, func(name string) bool {
			return slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(name, l) || strings.HasSuffix(name, l) })
		})
		if len(have) == 0 || !slices.Equal(have, want) {
			t.Errorf("%s: embedded are %q, the folder has %q", language, have, want)
		}
	}
}

func list(t *testing.T, dir fs.FS) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestNoSuchLanguage(t *testing.T) {
	t.Parallel()
	if _, err := Files("cobol"); err == nil || !strings.Contains(err.Error(), "go") {
		t.Errorf("cobol: %v", err)
	}
}
