package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// public are the parts of the tree that others import.
var public = []string{"host", "host/app", "manifests", "plugins", "policies", "sdk/go"}

// withoutExample are public packages without an example function, and why.
var withoutExample = map[string]string{
	"host/app/admit":                "the examples of host call it",
	"host/app/author":               "the examples of host show how services are called",
	"host/app/code":                 "the examples of host show how services are called",
	"host/app/govern":               "the examples of host show how services are called",
	"host/app/invoke":               "the examples of host call it",
	"host/app/meaning":              "the examples of host call it",
	"host/app/principal":            "types of other packages under one name",
	"host/app/seen":                 "a type that other services use",
	"host/app/upkeep":               "the examples of host show how services are called",
	"host/app/work":                 "the examples of host call it",
	"manifests/signature/keyless":   "needs a certificate of a Sigstore instance",
	"plugins":                       "needs a plugin as a program: plugins/provider/examples has some",
	"plugins/agent/agentgrpc":       "the transport of package agent",
	"plugins/agent/agentpb":         "generated",
	"plugins/agent/agenttest":       "a suite that takes a testing.T: the tests of plugins/agent/builtin run it",
	"plugins/agent/builtin":         "an implementation of package agent",
	"plugins/provider/local":        "an implementation of package provider",
	"plugins/provider/minilm":       "an implementation of package provider",
	"plugins/provider/providergrpc": "the transport of package provider",
	"plugins/provider/providerpb":   "generated",
	"plugins/provider/providertest": "a suite that takes a testing.T: the tests of plugins/provider/local run it",
	"plugins/wire":                  "what both transports share",
	"policies/goldentest":           "for tests of this project",
}

var (
	exampleFunction = regexp.MustCompile(`(?m)^func Example\w*\(\) \{`)
	exampleOutput   = regexp.MustCompile(`(?m)^\t// (Unordered output|Output):`)
)

// TestPublicPackagesHaveExamples looks for a function that shows how a public package is used,
// with its output, so that go test runs it.
func TestPublicPackagesHaveExamples(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, p := range load(t) {
		name := p.ImportPath
		if !isPublic(name) || len(p.GoFiles) == 0 {
			continue
		}
		seen++
		has, reason := hasExample(t, name), withoutExample[name]
		switch {
		case has && reason != "":
			t.Errorf("%s has an example: delete its line in withoutExample", name)
		case !has && reason == "":
			t.Errorf("%s has no example function with an output: write one in example_test.go, or name it in withoutExample with a reason", name)
		}
	}
	if seen < len(withoutExample) {
		t.Errorf("withoutExample has %d packages, and only %d were found", len(withoutExample), seen)
	}
}

// isPublic reports whether others import a package: one of public, and below all of them but host.
func isPublic(pkg string) bool {
	for _, p := range public {
		if pkg == p || p != "host" && strings.HasPrefix(pkg, p+"/") {
			return !strings.Contains(pkg, "/examples/")
		}
	}
	return false
}

func hasExample(t *testing.T, pkg string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if exampleFunction.Match(b) && exampleOutput.Match(b) {
			return true
		}
	}
	return false
}
