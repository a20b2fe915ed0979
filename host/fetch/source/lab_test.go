package source_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// files are those of a small package; more are added to them.
func files(name, version string, more map[string][]byte) map[string][]byte {
	all := map[string][]byte{
		"skill.json": fmt.Appendf(nil, `{"name":%q,"version":%q,"description":"Counts words in text.","license":"MIT",
			"type":"code_inline","command":"main.wasm","tools":[{"name":"run","description":"d"}]}`, name, version),
		"main.wasm":    []byte("\x00asm\x01\x00\x00\x00"),
		"README.md":    []byte("# " + name + " " + version + "\n"),
		"assets/empty": {},
	}
	for path, b := range more {
		all[path] = b
	}
	return all
}

func pack(t testing.TB, name, version string, more map[string][]byte) *bundle.Package {
	t.Helper()
	p, err := bundle.FromFiles(files(name, version, more))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// large is content that does not compress.
func large(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// A lab is a registry with a fetcher that knows it.
type lab struct {
	t     *testing.T
	host  string // of the registry
	fetch *source.Fetcher
	set   source.Settings
	key   ed25519.PrivateKey
}

// newLab starts a registry in this process; between may stand between it and
// the clients.
func newLab(t *testing.T, referrers bool, between func(http.Handler) http.Handler) *lab {
	t.Helper()
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(referrers))
	if between != nil {
		h = between(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return labAt(t, strings.TrimPrefix(s.URL, "http://"))
}

func labAt(t *testing.T, host string) *lab {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, host: host, key: key}
	l.with(source.Settings{
		Downloads: filepath.Join(t.TempDir(), "downloads"), Timeout: 20 * time.Second, Client: transfer.Settings{Stall: 5 * time.Second},
	})
	return l
}

// with makes the fetcher anew.
func (l *lab) with(s source.Settings) *lab {
	l.set = s
	l.fetch = source.New(hclog.NewNullLogger(), nil, s)
	return l
}

func (l *lab) ref(text string) source.Ref {
	l.t.Helper()
	r, err := source.Parse(strings.ReplaceAll(text, "HOST", l.host))
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// push publishes a signed package.
func (l *lab) push(p *bundle.Package, to string) source.Pushed {
	l.t.Helper()
	pushed, err := l.tryPush(p, to, source.Pushing{})
	if err != nil {
		l.t.Fatal(err)
	}
	return pushed
}

func (l *lab) tryPush(p *bundle.Package, to string, how source.Pushing) (source.Pushed, error) {
	l.t.Helper()
	parcel, err := l.fetch.Parcel(p, l.ref(to))
	if err != nil {
		return source.Pushed{}, err
	}
	m := p.Manifest()
	b, err := signature.Sign(l.key, signature.Subject{Name: m.Name, Digest: parcel.Artifact}, signature.Subject{Name: m.Name + "@" + m.Version, Digest: p.Digest()})
	if err != nil {
		l.t.Fatal(err)
	}
	how.Signatures = [][]byte{b}
	return l.fetch.Push(l.t.Context(), parcel, how)
}

// get fetches what must be there, and verifies its only signature.
func (l *lab) get(text string, want *bundle.Package) *source.Fetched {
	l.t.Helper()
	got, err := l.fetch.Fetch(l.t.Context(), l.ref(text), source.Options{})
	if err != nil {
		l.t.Fatalf("%s: %v", text, err)
	}
	if got.Package.Digest() != want.Digest() || got.Version != want.Manifest().Version {
		l.t.Fatalf("%s is another package: %+v", text, got)
	}
	return got
}

// signed demands that what was fetched is signed by the lab's key.
func (l *lab) signed(got *source.Fetched) {
	l.t.Helper()
	k, err := signature.NewKey(l.key.Public())
	if err != nil {
		l.t.Fatal(err)
	}
	if len(got.Signatures) != 1 {
		l.t.Fatalf("%d signatures", len(got.Signatures))
	}
	if _, err := signature.Verify(got.Signatures[0], got.Artifact, signature.NewKeyring(k)); err != nil {
		l.t.Errorf("%s: %v", got.Source, err)
	}
}

// refused demands that something fails, with a kind, a sentinel error, a text
// in its message, and a hint.
func refused(t *testing.T, err error, kind fault.Kind, is error, texts ...string) {
	t.Helper()
	e := fault.AsError(err)
	if e == nil {
		t.Error("not refused")
		return
	}
	if e.Kind != kind || !errorIs(err, is) || e.Way().String() == "" {
		t.Errorf("kind %s, hint %q: %v; want kind %s, %v", e.Kind, e.Way().String(), err, kind, is)
	}
	for _, text := range texts {
		if !strings.Contains(e.Message+"\n"+e.Way().String(), text) {
			t.Errorf("%q is not in %q / %q", text, e.Message, e.Way().String())
		}
	}
	if strings.Contains(e.Message, "\n") {
		t.Errorf("more than one line: %q", e.Message)
	}
}

// closedPort is an address on this machine at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// distribution starts the registry of the CNCF distribution project as a
// process of its own, and returns its address.
func distribution(t *testing.T) string {
	t.Helper()
	program := os.Getenv("SKILLET_TEST_REGISTRY")
	if program == "" {
		found, err := exec.LookPath("registry")
		if err != nil {
			t.Skip("no registry to test with: go install github.com/distribution/distribution/v3/cmd/registry@v3.1.2")
		}
		program = found
	}
	host := closedPort(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage:\n  filesystem: {rootdirectory: %q}\n  delete: {enabled: true}\nhttp:\n  addr: %s\n", filepath.Join(dir, "data"), host)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "serve", config)
	cmd.Env = []string{"OTEL_TRACES_EXPORTER=none", "PATH=" + os.Getenv("PATH")}
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
	})
	for range 100 {
		if c, err := net.Dial("tcp", host); err == nil {
			c.Close()
			return host
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("the registry does not start: %s", out.String())
	return ""
}

func digestOf(b []byte) string { return string(manifests.DigestOf(b)) }

// know has the fetcher know some content, as an installed file.
func (l *lab) know(t *testing.T, content ...[]byte) {
	t.Helper()
	blobs, err := store.DirBlobs(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range content {
		if err := blobs.Put(t.Context(), digestOf(b), b); err != nil {
			t.Fatal(err)
		}
	}
	l.fetch = source.New(hclog.NewNullLogger(), blobs, l.set)
}
