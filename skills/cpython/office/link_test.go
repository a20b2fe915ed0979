package office

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox/wasmlink"
)

func TestManifest(t *testing.T) {
	t.Parallel()
	var m struct {
		Name     string            `json:"name"`
		Version  string            `json:"version"`
		Provides map[string]string `json:"provides"`
	}
	if err := json.Unmarshal(Manifest, &m); err != nil || m.Name != "cpython-office" || m.Provides["cpython-office"] != m.Version {
		t.Errorf("%+v, %v", m, err)
	}
}

// Files that are not those of the build are refused by their digests.
func TestLinkRefusesOtherEngines(t *testing.T) {
	t.Parallel()
	if _, err := Link([]byte("not a module"), nil); err == nil || !strings.Contains(err.Error(), "want "+moduleDigest) {
		t.Errorf("%v", err)
	}
}

// The unit with the library can be assembled, and so can what starts the engine.
func TestUnits(t *testing.T) {
	t.Parallel()
	l, err := wasmlink.Assemble(libraryText(10))
	if err != nil || len(l.Data) != 1 {
		t.Fatalf("%d segments, %v", len(l.Data), err)
	}
	if code := started().Code; strings.Contains(code, "<modules>") || strings.Contains(code, "<boot") || strings.Count(code, "$append") != len(modules) {
		t.Errorf("not filled in: %s", code)
	}
}

// What is left of a library is what is wanted, with the bytes as they were, and the
// same each time.
func TestShelve(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i, name := range []string{"os.pyc", "numpy/__init__.pyc", "numpy-2.5.2.dist-info/METADATA", "lxml/__init__.pyc", "turtle.pyc", "lxml-6.1.3.dist-info/METADATA", "dir/"} {
		w, err := z.Create(name)
		if err == nil && !strings.HasSuffix(name, "/") {
			_, err = fmt.Fprint(w, i)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := shelve(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if again, err := shelve(b.Bytes()); err != nil || !bytes.Equal(out, again) {
		t.Errorf("two are different, %v", err)
	}
	r, err := zip.NewReader(bytes.NewReader(out), int64(len(out)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range r.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		got = append(got, f.Name+"="+string(text))
		if err != nil {
			t.Error(err)
		}
	}
	if want := "os.pyc=0 lxml/__init__.pyc=3 lxml-6.1.3.dist-info/METADATA=5"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := shelve([]byte("no archive")); err == nil {
		t.Error("bytes that are no archive")
	}
}
