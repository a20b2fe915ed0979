package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/skillet-run/skillet/cmd/skillet/internal/screen"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// registries are OCI registries on this machine: one that is open to everybody,
// and one that lets in who says the password. Each returns its HOST:PORT.
func registries(t *testing.T) (open, guarded string) {
	t.Helper()
	start := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	quiet := func() http.Handler {
		return registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	}
	behind := quiet()
	return start(quiet()), start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != "ada" || word != "hunter2hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, r)
	}))
}

// writeEcho writes a package whose tool echo gives back its input.
func writeEcho(w io.Writer) error {
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name":"csv","version":"1.0.0","description":"d","type":"code_inline","command":"main.wasm","tools":[{"name":"echo"}]}`),
		"main.wasm":  echo(),
	})
	if err != nil {
		return err
	}
	return p.WriteArchive(w)
}

// A registry that does not answer is told once, with all that it concerns, and what it does
// not concern is done.
func TestDownRegistryIsToldOnce(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	place := "oci://" + strings.TrimPrefix(s.URL, "http://") + "/skills/"
	p.pack("here", "here", "1.0.0", "")
	p.must(0, "install", "./here")
	for _, name := range []string{"one", "two", "three"} {
		p.pack(name, name, "1.0.0", "")
		p.must(0, "push", "./"+name, place+name)
	}
	p.must(0, "install", place+"one", place+"two", place+"three")
	s.Close()
	for _, c := range []struct {
		args  []string
		names string
	}{
		{[]string{"update", "--all"}, "one, three, two"},
		{[]string{"install", place + "one:2.0.0", place + "two:2.0.0"}, place + "one:2.0.0, " + place + "two:2.0.0"},
	} {
		code, out, errs := p.run(c.args...)
		if code != 11 || strings.Count(out+errs, "unreachable") != 1 || !strings.Contains(errs, "skillet: "+c.names+": unreachable: ") || strings.Count(errs, "hint:") != 1 {
			t.Errorf("%q: exit code %d, want one sentence about %s:\n%s%s", c.args, code, c.names, out, errs)
		}
	}
	if _, _, errs := p.run("update", "--all"); !strings.Contains(errs, "here 1.0.0 is the newest") {
		t.Errorf("what needs no registry is not updated: %s", errs)
	}
	if _, out, _ := p.run("update", "--all", "--json"); strings.Count(out, ": unreachable: ") != 3 {
		t.Errorf("a program is told of each:\n%s", out)
	}
	if code, _, errs := p.run("update", "one"); code != 11 || !strings.Contains(errs, "versions of "+place+"one: unreachable") {
		t.Errorf("one: exit code %d\n%s", code, errs)
	}
}

// A registry whose downloads take their time, and a program that is killed in
// the middle of one: nothing is installed, and the next one goes on.
func TestKilledWhileFetching(t *testing.T) {
	long(t, "it kills a command over and over")
	t.Parallel()
	p := newPerson(t)
	p.pack("echo", "echo", "1.0.0", "")
	big := make([]byte, 3<<20)
	if _, err := rand.Read(big); err != nil {
		t.Fatal(err)
	}
	p.write("echo/assets/big", big)
	behind := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	var slow, sent atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/blobs/") || slow.Load() == 0 {
			behind.ServeHTTP(w, r)
			return
		}
		drip(r.Context(), w, r, behind, &slow, &sent)
	}))
	t.Cleanup(s.Close)
	ref := "oci://" + strings.TrimPrefix(s.URL, "http://") + "/echo"
	p.must(0, "push", "./echo", ref, "--no-sign")
	rounds := 3
	if os.Getenv("SKILLET_PROVE") != "" {
		rounds = 100
	}
	for round := range rounds {
		slow.Store(int64(1 + round%7))
		cmd := p.command(t.Context(), "install", ref+":1.0.0", "--yes", "--allow-unsigned")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for before := sent.Load(); sent.Load() < before+int64(round%5)<<18; {
			time.Sleep(5 * time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		if out := p.must(0, "list", "--json"); strings.Contains(out, `"echo"`) {
			t.Fatalf("round %d: half of it is installed: %s", round, out)
		}
	}
	slow.Store(0)
	p.must(0, "install", ref+":1.0.0", "--yes", "--allow-unsigned")
	p.must(0, "run", "echo", "--input", "x")
	if left, err := filepath.Glob(filepath.Join(p.home, "cache", "downloads", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// drip answers in small pieces, the slower the longer, until the client or the
// slowness is gone.
func drip(ctx context.Context, w http.ResponseWriter, r *http.Request, behind http.Handler, slow, sent *atomic.Int64) {
	whole := httptest.NewRecorder()
	behind.ServeHTTP(whole, r)
	for k, v := range whole.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(whole.Code)
	for b := whole.Body.Bytes(); len(b) > 0 && ctx.Err() == nil; {
		n, _ := w.Write(b[:min(len(b), 64<<10)]) // the client may be gone
		w.(http.Flusher).Flush()
		if sent.Add(int64(n)); n == 0 {
			return
		}
		b = b[n:]
		time.Sleep(time.Duration(slow.Load()) * 20 * time.Millisecond)
	}
}

// On a terminal a download is a bar with its bytes; it is gone when it is done.
func TestDownloadsAreShown(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := &terminal{err: screen.New(&b), errTTY: true}
	d := s.downloading([]string{"oci://h/x"})
	done := d.show(0)
	for i := range 8 {
		d.of(0)(int64(i)<<20, 8<<20)
		time.Sleep(screen.Turn)
	}
	done()
	if !strings.Contains(b.String(), "fetching oci://h/x") || !strings.Contains(b.String(), "%") {
		t.Errorf("no bar in %q", b.String())
	}
	if !strings.HasSuffix(b.String(), strings.Repeat(" ", 20)+"\r") { // written over
		t.Errorf("the bar stays: %q", b.String())
	}
	b.Reset()
	s.errTTY = false // a pipe
	done = s.downloading([]string{"x"}).show(0)
	time.Sleep(screen.Patience + screen.Turn)
	done()
	if b.Len() > 0 {
		t.Errorf("in a pipe there is %q", b.String())
	}
}
