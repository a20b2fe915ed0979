//go:build linux || darwin

package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// suiteSpec is the description of one test of WebAssembly/wasi-testsuite, as
// its doc/specification.md has it.
type suiteSpec struct {
	Args   []string
	Env    map[string]string
	Root   string
	Code   uint32 `json:"exit_code"`
	Stdout string
	// The newer form lists what to do.
	Operations []struct {
		Type, Root, Payload string
		Args                []string
		Env                 map[string]string
		Code                uint32 `json:"exit_code"`
	}
}

// readSpec reads the description beside a module, or returns the default one.
func readSpec(t *testing.T, wasm string) (s suiteSpec) {
	t.Helper()
	b, err := os.ReadFile(strings.TrimSuffix(wasm, ".wasm") + ".json")
	if os.IsNotExist(err) {
		return s
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range s.Operations {
		switch o.Type {
		case "run":
			s.Args, s.Root, s.Env = o.Args, o.Root, o.Env
		case "read":
			s.Stdout += o.Payload
		case "wait":
			s.Code = o.Code
		}
	}
	return s
}

// knownDifferences are the tests that do not pass, each with the reason.
var knownDifferences = map[string]string{
	"environ_get-multiple-variables.wasm":       "a guest has no environment",
	"environ_sizes_get-multiple-variables.wasm": "a guest has no environment",
	"nofollow_errors.wasm":                      "links cannot be made",
	"path_exists.wasm":                          "links cannot be made",
	"path_link.wasm":                            "links cannot be made",
	"path_symlink_trailing_slashes.wasm":        "links cannot be made",
	"readlink.wasm":                             "links cannot be made",
	"symlink_create.wasm":                       "links cannot be made",
	"symlink_filestat.wasm":                     "links cannot be made",
}

// TestWASITestsuite runs the compiled tests of WebAssembly/wasi-testsuite
// (branch prod/testsuite-base) that lie in the directory SKILLET_WASI_TESTSUITE.
func TestWASITestsuite(t *testing.T) {
	dir := os.Getenv("SKILLET_WASI_TESTSUITE")
	if dir == "" {
		t.Skip("SKILLET_WASI_TESTSUITE names no directory with the compiled tests of WebAssembly/wasi-testsuite")
	}
	files, err := filepath.Glob(filepath.Join(dir, "tests", "*", "testsuite", "wasm32-wasip1", "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", dir, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("changing the root directory for the tests takes the superuser")
	}
	passed := 0
	for _, wasm := range files {
		name := filepath.Base(wasm)
		problem := runSuite(t, wasm)
		_, known := knownDifferences[name]
		switch {
		case problem == "" && known:
			t.Errorf("%s passes, and is listed as one that does not", name)
		case problem == "":
			passed++
		case !known:
			t.Errorf("%s: %s", name, problem)
		}
	}
	t.Logf("%d of %d pass", passed, len(files))
}

// runSuite runs one test in a child and says what went wrong, or nothing.
func runSuite(t *testing.T, file string) string {
	t.Helper()
	spec := readSpec(t, file)
	root := ""
	if spec.Root != "" {
		root = filepath.Join(t.TempDir(), spec.Root)
		if err := os.CopyFS(root, os.DirFS(filepath.Join(filepath.Dir(file), spec.Root))); err != nil {
			t.Fatal(err)
		}
	}
	args, err := json.Marshal(spec.Args)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holeEnv+"=wasi test", holeDirEnv+"="+root, suiteFileEnv+"="+file, suiteArgsEnv+"="+string(args))
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() != int(spec.Code):
		return strings.TrimSpace(string(exit.Stderr))
	case err == nil && spec.Code != 0:
		return fmt.Sprintf("exit code 0, want %d", spec.Code)
	case spec.Stdout != "" && string(out) != spec.Stdout:
		return fmt.Sprintf("output %q", out)
	}
	return ""
}

const (
	suiteFileEnv = "SKILLET_WASI_TEST_FILE"
	suiteArgsEnv = "SKILLET_WASI_TEST_ARGS"
)

// runSuiteChild runs one test with the tree of the test as the root of its own
// process, because the tests want their files in a preopen named "/".
func runSuiteChild() {
	ctx := context.Background()
	wasm, err := os.ReadFile(os.Getenv(suiteFileEnv))
	must(err)
	r, err := sandbox.New(ctx, hclog.NewNullLogger(), sandbox.Options{})
	must(err)
	m, err := r.Load(ctx, wasm)
	must(err)
	var args []string
	must(json.Unmarshal([]byte(os.Getenv(suiteArgsEnv)), &args))
	c := start(args...)
	c.Random = true
	if root := os.Getenv(holeDirEnv); root != "" {
		must(syscall.Chroot(root))
		must(os.Chdir("/"))
		c.FS, err = jail.Open([]jail.Root{{Path: "/", Write: true}}, jail.GuardFunc(func(jail.Op, string) error { return nil }), jail.Quota{})
		must(err)
	}
	result, err := m.Call(ctx, c)
	os.Stdout.Write(result.Output)
	fmt.Fprintf(os.Stderr, "%s%v", result.Stderr, err)
	if err != nil && result.ExitCode == 0 {
		os.Exit(125)
	}
	os.Exit(int(result.ExitCode & 0xff))
}

func must(err error) {
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(126)
	}
}
