// Package transfer moves bytes over HTTP from places that nobody trusts: it
// bounds sizes and waits, follows redirects only where they may lead and
// without credentials, goes on with downloads that were cut short, and checks
// digests while it reads.
//
// It knows no registry and no package, and keeps no credentials.
package transfer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Settings are the same for all places.
type Settings struct {
	// Stall is the longest wait for an answer to begin, and for each next byte
	// of it; 0 = 30 seconds.
	Stall time.Duration
	// RootCAs are the certificate authorities that are trusted; nil for the
	// system's.
	RootCAs *x509.CertPool
	// UserAgent names the program to servers.
	UserAgent string
}

const defaultStall = 30 * time.Second

// An Endpoint is where the requests of a client begin, and where they may be led.
type Endpoint struct {
	// Host is HOST[:PORT].
	Host string
	// PlainHTTP says that the place is reached without TLS.
	PlainHTTP bool
	// Public says that the place itself, too, is reached only over HTTPS at a public
	// address: a stranger named it.
	Public bool
	// Redirects are the HOST[:PORT]s requests may be led to, besides the place
	// itself and public addresses over HTTPS.
	Redirects []string
}

// Scheme is "http" or "https".
func (p Endpoint) Scheme() string {
	if p.PlainHTTP {
		return "http"
	}
	return "https"
}

// Loopback reports whether HOST[:PORT] is this machine by its name alone:
// localhost, or a loopback address.
func Loopback(hostport string) bool {
	host := hostname(hostport)
	a, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && a.Unmap().IsLoopback()
}

// probeTime is how long a place on this machine has to say what it speaks.
const probeTime = 2 * time.Second

// SpeaksTLS reports whether HOST[:PORT], of this machine, answers a TLS handshake,
// whatever its certificate is worth. Nothing else is sent to it.
func SpeaksTLS(hostport string) bool {
	if _, _, err := net.SplitHostPort(hostport); err != nil {
		hostport = net.JoinHostPort(hostname(hostport), "443")
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	// The answer is not trusted: the certificate is checked when a request is made.
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, ServerName: hostname(hostport)}}
	c, err := d.DialContext(ctx, "tcp", hostport)
	var alert tls.AlertError
	if err != nil {
		return errors.As(err, &alert)
	}
	c.Close()
	return true
}

func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// maxRedirects is how many redirects of one request are followed.
const maxRedirects = 5

// NewClient makes the client for one place. Its answers wait no longer than the
// settings say; only GET and HEAD are redirected.
func NewClient(s Settings, p Endpoint) *http.Client {
	if s.Stall <= 0 {
		s.Stall = defaultStall
	}
	g := &guide{endpoint: p, settings: s, near: newTransport(s, nil), far: newTransport(s, publicOnly)}
	return &http.Client{Transport: g, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func newTransport(s Settings, control func(network, address string, _ syscall.RawConn) error) *http.Transport {
	d := &net.Dialer{Timeout: s.Stall, Control: control}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: d.DialContext, ForceAttemptHTTP2: true,
		TLSClientConfig:     &tls.Config{RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: s.Stall, ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// publicOnly refuses connections to addresses that are not on the public
// internet: nobody who is asked for a package may send requests into the
// networks of the one who asks.
func publicOnly(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if a := to.Addr().Unmap(); !a.IsGlobalUnicast() || a.IsPrivate() || carrierGrade(a) {
		return fmt.Errorf("%w: to %s, which is not on the public internet", ErrRedirect, a)
	}
	return nil
}

// carrierGrade reports whether a is in the shared address space of RFC 6598.
func carrierGrade(a netip.Addr) bool { return netip.MustParsePrefix("100.64.0.0/10").Contains(a) }

// A guide sends requests, follows redirects, and watches that answers keep
// coming.
type guide struct {
	endpoint Endpoint
	settings Settings
	near     *http.Transport // to the place, and where it may redirect to
	far      *http.Transport // to public addresses
}

// CloseIdleConnections closes connections that nobody uses.
func (g *guide) CloseIdleConnections() {
	g.near.CloseIdleConnections()
	g.far.CloseIdleConnections()
}

// RoundTrip sends a request and follows redirects. The request of the answer is
// the last one that was sent.
func (g *guide) RoundTrip(req *http.Request) (*http.Response, error) {
	if g.settings.UserAgent != "" && req.Header.Get("User-Agent") == "" {
		req = req.Clone(req.Context())
		req.Header.Set("User-Agent", g.settings.UserAgent)
	}
	for range maxRedirects + 1 {
		resp, err := g.once(req)
		if err != nil || !redirects(req, resp) {
			return resp, err
		}
		next, err := follow(req, resp)
		if err != nil {
			return nil, err
		}
		req = next
	}
	return nil, fmt.Errorf("%w: more than %d times, at last to %s", ErrRedirect, maxRedirects, shown(req.URL))
}

// once sends one request.
func (g *guide) once(req *http.Request) (*http.Response, error) {
	way, err := g.way(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	w := newWatch(req.Context(), g.settings.Stall)
	sent := req.Clone(w.ctx)
	if req.Body != nil && req.Body != http.NoBody {
		sent.Body = watched{req.Body, w}
	}
	resp, err := way.RoundTrip(sent)
	if err != nil {
		w.stop()
		return nil, w.cause(err)
	}
	resp.Body = watchedEnd{watched{resp.Body, w}}
	return resp, nil
}

// way is how the host of a request is reached, if it may be. A proxy looks up
// names itself, and is where its owner put it.
func (g *guide) way(req *http.Request) (http.RoundTripper, error) {
	u := req.URL
	switch {
	case !g.endpoint.Public && u.Host == g.endpoint.Host && u.Scheme == g.endpoint.Scheme(), slices.Contains(g.endpoint.Redirects, u.Host):
		return g.near, nil
	case u.Scheme != "https":
		return nil, fmt.Errorf("%w: to %s, without TLS", ErrRedirect, shown(u))
	case (g.endpoint.Public || !g.endpoint.local()) && (Loopback(u.Host) || literal(u.Host)):
		return nil, fmt.Errorf("%w: to %s, which is not a public host", ErrRedirect, shown(u))
	}
	if proxy, err := http.ProxyFromEnvironment(req); err == nil && proxy != nil {
		return g.near, nil
	}
	return g.far, nil
}

// local reports whether the place is on this machine.
func (p Endpoint) local() bool { return Loopback(p.Host) }

// literal reports whether a host is an address that is not public.
func literal(hostport string) bool {
	a, err := netip.ParseAddr(hostname(hostport))
	return err == nil && publicOnly("", netip.AddrPortFrom(a, 0).String(), nil) != nil
}

// shown is a URL without what may be secret in it.
func shown(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

func redirects(req *http.Request, resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return req.Method == http.MethodGet || req.Method == http.MethodHead
	}
	return false
}

// follow makes the request that a redirect asks for. Whatever could be a
// credential stays behind when it leads to another host.
func follow(req *http.Request, resp *http.Response) (*http.Request, error) {
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
	resp.Body.Close()
	to, err := req.URL.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, fmt.Errorf("%w: to no address", ErrRedirect)
	}
	next := req.Clone(req.Context())
	next.URL, next.Host = to, ""
	if to.Host != req.URL.Host || to.Scheme != req.URL.Scheme {
		for name := range next.Header {
			if name != "Accept" && name != "Range" && name != "User-Agent" {
				next.Header.Del(name)
			}
		}
	}
	return next, nil
}

// A watch ends a request when nothing happens for too long.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stall  time.Duration

	mu    sync.Mutex
	timer *time.Timer
}

var errStalled = fmt.Errorf("%w: nothing came for too long", ErrTimeout)

func newWatch(ctx context.Context, stall time.Duration) *watch {
	w := &watch{stall: stall}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(stall, func() { w.cancel(errStalled) })
	return w
}

// alive says that something happened.
func (w *watch) alive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Reset(w.stall)
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// cause is why the request ended with err.
func (w *watch) cause(err error) error {
	if errors.Is(context.Cause(w.ctx), errStalled) {
		return errStalled
	}
	return err
}

// watched is a body that says when something comes.
type watched struct {
	io.ReadCloser
	w *watch
}

func (b watched) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.w.alive()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.w.cause(err)
	}
	return n, err
}

// watchedEnd is the body of an answer: with it the request ends.
type watchedEnd struct{ watched }

func (b watchedEnd) Close() error {
	b.w.stop()
	return b.ReadCloser.Close()
}

// Strict makes a client for programs that speak a protocol of their own. An answer
// with another status than success is an error, see [Status]. All answers together
// have at most limit bytes; reading more fails with [ErrTooLarge].
func Strict(c *http.Client, limit int64) *http.Client {
	strict := *c
	strict.Transport = &strictly{next: c.Transport, left: limit}
	return &strict
}

type strictly struct {
	next http.RoundTripper

	mu   sync.Mutex
	left int64
}

// RoundTrip sends a request.
func (s *strictly) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := Status(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Body = counted{resp.Body, s}
	return resp, nil
}

// counted is a body whose bytes are counted.
type counted struct {
	io.ReadCloser
	s *strictly
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.left -= int64(n); c.s.left < 0 {
		return 0, fmt.Errorf("%w: more than is accepted from one server", ErrTooLarge)
	}
	return n, err
}
