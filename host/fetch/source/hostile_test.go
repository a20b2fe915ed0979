package source_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/signature"
)

// A tamperer stands between a registry and its clients. Once armed, it may
// answer in the registry's stead.
type tamperer struct {
	mu     sync.Mutex
	tamper func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool
}

func (m *tamperer) arm(tamper func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tamper = tamper
}

func (m *tamperer) between(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		tamper := m.tamper
		m.mu.Unlock()
		if tamper == nil {
			next.ServeHTTP(w, r)
			return
		}
		real := httptest.NewRecorder()
		next.ServeHTTP(real, r)
		if tamper(w, r, real) {
			return
		}
		for k, v := range real.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(real.Code)
		_, _ = w.Write(real.Body.Bytes())
	})
}

// step is how far apart the bytes are that are changed: each is, in the long
// proofs.
func step(size int) int {
	if os.Getenv("SKILLET_PROVE") != "" {
		return 1
	}
	return max(1, size/20)
}

func answer(w http.ResponseWriter, real *httptest.ResponseRecorder, body []byte) {
	for k, v := range real.Header() {
		if k != "Content-Length" && k != "Docker-Content-Digest" {
			w.Header()[k] = v
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(real.Code)
	_, _ = w.Write(body)
}

// flipped is b with one bit of one byte changed.
func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1 << (at % 8)
	return b
}

// Whatever byte of whatever answer is changed, the same package comes with the
// same signature, or none does. Tags name no bytes, so what they stand for is
// checked by the signature.
func TestFlippedBytesAreRefused(t *testing.T) {
	t.Parallel()
	for _, api := range []bool{true, false} {
		t.Run(fmt.Sprint("referrers API ", api), func(t *testing.T) {
			t.Parallel()
			m := &tamperer{}
			l := newLab(t, api, m.between)
			p := pack(t, "csv", "1.0.0", nil)
			at := l.push(p, "oci://HOST/csv")
			n := 0
			for path, size := range l.answers(m, at.Source) {
				for i := 0; i < size; i += step(size) {
					m.arm(func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
						if r.URL.Path != path || r.Method != http.MethodGet || i >= real.Body.Len() {
							return false
						}
						answer(w, real, flipped(real.Body.Bytes(), i))
						return true
					})
					n++
					l.intact(at, p, fmt.Sprintf("byte %d of %s", i, path))
				}
			}
			t.Logf("proof: %d changed bytes of answers were refused, or changed nothing", n)
			if n < 100 {
				t.Errorf("only %d bytes were changed", n)
			}
		})
	}
}

// answers are the bodies of a fetch, by path, with their sizes.
func (l *lab) answers(m *tamperer, ref string) map[string]int {
	l.t.Helper()
	var mu sync.Mutex
	sizes := map[string]int{}
	m.arm(func(_ http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet && real.Code == http.StatusOK {
			sizes[r.URL.Path] = real.Body.Len()
		}
		return false
	})
	if _, err := l.fetch.Fetch(l.t.Context(), l.ref(ref), source.Options{}); err != nil {
		l.t.Fatal(err)
	}
	return sizes
}

// intact demands that a fetch by digest gives the package, or an error; and that
// what it gives as a signature is good, or refused by who verifies it, or not
// there.
func (l *lab) intact(at source.Pushed, p *bundle.Package, what string) {
	l.t.Helper()
	got, err := l.fetch.Fetch(l.t.Context(), l.ref(at.Source), source.Options{})
	if err != nil {
		if fault.AsError(err).Way().String() == "" {
			l.t.Errorf("%s: no way out of %v", what, err)
		}
		return
	}
	if got.Package.Digest() != p.Digest() || got.Artifact != at.Artifact {
		l.t.Fatalf("%s: another package was accepted", what)
	}
	k, err := signature.NewKey(l.key.Public())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, s := range got.Signatures {
		if _, err := signature.Verify(s, got.Artifact, signature.NewKeyring(k)); err != nil {
			l.t.Errorf("%s: a changed signature came through: %v", what, err)
		}
	}
}

// The same for the files of a layout folder, its index among them.
func TestFlippedBytesOfLayoutsAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	dir := t.TempDir()
	p := pack(t, "csv", "1.0.0", nil)
	at := l.push(p, "oci-layout:"+dir)
	n := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		good, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := 0; i < len(good); i += step(len(good)) {
			if err := os.WriteFile(path, flipped(good, i), 0o600); err != nil {
				return err
			}
			n++
			l.intact(at, p, fmt.Sprintf("byte %d of %s", i, e.Name()))
		}
		return os.WriteFile(path, good, 0o600)
	})
	if err != nil || n < 100 {
		t.Errorf("%d bytes were changed, %v", n, err)
	}
	l.signed(l.get(at.Source, p))
}

// What a registry that lies, breaks or stalls is answered with.
func TestRegistriesThatMisbehave(t *testing.T) {
	t.Parallel()
	type request struct {
		w    http.ResponseWriter
		r    *http.Request
		real *httptest.ResponseRecorder
		blob bool // one of the larger blobs
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "secrets of the network")
	}))
	t.Cleanup(elsewhere.Close)
	endless := func(w http.ResponseWriter) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		tamper func(q request) bool
		kind   fault.Kind
		is     error
		text   string
	}{
		"says a blob is longer": {func(q request) bool {
			if q.blob {
				answer(q.w, q.real, append(bytes.Clone(q.real.Body.Bytes()), 'x'))
			}
			return q.blob
		}, fault.KindVerification, transfer.ErrTampered, "and should have"},
		"says a blob is shorter": {func(q request) bool {
			if q.blob {
				answer(q.w, q.real, q.real.Body.Bytes()[1:])
			}
			return q.blob
		}, fault.KindVerification, transfer.ErrTampered, "and should have"},
		"sends a blob that never ends": {func(q request) bool {
			if q.blob {
				q.w.WriteHeader(http.StatusOK)
				endless(q.w)
			}
			return q.blob
		}, fault.KindVerification, transfer.ErrTampered, "more than its"},
		"sends a manifest that never ends": {func(q request) bool {
			if strings.Contains(q.r.URL.Path, "/manifests/") {
				endless(q.w)
				return true
			}
			return false
		}, fault.KindVerification, transfer.ErrTooLarge, "bytes that are accepted"},
		"lies about a digest": {func(q request) bool {
			if !strings.Contains(q.r.URL.Path, "/manifests/") {
				return false
			}
			q.w.Header().Set("Docker-Content-Digest", digestOf([]byte("x")))
			q.w.Header().Set("Content-Type", q.real.Header().Get("Content-Type"))
			_, _ = q.w.Write(q.real.Body.Bytes())
			return true
		}, fault.KindVerification, transfer.ErrTampered, "and the registry says"},
		"redirects elsewhere": {func(q request) bool {
			if q.blob {
				http.Redirect(q.w, q.r, elsewhere.URL+"/x", http.StatusTemporaryRedirect)
			}
			return q.blob
		}, fault.KindDenied, transfer.ErrRedirect, strings.TrimPrefix(elsewhere.URL, "http://")},
		"redirects to the cloud's own address": {func(q request) bool {
			if q.blob {
				http.Redirect(q.w, q.r, "https://169.254.169.254/latest/meta-data/", http.StatusFound)
			}
			return q.blob
		}, fault.KindDenied, transfer.ErrRedirect, "169.254.169.254"},
		"redirects for ever": {func(q request) bool {
			if q.blob {
				http.Redirect(q.w, q.r, q.r.URL.Path, http.StatusFound)
			}
			return q.blob
		}, fault.KindDenied, transfer.ErrRedirect, "more than 5 times"},
		"is not there now": {func(q request) bool {
			q.w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}, fault.KindUnreachable, transfer.ErrUnreachable, "503"},
		"asks for credentials": {func(q request) bool {
			q.w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			q.w.WriteHeader(http.StatusUnauthorized)
			return true
		}, fault.KindDenied, transfer.ErrUnauthorized, "[log_in "},
		"forbids it": {func(q request) bool {
			q.w.WriteHeader(http.StatusForbidden)
			return true
		}, fault.KindDenied, transfer.ErrUnauthorized, "[log_in"},
		"is no registry": {func(q request) bool {
			q.w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(q.w, "<html>welcome</html>")
			return true
		}, fault.KindUsage, oci.ErrNotSkill, "[publish]"},
		"breaks off each time at once": {func(q request) bool {
			if q.blob {
				panic(http.ErrAbortHandler)
			}
			return q.blob
		}, fault.KindUnreachable, transfer.ErrUnreachable, "try again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &tamperer{}
			l := newLab(t, true, m.between)
			l.push(pack(t, "csv", "1.0.0", map[string][]byte{"assets/big": large(t, 1<<20+1)}), "oci://HOST/csv")
			m.arm(func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
				return c.tamper(request{w, r, real, strings.Contains(r.URL.Path, "/blobs/") && real.Body.Len() > 1<<20})
			})
			_, err := l.fetch.Fetch(t.Context(), l.ref("oci://HOST/csv:1.0.0"), source.Options{})
			refused(t, err, c.kind, c.is, "oci://"+l.host+"/csv:1.0.0", c.text)
			l.nothingKept(c.is)
		})
	}
}

// TestListsThatNeverEnd: a list is cut off, and refused as what it is.
func TestListsThatNeverEnd(t *testing.T) {
	t.Parallel()
	m := &tamperer{}
	l := newLab(t, true, m.between)
	l.push(pack(t, "csv", "1.0.0", nil), "oci://HOST/csv")
	m.arm(func(w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) bool {
		if !strings.HasSuffix(r.URL.Path, "/tags/list") && !strings.HasSuffix(r.URL.Path, "/_catalog") {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"name":"csv","tags":[`)
		for {
			if _, err := fmt.Fprint(w, strings.Repeat(`"1.0.0",`, 1<<10)); err != nil {
				return true
			}
		}
	})
	_, err := l.fetch.Versions(t.Context(), l.ref("oci://HOST/csv"), source.Options{})
	refused(t, err, fault.KindVerification, transfer.ErrTooLarge, l.host, "a list of more than")
}

// nothingKept demands that of what was refused nothing is left to go on with.
func (l *lab) nothingKept(is error) {
	l.t.Helper()
	parts, err := filepath.Glob(filepath.Join(l.set.Downloads, "*.part"))
	if err != nil {
		l.t.Fatal(err)
	}
	if len(parts) > 0 && (is == transfer.ErrTampered || is == transfer.ErrTooLarge) {
		l.t.Errorf("%v is kept", parts)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	wait := func(r *http.Request, d time.Duration) bool {
		select {
		case <-r.Context().Done():
		case <-stop:
		case <-time.After(d):
			return true
		}
		return false
	}
	for name, c := range map[string]struct {
		tamper         func(w http.ResponseWriter, r *http.Request)
		stall, timeout time.Duration
		text           string
	}{
		"no answer begins": {func(_ http.ResponseWriter, r *http.Request) { wait(r, time.Hour) }, 200 * time.Millisecond, time.Minute, "nothing came"},
		"the answer stops": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "{")
			w.(http.Flusher).Flush()
			wait(r, time.Hour)
		}, 200 * time.Millisecond, time.Minute, "nothing came"},
		"the answer drips": {func(w http.ResponseWriter, r *http.Request) {
			for wait(r, 10*time.Millisecond) {
				fmt.Fprint(w, "{")
				w.(http.Flusher).Flush()
			}
		}, time.Minute, 400 * time.Millisecond, "longer than is allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(c.tamper))
			t.Cleanup(s.Close)
			l := labAt(t, strings.TrimPrefix(s.URL, "http://"))
			set := l.set
			set.Timeout, set.Client.Stall = c.timeout, c.stall
			l.with(set)
			_, err := l.fetch.Fetch(t.Context(), l.ref("oci://HOST/csv:1.0.0"), source.Options{})
			refused(t, err, fault.KindLimit, transfer.ErrTimeout, c.text, "download_timeout_seconds")
			_, err = l.fetch.Fetch(t.Context(), l.ref("http://HOST/x.skill"), source.Options{})
			refused(t, err, fault.KindLimit, transfer.ErrTimeout, c.text)
		})
	}
}

func TestRegistryIsDown(t *testing.T) {
	t.Parallel()
	l := labAt(t, closedPort(t))
	for _, text := range []string{"oci://HOST/csv:1.0.0", "oci://HOST/csv", "http://HOST/csv.skill", "git+http://HOST/repo"} {
		_, err := l.fetch.Fetch(t.Context(), l.ref(text), source.Options{})
		refused(t, err, fault.KindUnreachable, transfer.ErrUnreachable, strings.ReplaceAll(text, "HOST", l.host), "refused")
	}
	if _, err := l.tryPush(pack(t, "csv", "1.0.0", nil), "oci://HOST/csv", source.Pushing{}); err == nil {
		t.Error("published to nowhere")
	}
}

// A download that breaks off goes on where it stopped, in the same run and in a
// later one; and what was kept of it does no harm when it is wrong.
func TestDownloadsGoOn(t *testing.T) {
	t.Parallel()
	m := &tamperer{}
	l := newLab(t, true, m.between)
	big := large(t, 4<<20)
	p := pack(t, "csv", "1.0.0", map[string][]byte{"assets/big": big})
	l.push(p, "oci://HOST/csv")
	var asked, sent atomic.Int64
	var broken atomic.Bool
	// ranges serves the large blob itself: the registry of these tests knows no
	// ranges. Each answer ends after 1.5 MiB.
	ranges := func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
		if !strings.HasSuffix(r.URL.Path, digestOf(big)) {
			return false
		}
		asked.Add(1)
		if broken.Load() {
			panic(http.ErrAbortHandler)
		}
		from := 0
		if text := r.Header.Get("Range"); text != "" {
			if _, err := fmt.Sscanf(text, "bytes=%d-", &from); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(big)-1, len(big)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(big)-from))
		if from > 0 {
			w.WriteHeader(http.StatusPartialContent)
		}
		part := big[from:min(len(big), from+3<<19)]
		n, _ := w.Write(part) // the client may be gone
		sent.Add(int64(n))
		if from+len(part) < len(big) {
			broken.Store(asked.Load() == 1)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		return true
	}
	m.arm(ranges)
	_, err := l.fetch.Fetch(t.Context(), l.ref("oci://HOST/csv:1.0.0"), source.Options{})
	refused(t, err, fault.KindUnreachable, transfer.ErrUnreachable)
	parts, err := filepath.Glob(filepath.Join(l.set.Downloads, "*.part"))
	if err != nil || len(parts) != 1 {
		t.Fatalf("kept: %v, %v", parts, err)
	}
	broken.Store(false)
	l.with(l.set) // as another process would
	var done, total int64
	got, err := l.fetch.Fetch(t.Context(), l.ref("oci://HOST/csv:1.0.0"), source.Options{Progress: func(d, n int64) { done, total = d, n }})
	if err != nil || got.Package.Digest() != p.Digest() {
		t.Fatal(err)
	}
	if sent.Load() != int64(len(big)) || done != total || total < int64(len(big)) {
		t.Errorf("%d bytes were sent for %d; progress %d of %d", sent.Load(), len(big), done, total)
	}
	if left, _ := filepath.Glob(filepath.Join(l.set.Downloads, "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if err := os.WriteFile(parts[0], make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	m.arm(nil)
	l.get("oci://HOST/csv:1.0.0", p)
}

// Files that are installed already are not downloaded.
func TestKnownFilesAreNotDownloaded(t *testing.T) {
	t.Parallel()
	m := &tamperer{}
	l := newLab(t, true, m.between)
	big := large(t, 2<<20)
	p := pack(t, "csv", "1.0.0", map[string][]byte{"assets/big": big})
	l.push(p, "oci://HOST/csv")
	l.know(t, big)
	m.arm(func(w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) bool {
		if strings.HasSuffix(r.URL.Path, digestOf(big)) {
			t.Error("it was downloaded")
		}
		return false
	})
	l.get("oci://HOST/csv:1.0.0", p)
}

// Artifacts of other kinds, and such as cannot be skills.
func TestArtifactsThatAreNoSkills(t *testing.T) {
	t.Parallel()
	good := func() ocispec.Manifest {
		a, err := oci.Pack(pack(t, "csv", "1.0.0", nil))
		if err != nil {
			t.Fatal(err)
		}
		return readManifest(t, a)
	}
	for name, c := range map[string]struct {
		change func(m *ocispec.Manifest)
		kind   fault.Kind
		is     error
	}{
		"an image":             {func(m *ocispec.Manifest) { m.ArtifactType, m.Config.MediaType = "", ocispec.MediaTypeImageConfig }, fault.KindUsage, oci.ErrNotSkill},
		"an index":             {func(m *ocispec.Manifest) { m.MediaType = ocispec.MediaTypeImageIndex }, fault.KindUsage, oci.ErrNotSkill},
		"a layer too large":    {func(m *ocispec.Manifest) { m.Layers[0].Size = bundle.MaxFileBytes + 1 }, fault.KindVerification, bundle.ErrTooLarge},
		"a negative size":      {func(m *ocispec.Manifest) { m.Layers[0].Size = -1 }, fault.KindVerification, oci.ErrMalformed},
		"a config too large":   {func(m *ocispec.Manifest) { m.Config.Size = 1 << 40 }, fault.KindVerification, bundle.ErrTooLarge},
		"another hash":         {func(m *ocispec.Manifest) { m.Layers[0].Digest = "md5:d41d8cd98f00b204e9800998ecf8427e" }, fault.KindVerification, oci.ErrMalformed},
		"a file without name":  {func(m *ocispec.Manifest) { m.Layers[0].Annotations = nil }, fault.KindVerification, oci.ErrMalformed},
		"a file twice":         {func(m *ocispec.Manifest) { m.Layers = append(m.Layers, m.Layers[0]) }, fault.KindVerification, oci.ErrMalformed},
		"a file out of it":     {func(m *ocispec.Manifest) { m.Layers[0].Annotations[ocispec.AnnotationTitle] = "../../evil" }, fault.KindVerification, bundle.ErrUnsafe},
		"a file too few":       {func(m *ocispec.Manifest) { m.Layers = m.Layers[1:] }, fault.KindVerification, oci.ErrMalformed},
		"names exchanged":      {exchange, fault.KindVerification, oci.ErrMalformed},
		"another content":      {func(m *ocispec.Manifest) { m.Annotations[oci.DigestAnnotation] = digestOf(nil) }, fault.KindVerification, oci.ErrMalformed},
		"a subject":            {func(m *ocispec.Manifest) { m.Subject = &m.Config }, fault.KindVerification, oci.ErrMalformed},
		"an unknown file type": {func(m *ocispec.Manifest) { m.Layers[0].MediaType = "application/zip" }, fault.KindVerification, oci.ErrMalformed},
		"another schema":       {func(m *ocispec.Manifest) { m.SchemaVersion = 1 }, fault.KindVerification, oci.ErrMalformed},
		"everything too large": {func(m *ocispec.Manifest) {
			for i := range m.Layers {
				m.Layers[i].Size = bundle.MaxFileBytes
			}
		}, fault.KindVerification, bundle.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &tamperer{}
			l := newLab(t, true, m.between)
			l.push(pack(t, "csv", "1.0.0", nil), "oci://HOST/csv")
			bad := good()
			c.change(&bad)
			b, err := json.Marshal(bad)
			if err != nil {
				t.Fatal(err)
			}
			m.arm(func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
				if !strings.Contains(r.URL.Path, "/manifests/") {
					return false
				}
				answer(w, real, b)
				return true
			})
			_, err = l.fetch.Fetch(t.Context(), l.ref("oci://HOST/csv:1.0.0"), source.Options{})
			refused(t, err, c.kind, c.is, "csv:1.0.0")
		})
	}
}

// exchange gives two files the names of each other.
func exchange(m *ocispec.Manifest) {
	a, b := &m.Layers[0], &m.Layers[1]
	a.Annotations, b.Annotations = b.Annotations, a.Annotations
}

// readManifest is the manifest of an artifact, as a folder has it.
func readManifest(t *testing.T, a *oci.Artifact) ocispec.Manifest {
	t.Helper()
	dir := t.TempDir()
	if err := oci.Push(t.Context(), oci.OpenLayout(dir), a, nil, []string{"x"}, false, nil); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "blobs", "sha256", a.Digest.Hex()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	var m ocispec.Manifest
	if err != nil || json.Unmarshal(b, &m) != nil {
		t.Fatal(err)
	}
	return m
}

// A signature that says it is about something else is not handed over, and so
// many that nobody could look through them are refused.
func TestSignaturesOfOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t, true, nil)
	p := pack(t, "csv", "1.0.0", nil)
	parcel, err := l.fetch.Parcel(p, l.ref("oci://HOST/csv"))
	if err != nil {
		t.Fatal(err)
	}
	var many [][]byte
	for i := range oci.MaxBundles + 1 {
		many = append(many, fmt.Append(nil, "signature ", i))
	}
	if _, err := l.fetch.Push(t.Context(), parcel, source.Pushing{Signatures: many[:2]}); err != nil {
		t.Fatal(err)
	}
	got := l.get("oci://HOST/csv:1.0.0", p)
	if len(got.Signatures) != 2 {
		t.Errorf("%d signatures", len(got.Signatures))
	}
	if _, err := l.fetch.Push(t.Context(), parcel, source.Pushing{Signatures: many}); err != nil {
		t.Fatal(err)
	}
	_, err = l.fetch.Fetch(t.Context(), l.ref("oci://HOST/csv:1.0.0"), source.Options{})
	refused(t, err, fault.KindVerification, transfer.ErrTooLarge, "signatures")
}
