package host_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/limit"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/engine/jail"
	"github.com/skillet-run/skillet/host/run/hostfn"
	"github.com/skillet-run/skillet/manifests"
)

func open(t *testing.T, home string, log *bytes.Buffer) *host.Host {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{
		Home: home, Environ: []string{"SKILLET_SECRET_KEY=file", "SKILLET_LOG_LEVEL=info"}, LogOutput: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestSecretsStayOutOfTheLog(t *testing.T) {
	home, value := t.TempDir(), "correct-horse-battery"
	var log bytes.Buffer
	h := open(t, home, &log)
	if err := h.Parts().Secrets.Set(t.Context(), "api", []byte(value)); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = open(t, home, &log)
	defer h.Close(t.Context())
	h.Parts().Log.Named("run").With("it", value).Info("the answer was "+value, "also", []byte(value))
	if strings.Contains(log.String(), value) || !strings.Contains(log.String(), "the answer was") {
		t.Errorf("the log: %s", log.String())
	}
}

// A directory is taken for a home when it is empty, or has what a home has.
func TestHomeIsNoOtherDirectory(t *testing.T) {
	open := func(home string) error {
		h, err := host.Open(t.Context(), host.Options{Home: home, Environ: []string{"SKILLET_SECRET_KEY=file"}, LogOutput: &bytes.Buffer{}})
		if err == nil {
			err = h.Close(t.Context())
		}
		return err
	}
	for _, c := range []struct {
		name  string
		files []string
		ok    bool
	}{
		{"empty", nil, true},
		{"prepared", []string{"config.yaml", "policies/mine.cedar"}, true},
		{"a mounted disk", []string{"lost+found/x"}, true},
		{"older than the marker", []string{"journal/decisions/LOCK", "store.aside-20260101/x"}, true},
		{"somebody's documents", []string{"thesis.odt"}, false},
		{"somebody's documents, beside a home's", []string{"config.yaml", "notes/x"}, false},
		{"marked by hand", []string{"thesis.odt", hostfn.HomeMarker}, true},
	} {
		home := t.TempDir()
		for _, f := range c.files {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(home, f)), 0o700), os.WriteFile(filepath.Join(home, f), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		err := open(home)
		if e := fault.AsError(err); c.ok && err != nil || !c.ok && (e == nil || e.Kind != fault.KindUsage || e.Hint == "") {
			t.Errorf("%s: %v", c.name, err)
		}
		entries, err := os.ReadDir(home)
		if err != nil || !c.ok && len(entries) != len(c.files) {
			t.Errorf("%s: it was refused, and has %v, %v", c.name, entries, err)
		}
		if c.ok && open(home) != nil {
			t.Errorf("%s: it is a home, and cannot be opened again", c.name)
		}
	}
}

// What a manifest may ask for is what there can be.
func TestManifestsAskForWhatCanBe(t *testing.T) {
	const form = `{"name":"a","version":"1.0.0","description":"d","type":"code_inline","command":"m.wasm","tools":[{"name":"t"}],"security":{"permissions":{"secrets":[%q]}}}`
	for _, name := range []string{"github", "a", "a.b-c_d", "x.age", "9", "GitHub", "GitHub/X", "a/b", "-a", ".a", "a*", "a b", "", strings.Repeat("a", 64), strings.Repeat("a", 65), "a\n", "a-", "a@b"} {
		_, err := manifests.Parse(fmt.Appendf(nil, form, name), "skill.json")
		if keeps := secret.CheckName(name) == nil; keeps != (err == nil) {
			t.Errorf("%q: the vault takes it: %v; a manifest may name it: %v (%v)", name, keeps, err == nil, err)
		}
	}
	if most := limit.FileSize.Ceiling(); most > jail.DefaultTotalBytes {
		t.Errorf("a manifest may ask for files of %s, and no call can write so much", limit.FileSize.Text(most))
	}
}
