package event_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryTypeIsPublished: the tree uses every type that there is.
func TestEveryTypeIsPublished(t *testing.T) {
	types, err := os.ReadFile("types.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		source.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^\s(\w+)\s+Type = "`).FindAllStringSubmatch(string(types), -1)
	if len(all) < 20 {
		t.Fatalf("only %d types", len(all))
	}
	for _, name := range all {
		if !strings.Contains(source.String(), "event."+name[1]) {
			t.Errorf("nothing publishes %s", name[1])
		}
	}
}
