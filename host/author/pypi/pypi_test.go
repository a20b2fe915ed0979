package pypi_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/author/pypi"
	"github.com/skillet-run/skillet/host/base/fault"
)

// wheel is a wheel with one file, and a link of another name.
func wheel(t testing.TB, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	link := &zip.FileHeader{Name: "a/link"}
	link.SetMode(os.ModeSymlink | 0o777)
	for _, h := range []*zip.FileHeader{link, {Name: name, Method: zip.Deflate}} {
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pinned(b []byte) pypi.Wheel {
	sum := sha256.Sum256(b)
	return pypi.Wheel{Name: "some-tool", Version: "1.2.3", Tags: "py3-none-any", SHA256: hex.EncodeToString(sum[:])}
}

// index serves a wheel, and pages that name it in one of the two forms.
func index(t *testing.T, b []byte, asJSON bool) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch {
		case r.URL.Path == "/mirror/simple/some-tool/" && asJSON:
			w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
			_, _ = w.Write([]byte(`{"files":[{"filename":"some_tool-1.2.3.tar.gz","url":"/x/some_tool-1.2.3.tar.gz"},{"url":"../../files/some_tool-1.2.3-py3-none-any.whl#sha256=0"}]}`))
		case r.URL.Path == "/mirror/simple/some-tool/":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(`<html><a href="ftp://a/some_tool-1.2.3-py3-none-any.whl">x</a><A data-x="1" HREF='/mirror/files/some_tool-1.2.3-py3-none-any.whl?a=1&amp;b=2#sha256=0'>y</a>`))
		case r.URL.Path == "/mirror/files/some_tool-1.2.3-py3-none-any.whl":
			_, _ = w.Write(b)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mirror/simple", requests
}

func file(s pypi.Settings, w pypi.Wheel, name string) (string, error) {
	all, err := pypi.New(hclog.NewNullLogger(), s).Files(context.Background(), w, name)
	if err != nil {
		return "", err
	}
	return string(all[0]), nil
}

// A wheel is found in pages of both forms, fetched once and kept; what was damaged is
// fetched again.
func TestFilesAreFetchedOnceAndKept(t *testing.T) {
	t.Parallel()
	b := wheel(t, "a/a.txt", "hello")
	for _, asJSON := range []bool{true, false} {
		address, requests := index(t, b, asJSON)
		s := pypi.Settings{Index: address, Dir: filepath.Join(t.TempDir(), "kept")}
		for range 2 {
			if got, err := file(s, pinned(b), "a/a.txt"); got != "hello" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if requests.Load() != 2 {
			t.Errorf("%d requests", requests.Load())
		}
		kept := filepath.Join(s.Dir, "some_tool-1.2.3-py3-none-any.whl")
		if err := os.WriteFile(kept, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := file(s, pinned(b), "a/a.txt"); got != "hello" || err != nil || requests.Load() != 4 {
			t.Errorf("after damage: %q, %v, %d requests", got, err, requests.Load())
		}
		// Without the index, from a directory of links.
		offline := pypi.FromEnvironment(func(k string) string {
			return map[string]string{"PIP_INDEX_URL": "http://127.0.0.1:1", "PIP_FIND_LINKS": "https://a.example " + s.Dir}[k]
		}, "")
		if got, err := file(offline, pinned(b), "a/a.txt"); got != "hello" || err != nil {
			t.Errorf("offline: %q, %v", got, err)
		}
	}
}

func TestFilesRefuses(t *testing.T) {
	t.Parallel()
	b := wheel(t, "a/a.txt", "hello")
	address, _ := index(t, b, true)
	later := pinned(b)
	later.Version = "1.2.4"
	for name, c := range map[string]struct {
		index string
		w     pypi.Wheel
		file  string
		kind  fault.Kind
		want  string
	}{
		"other bytes":  {address, pinned([]byte("other bytes")), "a/a.txt", fault.KindVerification, "other bytes than were pinned"},
		"no such file": {address, pinned(b), "a/b.txt", fault.KindVerification, "no such file"},
		"a link":       {address, pinned(b), "a/link", fault.KindVerification, "no such file"},
		"no version":   {address, later, "a/a.txt", fault.KindNotFound, "has no file some_tool-1.2.4-py3-none-any.whl"},
		"unreachable":  {"http://127.0.0.1:1", pinned(b), "a/a.txt", fault.KindNotFound, "fetch some-tool==1.2.3"},
		"not there":    {address + "/wrong", pinned(b), "a/a.txt", fault.KindNotFound, "404"},
		"no address":   {"file:///etc", pinned(b), "a/a.txt", fault.KindUsage, "is not a web address"},
	} {
		_, err := file(pypi.Settings{Index: c.index}, c.w, c.file)
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
}

// FuzzFiles: any wheel, once its hash is right, gives a file or an error.
func FuzzFiles(f *testing.F) {
	f.Add(wheel(f, "a/a.txt", "hello"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		w, dir := pinned(b), t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, w.File()), b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = file(pypi.Settings{Index: "http://127.0.0.1:1", Dir: dir}, w, "a/a.txt")
	})
}
