package manifests_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/policies/goldentest"
)

// TestErrorText holds the text of the errors of every document in testdata/bad
// to the golden file beside it.
func TestErrorText(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			goldentest.File(t, file+".golden", parseError(t, file))
		})
	}
}

// parseError returns the error of a document that is refused, with a line feed.
func parseError(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parse := manifests.Parse
	if filepath.Ext(file) == ".md" {
		parse = manifests.ParseSkillMD
	}
	m, err := parse(data, filepath.Base(file))
	var problems manifests.Errors
	if m != nil || !errors.As(err, &problems) {
		t.Fatalf("%s was not refused: %v, %v", file, m, err)
	}
	if strings.Contains(err.Error(), "\x1b") {
		t.Error("the error carries a control character to the terminal")
	}
	return err.Error() + "\n"
}
