package source_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/source"
	"github.com/skillet-run/skillet/host/fetch/source/oci"
	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

func writeTree(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for path, b := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesAndDirectories(t *testing.T) {
	t.Parallel()
	l := labAt(t, "127.0.0.1:1")
	p := pack(t, "csv", "1.0.0", nil)
	dir := t.TempDir()
	writeTree(t, filepath.Join(dir, "csv"), files("csv", "1.0.0", map[string][]byte{"main.go": []byte("package main")}))
	got := l.get(filepath.Join(dir, "csv"), p)
	if got.Kind != source.KindDirectory || got.Source != filepath.Join(dir, "csv") || got.Artifact != "" || got.Signatures != nil {
		t.Errorf("%+v", got)
	}

	at := l.push(p, filepath.Join(dir, "dist")+"/")
	path := filepath.Join(dir, "dist", "csv-1.0.0.skill")
	got = l.get(path, p)
	l.signed(got)
	if got.Kind != source.KindFile || got.Source != path || got.Artifact != at.Artifact || got.Location != filepath.Join(dir, "dist") || manifests.DigestOf(got.Archive) != at.Artifact {
		t.Errorf("%+v\n%+v", got, at)
	}
	again := filepath.Join(dir, "again.skill")
	if _, err := l.fetch.Write(got, again, false); err != nil {
		t.Fatal(err)
	}
	l.signed(l.get(again, p))
	other := pack(t, "csv", "1.0.0", map[string][]byte{"assets/x": []byte("x")})
	_, err := l.tryPush(other, path, source.Pushing{})
	refused(t, err, fault.KindConflict, oci.ErrExists, path)
	parcel, err := l.fetch.Parcel(other, l.ref(path))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.fetch.Push(t.Context(), parcel, source.Pushing{Replace: true}); err != nil {
		t.Fatal(err)
	}
	if got := l.get(path, other); got.Signatures != nil {
		t.Error("the signature of another package stayed beside it")
	}

	_, err = l.fetch.Fetch(t.Context(), l.ref("./none"), source.Options{})
	refused(t, err, fault.KindNotFound, fs.ErrNotExist, "open package ./none")
	writeTree(t, dir, map[string][]byte{"x.wasm": nil, "bad.skill": []byte("no archive")})
	_, err = l.fetch.Fetch(t.Context(), l.ref(dir+"/x.wasm"), source.Options{})
	refused(t, err, fault.KindUsage, nil, "it is a module")
	_, err = l.fetch.Fetch(t.Context(), l.ref(dir+"/bad.skill"), source.Options{})
	refused(t, err, fault.KindVerification, bundle.ErrDamaged)
}

// trick is an archive with an entry that no package has.
func trick(t *testing.T, h tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := errors.Join(w.WriteHeader(&h), w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	l := labAt(t, "127.0.0.1:1")
	p := pack(t, "csv", "1.0.0", map[string][]byte{"assets/big": large(t, 2<<20)})
	dir := t.TempDir()
	at := l.push(p, dir+"/csv.skill")
	writeTree(t, dir, map[string][]byte{
		"traversal.skill": trick(t, tar.Header{Name: "../../evil", Typeflag: tar.TypeReg, Mode: 0o644}),
		"link.skill":      trick(t, tar.Header{Name: "skill.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
	})
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dir)))
	mux.HandleFunc("/forbidden/csv.skill", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, dir+"/csv.skill") })
	mux.HandleFunc("/forbidden/csv.skill.sigstore.json", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	mux.HandleFunc("/broken/csv.skill", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, dir+"/csv.skill") })
	mux.HandleFunc("/broken/csv.skill.sigstore.json", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.HandleFunc("/moved.skill", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/csv.skill", http.StatusFound) })
	mux.HandleFunc("/away.skill", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/csv.skill", http.StatusFound)
	})
	mux.HandleFunc("/endless.skill", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	tls := httptest.NewUnstartedServer(mux)
	tls.Config.ErrorLog = log.New(io.Discard, "", 0) // of clients that do not trust it
	tls.StartTLS()
	t.Cleanup(tls.Close)
	plain := httptest.NewServer(mux)
	t.Cleanup(plain.Close)
	set := l.set
	set.Client.RootCAs = x509.NewCertPool()
	set.Client.RootCAs.AddCert(tls.Certificate())
	l.with(set)

	for _, u := range []string{tls.URL, plain.URL} {
		got := l.get(u+"/csv.skill", p)
		l.signed(got)
		if got.Kind != source.KindURL || got.Artifact != at.Artifact || got.Source != u+"/csv.skill#"+string(at.Artifact) {
			t.Errorf("%+v", got)
		}
		l.signed(l.get(got.Source, p))
		if got := l.get(u+"/forbidden/csv.skill?x=y", p); got.Signatures != nil {
			t.Errorf("%+v", got)
		}
	}
	l.get(tls.URL+"/moved.skill", p)
	for path, c := range map[string]struct {
		kind fault.Kind
		is   error
	}{
		"/csv.skill#" + someDigest: {fault.KindVerification, transfer.ErrTampered},
		"/none.skill":              {fault.KindNotFound, transfer.ErrNotFound},
		"/broken/csv.skill":        {fault.KindUnreachable, transfer.ErrUnreachable},
		"/away.skill":              {fault.KindDenied, transfer.ErrRedirect},
		"/endless.skill":           {fault.KindVerification, transfer.ErrTooLarge},
		"/traversal.skill":         {fault.KindVerification, bundle.ErrUnsafe},
		"/link.skill":              {fault.KindVerification, bundle.ErrUnsafe},
	} {
		_, err := l.fetch.Fetch(t.Context(), l.ref(tls.URL+path), source.Options{})
		refused(t, err, c.kind, c.is, tls.URL+path)
	}
	_, err := labAt(t, "x").fetch.Fetch(t.Context(), l.ref(tls.URL+"/csv.skill"), source.Options{})
	refused(t, err, fault.KindVerification, transfer.ErrTransport)
	_, err = l.fetch.Fetch(t.Context(), l.ref("http://plain.example/csv.skill"), source.Options{})
	refused(t, err, fault.KindVerification, transfer.ErrTransport, "http://")
	_, err = l.fetch.Fetch(t.Context(), l.ref(strings.Replace(plain.URL, "http:", "https:", 1)+"/csv.skill"), source.Options{})
	refused(t, err, fault.KindVerification, transfer.ErrTransport)
}

func TestGit(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skipf("no git here: %v", err)
	}
	l := labAt(t, "127.0.0.1:1")
	p := pack(t, "csv", "1.0.0", nil)
	root := t.TempDir()
	unbuilt := files("raw", "1.0.0", map[string][]byte{"main.go": []byte("package main")})
	delete(unbuilt, "main.wasm")
	writeTree(t, filepath.Join(root, "repo", "skills", "raw"), unbuilt)
	writeTree(t, filepath.Join(root, "repo", "skills", "csv"), files("csv", "1.0.0", map[string][]byte{"main.go": []byte("package main")}))
	repo := filepath.Join(root, "repo")
	run := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "main")
	run("add", "-A")
	run("-c", "user.name=ada", "-c", "user.email=a@localhost", "commit", "-q", "-m", "m")
	run("tag", "v1")
	s := httptest.NewServer(&cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, Stderr: io.Discard})
	t.Cleanup(s.Close)
	for _, u := range []string{"git+" + s.URL + "/repo/.git", "git+file://" + filepath.ToSlash(repo)} {
		got := l.get(u+"#v1:skills/csv", p)
		if got.Kind != source.KindGit || got.Source != u+"#"+run("rev-parse", "HEAD")+":skills/csv" || got.Location != u+"#:skills/csv" {
			t.Errorf("%+v", got)
		}
		l.get(got.Source, p)
		_, err := l.fetch.Fetch(t.Context(), l.ref(u+"#v2:skills/csv"), source.Options{})
		refused(t, err, fault.KindNotFound, transfer.ErrNotFound, "v2")
		_, err = l.fetch.Fetch(t.Context(), l.ref(u+"#v1"), source.Options{})
		refused(t, err, fault.KindUsage, bundle.ErrNoManifest, "skill.json")
		_, err = l.fetch.Fetch(t.Context(), l.ref(u+"#v1:skills/raw"), source.Options{})
		refused(t, err, fault.KindUsage, bundle.ErrNoModule)
		e := fault.AsError(err)
		if !strings.Contains(e.Hint, "git clone "+strings.TrimPrefix(u, "git+")+" repo`, check out v1, then") || len(e.Remedies) != 2 ||
			e.Remedies[0].Dir != "./repo/skills/raw" || e.Remedies[1].Source != "./repo/skills/raw" {
			t.Errorf("it does not say how to build it: %q %+v", e.Hint, e.Remedies)
		}
	}
	_, err = l.fetch.Fetch(t.Context(), l.ref("git+"+s.URL+"/none"), source.Options{})
	refused(t, err, fault.KindNotFound, transfer.ErrNotFound, "/none")
	_, err = l.fetch.Versions(t.Context(), l.ref("git+"+s.URL+"/repo"), source.Options{})
	refused(t, err, fault.KindUsage, source.ErrRef)
}

// guarded lets those in that say the password.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != "ada" || word != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Credentials are asked of the registry before they are kept, kept where Docker
// keeps them, and sent to nobody else.
func TestLogin(t *testing.T) {
	docker := t.TempDir() // the library looks into the environment: this test is not parallel
	t.Setenv("DOCKER_CONFIG", docker)
	t.Setenv("PATH", t.TempDir()) // no credential helper of this machine
	var sawElsewhere []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			sawElsewhere = append(sawElsewhere, name)
		}
		w.WriteHeader(http.StatusUnauthorized)
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
	}))
	t.Cleanup(elsewhere.Close)
	m := &tamperer{}
	l := newLab(t, true, func(h http.Handler) http.Handler { return guarded(m.between(h)) })
	p := pack(t, "csv", "1.0.0", map[string][]byte{"assets/big": large(t, 2<<20)})

	_, err := l.tryPush(p, "oci://HOST/csv", source.Pushing{})
	refused(t, err, fault.KindDenied, transfer.ErrUnauthorized, "[log_in "+l.host+"]")
	_, err = l.fetch.Login(t.Context(), l.host, "ada", "wrong", source.Options{})
	refused(t, err, fault.KindDenied, transfer.ErrUnauthorized, l.host)
	if _, err := os.Stat(filepath.Join(docker, "config.json")); err == nil {
		t.Error("what the registry refused was kept")
	}
	kept, err := l.fetch.Login(t.Context(), l.host, "ada", "hunter2", source.Options{})
	if err != nil || !kept.Plaintext || kept.Path != filepath.Join(docker, "config.json") {
		t.Fatalf("%+v, %v", kept, err)
	}
	b, err := os.ReadFile(kept.Path)
	var config struct {
		Auths map[string]struct{ Auth string }
	}
	if err != nil || json.Unmarshal(b, &config) != nil || config.Auths[l.host].Auth != base64.StdEncoding.EncodeToString([]byte("ada:hunter2")) {
		t.Errorf("%s, %v", b, err)
	}
	if info, err := os.Stat(kept.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	l.push(p, "oci://HOST/csv")
	l.get("oci://HOST/csv:1.0.0", p)

	// Redirected to a host that is allowed, no credential goes along.
	set := l.set
	set.Registries = []source.Registry{{Name: "r", URL: "oci://" + l.host, Redirects: []string{strings.TrimPrefix(elsewhere.URL, "http://")}}}
	l.with(set)
	m.arm(func(w http.ResponseWriter, r *http.Request, real *httptest.ResponseRecorder) bool {
		if real.Body.Len() < 1<<20 || r.Method != http.MethodGet {
			return false
		}
		http.Redirect(w, r, elsewhere.URL+"/x", http.StatusFound)
		return true
	})
	_, err = l.fetch.Fetch(t.Context(), l.ref("oci://HOST/csv:1.0.0"), source.Options{})
	refused(t, err, fault.KindDenied, transfer.ErrUnauthorized)
	if text := fmt.Sprint(sawElsewhere); len(sawElsewhere) == 0 || strings.Contains(text, "Authorization") || strings.Contains(text, "Cookie") {
		t.Errorf("elsewhere saw %v", sawElsewhere)
	}

	if err := l.fetch.Logout(t.Context(), l.host); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(kept.Path); err != nil || bytes.Contains(b, []byte(l.host)) {
		t.Errorf("%s, %v", b, err)
	}
	refused(t, l.fetch.Logout(t.Context(), l.host), fault.KindNotFound, transfer.ErrNotFound, l.host)
	for text, want := range map[string]string{"r": l.host, "oci://h.example/x": "h.example", "h.example:5000": "h.example:5000"} {
		if host, err := l.fetch.HostOf(text); err != nil || host != want {
			t.Errorf("%s is %s, %v", text, host, err)
		}
	}
	_, err = l.fetch.HostOf("ada@h.example")
	refused(t, err, fault.KindUsage, source.ErrRef)
}

// The address in an Extism manifest is a stranger's: nothing on this machine or in its network is connected to, nor
// anything without TLS.
func TestManifestsReachPublicPlacesOnly(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			hits.Add(1)
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	l := labAt(t, "127.0.0.1:1")
	dir := t.TempDir()
	for address, kind := range map[string]fault.Kind{
		"http://127.0.0.1:" + port + "/x.wasm": fault.KindDenied, "https://127.0.0.1:" + port + "/x.wasm": fault.KindDenied,
		"https://localhost:" + port + "/": fault.KindDenied, "https://[::1]:" + port + "/": fault.KindDenied, "https://[::ffff:127.0.0.1]:" + port + "/": fault.KindDenied,
		"https://169.254.169.254/latest": fault.KindDenied, "https://10.0.0.1/": fault.KindDenied, "https://0.0.0.0:" + port + "/": fault.KindDenied,
		"http://example.com/x.wasm": fault.KindDenied, "https://a:b@example.com/x.wasm": fault.KindUsage, "file:///etc/passwd": fault.KindDenied,
		"ftp://example.com/": fault.KindDenied, "example.com/x.wasm": fault.KindUsage,
	} {
		writeTree(t, dir, map[string][]byte{"plug.json": fmt.Appendf(nil, `{"wasm":[{"url":%q}]}`, address)})
		for _, plain := range []bool{false, true} {
			_, err := l.fetch.Fetch(t.Context(), l.ref(dir+"/plug.json"), source.Options{PlainHTTP: plain})
			var e *fault.Error
			if !errors.As(err, &e) || e.Kind != kind || !strings.Contains(e.Way().String(), `write "path"`) {
				t.Errorf("%s: %v %+v", address, err, e)
			}
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}
