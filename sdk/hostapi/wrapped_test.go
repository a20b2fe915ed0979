package hostapi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// In the other languages the generated functions are what skills call.
func TestEverySDKWrapsEveryFunction(t *testing.T) {
	t.Parallel()
	api, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, sdk := range []struct {
		files string
		calls func(name string) string
	}{
		{"../go/*.go", func(name string) string { return goPrivate(name) + "Request{" }},
		{"../js/skillet.js", func(name string) string { return "host." + camel(name, nil) }},
		{"../python/skillet/*.py", func(name string) string { return "host." + name + "(" }},
	} {
		text := byHand(t, sdk.files)
		for _, f := range api.Functions {
			if call := sdk.calls(f.Name); !strings.Contains(text, call) {
				t.Errorf("no function in %s calls %s, so that no skill can: there is no %s", sdk.files, f.Name, call)
			}
		}
	}
}

// byHand is the text of the files that fit a pattern and are not generated.
func byHand(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file is %s, %v", pattern, err)
	}
	var all strings.Builder
	for _, file := range files {
		generated := func(o Output) bool { return "../"+strings.TrimPrefix(o.Path, "sdk/") == filepath.ToSlash(file) }
		if slices.ContainsFunc(Outputs(), generated) || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
