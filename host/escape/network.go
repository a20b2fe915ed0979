package escape

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/run/hostfn"
)

// get is the request for a page.
func get(url string) ask { return ask{"http_request", object("url", url), ""} }

// send is a request with a method and a header.
func send(method, url, header, value, body string) ask {
	meta, _ := json.Marshal(map[string]any{"method": method, "url": url, "headers": map[string][]string{header: {value}}})
	return ask{"http_request", string(meta), body}
}

// gets are requests for pages.
func gets(urls ...string) (all []ask) {
	for _, u := range urls {
		all = append(all, get(u))
	}
	return all
}

// grantSite is a grant for everything on a site.
func grantSite(s *site) string { return "http:* " + s.url("/*") }

// reach has a guest that is granted the first site, and may look around there,
// make requests that are all to fail.
func (l *lab) reach(all []ask, grants ...string) {
	if l.site == nil && !l.sites() {
		return
	}
	e := l.env(append([]string{grantSite(l.site)}, grants...)...)
	l.reachIn(e, all)
}

func (l *lab) reachIn(e *hostfn.Env, all []ask) {
	l.may(e, get(l.site.url("/")), "ok")
	l.refusedAll(l.asks(e, all...), all)
	l.denied(e)
}

// hostAttempts go to hosts that were not granted.
func hostAttempts() []attempt {
	return []attempt{
		// The simplest one: another server on the same machine.
		{"ungranted-host", "ask a host, a port and a path that were not granted", func(l *lab) {
			if l.sites() {
				l.site.page("/private", l.leak)
				e := l.env("http:GET " + l.site.url("/public/*"))
				l.may(e, get(l.site.url("/public/x")), "ok")
				all := append(gets(l.other.url("/"), l.site.url("/private"), "http://localhost:"+l.site.port()+"/public/x"),
					send("POST", l.site.url("/public/x"), "X", "y", "a method that was not granted"))
				l.refusedAll(l.asks(e, all...), all)
				l.denied(e)
				l.only(l.site, "/public/x")
			}
		}},
		// A granted server sends the guest elsewhere, with its key in hand. The
		// guest is an Extism plug-in, so that it also runs on the Extism SDK.
		{"redirect-out", "leave the granted host by a redirect, and take a key along", func(l *lab) {
			if !l.sites() {
				return
			}
			l.site.redirect("/from", http.StatusFound, "http://localhost:"+l.other.port()+"/stolen")
			e := l.env(grantSite(l.site))
			l.wantDenied(l.run(redirected(l.site.url("/from")), e))
			l.only(l.site, "/from")
		}},
		// The kinds of redirects that repeat method and body.
		{"redirect-body", "send data out by redirects that repeat the body", func(l *lab) {
			if !l.sites() {
				return
			}
			var all []ask
			for _, code := range []int{301, 302, 303, 307, 308} {
				path := "/" + strconv.Itoa(code)
				l.site.redirect(path, code, l.other.url("/sink"))
				all = append(all, send("POST", l.site.url(path), keyHeader, guestKey, "data"))
			}
			l.reach(all)
		}},
		// Redirects to something that is not a web server.
		{"redirect-scheme", "be redirected to a file, another scheme, or a private address", func(l *lab) {
			if !l.sites() {
				return
			}
			var all []ask
			for i, to := range []string{
				"file://" + l.path("closed/secret"), "ftp://" + l.other.address + "/", "gopher://" + l.other.address + "/", "javascript:alert(1)",
				"http://169.254.169.254/latest/meta-data/", "http://[::1]:" + l.other.port() + "/", "//localhost:" + l.other.port() + "/",
				"http://user:password@" + l.site.address + "/", `\\` + l.other.address + `\x`, "http://%zz/",
			} {
				path := "/" + strconv.Itoa(i)
				l.site.redirect(path, http.StatusFound, to)
				all = append(all, get(l.site.url(path)))
			}
			l.reach(all)
		}},
		// A redirect to itself.
		{"redirect-loop", "keep the host busy with redirects that never end", func(l *lab) {
			if !l.sites() {
				return
			}
			l.site.redirect("/loop", http.StatusTemporaryRedirect, "/loop")
			all := gets(l.site.url("/loop"))
			l.refusedAll(l.asks(l.env(grantSite(l.site)), all...), all)
			if n := l.site.hits(); n > hostfn.MaxRedirects+1 {
				l.breach("%d redirects were followed", n)
			}
		}},
	}
}

// redirected is a plug-in that asks for a page with a key in the header, and
// puts out what it gets.
func redirected(url string) []byte {
	p := newPlugin()
	request := `{"method":"GET","url":"` + url + `","headers":{"` + keyHeader + `":"` + guestKey + `"}}`
	return p.emit(p.do("http_request", p.block(request), long(0))).tool()
}

// guestKey is a key that a guest sends to the host it was granted, in a header
// of its own.
const (
	guestKey  = "key-of-the-guest"
	keyHeader = "X-Api-Key"
)

// wantDenied judges that a refusal ended a call, and was recorded.
func (l *lab) wantDenied(t callResult) {
	if !isDenied(t.err) {
		l.breach("a refusal was to end the call, and %s did", cause(t.err))
		return
	}
	l.denied(t.env)
}

// leak answers with the secret.
func (l *lab) leak(rw http.ResponseWriter, _ *http.Request) {
	_, _ = rw.Write([]byte(l.bench.secret))
}

// only judges that a site was asked for nothing but some paths.
func (l *lab) only(s *site, paths ...string) {
	for _, v := range s.visits() {
		if !slices.Contains(paths, v.uri) {
			l.breach("the granted server was asked for %s", v.uri)
		}
	}
}

// addressAttempts reach machines that are not on the public internet.
func addressAttempts() []attempt {
	return []attempt{
		// Names that are granted and lead inside.
		{"private-name", "reach private addresses by names that resolve to them", func(l *lab) {
			if l.sites() {
				l.resolveTo([]string{
					"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.0.1", "198.18.0.1",
					"::1", "::", "fc00::1", "fe80::1", "fd00:ec2::254",
				})
			}
		}},
		// IPv4 addresses inside IPv6 ones.
		{"mapped-name", "reach private addresses that are mapped into IPv6 ones", func(l *lab) {
			if l.sites() {
				l.resolveTo([]string{"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::", "64:ff9b::a9fe:a9fe"})
			}
		}},
		// Other spellings of an address that was not granted.
		{"address-spelling", "spell an address in decimal, octal, hexadecimal, short or mapped form", func(l *lab) {
			if !l.sites() {
				return
			}
			var urls []string
			for _, host := range []string{
				"2130706433", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "127.1", "127.0.1", "127.0.0.1.", "localhost.", "LOCALHOST", "0.0.0.0", "0",
				"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "[::]", "[fe80::1%25lo]", "１２７.0.0.1", "127。0。0。1", "127.0.0.1%00.example",
			} {
				urls = append(urls, "http://"+host+":"+l.other.port()+"/")
			}
			l.reach(gets(urls...))
		}},
		// A name that means something else at the second look-up.
		{"dns-rebinding", "change what a name resolves to between two look-ups", func(l *lab) {
			if !l.sites() {
				return
			}
			answers := []string{"192.0.2.1", "127.0.0.1", "169.254.169.254", "127.0.0.1"}
			r, n := l.resolver(func(_ string, nth int) []netip.Addr {
				return []netip.Addr{netip.MustParseAddr(answers[nth%len(answers)])}
			})
			s := l.settings(grantSite(l.site), "http:GET http://rebind.example:"+l.other.port()+"/*")
			s.Resolver = r
			url := "http://rebind.example:" + l.other.port() + "/"
			l.reachIn(l.envOf(s), gets(url, url, url, url))
			if n == nil || n.count("rebind.example") < len(answers) {
				l.breach("the name was not looked up again")
			}
		}},
		// Cloud machines hand their own credentials to whoever asks from inside.
		{"cloud-metadata", "ask cloud metadata services, with a grant that names them", func(l *lab) {
			if l.sites() {
				var grants, urls []string
				for _, host := range []string{"169.254.169.254", "169.254.170.2", "100.100.100.200", "[fd00:ec2::254]", "metadata.google.internal", "metadata"} {
					grants = append(grants, "http:* http://"+host+"/*")
					urls = append(urls, "http://"+host+"/latest/meta-data/")
				}
				l.reach(gets(urls...), grants...)
			}
		}},
	}
}

// resolveTo runs a guest that asks for names that are granted, each of which
// resolves to one address, at the port of the other server.
func (l *lab) resolveTo(addresses []string) {
	name := func(i int) string { return "host" + strconv.Itoa(i) + ".example" }
	r, _ := l.resolver(func(asked string, _ int) []netip.Addr {
		for i, a := range addresses {
			if strings.EqualFold(asked, name(i)) {
				return []netip.Addr{netip.MustParseAddr(a)}
			}
		}
		return nil
	})
	grants := []string{grantSite(l.site)}
	var all []ask
	for i := range addresses {
		grants = append(grants, "http:GET http://"+name(i)+":"+l.other.port()+"/*")
		all = append(all, get("http://"+name(i)+":"+l.other.port()+"/"))
	}
	s := l.settings(grants...)
	s.Resolver = r
	l.reachIn(l.envOf(s), all)
}
