package hostfn

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// site is a web server on loopback that keeps what it was asked.
type site struct {
	*httptest.Server
	mux *http.ServeMux

	mu   sync.Mutex
	seen []*http.Request
	body []string
}

// newSite starts a server. Its path /echo answers "ok"; more are added to mux.
func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{mux: http.NewServeMux()}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") })
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	buf := make([]byte, 1024)
	for {
		n, err := r.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	s.mu.Lock()
	s.seen = append(s.seen, r)
	s.body = append(s.body, b.String())
	s.mu.Unlock()
	s.mux.ServeHTTP(w, r)
}

// hits is how many requests arrived.
func (s *site) hits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// last is the last request and its body.
func (s *site) last(t testing.TB) (*http.Request, string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		t.Fatal("no request arrived")
	}
	return s.seen[len(s.seen)-1], s.body[len(s.body)-1]
}

// port is the server's port with a colon.
func (s *site) port() string { return s.URL[strings.LastIndexByte(s.URL, ':'):] }

// redirects makes path answer with a redirect.
func (s *site) redirects(path string, code int, to string) {
	s.mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	})
}

// grant allows every request to a server.
func (s *site) grant() string { return "http:* " + s.URL + "/*" }

// fetch runs http_request.
func fetch(t testing.TB, e *Env, method, url string, body string) reply {
	t.Helper()
	return call(t, e, "http_request", field("method", method, "url", url), []byte(body))
}

// names is a resolver that knows the given names and no others.
func names(t testing.TB, hosts map[string]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if b := answerDNS(buf[:n], hosts); b != nil {
				conn.WriteTo(b, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answerDNS answers one query with the addresses of a name, which are separated by spaces.
func answerDNS(query []byte, hosts map[string]string) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable = true, true
	m.Additionals = nil
	list, known := hosts[strings.TrimSuffix(q.Name.String(), ".")]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for a := range strings.FieldsSeq(list) {
		ip := net.ParseIP(a)
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
		if v4 := ip.To4(); v4 != nil && !strings.Contains(a, ":") {
			if q.Type == dnsmessage.TypeA {
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: [4]byte(v4)}})
			}
		} else if q.Type == dnsmessage.TypeAAAA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip.To16())}})
		}
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// vault is a source of secrets.
type vault map[string]string

func (v vault) Has(_ context.Context, name string) (bool, error) { _, ok := v[name]; return ok, nil }
func (v vault) Get(_ context.Context, name string) ([]byte, error) {
	if s, ok := v[name]; ok {
		return []byte(s), nil
	}
	return nil, fmt.Errorf("get secret %s: not found", name)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mux.HandleFunc("/answer", func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Own", "yes")
		h.Set("Set-Cookie", "session=1")
		h.Set("Set-Cookie2", "session=1")
		h.Set("Connection", "close")
		h.Set("Proxy-Authenticate", "Basic")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "body")
	})
	e := env(t, s.grant())
	r := call(t, e, "http_request", `{"method":"post","url":"`+s.URL+`/answer?q=1#frag","headers":{"x-mine":["a","b"],"Content-Length":["9999"],"Accept-Encoding":["br"]}}`, []byte("sent"))
	if get[int](t, r, "status") != 418 || string(r.Body) != "body" || get[bool](t, r, "truncated") || get[string](t, r, "url") != s.URL+"/answer?q=1" {
		t.Errorf("%s %q", r.Meta, r.Body)
	}
	got := slices.Sorted(maps.Keys(get[http.Header](t, r, "headers")))
	if strings.Join(got, " ") != "Content-Length Content-Type Date X-Own" {
		t.Errorf("headers of the response: %v", got)
	}
	req, body := s.last(t)
	if req.Method != "POST" || body != "sent" || req.URL.RawQuery != "q=1" || strings.Join(req.Header["X-Mine"], ",") != "a,b" ||
		req.Header.Get("Accept-Encoding") != "gzip" || req.UserAgent() != userAgent || req.ContentLength != 4 {
		t.Errorf("request %+v %q", req, body)
	}
	if u := e.Uses(); len(u) != 1 || u[0].Request != "http:POST "+s.URL+"/answer" {
		t.Errorf("uses %+v", u)
	}
}

// TestHTTPNotGranted: what the grant does not name does not leave the host.
func TestHTTPNotGranted(t *testing.T) {
	t.Parallel()
	s, other := newSite(t), newSite(t)
	host := strings.TrimPrefix(s.URL, "http://")
	grants := []string{"http:GET,POST " + s.URL + "/v1/*"}
	for _, c := range []struct {
		method, url string
		kind        Kind
	}{
		{"GET", s.URL + "/v1/x", ""},
		{"get", s.URL + "/v1/x", ""},
		{"", s.URL + "/v1/", ""},
		{"GET", s.URL + "/v1//x/./y", ""},
		{"GET", "HTTP://" + host + "/v1/x", ""},
		{"DELETE", s.URL + "/v1/x", KindDenied},
		{"PUT", s.URL + "/v1/x", KindDenied},
		{"HEAD", s.URL + "/v1/x", KindDenied},
		{"OPTIONS", s.URL + "/v1/x", KindDenied},
		{"CONNECT", s.URL + "/v1/x", KindInvalid},
		{"TRACE", s.URL + "/v1/x", KindInvalid},
		{"GET /v1/x HTTP/1.1\r\nX: y", s.URL + "/v1/x", KindInvalid},
		{"GET", s.URL + "/", KindDenied},
		{"GET", s.URL + "/v2/x", KindDenied},
		{"GET", s.URL + "/v1", KindDenied},
		{"GET", s.URL + "/v1/../v2/x", KindInvalid},
		{"GET", s.URL + "/v1/%2e%2e/v2/x", KindInvalid},
		{"GET", s.URL + "/v1/%2E%2E%2fv2", KindInvalid},
		{"GET", s.URL + "/v1/%252e%252e/v2", KindInvalid},
		{"GET", s.URL + "/v1/..%5cv2", KindInvalid},
		{"GET", s.URL + `/v1\..\v2`, KindInvalid},
		{"GET", s.URL + "/%76%31/x", ""}, // the same path, and sent as it was checked
		{"GET", s.URL + "/v1%2fx", KindDenied},
		{"GET", s.URL + "/V1/x", KindDenied},
		{"GET", other.URL + "/v1/x", KindDenied},
		{"GET", "https://" + host + "/v1/x", KindDenied},
		{"GET", "http://user:pw@" + host + "/v1/x", KindInvalid},
		{"GET", "http://" + host + "@evil.example/v1/x", KindInvalid},
		{"GET", "http://evil.example\\@" + host + "/v1/x", KindInvalid},
		{"GET", "ftp://" + host + "/v1/x", KindInvalid},
		{"GET", "file:///etc/passwd", KindInvalid},
		{"GET", "gopher://" + host + "/v1/x", KindInvalid},
		{"GET", "//" + host + "/v1/x", KindInvalid},
		{"GET", "/v1/x", KindInvalid},
		{"GET", "", KindInvalid},
		{"GET", s.URL + "/v1/x\r\nHost: y", KindInvalid},
		{"GET", s.URL + "/v1/\x00", KindInvalid},
		{"GET", "http://localhost" + s.port() + "/v1/x", KindDenied},
		{"GET", "http://127.0.0.1/v1/x", KindDenied},
		{"GET", "http://127.0.0.1.:80/v1/x", KindInvalid},
		{"GET", "http://127.1" + s.port() + "/v1/x", KindInvalid},
		{"GET", "http://2130706433" + s.port() + "/v1/x", KindInvalid},
		{"GET", "http://0x7f.0.0.1" + s.port() + "/v1/x", KindInvalid},
		{"GET", "http://0x7f000001" + s.port() + "/v1/x", KindInvalid},
		{"GET", "http://0177.0.0.1" + s.port() + "/v1/x", KindInvalid},
		{"GET", "http://[::1]" + s.port() + "/v1/x", KindDenied},
		{"GET", "http://[::]" + s.port() + "/v1/x", KindDenied},
		{"GET", "http://0.0.0.0" + s.port() + "/v1/x", KindDenied},
		{"GET", "http://127.0.0.2" + s.port() + "/v1/x", KindDenied},
		{"GET", "http://[fe80::1%25lo]" + s.port() + "/v1/x", KindInvalid},
		{"GET", "http://１２７.0.0.1" + s.port() + "/v1/x", KindInvalid},
	} {
		before := s.hits() + other.hits()
		r := fetch(t, env(t, grants...), c.method, c.url, "")
		wantKind(t, c.method+" "+c.url, r, c.kind)
		if arrived := s.hits() + other.hits() - before; (arrived == 1) != (c.kind == "") {
			t.Errorf("%s %q: %d requests arrived", c.method, c.url, arrived)
		}
		if c.kind == "" {
			if req, _ := s.last(t); !strings.HasPrefix(req.URL.Path, "/v1/") || strings.Contains(req.RequestURI, "//") {
				t.Errorf("%q was sent as %q", c.url, req.RequestURI)
			}
		}
	}
}

// TestHTTPMapped: an address mapped into IPv6 is its IPv4 self, in grants and in requests.
func TestHTTPMapped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, u := range []string{"http://[::ffff:127.0.0.1]", "http://[::ffff:7f00:1]", "http://[0:0:0:0:0:ffff:127.0.0.1]"} {
		r := fetch(t, env(t), "GET", u+s.port()+"/x", "")
		if r.Error.Kind != KindDenied && r.Error.Kind != KindInvalid {
			t.Errorf("%s: %s", u, r.Meta)
		}
	}
	if s.hits() != 0 {
		t.Errorf("%d requests arrived", s.hits())
	}
}

// TestRebinding: a granted name opens the public internet and nothing else, whatever it resolves to, and
// also when it meant something else a moment ago. The way out names the address.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	list := []string{
		"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
		"169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1",
		"192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
		"240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1",
		"64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::", "3fff::1",
		"5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
	}
	hosts := map[string]string{"mixed.example": "127.0.0.1 ::1"}
	grants := []string{"http:GET http://mixed.example" + s.port() + "/*"}
	for i, a := range list {
		name := fmt.Sprintf("h%d.example", i)
		hosts[name] = a
		grants = append(grants, "http:GET http://"+name+s.port()+"/*")
	}
	set := settings(t, grants...)
	set.Resolver = names(t, hosts)
	for name, a := range hosts {
		e := open(t, set)
		wantKind(t, name+" "+a, fetch(t, e, "GET", "http://"+name+s.port()+"/x", ""), KindDenied)
		d := e.Denials()
		if len(d) != 1 || !strings.Contains(d[0].Reason, "not on the public internet") {
			t.Errorf("%s: recorded %+v", a, d)
		}
	}
	if s.hits() != 0 {
		t.Errorf("%d requests arrived", s.hits())
	}
	wantKind(t, "unknown name", fetch(t, open(t, set), "GET", "http://none.example/", ""), KindDenied)
	set = settings(t, "http:GET http://none.example/*")
	set.Resolver = names(t, hosts)
	wantKind(t, "granted name that is none", fetch(t, open(t, set), "GET", "http://none.example/", ""), KindIO)
}

func TestRebindingHint(t *testing.T) {
	t.Parallel()
	set := settings(t, "http:GET http://h.example:81/*", "http:GET http://meta.example/*")
	set.Resolver = names(t, map[string]string{"h.example": "10.1.2.3", "meta.example": "169.254.169.254"})
	e := open(t, set)
	fetch(t, e, "GET", "http://h.example:81/a", "")
	fetch(t, e, "GET", "http://meta.example/a", "")
	d := e.Denials()
	if len(d) != 2 || d[0].Way().String() != "[grant tester http:GET http://10.1.2.3:81/*]" || d[1].Way().String() != "" {
		t.Errorf("denials %+v", d)
	}
}

// TestLocalhost: the grant of localhost opens loopback and nothing else.
func TestLocalhost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := env(t, "http:GET http://localhost"+s.port()+"/*")
	wantKind(t, "localhost", fetch(t, e, "GET", "http://localhost"+s.port()+"/x", ""), "")
	wantKind(t, "spelled otherwise", fetch(t, e, "GET", "http://LOCALHOST"+s.port()+"/x", ""), "")
	wantKind(t, "its address", fetch(t, e, "GET", s.URL+"/x", ""), KindDenied)
	set := settings(t, "http:GET http://*.localhost.example"+s.port()+"/*")
	set.Resolver = names(t, map[string]string{"x.localhost.example": "127.0.0.1"})
	wantKind(t, "like localhost", fetch(t, open(t, set), "GET", "http://x.localhost.example"+s.port()+"/", ""), KindDenied)
}

// TestNewDomain: a grant of everything below a public suffix asks about each
// host, until one is named.
func TestNewDomain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all, one := "http:GET http://*.github.io"+s.port()+"/*", "http:GET http://a.github.io"+s.port()+"/*"
	for _, c := range []struct {
		grants []string
		denied bool
	}{{[]string{all}, true}, {[]string{all, one}, false}, {[]string{one}, false}} {
		set := settings(t, c.grants...)
		set.Resolver = names(t, map[string]string{"a.github.io": "127.0.0.1"})
		e := open(t, set)
		_, d, ok := e.judge(capability.Request{Action: capability.HTTP, Method: "GET", Resource: "http://a.github.io" + s.port() + "/x"}, 0)
		if ok == c.denied {
			t.Errorf("%v: %s", c.grants, policies.Explain(d))
		}
		if !c.denied {
			continue
		}
		wantKind(t, "not named", fetch(t, e, "GET", "http://a.github.io"+s.port()+"/x", ""), KindDenied)
		den := e.Denials()[0]
		if want := "[grant tester " + one + "]"; den.Way().String() != want || !slices.Contains(den.Policies, "ask-new-domain") {
			t.Errorf("the refusal is %+v; want the hint %s", den, want)
		}
	}
}

func TestIPv6Literal(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "six") }))
	s.Listener.Close()
	s.Listener = l
	s.Start()
	defer s.Close()
	r := fetch(t, env(t, "http:GET "+s.URL+"/*"), "GET", s.URL+"/x", "")
	if string(r.Body) != "six" {
		t.Errorf("granted: %s", r.Meta)
	}
	wantKind(t, "not granted", fetch(t, env(t), "GET", s.URL+"/x", ""), KindDenied)
	long := strings.Replace(s.URL, "[::1]", "[0:0:0:0:0:0:0:1]", 1)
	if r := fetch(t, env(t, "http:GET "+s.URL+"/*"), "GET", long+"/x", ""); r.Error.Kind != "" {
		t.Errorf("spelled out: %s", r.Meta)
	}
}

func TestURLHasALength(t *testing.T) {
	e := env(t, "http:GET https://api.example.com/*")
	long := fmt.Sprintf(`{"url":"https://api.example.com/%s"}`, strings.Repeat("a", MaxURL))
	if r := call(t, e, "http_request", long, nil); r.Error.Kind != KindInvalid || !strings.Contains(r.Error.Message, "8192 bytes") {
		t.Errorf("got %+v", r.Error)
	}
}

// TestForbiddenAddress: what policies say of an address holds for the names that lead there, at the first request
// and at those that a connection is used again for, and where a redirect leads.
func TestForbiddenAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	name := "http://localhost" + s.port()
	s.redirects("/away", 307, name+"/x")
	grants := []string{"http:* " + name + "/*", "http:* " + s.URL + "/away"}
	for what, rule := range map[string]string{
		"the host":    `forbid (principal, action == Action::"http", resource == Host::"127.0.0.1") when { context.path == "/x" };`,
		"the context": `forbid (principal, action == Action::"http", resource) when { context.path == "/x" && context has address && context.address.isLoopback() };`,
		"its text":    `forbid (principal, action == Action::"http", resource) when { context.path == "/x" && context.host == "127.0.0.1" };`,
	} {
		set := settings(t, grants...)
		set.Policies = withPolicy(t, `@id("closed") @reason("nothing on this machine") `+rule)
		set.Resolver = names(t, map[string]string{"localhost": "127.0.0.1"})
		for _, from := range []string{name + "/x", s.URL + "/away"} {
			e, before := open(t, set), s.hits()
			wantKind(t, what+": "+from, fetch(t, e, "GET", from, ""), KindDenied)
			if d := e.Denials(); len(d) != 1 || !slices.Contains(d[0].Policies, "closed") || !strings.Contains(d[0].Reason, "nothing on this machine") || d[0].Way().String() != "" {
				t.Errorf("%s: %s: recorded %+v", what, from, d)
			}
			for _, r := range s.seen[before:] {
				if r.URL.Path != "/away" {
					t.Errorf("%s: %s arrived", what, r.URL)
				}
			}
		}
	}
}

// withPolicy are the policies that came with the program, and one more.
func withPolicy(t testing.TB, text string) *policies.Set {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/one.cedar", []byte(text), 0o600))
	p, err := policies.Load(dir)
	must(t, err)
	return p
}

// TestForbiddenAddressOfAKeptConnection: a connection that was made for one request carries no other that policies
// refuse there, and a rule that asks is one that a person can approve.
func TestForbiddenAddressOfAKeptConnection(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	name := "http://localhost" + s.port()
	set := settings(t, "http:* "+name+"/*")
	set.Policies = withPolicy(t, `@id("no-posts") @reason("it changes this machine") @approval("required")
		forbid (principal, action == Action::"http", resource == Host::"127.0.0.1") when { context.method == "POST" } unless { context.approved };`)
	set.Resolver = names(t, map[string]string{"localhost": "127.0.0.1"})
	e := open(t, set)
	wantKind(t, "GET", fetch(t, e, "GET", name+"/x", ""), "")
	wantKind(t, "POST", fetch(t, e, "POST", name+"/x", "body"), KindDenied)
	wantKind(t, "GET again", fetch(t, e, "GET", name+"/x", ""), "")
	if d := e.Denials(); len(d) != 1 || !d[0].Asks || s.hits() != 2 {
		t.Errorf("%d arrived, recorded %+v", s.hits(), d)
	}
	set.Approved = capability.NewSet(capability.MustParse("http:POST " + name + "/x"))
	wantKind(t, "approved", fetch(t, open(t, set), "POST", name+"/x", "body"), "")
}
