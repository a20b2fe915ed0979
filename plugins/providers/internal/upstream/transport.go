package upstream

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// MaxAnswer is how many bytes one answer may have, and maxFailure how many of an
// answer that is a failure are looked at.
const (
	MaxAnswer  = 32 << 20
	maxFailure = 64 << 10
)

// ErrTooLarge is returned for an answer of more than [MaxAnswer] bytes.
var ErrTooLarge = errors.New("the answer is larger than 32 MiB")

// Decode reads an answer that is a failure: its class, when it says more than
// the status does, and its message. Either may be empty.
type Decode func(status int, body []byte) Failure

// Client returns an HTTP client for the one server of the settings. It follows no
// redirect, sends nothing to another server, reads at most [MaxAnswer] bytes of
// an answer, and returns a failure of the server as a *provider.Error.
func (s Settings) Client(decode Decode) *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	return &http.Client{Transport: &transport{settings: s, decode: decode, next: &http.Transport{
		Proxy:               func(r *http.Request) (*url.URL, error) { return s.proxy(r.URL) },
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: 15 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // so that the bytes counted are the bytes that come
	}}}
}

type transport struct {
	settings Settings
	decode   Decode
	next     http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if base := t.settings.Base; r.URL.Host != base.Host || r.URL.Scheme != base.Scheme {
		return nil, fmt.Errorf("ask %s: only %s may be asked", r.URL.Host, base.Host)
	}
	r = r.Clone(r.Context())
	t.settings.header(r.Header)
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if err := t.refuse(answer); err != nil {
		answer.Body.Close()
		return nil, err
	}
	answer.Body = &capped{ReadCloser: answer.Body, left: MaxAnswer}
	return answer, nil
}

// refuse returns what is wrong with an answer before its content is looked at.
func (t *transport) refuse(answer *http.Response) error {
	switch status := answer.StatusCode; {
	case status >= 400:
		body, _ := io.ReadAll(io.LimitReader(answer.Body, maxFailure))
		return failed(status, answer.Header, t.decode(status, body))
	case status >= 300:
		return invalid("the server sends us elsewhere (status %d), which is not followed: set %s to the address itself", status, t.settings.base)
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if strings.HasPrefix(kind, "text/html") {
		return unavailable("the server answers with a web page: is %s right?", t.settings.base)
	}
	return nil
}

// capped fails with ErrTooLarge behind the last byte that an answer may have.
type capped struct {
	io.ReadCloser
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > c.left {
		p = p[:c.left]
	}
	n, err := c.ReadCloser.Read(p)
	c.left -= int64(n)
	return n, err
}
