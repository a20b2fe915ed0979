//go:build unix

package plugins

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providertest"
)

// python is an interpreter that has gRPC, which skips the test where there is
// none.
func python(t *testing.T) string {
	t.Helper()
	long(t)
	installed, err := filepath.Abs("../.tools/py/bin/python3")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{installed, "python3"} {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import grpc").Run() == nil {
			return path
		}
	}
	t.Skip("there is no Python with grpcio here: make toolchains installs it")
	return ""
}

// script is the example in Python with what it imports, as a plugin.
func script(t *testing.T, main string) Spec {
	t.Helper()
	dir := t.TempDir()
	s := &Script{Dir: dir, Main: "provider.py", Flags: []string{"-B"}, Files: map[string]string{}}
	if err := os.CopyFS(filepath.Join(dir, "skillet_provider"), sources{os.DirFS("../sdk/provider/python/skillet_provider")}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "provider.py"), []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			s.Files[filepath.ToSlash(name)] = sumOf(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Name: "python", Program: python(t), Script: s}
}

// sources are the files of a folder without what Python writes there.
type sources struct{ fs.FS }

func (s sources) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(s.FS, name)
	var kept []fs.DirEntry
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".py") {
			kept = append(kept, e)
		}
	}
	return kept, err
}

func example(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("provider/examples/python-echo/provider.py")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A provider in Python keeps the contract as one in Go does.
func TestPythonProvider(t *testing.T) {
	t.Parallel()
	v := newSupervisor(t, quick())
	p := start(t, v, script(t, example(t)))
	providertest.Run(t, func(*testing.T) provider.Provider { return p }, providertest.Options{
		Slow: "slowly:", Alike: [3]string{"abc abc", "cab cab", "xyz"},
	})
	if s := v.Status()[0]; s.Starts != 1 {
		t.Errorf("%+v", s)
	}
	pid := v.Status()[0].PID
	begun := time.Now()
	v.Close()
	gone(t, pid)
	t.Logf("stopped in %v", time.Since(begun))
}

// What a provider in Python raises arrives as what it is, and what it prints does
// not break anything.
func TestPythonFailures(t *testing.T) {
	t.Parallel()
	main := `
print("banner")
from skillet_provider import *
class P(Provider):
    def info(self): raise ProviderError("rate_limited", "slow dówn", 1.5)
    def models(self): return [Model(name="m", input_usd=float("nan"), text=True)]
    def health(self): raise KeyError("what")
    def generate(self, request, call):
        print("stray")
        yield "a"
        if request.model == "die":
            import os; os._exit(9)
    def embed(self, request, call): return EmbedResponse("m", [[1.0, 0.0]])
serve(P())
`
	p := start(t, newSupervisor(t, quick()), script(t, main))
	_, err := p.Info(t.Context())
	if e := wantClass(t, err, provider.ClassRateLimited); e.Message != "slow dówn" || e.RetryAfter != 1500*time.Millisecond {
		t.Errorf("%+v", e)
	}
	_, err = p.Models(t.Context())
	wantClass(t, err, provider.ClassInternal)
	if e := wantClass(t, p.Health(t.Context()), provider.ClassInternal); !strings.Contains(e.Message, "KeyError") {
		t.Errorf("%+v", e)
	}
	_, err = say(t.Context(), p, "x")
	if e := wantClass(t, err, provider.ClassInternal); !strings.Contains(e.Message, "yielded no Response") {
		t.Errorf("%+v", e)
	}
	_, err = p.Embed(t.Context(), provider.EmbedRequest{Texts: []string{"a", "b"}})
	wantClass(t, err, provider.ClassInternal)
	wantClass(t, p.Load(t.Context(), "other"), provider.ClassInvalid)
	_, err = p.Generate(t.Context(), provider.Request{Model: "die", Messages: []provider.Message{{Role: "user"}}}, nil)
	if e := wantClass(t, err, provider.ClassUnavailable); !strings.Contains(e.Message, "exit status 9") {
		t.Errorf("%+v", e)
	}
}
