package hostfn

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRedirectToUngranted: no kind of redirect leads where the grant does not.
func TestRedirectToUngranted(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		a, b := newSite(t), newSite(t)
		e := env(t, "http:* "+a.URL+"/v1/*")
		for i, to := range []string{
			b.URL + "/stolen", "http://localhost" + a.port() + "/v1/x", "//localhost" + a.port() + "/v1/x",
			"/v2/x", "/v1/../v2", "https://127.0.0.1" + a.port() + "/v1/x", "http://169.254.169.254/latest",
			"http://user:pw@127.0.0.1" + a.port() + "/v1/x", "file:///etc/passwd", "ftp://127.0.0.1/v1/", "http://[::1]" + a.port() + "/v1/",
			"http://%zz/", "\\\\evil", "javascript:alert(1)",
		} {
			path := fmt.Sprintf("/v1/from%d", i)
			a.redirects(path, code, to)
			for _, method := range []string{"GET", "POST"} {
				before := a.hits()
				wantKind(t, fmt.Sprint(code, " ", to), fetch(t, e, method, a.URL+path, "body"), KindDenied)
				if a.hits() != before+1 || b.hits() > 0 {
					t.Errorf("%d %s to %s: %d and %d requests arrived", code, method, to, a.hits()-before, b.hits())
				}
			}
		}
		if d := e.Denials(); len(d) == 0 || !strings.Contains(d[0].Request, "/stolen") || d[0].Way().String() == "" {
			t.Errorf("recorded %+v", d)
		}
	}
}

// TestRedirectMethods: what a redirect makes of method and body.
func TestRedirectMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code         int
		method, want string
		body         bool
	}{
		{301, "GET", "GET", false}, {302, "POST", "GET", false}, {303, "POST", "GET", false}, {303, "HEAD", "HEAD", false},
		{301, "PUT", "GET", false}, {307, "POST", "POST", true}, {308, "PUT", "PUT", true}, {307, "DELETE", "DELETE", true},
	} {
		s := newSite(t)
		s.redirects("/from", c.code, "to?x=1")
		meta := fmt.Sprintf(`{"method":%q,"url":"%s/from","headers":{"Content-Type":["text/x"],"Authorization":["mine"]}}`, c.method, s.URL)
		r := call(t, env(t, s.grant()), "http_request", meta, []byte("body"))
		wantKind(t, fmt.Sprint(c), r, "")
		req, body := s.last(t)
		if req.Method != c.want || (body == "body") != c.body || (req.Header.Get("Content-Type") != "") != c.body ||
			req.RequestURI != "/to?x=1" || req.Header.Get("Authorization") != "mine" || get[string](t, r, "url") != s.URL+"/to?x=1" {
			t.Errorf("%v: %s %s %q %v", c, req.Method, req.RequestURI, body, req.Header)
		}
	}
	s := newSite(t)
	s.redirects("/from", 307, "/to")
	e := env(t, "http:GET,POST "+s.URL+"/from", "http:GET "+s.URL+"/to")
	wantKind(t, "the method is not granted there", fetch(t, e, "POST", s.URL+"/from", "x"), KindDenied)
	wantKind(t, "but this one is", fetch(t, e, "GET", s.URL+"/from", ""), "")
}

// TestRedirectDropsCredentials: to another host, also one that is granted, only harmless fields go along.
func TestRedirectDropsCredentials(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.redirects("/from", 307, b.URL+"/back")
	b.redirects("/back", 307, a.URL+"/end")
	meta := `{"method":"POST","url":"` + a.URL + `/from","headers":{"Authorization":["Bearer x"],"Cookie":["c=1"],"X-Api-Key":["k"],"Accept":["text/html"],"User-Agent":["mine"]}}`
	wantKind(t, "fetch", call(t, env(t, a.grant(), b.grant()), "http_request", meta, []byte("body")), "")
	first := a.seen[0].Header
	if first.Get("Authorization") == "" || first.Get("Cookie") == "" || first.Get("X-Api-Key") == "" {
		t.Errorf("the first host got %v", first)
	}
	for _, r := range []*http.Request{b.seen[0], a.seen[1]} { // dropped is dropped, also on the way back
		h := r.Header
		if h.Get("Authorization")+h.Get("Cookie")+h.Get("X-Api-Key")+h.Get("Referer") != "" || h.Get("Accept") != "text/html" || h.Get("User-Agent") != "mine" {
			t.Errorf("the next host got %v", h)
		}
	}
}

func TestRedirectLimit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 10 {
		s.redirects(fmt.Sprint("/", i), 302, fmt.Sprint("/", i+1))
	}
	s.redirects("/loop", 302, "/loop")
	s.mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) })
	e := env(t, s.grant())
	wantKind(t, "five", fetch(t, e, "GET", s.URL+"/5", ""), "")
	wantKind(t, "six", fetch(t, e, "GET", s.URL+"/4", ""), KindIO)
	before := s.hits()
	wantKind(t, "loop", fetch(t, e, "GET", s.URL+"/loop", ""), KindIO)
	if n := s.hits() - before; n != MaxRedirects+1 {
		t.Errorf("%d requests in a loop", n)
	}
	if r := fetch(t, e, "GET", s.URL+"/none", ""); get[int](t, r, "status") != 302 {
		t.Errorf("redirect to nowhere: %s", r.Meta)
	}
}

// TestInjection: the host adds the secret where it belongs and nowhere else, and the guest never sees it.
func TestInjection(t *testing.T) {
	t.Parallel()
	a, b := newSite(t), newSite(t)
	a.redirects("/api/away", 307, b.URL+"/x")
	a.redirects("/api/out", 307, "/open")
	s := settings(t, a.grant(), b.grant(), "secret:token", "secret:other", "secret:unset")
	s.Secrets = vault{"token": "s3cr3t-token\n", "other": "second-value", "ungranted": "third-value"}
	s.Injections = []Injection{
		{Secret: "token", URL: a.URL + "/api/*", Header: "Authorization", Prefix: "Bearer "},
		{Secret: "ungranted", URL: a.URL + "/api/*", Header: "X-Ungranted"},
		{Secret: "unset", URL: a.URL + "/api/*", Header: "X-Unset"},
		{Secret: "other", URL: b.URL + "/*", Header: "X-Key"},
		{Secret: "other", URL: "not a pattern", Header: "X-Broken"},
	}
	e := open(t, s)
	meta := `{"url":"` + a.URL + `/api/x","headers":{"authorization":["guest"]}}`
	wantKind(t, "fetch", call(t, e, "http_request", meta, nil), "")
	req, _ := a.last(t)
	if req.Header.Get("Authorization") != "Bearer s3cr3t-token" || len(req.Header["Authorization"]) != 1 ||
		req.Header.Get("X-Ungranted")+req.Header.Get("X-Unset")+req.Header.Get("X-Key")+req.Header.Get("X-Broken") != "" {
		t.Errorf("sent %v", req.Header)
	}
	if d := e.Denials(); len(d) != 1 || d[0].Request != "secret:ungranted" {
		t.Errorf("denials %+v", d)
	}
	if l := e.Logs(); len(l) != 1 || !strings.Contains(l[0].Message, "secret unset is not stored") {
		t.Errorf("log %+v", l)
	}
	fetch(t, e, "GET", a.URL+"/open", "")
	if req, _ = a.last(t); req.Header.Get("Authorization") != "" {
		t.Error("the secret went to a path it is not for")
	}
	fetch(t, e, "GET", a.URL+"/api/out", "")
	if req, _ = a.last(t); req.URL.Path != "/open" || req.Header.Get("Authorization") != "" {
		t.Errorf("the secret followed a redirect to %s", req.URL.Path)
	}
	fetch(t, e, "GET", a.URL+"/api/away", "")
	if req, _ = b.last(t); req.Header.Get("Authorization") != "" || req.Header.Get("X-Key") != "second-value" {
		t.Errorf("the other host got %v", req.Header)
	}
	wantKind(t, "exists", call(t, e, "secret_exists", `{"name":"token"}`, nil), "")
}

func TestInjectionOfWhatNoHeaderHolds(t *testing.T) {
	t.Parallel()
	a := newSite(t)
	s := settings(t, a.grant(), "secret:bad")
	s.Secrets = vault{"bad": "line\r\nX-Other: 1"}
	s.Injections = []Injection{{Secret: "bad", URL: a.URL + "/*", Header: "X-Key"}}
	r := fetch(t, open(t, s), "GET", a.URL+"/", "")
	wantKind(t, "fetch", r, KindIO)
	if a.hits() != 0 || strings.Contains(string(r.Meta), "line") {
		t.Errorf("%d arrived, %s", a.hits(), r.Meta)
	}
}

func TestSecretExists(t *testing.T) {
	t.Parallel()
	s := settings(t, "secret:a", "secret:b")
	s.Secrets = vault{"a": "value-of-a", "c": "value-of-c"}
	e := open(t, s)
	for name, want := range map[string]bool{"a": true, "b": false} {
		r := call(t, e, "secret_exists", field("name", name), nil)
		if get[bool](t, r, "exists") != want || strings.Contains(string(r.Meta), "value") || len(r.Body) > 0 {
			t.Errorf("%s: %s %q", name, r.Meta, r.Body)
		}
	}
	wantKind(t, "not granted", call(t, e, "secret_exists", `{"name":"c"}`, nil), KindDenied)
}

// TestSecretIsScrubbed: a server that sends the secret back does not tell it to the guest, in no usual
// spelling, in no part of the answer, and not cut in two by the limit.
func TestSecretIsScrubbed(t *testing.T) {
	t.Parallel()
	const secret = `p@ss/w0rd+&"<é>`
	a := newSite(t)
	forms := map[string]string{
		"plain": secret, "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"all": "%" + strings.Join(pairs(fmt.Sprintf("%X", secret)), "%"), "hex": fmt.Sprintf("%x", secret), "HEX": fmt.Sprintf("%X", secret),
		"json": `p@ss/w0rd+\u0026\"\u003cé\u003e`, "html": "p@ss/w0rd+&amp;&#34;&lt;é&gt;",
		"base64": base64.StdEncoding.EncodeToString([]byte(secret)), "base64url": base64.URLEncoding.EncodeToString([]byte(secret)),
		"basic": base64.StdEncoding.EncodeToString([]byte("u:" + secret)), "one before": base64.StdEncoding.EncodeToString([]byte("u" + secret + "tail")),
		"bearer": base64.RawURLEncoding.EncodeToString([]byte("Bearer " + secret)),
	}
	a.mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Back", r.Header.Get("X-Key"))
		w.Header().Set("X-"+base64.RawURLEncoding.EncodeToString([]byte(secret)), "name")
		fmt.Fprint(w, "before ", forms[r.URL.Query().Get("form")], " after")
	})
	a.mux.HandleFunc("/bounce", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/echo?form=plain&s="+url.QueryEscape(secret), http.StatusFound)
	})
	s := settings(t, a.grant(), "secret:key")
	s.Secrets = vault{"key": secret}
	s.Injections = []Injection{{Secret: "key", URL: a.URL + "/*", Header: "X-Key"}}
	e := open(t, s)
	for form, text := range forms {
		r := fetch(t, e, "GET", a.URL+"/echo?form="+url.QueryEscape(form), "")
		got := string(r.Body)
		if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, redacted) || len(got) > len("before  after")+len(redacted)+14 {
			t.Errorf("%s: %q became %q", form, text, got)
		}
		if meta := string(r.Meta); strings.Contains(meta, "w0rd") || !strings.Contains(meta, redacted) {
			t.Errorf("%s: %s", form, meta)
		}
	}
	r := fetch(t, e, "GET", a.URL+"/bounce", "")
	if u := get[string](t, r, "url"); strings.Contains(u, "w0rd") || strings.Contains(u, "p%40ss") {
		t.Errorf("url %q", u)
	}
	for n := range 40 { // wherever the answer is cut
		r := call(t, e, "http_request", fmt.Sprintf(`{"url":"%s/echo?form=plain","max_bytes":%d}`, a.URL, n+1), nil)
		if strings.Contains(string(r.Body), "p@") || len(r.Body) > n+1 {
			t.Errorf("cut at %d: %q", n+1, r.Body)
		}
	}
}

// pairs cuts a text into parts of two bytes.
func pairs(s string) (all []string) {
	for p := range slices.Chunk([]byte(s), 2) {
		all = append(all, string(p))
	}
	return all
}

// TestSecretIsScrubbedOfForms: in the forms that servers of every day give an answer, the secret does not come
// back; what cannot be looked into is refused.
func TestSecretIsScrubbedOfForms(t *testing.T) {
	t.Parallel()
	const secret = `gh/p+A1-b2_C3=="q`
	a := newSite(t)
	escape := func(format string) string {
		var out strings.Builder
		for _, c := range []byte(secret) {
			fmt.Fprintf(&out, format, c)
		}
		return out.String()
	}
	utf16 := func(order binary.AppendByteOrder) string {
		var b []byte
		for _, c := range []byte("token: " + secret) {
			b = order.AppendUint16(b, uint16(c))
		}
		return string(b)
	}
	wrapped := base64.StdEncoding.EncodeToString([]byte("x" + secret + secret))
	forms := map[string]string{
		"php": `{"k":"` + strings.ReplaceAll(strings.ReplaceAll(secret, `"`, `\"`), "/", `\/`) + `"}`, "dotnet": strings.ReplaceAll(strings.ReplaceAll(secret, `"`, `\u0022`), "+", `\u002B`),
		"all json": escape(`\u%04x`), "all JSON": escape(`\u%04X`), "javascript": escape(`\x%02x`), "braces": escape(`\u{%x}`), "octal": escape(`\%03o`),
		"html": escape("&#%d;"), "html, hex": escape("&#x%X;"), "html, named": strings.NewReplacer("/", "&sol;", "+", "&plus;", `"`, "&quot;", "=", "&equals;", "_", "&lowbar;").Replace(secret),
		"html in json": strings.ReplaceAll(escape("&#%d;"), "&", `\u0026`), "percent twice": escape("%%25%02x"), "some percent": strings.ReplaceAll(secret, "p", "%70"), "mail": escape("=%02X"),
		"utf-16le": utf16(binary.LittleEndian), "utf-16be": utf16(binary.BigEndian), "lines": secret[:5] + "\r\n " + secret[5:], "line in json": secret[:5] + `\n` + strings.ReplaceAll(secret[5:], `"`, `\"`),
		"wrapped base64": wrapped[:9] + "\n" + wrapped[9:20] + "\n" + wrapped[20:], "base64 in json": wrapped[:9] + `\r\n` + strings.ReplaceAll(wrapped[9:], "/", `\/`),
		"base64 of json": base64.StdEncoding.EncodeToString([]byte(`{"k":"` + strings.ReplaceAll(secret, `"`, `\"`) + `"}`)), "bytes": strings.Trim(escape("%d,"), ","),
		"colons": strings.Trim(escape("%02x:"), ":"), "spaces": strings.TrimSpace(escape("%02X ")),
	}
	a.mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		form := forms[r.URL.Query().Get("form")]
		if !strings.ContainsAny(form, "\r\n\x00") {
			w.Header().Set("X-Back", form)
		}
		io.WriteString(w, "before "+form+" after")
	})
	packed := map[string]func(io.Writer) io.WriteCloser{
		"deflate":    func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"br":         func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 9); return z },
		"gzip, gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"gzip":       func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	}
	a.mux.HandleFunc("/packed", func(w http.ResponseWriter, r *http.Request) {
		encoding := r.URL.Query().Get("as")
		w.Header().Set("Content-Encoding", encoding)
		z := packed[encoding](w)
		defer z.Close()
		io.WriteString(z, "before "+secret+" after")
	})
	a.mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "f.txt", time.Time{}, strings.NewReader(secret+" after"))
	})
	a.mux.HandleFunc("/part", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusPartialContent)
		io.WriteString(w, secret[:8])
	})
	s := settings(t, a.grant(), "secret:key")
	s.Secrets = vault{"key": secret}
	s.Injections = []Injection{{Secret: "key", URL: a.URL + "/*", Header: "X-Key"}}
	e := open(t, s)
	for form, text := range forms {
		r := fetch(t, e, "GET", a.URL+"/echo?form="+url.QueryEscape(form), "")
		if got := string(r.Body); !strings.Contains(got, redacted) || len(got) > len("before  after {k:}")+2*len(redacted)+20 || strings.Contains(string(r.Meta), text) {
			t.Errorf("%s: %q became %q, %s", form, text, got, r.Meta)
		}
	}
	for as := range packed {
		r := fetch(t, e, "GET", a.URL+"/packed?as="+url.QueryEscape(as), "")
		if as == "gzip" {
			if got := string(r.Body); got != "before "+redacted+" after" {
				t.Errorf("%s: %q %s", as, got, r.Meta)
			}
			continue
		}
		wantKind(t, as, r, KindIO)
		if !strings.Contains(r.Error.Message, "packed as") || len(r.Body) > 0 {
			t.Errorf("%s: %s %q", as, r.Meta, r.Body)
		}
	}
	wantKind(t, "head", fetch(t, e, "HEAD", a.URL+"/packed?as=deflate", ""), "")
	for _, part := range []string{"bytes=0-7", "bytes=8-", "bytes=0-3,4-9"} {
		r := call(t, e, "http_request", `{"url":"`+a.URL+`/file","headers":{"Range":["`+part+`"],"If-Range":["x"]}}`, nil)
		if got := string(r.Body); got != redacted+" after" || get[int](t, r, "status") != 200 {
			t.Errorf("%s: %q %s", part, got, r.Meta)
		}
	}
	wantKind(t, "a part nobody asked for", fetch(t, e, "GET", a.URL+"/part", ""), KindIO)
	plain := env(t, a.grant()) // without a secret all this is as it was
	r := call(t, plain, "http_request", `{"url":"`+a.URL+`/file","headers":{"Range":["bytes=0-3"]}}`, nil)
	if get[int](t, r, "status") != 206 || len(r.Body) != 4 {
		t.Errorf("without a secret: %s %q", r.Meta, r.Body)
	}
	wantKind(t, "without a secret", fetch(t, plain, "GET", a.URL+"/packed?as=deflate", ""), "")
}

// TestSecretIsScrubbedOfItsParts: what a server takes out of the header that was added, it may answer without the rest
// of it, and in the letters of names of headers and hosts.
func TestSecretIsScrubbedOfItsParts(t *testing.T) {
	t.Parallel()
	a := newSite(t)
	a.mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		answer := map[string]string{"scheme": scheme, "token": token, "user": user, "password": password}
		for _, c := range r.Cookies() {
			answer[c.Name] = c.Value
		}
		if name := r.Header.Get("X-Key"); name != "" {
			w.Header().Set(name, "1")
			w.Header().Set("Location", "https://"+strings.ToLower(name)+".example.com/")
			answer["upper"], answer["lower"] = strings.ToUpper(name), strings.ToLower(name)
		}
		json.NewEncoder(w).Encode(answer)
	})
	basic := func(pair string) string { return base64.StdEncoding.EncodeToString([]byte(pair)) }
	for name, c := range map[string]struct {
		in     Injection
		secret string
		hidden []string
		shown  string
	}{
		"scheme in the secret": {Injection{Header: "Authorization"}, "Bearer tok-q9x7", []string{"tok-q9x7"}, `"scheme":"Bearer"`},
		"basic":                {Injection{Header: "Authorization", Prefix: "Basic "}, basic("somebody:pass-q9x7"), []string{"pass-q9x7"}, "somebody"},
		"basic in the secret":  {Injection{Header: "authorization"}, "basic " + basic("somebody:pass-q9x7"), []string{"pass-q9x7"}, "somebody"},
		"name of basic":        {Injection{Header: "Authorization", Prefix: "Basic "}, basic("tok-q9x7:"), []string{"tok-q9x7"}, `"password":""`},
		"name before no word":  {Injection{Header: "Authorization", Prefix: "Basic "}, basic("tok-q9x7:x-oauth-basic"), []string{"tok-q9x7"}, "x-oauth-basic"},
		"cookies":              {Injection{Header: "Cookie"}, `sid=sess-q9x7; csrf="form-q9x7"`, []string{"sess-q9x7", "form-q9x7"}, `"sid"`},
		"letters":              {Injection{Header: "X-Key"}, "kEy-Q9x7-vAlUe", []string{"key-q9x7-value"}, `"upper"`},
	} {
		s := settings(t, a.grant(), "secret:key")
		s.Secrets = vault{"key": c.secret}
		c.in.Secret, c.in.URL = "key", a.URL+"/*"
		s.Injections = []Injection{c.in}
		r := fetch(t, open(t, s), "GET", a.URL+"/echo", "")
		got := strings.ToLower(string(r.Meta) + string(r.Body))
		for _, h := range c.hidden {
			if strings.Contains(got, h) {
				t.Errorf("%s: the guest is answered %s %s", name, r.Meta, r.Body)
			}
		}
		if !strings.Contains(string(r.Body), c.shown) || !strings.Contains(string(r.Body), redacted) {
			t.Errorf("%s: %s, want %s", name, r.Body, c.shown)
		}
	}
}

// TestResponseLimits: however much a server sends, and however it is packed.
func TestResponseLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	s.mux.HandleFunc("/bomb", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		for range 1 << 10 {
			if _, err := z.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	s.mux.HandleFunc("/packed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "unpacked")
		z.Close()
	})
	s.mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		for i := range 100 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("h", 4096))
		}
	})
	set := settings(t, s.grant())
	set.MaxHTTPBytes = 100_000
	e := open(t, set)
	for _, c := range []struct {
		path, more string
		size       int
		cut        bool
	}{
		{"/endless", "", 100_000, true}, {"/endless", `,"max_bytes":10`, 10, true}, {"/endless", `,"max_bytes":99999999`, 100_000, true},
		{"/bomb", "", 100_000, true}, {"/packed", "", 8, false}, {"/packed", `,"max_bytes":8`, 8, false}, {"/packed", `,"max_bytes":7`, 7, true},
	} {
		r := call(t, e, "http_request", fmt.Sprintf(`{"url":"%s%s"%s}`, s.URL, c.path, c.more), nil)
		if len(r.Body) != c.size || get[bool](t, r, "truncated") != c.cut {
			t.Errorf("%+v: %d bytes, %s", c, len(r.Body), r.Meta)
		}
	}
	wantKind(t, "header", fetch(t, e, "GET", s.URL+"/header", ""), KindIO)
	before := s.hits()
	wantKind(t, "request", fetch(t, e, "POST", s.URL+"/", strings.Repeat("x", 100_001)), KindLimit)
	if s.hits() != before {
		t.Error("a request that is too long was sent")
	}
}

// TestTimeLimits: a slow server holds a call no longer than the call lasts, wherever it is slow.
func TestTimeLimits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	wait := func(r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}
	s.mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) { wait(r) })
	s.mux.HandleFunc("/drip", func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("x"))
		w.(http.Flusher).Flush()
		wait(r)
	})
	s.redirects("/then", 302, "/slow")
	set := settings(t, s.grant())
	set.HTTPTimeout = 100 * time.Millisecond
	for _, path := range []string{"/slow", "/drip", "/then"} {
		wantKind(t, "setting, "+path, fetch(t, open(t, set), "GET", s.URL+path, ""), KindTimeout)
		meta := fmt.Sprintf(`{"url":"%s%s","timeout_ms":50}`, s.URL, path)
		wantKind(t, "asked for, "+path, call(t, env(t, s.grant()), "http_request", meta, nil), KindTimeout)
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		wantKind(t, "call, "+path, callCtx(t, ctx, env(t, s.grant()), "http_request", field("url", s.URL+path), nil), KindTimeout)
		cancel()
	}
	meta := fmt.Sprintf(`{"url":"%s/slow","timeout_ms":%d}`, s.URL, time.Hour.Milliseconds())
	wantKind(t, "no longer than the setting", call(t, open(t, set), "http_request", meta, nil), KindTimeout)
	wantKind(t, "negative", call(t, open(t, set), "http_request", `{"url":"http://x.example/","timeout_ms":-1}`, nil), KindInvalid)
}

// TestRequestHeaders: what a guest may not set.
func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		name, value string
		kind        Kind
	}{
		{"X-Fine", "yes", ""}, {"Authorization", "mine", ""}, {"Cookie", "mine", ""}, {"Accept", "*/*", ""}, {"Range", "bytes=0-1", ""},
		{"Content-Length", "5", ""}, {"accept-encoding", "identity", ""},
		{"Host", "evil.example", KindInvalid}, {"host", "evil.example", KindInvalid}, {"Connection", "x-api-key", KindInvalid},
		{"Keep-Alive", "1", KindInvalid}, {"Transfer-Encoding", "chunked", KindInvalid}, {"TE", "trailers", KindInvalid},
		{"Trailer", "x", KindInvalid}, {"Upgrade", "websocket", KindInvalid}, {"Expect", "100-continue", KindInvalid},
		{"Proxy-Authorization", "x", KindInvalid}, {"proxy-anything", "x", KindInvalid}, {"Forwarded", "for=1.2.3.4", KindInvalid},
		{"X-Forwarded-For", "1.2.3.4", KindInvalid}, {"Via", "x", KindInvalid}, {"HTTP2-Settings", "x", KindInvalid},
		{"Bad Name", "x", KindInvalid}, {"X-Bad", "a\r\nX-Injected: 1", KindInvalid}, {"X-Bad", "a\x00", KindInvalid},
		{"", "x", KindInvalid}, {"X:Y", "x", KindInvalid}, {"Transfer-Encoding ", "chunked", KindInvalid},
		{"X-Long", strings.Repeat("x", MaxHeaderBytes), KindLimit},
	} {
		before := s.hits()
		meta := `{"url":"` + s.URL + `/","headers":{` + fmt.Sprintf("%q:[%s]", c.name, strings.TrimSuffix(strings.TrimPrefix(field("v", c.value), `{"v":`), "}")) + `}}`
		wantKind(t, c.name, call(t, env(t, s.grant()), "http_request", meta, nil), c.kind)
		if (s.hits() == before+1) != (c.kind == "") {
			t.Errorf("%s: %d requests arrived", c.name, s.hits()-before)
		}
	}
	many := `{"url":"` + s.URL + `/","headers":{"X":["` + strings.Repeat(`1","`, MaxHeaders) + `"]}}`
	wantKind(t, "many", call(t, env(t, s.grant()), "http_request", many, nil), KindLimit)
	wantKind(t, "not granted comes first", call(t, env(t), "http_request", `{"url":"`+s.URL+`/","headers":{"Host":["x"]}}`, nil), KindDenied)
}

// TestTLS: certificates are checked.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "tls") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	set := settings(t, "http:GET "+s.URL+"/*", "http:GET https://localhost"+s.URL[strings.LastIndexByte(s.URL, ':'):]+"/*")
	set.RootCAs = x509.NewCertPool()
	r := fetch(t, open(t, set), "GET", s.URL+"/", "")
	wantKind(t, "unknown authority", r, KindIO)
	if !strings.Contains(r.Error.Message, "not trusted") {
		t.Errorf("message %q", r.Error.Message)
	}
	set.RootCAs.AddCert(s.Certificate())
	if r := fetch(t, open(t, set), "GET", s.URL+"/", ""); string(r.Body) != "tls" {
		t.Errorf("trusted: %s", r.Meta)
	}
	wantKind(t, "another name", fetch(t, open(t, set), "GET", "https://localhost"+s.URL[strings.LastIndexByte(s.URL, ':'):]+"/", ""), KindIO)
}

// TestNoProxyNoSharing: nothing of the host's environment, and no connection of one call in another.
func TestNoProxyNoSharing(t *testing.T) {
	t.Parallel()
	if (Settings{}).network().Proxy != nil {
		t.Error("a proxy may be used")
	}
	var mu sync.Mutex
	opened, closed := 0, 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch st {
		case http.StateNew:
			opened++
		case http.StateClosed:
			closed++
		}
	}
	s.Start()
	defer s.Close()
	for range 3 {
		e := env(t, "http:GET "+s.URL+"/*")
		for range 2 {
			wantKind(t, "fetch", fetch(t, e, "GET", s.URL+"/", ""), "")
		}
		e.Close()
	}
	for range 200 { // the server hears of it a little later
		mu.Lock()
		if closed == 3 {
			mu.Unlock()
			break
		}
		mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	if opened != 3 || closed != 3 {
		t.Errorf("%d connections for 3 calls of 2 requests, %d closed after them", opened, closed)
	}
}

// TestFailuresTellLittle: what the guest hears of a broken exchange.
func TestFailuresTellLittle(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	l.Close()
	r := fetch(t, env(t, "http:GET http://"+addr+"/*"), "GET", "http://"+addr+"/", "")
	wantKind(t, "refused", r, KindIO)
	if r.Error.Message != "127.0.0.1 refuses the connection" {
		t.Errorf("message %q", r.Error.Message)
	}
	s := newSite(t)
	s.mux.HandleFunc("/hangup", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	s.mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.Write(bytes.Repeat([]byte("x"), 50))
		panic(http.ErrAbortHandler)
	})
	for _, path := range []string{"/hangup", "/short"} {
		wantKind(t, path, fetch(t, env(t, s.grant()), "GET", s.URL+path, ""), KindIO)
	}
}
