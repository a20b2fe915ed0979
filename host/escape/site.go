package escape

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// site is a web server on loopback that keeps what it was asked.
type site struct {
	address string // host:port
	server  *http.Server

	mu    sync.Mutex
	pages map[string]http.HandlerFunc // by path; others answer "ok"
	seen  []visit
}

// visit is a request that arrived.
type visit struct {
	method, host, uri, body string
	header                  http.Header
}

// openSite starts a server.
func openSite() (*site, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &site{address: listener.Addr().String(), pages: map[string]http.HandlerFunc{}}
	s.server = &http.Server{Handler: s, ReadTimeout: attemptTime, WriteTimeout: attemptTime, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// close stops the server, and whatever it is still answering.
func (s *site) close() { _ = s.server.Close() }

// ServeHTTP keeps the request and answers it.
func (s *site) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	s.mu.Lock()
	s.seen = append(s.seen, visit{r.Method, r.Host, r.RequestURI, string(body), r.Header.Clone()})
	page := s.pages[r.URL.Path]
	s.mu.Unlock()
	if page == nil {
		fmt.Fprint(rw, "ok")
		return
	}
	page(rw, r)
}

// page answers a path.
func (s *site) page(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = h
}

// redirect answers a path with a redirect.
func (s *site) redirect(path string, code int, to string) {
	s.page(path, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", to)
		rw.WriteHeader(code)
	})
}

// visits are the requests that arrived.
func (s *site) visits() []visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]visit(nil), s.seen...)
}

// hits is how many.
func (s *site) hits() int { return len(s.visits()) }

// lines are the requests in short.
func (s *site) lines() (out []string) {
	for _, v := range s.visits() {
		out = append(out, v.method+" "+v.uri)
	}
	return out
}

// url is an address on the site.
func (s *site) url(path string) string { return "http://" + s.address + path }

// port is the site's port.
func (s *site) port() string {
	_, port, _ := net.SplitHostPort(s.address)
	return port
}

// sites starts both web servers.
func (l *lab) sites() bool {
	for _, at := range []**site{&l.site, &l.other} {
		s, err := openSite()
		if !l.must(err) {
			return false
		}
		*at = s
		l.atEnd = append(l.atEnd, s.close)
	}
	l.other.page("/", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, l.bench.secret) })
	return true
}

// names answers look-ups: answer gets the name without its last dot, and how
// often it was asked for before.
type names struct {
	conn   net.PacketConn
	answer func(name string, nth int) []netip.Addr

	mu    sync.Mutex
	asked map[string]int
}

// resolver starts a name server on loopback, and returns a resolver that asks
// it.
func (l *lab) resolver(answer func(name string, nth int) []netip.Addr) (*net.Resolver, *names) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if !l.must(err) {
		return nil, nil
	}
	n := &names{conn: conn, answer: answer, asked: map[string]int{}}
	l.atEnd = append(l.atEnd, func() { _ = conn.Close() })
	go n.serve()
	address := conn.LocalAddr().String()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		d := net.Dialer{Timeout: time.Second}
		return d.DialContext(ctx, "udp", address)
	}}, n
}

// serve answers until the connection is closed.
func (n *names) serve() {
	buf := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		if b, err := n.reply(m); err == nil {
			_, _ = n.conn.WriteTo(b, from)
		}
	}
}

// reply packs the answer to one question.
func (n *names) reply(m dnsmessage.Message) ([]byte, error) {
	q := m.Questions[0]
	name := q.Name.String()
	n.mu.Lock()
	key := name + q.Type.String()
	nth := n.asked[key]
	n.asked[key]++
	n.mu.Unlock()
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionDesired: m.RecursionDesired, RecursionAvailable: true}
	m.Additionals = nil
	for _, a := range n.answer(name[:len(name)-1], nth) {
		h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return m.Pack()
}

// count is how often a name was asked for, by the type it was asked most.
func (n *names) count(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return max(n.asked[name+"."+dnsmessage.TypeA.String()], n.asked[name+"."+dnsmessage.TypeAAAA.String()])
}
