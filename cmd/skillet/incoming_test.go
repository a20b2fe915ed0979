package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/skillet-run/skillet/host"
)

// Packages come in the order they were named in, whichever is ready first, and
// nothing hangs when somebody stops half-way.
func TestArrivals(t *testing.T) {
	t.Parallel()
	h, err := host.Open(t.Context(), host.Options{Home: t.TempDir(), Environ: []string{"SKILLET_SECRET_KEY=file"}, LogOutput: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.WithoutCancel(t.Context()))
	var paths []string
	for i := range 9 {
		dir := filepath.Join(t.TempDir(), fmt.Sprint("p", i))
		paths = append(paths, dir)
		if i == 4 { // this one is not there
			continue
		}
		manifest := fmt.Sprintf(`{"name":"p%d","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"echo"}]}`, i)
		err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "skill.json"), []byte(manifest), 0o600),
			os.WriteFile(filepath.Join(dir, "main.wasm"), echo(), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	quiet := &terminal{}
	i := 0
	for in := range quiet.arrivals(t.Context(), h, paths) {
		p, err := in.open()
		if in.path != paths[i] || errors.Is(err, fs.ErrNotExist) != (i == 4) || err == nil && p.Manifest().Name != fmt.Sprint("p", i) {
			t.Errorf("number %d is %s, %v", i, in.path, err)
		}
		i++
	}
	if i != len(paths) {
		t.Errorf("%d came", i)
	}
	for range quiet.arrivals(t.Context(), h, paths) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for in := range quiet.arrivals(ctx, h, paths) {
		if n++; n == 2 {
			cancel()
		}
		if n > 2 {
			t.Errorf("%s came after the end, %v", in.path, in.err)
		}
	}
}
