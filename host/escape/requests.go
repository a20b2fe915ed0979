package escape

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// isDenied reports whether a call was ended by a refusal.
func isDenied(err error) bool { return errors.Is(err, hostfn.ErrDenied) }

// requestAttempts make requests that are more than they seem.
func requestAttempts() []attempt {
	return []attempt{
		// A header that ends early begins another request.
		{"header-smuggling", "smuggle headers and a second request into a request", func(l *lab) {
			if !l.sites() {
				return
			}
			target := l.site.url("/x")
			var all []ask
			for _, h := range [][2]string{
				{"X-Bad", "a\r\nX-Injected: 1"}, {"X-Bad", "a\r\n\r\nGET /private HTTP/1.1\r\nHost: x\r\n\r\n"}, {"X-Bad", "a\nX-Injected: 1"}, {"X-Bad", "a\x00"},
				{"X-Bad: 1\r\nX-Injected", "1"}, {"", "x"}, {"X Y", "x"}, {"Host", "other.example"}, {"host", "other.example"},
				{"Connection", "X-Api-Key"}, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding ", "chunked"}, {"TE", "trailers"}, {"Upgrade", "h2c"},
				{"HTTP2-Settings", "x"}, {"Proxy-Authorization", "x"}, {"X-Forwarded-For", "127.0.0.1"}, {"Forwarded", "for=127.0.0.1"}, {"Expect", "100-continue"},
			} {
				all = append(all, send("GET", target, h[0], h[1], ""))
			}
			e := l.env(grantSite(l.site))
			l.may(e, get(target), "ok")
			l.refusedAll(l.asks(e, all...), all)
			l.untouched()
		}},
		// Methods and URLs are parts of the same line.
		{"url-smuggling", "smuggle line ends, credentials and other hosts into a URL or a method", func(l *lab) {
			if !l.sites() {
				return
			}
			all := gets(
				l.site.url("/x HTTP/1.1\r\nX-Injected: 1"), l.site.url("/\r\n"), l.site.url("/\x00"), "http://user:password@"+l.site.address+"/",
				"http://"+l.other.address+"@"+l.site.address+"/", "http://"+l.site.address+"@"+l.other.address+"/", "http://"+l.site.address+`\@`+l.other.address+"/",
				"http://"+l.site.address+"#@"+l.other.address+"/x\r\n", "//"+l.other.address+"/", "file://"+l.path("closed/secret"), "unix://"+l.path("open/s"),
			)
			for _, method := range []string{"GET / HTTP/1.1\r\nX-Injected: 1\r\n\r\nGET", "CONNECT", "TRACE", "G ET", "GET\x00"} {
				all = append(all, send(method, l.site.url("/x"), "X", "y", ""))
			}
			e := l.env("http:GET,POST " + l.site.url("/*"))
			l.may(e, get(l.site.url("/x")), "ok")
			l.refusedAll(l.asks(e, all...), all)
			l.untouched()
		}},
		// A path that a server reads as another one.
		{"url-normalising", "leave a granted path by dots, escapes and slashes", func(l *lab) {
			if !l.sites() {
				return
			}
			var urls []string
			for _, p := range []string{"../private", "%2e%2e/private", "%2E./private", "..%2fprivate", "..%5cprivate", `..\private`, ".;/../private", "x/../../private", "%252e%252e/private", "//../private", "..;/private", "%c0%ae%c0%ae/private"} {
				urls = append(urls, l.site.url("/public/"+p))
			}
			l.site.page("/private", l.leak)
			e := l.env("http:GET " + l.site.url("/public/*"))
			l.may(e, get(l.site.url("/public/x")), "ok")
			l.judgePaths(e, gets(urls...))
		}},
		// The host adds a secret to requests to one host. Elsewhere it must not go.
		{"secret-redirect", "make the host send its secret to another host by a redirect", func(l *lab) {
			if !l.sites() {
				return
			}
			l.mayVisit = true
			l.site.redirect("/api/away", http.StatusTemporaryRedirect, l.other.url("/sink"))
			l.site.redirect("/api/open", http.StatusTemporaryRedirect, "/open")
			l.other.page("/sink", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, "ok") })
			e := l.envOf(l.injecting(grantSite(l.site), grantSite(l.other)))
			all := []ask{send("GET", l.site.url("/api/away"), "Authorization", guestKey, ""), get(l.site.url("/api/open"))}
			l.asks(e, all...)
			l.keptHome()
		}},
		// A server that sends the secret back tells it to the guest.
		{"secret-echo", "read the host's secret from a server that sends it back", func(l *lab) {
			if !l.sites() {
				return
			}
			forms := map[string]string{
				"/plain": l.bench.secret, "/base64": base64.StdEncoding.EncodeToString([]byte(l.bench.secret)),
				"/hex": hex.EncodeToString([]byte(l.bench.secret)), "/query": "x=" + url.QueryEscape(l.bench.secret),
			}
			var urls []string
			for path, text := range forms {
				l.site.page("/api"+path, func(rw http.ResponseWriter, _ *http.Request) {
					rw.Header().Set("X-Echo", text)
					fmt.Fprint(rw, "before ", text, " after")
				})
				urls = append(urls, l.site.url("/api"+path))
			}
			l.scrubbed(l.asks(l.envOf(l.injecting(grantSite(l.site))), gets(urls...)...), forms)
		}},
	}
}

// untouched judges that nothing of the guest's doing arrived at the granted
// server but GET /x.
func (l *lab) untouched() {
	for _, v := range l.site.visits() {
		if v.method != "GET" || v.uri != "/x" || v.host != l.site.address || v.header.Get("X-Injected") != "" {
			l.breach("the server was sent %s %s, Host %s", v.method, v.uri, v.host)
		}
	}
}

// judgePaths runs a guest that asks for paths. Those that a server would clean may
// be refused, or go to the cleaned path if that is granted; what arrives must not
// be ambiguous.
func (l *lab) judgePaths(e *hostfn.Env, all []ask) {
	got := l.asks(e, all...)
	for i, r := range got {
		if !r.ok() {
			l.stopped("%s: %s", strings.Trim(strings.TrimPrefix(all[i].meta, `{"url":`), `"}`), r.message())
		}
	}
	for _, v := range l.site.visits() {
		low := strings.ToLower(v.uri)
		if !strings.HasPrefix(low, "/public/") || strings.Contains(low, "..") || strings.Contains(low, "%2e") || strings.Contains(low, "%c0") {
			l.breach("the server was asked for %s", v.uri)
		}
	}
}

// injecting are settings with a secret that goes to one path of the granted
// site.
func (l *lab) injecting(grants ...string) hostfn.Settings {
	s := l.settings(append(grants, "secret:token")...)
	s.Secrets = vault{"token": l.bench.secret, "another": l.bench.secret}
	s.Injections = []hostfn.Injection{{Secret: "token", URL: l.site.url("/api/*"), Header: "X-Token"}}
	return s
}

// keptHome judges that the secret went where it belongs and nowhere else.
func (l *lab) keptHome() {
	sent := false
	for _, s := range []*site{l.site, l.other} {
		for _, v := range s.visits() {
			has := strings.Contains(fmt.Sprint(v.header), l.bench.secret)
			belongs := s == l.site && strings.HasPrefix(v.uri, "/api/")
			sent = sent || has && belongs
			switch {
			case has && !belongs:
				l.breach("the secret went to %s", s.url(v.uri))
			case s == l.other && v.header.Get("Authorization") != "":
				l.breach("the guest's key went to %s", s.url(v.uri))
			case !has && !belongs:
				l.stopped("left out of the request to %s", s.url(v.uri))
			}
		}
	}
	if !sent {
		l.breach("the secret did not go where it belongs")
	}
}

// scrubbed judges that answers came, and that no form of the secret is in them.
func (l *lab) scrubbed(got []reply, forms map[string]string) {
	if len(got) != len(forms) {
		l.breach("%d of %d pages were answered", len(got), len(forms))
	}
	for _, r := range got {
		for _, text := range forms {
			if strings.Contains(r.body+r.meta, text) {
				l.breach("a form of the secret came out")
			}
		}
		if !strings.HasPrefix(r.body, "before ") {
			l.breach("a page was not answered: %s", r.meta)
		}
	}
	l.stopped("struck out of body and header")
}

// responseAttempts are servers that help the guest to harm the host.
func responseAttempts() []attempt {
	const most = 64 << 10
	return []attempt{
		// A body without end.
		{"huge-response", "fill the host's memory with an answer that never ends", func(l *lab) {
			l.swallow(most, func(rw http.ResponseWriter, r *http.Request) {
				for range 100 {
					if _, err := rw.Write(make([]byte, 64<<10)); err != nil {
						return
					}
				}
			})
		}},
		// A few kilobytes that unpack to many megabytes.
		{"packed-response", "fill the host's memory with an answer that unpacks to a thousand times its size", func(l *lab) {
			l.swallow(most, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(rw)
				defer z.Close()
				for range 100 {
					if _, err := z.Write(make([]byte, 64<<10)); err != nil {
						return
					}
				}
			})
		}},
		// Headers are read before anybody can say that they are too long.
		{"header-flood", "fill the host's memory with the header of an answer", func(l *lab) {
			if !l.sites() {
				return
			}
			l.site.page("/x", func(rw http.ResponseWriter, _ *http.Request) {
				for i := range 100 {
					rw.Header().Set(fmt.Sprint("X-", i), strings.Repeat("h", 4096))
				}
			})
			all := gets(l.site.url("/x"))
			l.refusedAll(l.asks(l.env(grantSite(l.site)), all...), all)
		}},
		// One byte, and then nothing.
		{"slow-response", "hold the host with an answer that never comes", func(l *lab) {
			if !l.sites() {
				return
			}
			l.site.page("/x", func(rw http.ResponseWriter, r *http.Request) {
				_, _ = rw.Write([]byte("x"))
				_ = http.NewResponseController(rw).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(attemptTime / 3):
				}
			})
			s := l.settings(grantSite(l.site))
			s.HTTPTimeout = 100 * time.Millisecond
			all := gets(l.site.url("/x"))
			l.refusedAll(l.asks(l.envOf(s), all...), all)
			// Without that, the call's own time ends it, in the middle of the host
			// function.
			p := newReactor("http_request")
			p.ask(all[0].fn, all[0].meta, "")
			t := l.limited(p.tool(), l.env(grantSite(l.site)), sandbox.Limits{Wall: 100 * time.Millisecond})
			l.wantLimit(t, sandbox.ErrTime)
		}},
		// What a server wants to find again in the next request.
		{"cookie", "be recognised by a cookie in the next call", func(l *lab) {
			if !l.sites() {
				return
			}
			l.site.page("/x", func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Set-Cookie", "id="+l.bench.secret)
				fmt.Fprint(rw, "ok")
			})
			for range 2 {
				l.may(l.env(grantSite(l.site)), get(l.site.url("/x")), "ok")
			}
			for _, v := range l.site.visits() {
				if v.header.Get("Cookie") != "" {
					l.breach("the cookie came back")
				}
			}
			l.stopped("cookies are neither kept nor shown")
		}},
	}
}

// swallow runs a guest that asks for a page that is longer than it may be.
func (l *lab) swallow(most int64, page http.HandlerFunc) {
	if !l.sites() {
		return
	}
	l.site.page("/x", page)
	s := l.settings(grantSite(l.site))
	s.MaxHTTPBytes = most
	for _, r := range l.asks(l.envOf(s), get(l.site.url("/x"))) {
		switch {
		case !r.ok():
			l.stopped("http_request: %s", r.message())
		case int64(len(r.body)) > most:
			l.breach("%d bytes came, at most %d may", len(r.body), most)
		case strings.Contains(r.meta, `"truncated":true`):
			l.stopped("cut after %d bytes", len(r.body))
		}
	}
}
