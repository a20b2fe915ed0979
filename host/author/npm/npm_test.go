package npm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/author/npm"
)

// archive is a tarball with one file, and a link of another name.
func archive(t testing.TB, name, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	headers := []*tar.Header{
		{Name: "package/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))},
	}
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.Write([]byte(content))
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pinned(b []byte) npm.Package {
	sum := sha512.Sum512(b)
	return npm.Package{Name: "@scope/tool", Version: "1.2.3", Integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
}

// registry serves bytes where a registry has the package, and counts requests.
func registry(t *testing.T, b []byte) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path != "/mirror/@scope/tool/-/tool-1.2.3.tgz" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mirror/", requests
}

func file(t *testing.T, s npm.Settings, p npm.Package, name string) (string, error) {
	t.Helper()
	b, err := npm.New(hclog.NewNullLogger(), s).File(context.Background(), p, name)
	return string(b), err
}

func TestFileIsFetchedOnceAndKept(t *testing.T) {
	t.Parallel()
	b := archive(t, "package/a.txt", "hello")
	address, requests := registry(t, b)
	s := npm.Settings{Registry: address, Dir: filepath.Join(t.TempDir(), "npm")}
	for range 2 {
		if got, err := file(t, s, pinned(b), "package/a.txt"); got != "hello" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if requests.Load() != 1 {
		t.Errorf("%d requests", requests.Load())
	}
	kept, _ := filepath.Glob(filepath.Join(s.Dir, "*"))
	if len(kept) != 1 || os.WriteFile(kept[0], []byte("damaged"), 0o600) != nil {
		t.Fatalf("kept %v", kept)
	}
	if got, err := file(t, s, pinned(b), "package/a.txt"); got != "hello" || err != nil || requests.Load() != 2 {
		t.Errorf("after damage: %q, %v, %d requests", got, err, requests.Load())
	}
}

func TestFileIsTakenFromTheCacheOfNPM(t *testing.T) {
	t.Parallel()
	b := archive(t, "package/a.txt", "hello")
	sum := sha512.Sum512(b)
	name := hex.EncodeToString(sum[:])
	dir := filepath.Join(t.TempDir(), "_cacache", "content-v2", "sha512", name[:2], name[2:4])
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name[4:]), b, 0o600)); err != nil {
		t.Fatal(err)
	}
	shared := strings.TrimSuffix(dir, filepath.Join("_cacache", "content-v2", "sha512", name[:2], name[2:4]))
	if got, err := file(t, npm.Settings{Registry: "http://127.0.0.1:1", Shared: shared}, pinned(b), "package/a.txt"); got != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestFileRefuses(t *testing.T) {
	t.Parallel()
	b := archive(t, "package/a.txt", "hello")
	address, _ := registry(t, b)
	other := pinned([]byte("other bytes"))
	huge := bytes.Repeat([]byte{0}, npm.MaxArchive+1)
	hugeAddress, _ := registry(t, huge)
	for name, c := range map[string]struct {
		registry string
		p        npm.Package
		file     string
		kind     fault.Kind
		want     string
	}{
		"other bytes":  {address, other, "package/a.txt", fault.KindVerification, "other bytes than were pinned"},
		"no such file": {address, pinned(b), "package/b.txt", fault.KindVerification, "no such file"},
		"a link":       {address, pinned(b), "package/link", fault.KindVerification, "no such file"},
		"unreachable":  {"http://127.0.0.1:1", pinned(b), "package/a.txt", fault.KindNotFound, "fetch @scope/tool@1.2.3"},
		"not there":    {address + "wrong", pinned(b), "package/a.txt", fault.KindNotFound, "404"},
		"no address":   {"file:///etc", pinned(b), "package/a.txt", fault.KindUsage, "is not a web address"},
		"too large":    {hugeAddress, pinned(huge), "package/a.txt", fault.KindVerification, "larger than 32 MB"},
		"no pin":       {address, npm.Package{Name: "a", Version: "1", Integrity: "sha1-xyz"}, "a", fault.KindInternal, "is not a SHA-512"},
	} {
		_, err := file(t, npm.Settings{Registry: c.registry}, c.p, c.file)
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%+v)", name, err, e)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOME": "/home/a", "npm_config_registry": "https://mirror.example"}
	s := npm.FromEnvironment(func(k string) string { return env[k] }, "/d")
	if s.Registry != "https://mirror.example" || s.Shared != filepath.Join("/home/a", ".npm") || s.Dir != "/d" {
		t.Errorf("%+v", s)
	}
}

// FuzzExtract: any archive, once its hash is right, gives a file or an error.
func FuzzExtract(f *testing.F) {
	f.Add(archive(f, "package/a.txt", "hello"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		p := pinned(b)
		dir := t.TempDir()
		sum := sha512.Sum512(b)
		if err := os.WriteFile(filepath.Join(dir, hex.EncodeToString(sum[:])+".tgz"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _ = file(t, npm.Settings{Registry: "http://127.0.0.1:1", Dir: dir}, p, "package/a.txt")
	})
}
