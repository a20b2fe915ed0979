package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
	"github.com/skillet-run/skillet/manifests"
)

func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func get(t *testing.T, c *http.Client, url string, header http.Header) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	return c.Do(req)
}

// Where requests may be led, and what they take along.
func TestRedirects(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 10)
	other := server(t, func(w http.ResponseWriter, r *http.Request) { seen <- r.Header })
	to := map[string]string{
		"/near": "/here", "/other": "http://" + other + "/x", "/private": "https://10.0.0.1/x", "/metadata": "https://169.254.169.254/x",
		"/mapped": "https://[::ffff:127.0.0.1]:1/x", "/local": "https://localhost:1/x", "/plain": "http://h.example/x",
		"/file": "file:///etc/passwd", "/nowhere": "", "/round": "/round", "/cgnat": "https://100.64.0.1/", "/unique": "https://[fd00::1]/",
	}
	host := server(t, func(w http.ResponseWriter, r *http.Request) {
		if at, ok := to[r.URL.Path]; ok {
			if at != "" {
				w.Header().Set("Location", at)
			}
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		seen <- r.Header
	})
	secret := http.Header{"Authorization": {"Basic x"}, "Cookie": {"a=b"}, "Range": {"bytes=1-"}, "X-Token": {"t"}}
	strict := transfer.NewClient(transfer.Settings{Stall: 5 * time.Second}, transfer.Endpoint{Host: host, PlainHTTP: true})
	for path := range to {
		resp, err := get(t, strict, "http://"+host+path, secret.Clone())
		if path == "/near" {
			if err != nil || resp.StatusCode != http.StatusOK || (<-seen).Get("Authorization") == "" {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if !errors.Is(err, transfer.ErrRedirect) {
			t.Errorf("%s: %v", path, err)
		}
	}
	free := transfer.NewClient(transfer.Settings{}, transfer.Endpoint{Host: host, PlainHTTP: true, Redirects: []string{other}})
	if _, err := get(t, free, "http://"+host+"/other", secret.Clone()); err != nil {
		t.Fatal(err)
	}
	for name := range <-seen {
		if name == "Authorization" || name == "Cookie" || name == "X-Token" {
			t.Errorf("%s went along", name)
		}
	}
	// What is not a look-up is not redirected.
	resp, err := strict.Post("http://"+host+"/near", "text/plain", strings.NewReader("x"))
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("%+v, %v", resp, err)
	}
	if _, err := get(t, strict, "http://"+other+"/x", secret.Clone()); !errors.Is(err, transfer.ErrRedirect) {
		t.Errorf("a request to another host at once: %v", err)
	}
}

func TestStrict(t *testing.T) {
	t.Parallel()
	host := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, strings.Repeat("x", 600))
	})
	c := transfer.Strict(transfer.NewClient(transfer.Settings{}, transfer.Endpoint{Host: host, PlainHTTP: true}), 1000)
	if _, err := get(t, c, "http://"+host+"/none", nil); !errors.Is(err, transfer.ErrNotFound) {
		t.Errorf("%v", err)
	}
	for i, want := range []error{nil, transfer.ErrTooLarge} {
		resp, err := get(t, c, "http://"+host+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, want) {
			t.Errorf("answer %d: %v, want %v", i, err, want)
		}
		resp.Body.Close()
	}
}

// ask answers with what a function says, whatever it is asked for.
func ask(answer func(offset int64) *http.Response) transfer.Request {
	return func(_ context.Context, offset int64) (*http.Response, error) { return answer(offset), nil }
}

func body(code int, text string, header http.Header) *http.Response {
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader(text)), ContentLength: -1, Header: header}
}

// Whatever is kept of a blob, and however a server answers, what comes out is
// the blob or an error.
func TestWhatIsKeptIsNotBelieved(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
	b := transfer.Blob{Digest: string(manifests.DigestOf([]byte(text))), Size: int64(len(text))}
	honest := ask(func(offset int64) *http.Response {
		if offset == 0 {
			return body(http.StatusOK, text, nil)
		}
		return body(http.StatusPartialContent, text[offset:], http.Header{"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", offset, len(text)-1, len(text))}})
	})
	for name, c := range map[string]struct {
		kept string
		ask  transfer.Request
	}{
		"nothing":         {"", honest},
		"its beginning":   {text[:1000], honest},
		"all of it":       {text, honest},
		"something else":  {strings.Repeat("x", 1000), honest},
		"all else":        {strings.Repeat("x", len(text)), honest},
		"more than it is": {text + "x", honest},
		"no ranges":       {text[:1000], ask(func(int64) *http.Response { return body(http.StatusOK, text, nil) })},
		"ranges refused": {text[:1000], ask(func(offset int64) *http.Response {
			if offset > 0 {
				return body(http.StatusRequestedRangeNotSatisfiable, "", nil)
			}
			return body(http.StatusOK, text, nil)
		})},
		"another range": {text[:1000], ask(func(offset int64) *http.Response {
			if offset > 0 {
				return body(http.StatusPartialContent, text, http.Header{"Content-Range": {"bytes 0-1/2"}})
			}
			return body(http.StatusOK, text, nil)
		})},
		"a short answer": {"", ask(func(offset int64) *http.Response {
			if offset == 0 {
				return body(http.StatusOK, text[:len(text)/2], nil)
			}
			return body(http.StatusPartialContent, text[offset:], http.Header{"Content-Range": {fmt.Sprintf("bytes %d-/*", offset)}})
		})},
	} {
		dir := t.TempDir()
		part := filepath.Join(dir, strings.ReplaceAll(b.Digest, ":", "-")+".part")
		if c.kept != "" {
			if err := os.WriteFile(part, []byte(c.kept), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := transfer.NewDownloads(dir).Get(t.Context(), b, c.ask, nil)
		if err != nil || string(got) != text {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
	_, err := transfer.NewDownloads(t.TempDir()).Get(t.Context(), b, ask(func(offset int64) *http.Response {
		return body(http.StatusPartialContent, text, http.Header{"Content-Range": {"bytes 7-8/9"}})
	}), nil)
	if !errors.Is(err, transfer.ErrProtocol) {
		t.Errorf("a range nobody asked for: %v", err)
	}
}

// Beginnings that nobody came back for are deleted; those of others stay.
func TestOldBeginningsAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old, young := filepath.Join(dir, "old.part"), filepath.Join(dir, "young.part")
	for _, f := range []string{old, young} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Now(), time.Now().Add(-8*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 1<<20)
	b := transfer.Blob{Digest: string(manifests.DigestOf([]byte(text))), Size: int64(len(text))}
	if _, err := transfer.NewDownloads(dir).Get(t.Context(), b, ask(func(int64) *http.Response { return body(http.StatusOK, text, nil) }), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an old beginning stayed")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("a young beginning was deleted")
	}
}

// Each meaning has a kind and a way out, and says what was asked for.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, is := range []error{
		transfer.ErrNotFound, transfer.ErrUnauthorized, transfer.ErrUnreachable, transfer.ErrTimeout, transfer.ErrTooLarge,
		transfer.ErrTampered, transfer.ErrRedirect, transfer.ErrTransport, transfer.ErrProtocol, context.DeadlineExceeded,
	} {
		err := transfer.Explain("fetch x", fmt.Errorf("outer: %w", is))
		e := fault.AsError(err)
		if e.Way().String() == "" || e.Class == "" || !strings.HasPrefix(e.Message, "fetch x: ") {
			t.Errorf("%v: %+v", is, e)
		}
	}
	if err := transfer.Explain("x", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	known := fault.Errorf(fault.KindUsage, "known").WithHint("hint")
	if e := fault.AsError(transfer.Explain("fetch x", known)); e.Kind != fault.KindUsage || e.Way().String() != "hint" || e.Message != "fetch x: known" {
		t.Errorf("%+v", e)
	}
}
