package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/author/npm"
	"github.com/skillet-run/skillet/host/author/script"
)

// npmCache is where npm keeps what it has fetched.
func npmCache() string {
	return npm.FromEnvironment(os.Getenv, "").Shared
}

// interpreted reports whether the engine of the JavaScript interpreter can be had,
// from npm's cache or its registry.
func interpreted(t *testing.T) bool { return engineThere(t, "qjs") }

// engineThere reports whether the engine of an interpreter can be had here.
func engineThere(t *testing.T, name string) bool {
	in, _ := script.Find(name)
	fetch := script.NewRegistries(hclog.NewNullLogger(), os.Getenv, filepath.Join(t.TempDir(), "engines"))
	_, err := fetch.Fetch(context.Background(), in.Origin, in.Engine...)
	for _, l := range in.Licences {
		if err == nil {
			_, err = fetch.Fetch(context.Background(), l.Origin, l.File)
		}
	}
	if err != nil {
		t.Logf("no engine for scripts: %v", err)
	}
	return err == nil
}
