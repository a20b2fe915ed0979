package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/record/approval"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/policies/capability"
)

// What is installed and granted is looked at for each request: a process that goes on
// for long does not ask a provider any more that a person disabled.
func TestProviderIsLookedAtEachTime(t *testing.T) {
	var log bytes.Buffer
	h := open(t, t.TempDir(), &log)
	defer h.Close(t.Context())
	if _, err := h.Work().Providers().Names(t.Context(), approval.NewHuman("ada")); err != nil { // before there is a package
		t.Fatal(err)
	}
	kind := func() fault.Kind {
		t.Helper()
		out, err := h.Work().Providers().Test(t.Context(), approval.NewHuman("ada"), work.TestRequest{Provider: "echo"})
		if err != nil || out.OK {
			t.Fatalf("a file that is no program was started: %v", err)
		}
		return out.Trials[0].Error.Kind
	}
	if got := kind(); got != fault.KindNotFound {
		t.Errorf("before it was installed: %s", got)
	}
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name":"echo","version":"1.0.0","description":"d","type":"provider","command":"echo"}`),
		"echo":       []byte("\x7fELF and no more"),
	})
	if err != nil {
		t.Fatal(err)
	}
	accept(t, h, p)
	// It was found, and started in vain.
	if got := kind(); got == fault.KindNotFound || got == fault.KindDenied {
		t.Errorf("after it was installed: %s", got)
	}
	if _, err := h.Parts().Installer.Disable(t.Context(), "human:ada", manifests.Ref{Name: "echo"}, "a test"); err != nil {
		t.Fatal(err)
	}
	if got := kind(); got != fault.KindNotFound {
		t.Errorf("after it was disabled: %s", got)
	}
	if _, err := h.Parts().Installer.Enable(t.Context(), approval.NewHuman("ada"), manifests.Ref{Name: "echo"}); err != nil {
		t.Fatal(err)
	}
	if got := kind(); got == fault.KindNotFound || got == fault.KindDenied {
		t.Errorf("after it was enabled again: %s", got)
	}
	s, err := h.Parts().Registry.Lookup(t.Context(), manifests.Ref{Name: "echo"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Parts().Approvals.Revoke(t.Context(), "human:ada", s, []capability.Capability{capability.MustParse("native")}); err != nil {
		t.Fatal(err)
	}
	if got := kind(); got != fault.KindDenied {
		t.Errorf("after native was taken from it: %s", got)
	}
}

// A package that is configured under another name is asked for nothing under its own,
// unless its own name is configured or a setting names a model of it.
func TestRenamedProviders(t *testing.T) {
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name":"openai","version":"1.0.0","description":"d","type":"provider","command":"openai"}`),
		"openai":     []byte("\x7fELF and no more"),
	})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	var log bytes.Buffer
	for _, c := range []struct{ config, names string }{
		{"", "local openai"},
		{"providers:\n  work:\n    kind: openai\n", "local work"},
		{"providers:\n  work:\n    kind: openai\n  openai:\n    kind: openai\n", "local openai work"},
		{"providers:\n  work:\n    kind: openai\nmodels:\n  tiers:\n    fast: work/a, openai/b\n", "local openai work"},
		{"providers:\n  work:\n    kind: openai\nmemory:\n  embedder: openai/b\n", "local openai work"},
	} {
		if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(c.config), 0o600); err != nil {
			t.Fatal(err)
		}
		h := open(t, home, &log)
		if c.config == "" {
			accept(t, h, p)
		}
		names, err := h.Work().Providers().Names(t.Context(), approval.NewHuman("ada"))
		if got := strings.Join(names, " "); err != nil || got != c.names {
			t.Errorf("%q: %s, want %s, %v", c.config, got, c.names, err)
		}
		h.Close(t.Context())
	}
}
