package hostfn

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/skillet-run/skillet/host/base/task"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// MaxURL is the longest URL a guest may ask for, and a redirect may lead to, in bytes. It bounds what one
// call has the host remember.
const MaxURL = 8 << 10

const (
	// MaxRedirects is how many redirects of one request are followed.
	MaxRedirects = 5
	// MaxHeaders bounds the header fields a guest may set, in number.
	MaxHeaders = 64
	// MaxHeaderBytes bounds the header of a request, and that of a response, in bytes.
	MaxHeaderBytes = 64 << 10

	userAgent = "skillet"
)

const (
	tlsTimeout  = 10 * time.Second
	idleTimeout = 5 * time.Second
)

// web is the HTTP side of one call.
type web struct {
	settings *Settings
	found    found

	mu        sync.Mutex
	transport http.RoundTripper // nil until something is sent
}

// carrier is what carries the requests of the call. Most calls send none.
func (w *web) carrier() http.RoundTripper {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.transport == nil {
		w.transport = w.settings.exchange()
	}
	return w.transport
}

// close closes the connections.
func (w *web) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t, ok := w.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// outgoing is a request of the guest, or what became of it after a redirect.
type outgoing struct {
	method   string
	url      string
	header   http.Header // what the guest set
	body     []byte
	timeout  time.Duration // 0: the longest allowed
	maxBytes int64         // 0: the most allowed

	to    capability.Endpoint // of the request as it is sent; set by prepare
	query string
}

// incoming is the answer as the guest may see it.
type incoming struct {
	status    int
	header    http.Header
	url       string
	body      []byte
	truncated bool
}

// fetch sends a request, follows its redirects and returns the answer. Every hop is checked as if the
// guest had asked for it.
func (e *Env) fetch(ctx context.Context, r outgoing) (*incoming, error) {
	if int64(len(r.body)) > e.s.MaxHTTPBytes {
		return nil, failf(KindLimit, "request body of %d bytes; at most %d", len(r.body), e.s.MaxHTTPBytes)
	}
	if r.timeout == 0 {
		r.timeout = e.s.HTTPTimeout
	}
	if r.maxBytes == 0 || r.maxBytes > e.s.MaxHTTPBytes {
		r.maxBytes = e.s.MaxHTTPBytes
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	if err := r.prepare(); err != nil {
		return nil, err
	}
	by, err := e.permit(r.request(), int64(len(r.body)))
	if err != nil {
		return nil, err
	}
	if err := r.checkHeader(); err != nil { // only after the grant: a refusal comes before any other answer
		return nil, err
	}
	r.body = bytes.Clone(r.body) // the transport may read on after this call has returned
	return e.follow(ctx, r, by)
}

// follow sends a permitted request and those it is redirected to.
func (e *Env) follow(ctx context.Context, r outgoing, by capability.Capability) (*incoming, error) {
	for hop := 0; ; hop++ {
		resp, err := e.send(ctx, r, by)
		if err != nil {
			return nil, err
		}
		next, ok := r.redirect(resp)
		if !ok {
			return e.receive(resp, r)
		}
		resp.Body.Close()
		if hop == MaxRedirects {
			return nil, failf(KindIO, "more than %d redirects", MaxRedirects)
		}
		if by, err = e.permitHop(&next); err != nil {
			return nil, err
		}
		r = next
	}
}

// prepare checks method and URL and sets to and query.
func (r *outgoing) prepare() error {
	if r.method == "" {
		r.method = http.MethodGet
	}
	r.method = strings.ToUpper(r.method)
	if len(r.url) > MaxURL {
		return failf(KindInvalid, "a URL has at most %d bytes", MaxURL)
	}
	u, err := url.Parse(r.url)
	if err != nil {
		return failf(KindInvalid, "not a URL")
	}
	if r.to, err = r.request().Endpoint(); err != nil {
		return failf(KindInvalid, "the request is not one that can be checked: %s", reason(err))
	}
	r.method, r.query = r.to.Method, u.RawQuery
	return nil
}

// reason returns what was wrong with a request, without the request.
func reason(err error) string {
	var p *capability.ParseError
	if errors.As(err, &p) {
		return p.Message
	}
	return err.Error()
}

// request is what is asked of grants and policies.
func (r *outgoing) request() capability.Request {
	return capability.Request{Action: capability.HTTP, Method: r.method, Resource: r.url}
}

// target is the URL that is sent: the one that was checked, in its canonical form, and the query.
func (r *outgoing) target() string {
	if r.query == "" {
		return r.to.URL()
	}
	return r.to.URL() + "?" + r.query
}

// permitHop checks where a redirect leads. A place that cannot be checked is refused.
func (e *Env) permitHop(r *outgoing) (capability.Capability, error) {
	if err := r.prepare(); err != nil {
		return capability.Capability{}, e.deny(r.request(), false, policies.Decision{})
	}
	return e.permit(r.request(), int64(len(r.body)))
}

// send makes one exchange, with the secrets that belong to its URL.
func (e *Env) send(ctx context.Context, r outgoing, by capability.Capability) (*http.Response, error) {
	ctx = context.WithValue(ctx, connectingKey{}, e.locate(r, by))
	req, err := http.NewRequestWithContext(ctx, r.method, r.target(), bytes.NewReader(r.body))
	if err != nil {
		return nil, failf(KindInvalid, "not a request that can be sent").because(err)
	}
	if len(r.body) == 0 {
		req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	}
	req.Header = r.header.Clone()
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent)
	}
	if err := e.inject(ctx, r, req.Header); err != nil {
		return nil, err
	}
	if req.Header.Get("Traceparent") == "" { // one of the skill's own goes as it is
		trace.Inject(ctx, req.Header)
	}
	e.askForWhole(req.Header)
	resp, err := e.web.carrier().RoundTrip(req)
	if err != nil {
		return nil, e.sendFailure(r, err)
	}
	return resp, nil
}

// askForWhole takes out of a request what would bring the answer in parts, each with half of a secret, when there
// is a secret to look for.
func (e *Env) askForWhole(h http.Header) {
	if e.redact.margin() == 0 || h.Get("Range") == "" && h.Get("If-Range") == "" {
		return
	}
	h.Del("Range")
	h.Del("If-Range")
	e.hostLine("warn", "a request with a secret asks for the whole answer: its header Range is left out")
}

// lookable reports what keeps an answer from being looked through for secrets.
func (e *Env) lookable(resp *http.Response, length int) error {
	if e.redact.margin() == 0 || length == 0 {
		return nil
	}
	for _, v := range resp.Header.Values("Content-Encoding") {
		if v != "" && !strings.EqualFold(v, "identity") {
			return failf(KindIO, "the answer is packed as %q, where identity or gzip was asked for; it cannot be looked through for the secret of this call", printable(v, false))
		}
	}
	if resp.StatusCode == http.StatusPartialContent {
		return failf(KindIO, "the answer is a part, where the whole was asked for; it cannot be looked through for the secret of this call")
	}
	return nil
}

// sendFailure says why an exchange failed, and records a refused address as a denial.
func (e *Env) sendFailure(r outgoing, err error) error {
	var refused *addressError
	var forbidden *policyError
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var told *Failure
	switch {
	case errors.As(err, &told): // by what stands in for the network
		return told
	case errors.As(err, &refused):
		return e.denyAddress(r, refused)
	case errors.As(err, &forbidden):
		return e.denyPlace(r, forbidden)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &dns):
		return failf(KindIO, "the host %s was not found", r.to.Host).because(err)
	case errors.As(err, &cert), errors.As(err, new(x509.UnknownAuthorityError)):
		return failf(KindIO, "the certificate of %s is not trusted", r.to.Host).because(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failf(KindIO, "%s refuses the connection", r.to.Host).because(err)
	}
	return failf(KindIO, "the exchange with %s failed", r.to.Host).because(err)
}

// denyAddress records that a granted host turned out to be somewhere that its name does not open.
func (e *Env) denyAddress(r outgoing, refused *addressError) error {
	literal := r.to
	literal.Host = refused.addr.Addr().String()
	asked := capability.Request{Action: capability.HTTP, Method: r.method, Resource: literal.URL()}
	den := task.Denial{Request: r.request().String(), Count: 1}
	den.Reason = refused.Error() + "; such an address has to be granted itself, not by a name"
	if c, err := asked.Capability(); err == nil && e.decide(asked, c.String(), 0).Effect == policies.Allow {
		den.Capability = c.String()
		e.offer(&den, asked, c.String())
	}
	return e.record(den)
}

// denyPlace records that policies refuse a granted host because of where it was found to be.
func (e *Env) denyPlace(r outgoing, forbidden *policyError) error {
	asked := r.request()
	den := task.Denial{Request: asked.String(), Count: 1, Policies: forbidden.d.Policies, Reason: forbidden.Error()}
	if c, err := asked.Capability(); err == nil {
		den.Capability = c.String()
	}
	e.markAsk(&den, asked, forbidden.d)
	return e.record(den)
}

// receive reads the answer, as much of it as was asked for, and takes out what the guest must not see.
func (e *Env) receive(resp *http.Response, r outgoing) (*incoming, error) {
	defer resp.Body.Close()
	want := r.maxBytes + int64(e.redact.margin())
	b, err := io.ReadAll(io.LimitReader(resp.Body, want+1))
	if err != nil {
		return nil, e.sendFailure(r, err)
	}
	if err := e.lookable(resp, len(b)); err != nil {
		return nil, err
	}
	in := &incoming{status: resp.StatusCode, url: e.redact.text(r.target())}
	in.truncated = int64(len(b)) > r.maxBytes
	cut := int64(len(b)) > want
	in.body = e.redact.body(b[:min(int64(len(b)), want)], r.maxBytes, cut)
	in.header = e.redact.header(safeHeader(resp.Header))
	return in, nil
}

// redirect returns the request that a response asks for instead, as RFC 9110, section 15.4, has it: 301,
// 302 and 303 become a GET without a body, 307 and 308 repeat the request. Where scheme, host or port
// change, of the guest's header only what says nothing about anybody goes along.
func (r outgoing) redirect(resp *http.Response) (outgoing, bool) {
	location := resp.Header.Get("Location")
	next := r
	next.header = r.header.Clone()
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		if r.method != http.MethodGet && r.method != http.MethodHead {
			next.method = http.MethodGet
		}
		next.body = nil
		for k := range next.header {
			if strings.HasPrefix(k, "Content-") {
				next.header.Del(k)
			}
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return r, false
	}
	if location == "" {
		return r, false
	}
	next.url = resolve(r.target(), location)
	if !sameOrigin(next.url, r.to) {
		for k := range next.header {
			if !harmless(k) {
				next.header.Del(k)
			}
		}
	}
	return next, true
}

// resolve returns where a Location leads, without its fragment. A Location that is not a URL comes back as it
// is, and fails the check that follows.
func resolve(base, location string) string {
	b, err := url.Parse(base)
	if err != nil || strings.Contains(location, `\`) { // parsers differ on what a backslash is
		return location
	}
	u, err := b.Parse(location)
	if err != nil {
		return location
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// sameOrigin reports whether a URL has the scheme, host and port of an endpoint.
func sameOrigin(to string, from capability.Endpoint) bool {
	end, err := capability.Request{Action: capability.HTTP, Resource: to}.Endpoint()
	return err == nil && end.Scheme == from.Scheme && end.Host == from.Host && end.Port == from.Port
}

// validHeader reports whether a field can be sent at all.
func validHeader(name, value string) bool {
	return httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value)
}
