// Package skills_test builds the first-party skills from source and runs the
// cases in their tests directories in the real sandbox, with the runner of
// `skillet test`. What a case may say is described in docs/testing.md.
package skills_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// built is a skill that was compiled and packed.
type built struct {
	dir      string // where its source is
	pkg      *bundle.Package
	manifest *manifests.Manifest
	module   *sandbox.Module
}

// skillDirs returns the directories with a manifest whose skill is written in Go.
func skillDirs(t testing.TB) []string {
	t.Helper()
	var dirs []string
	for _, name := range []string{"skill.json", "skill.yaml", "skill.yml"} {
		found, err := filepath.Glob("*/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if _, err := os.Stat(filepath.Join(filepath.Dir(f), "main.go")); err == nil {
				dirs = append(dirs, filepath.Dir(f))
			}
		}
	}
	if len(dirs) == 0 {
		t.Fatal("no skills found")
	}
	return dirs
}

// build compiles a skill as its README says, packs it from a directory of its
// own, and loads its module.
func build(t testing.TB, sb *sandbox.Runtime, dir string) built {
	t.Helper()
	out := t.TempDir()
	noteSources(t, dir, "../sdk/go")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w",
		"-o", filepath.Join(out, "main.wasm"), "./"+dir)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", dir, err, text)
	}
	for _, pattern := range []string{"skill.*", "*.md", "tests/*"} {
		copyFiles(t, dir, out, pattern)
	}
	pkg, err := bundle.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	_, wasm, err := pkg.Module()
	if err != nil {
		t.Fatal(err)
	}
	module, err := sb.Load(t.Context(), wasm)
	if err != nil {
		t.Fatalf("load %s: %v", dir, err)
	}
	return built{dir: dir, pkg: pkg, manifest: pkg.Manifest(), module: module}
}

// noteSources reads the sources that the go tool is about to compile. The cache
// of go test knows the files a test has read, and not those of its children.
func noteSources(t testing.TB, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		found, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if _, err := os.ReadFile(f); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func copyFiles(t testing.TB, from, to, pattern string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		target := filepath.Join(to, f[len(from)+1:])
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// newSandbox returns a runtime as the host has it. TEST_CODE_CACHE names a
// directory that keeps compiled code from one run of the tests to the next.
func newSandbox(t testing.TB) *sandbox.Runtime {
	t.Helper()
	options := sandbox.Options{Functions: hostfn.Functions(), CacheDir: os.Getenv("TEST_CODE_CACHE")}
	sb, err := sandbox.New(t.Context(), hclog.NewNullLogger(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return sb
}

// TestSkills builds every skill and runs all of its cases.
func TestSkills(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t)
	tester := newTester(t, sb)
	for _, dir := range skillDirs(t) {
		t.Run(dir, func(t *testing.T) {
			b := build(t, sb, dir)
			b.checkPackage(t)
			b.checkTools(t)
			b.runCases(t, tester)
		})
	}
}

// checkPackage makes sure that a package is whole and that this host honours
// every field of its manifest.
func (b built) checkPackage(t *testing.T) {
	t.Helper()
	if b.manifest.Name != b.dir {
		t.Errorf("the skill in %s is called %s", b.dir, b.manifest.Name)
	}
	if p := b.manifest.Unsupported(); len(p) > 0 {
		t.Errorf("unsupported fields: %v", p)
	}
	if _, err := b.pkg.Read("README.md"); err != nil {
		t.Error(err)
	}
	asked, err := b.manifest.Requests("/workspace")
	if err != nil {
		t.Error(err)
	}
	for _, r := range asked {
		if r.Reason == "" {
			t.Errorf("%s has no reason", r.Field)
		}
	}
}

// checkTools makes sure that every tool is described and exported, has at least
// one case, and that the examples in its schema are valid.
func (b built) checkTools(t *testing.T) {
	t.Helper()
	exports := make(map[string]bool)
	for _, e := range b.module.Info().Exports {
		exports[e.Name] = true
	}
	tested := make(map[string]bool)
	for _, c := range b.cases(t) {
		tested[c.Tool] = true
	}
	for _, tool := range b.manifest.Tools {
		if !exports[tool.Export] {
			t.Errorf("tool %s: the module exports no %s", tool.Name, tool.Export)
		}
		if !tested[tool.Name] {
			t.Errorf("tool %s has no case", tool.Name)
		}
		b.checkSchemas(t, tool)
	}
}

func (b built) checkSchemas(t *testing.T, tool manifests.Tool) {
	t.Helper()
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Additional *bool                      `json:"additionalProperties"`
		Required   []string                   `json:"required"`
		OneOf      []struct {
			Required []string `json:"required"`
		} `json:"oneOf"` // what is required, where it is one thing or another
		Examples []json.RawMessage `json:"examples"`
	}
	if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	alternatives := len(schema.OneOf) > 1
	for _, o := range schema.OneOf {
		alternatives = alternatives && len(o.Required) > 0
	}
	if schema.Type != "object" || schema.Additional == nil || *schema.Additional || schema.Required == nil && !alternatives || len(schema.Examples) == 0 {
		t.Errorf("tool %s: its input schema has to be a closed object with required and examples", tool.Name)
	}
	for _, e := range schema.Examples {
		if err := b.manifest.ValidateInput(tool, e); err != nil {
			t.Errorf("tool %s: example %s: %v", tool.Name, e, err)
		}
	}
	for name, property := range schema.Properties {
		var p struct {
			Description string `json:"description"`
		}
		if err := json.Unmarshal(property, &p); err != nil || p.Description == "" {
			t.Errorf("tool %s: %s has no description", tool.Name, name)
		}
	}
	if tool.Description == "" || len(tool.OutputSchema) == 0 {
		t.Errorf("tool %s needs a description and an output schema", tool.Name)
	}
}

func (b built) limits() sandbox.Limits {
	m, l := b.manifest.Limits(), sandbox.DefaultLimits()
	l.MemoryBytes, l.Fuel, l.Wall = m.MemoryBytes, m.Fuel, time.Duration(m.Seconds*float64(time.Second))
	l.OutputBytes, l.HostCalls = m.OutputBytes, m.HostCalls
	return l
}

// BenchmarkCall measures one call of each skill's first case that answers, in a
// fresh instance.
func BenchmarkCall(b *testing.B) {
	sb := newSandbox(b)
	for _, dir := range skillDirs(b) {
		b.Run(dir, func(b *testing.B) {
			s := build(b, sb, dir)
			c := s.firstAnswered(b)
			tool, _ := s.manifest.Tool(c.Tool)
			var instantiate, fuel, memory uint64
			for b.Loop() {
				r, err := s.module.Call(b.Context(), sandbox.Call{Export: tool.Export, Input: c.Input, Limits: s.limits()})
				if err != nil {
					b.Fatal(err)
				}
				instantiate += uint64(r.InstantiateTime.Microseconds())
				fuel, memory = r.Fuel, r.PeakMemoryBytes
			}
			b.ReportMetric(float64(instantiate)/float64(b.N), "instantiate-µs/op")
			b.ReportMetric(float64(fuel), "fuel/op")
			b.ReportMetric(float64(memory), "peak-bytes")
		})
	}
}
