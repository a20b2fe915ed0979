package wasmtest

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// BuildGo builds a Go program of this module, by its folder, for wasip1 and
// returns the WebAssembly module. flags are added to those of go build.
func BuildGo(folder string, flags ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "wasmtest-")
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	args := append([]string{"build", "-trimpath", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, path.Join("github.com/skillet-run/skillet", folder))...)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w: %s", folder, err, text)
	}
	return os.ReadFile(out)
}
