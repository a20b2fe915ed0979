package mcpskill

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/skillet-run/skillet/host/fetch/source/transfer"
)

// bounded counts what a server sends, and remembers why a request failed.
type bounded struct {
	next  http.RoundTripper
	token string

	mu     sync.Mutex
	left   int64
	failed error
}

// RoundTrip sends a request.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, b.fail(err)
	}
	_ = b.fail(transfer.Status(resp)) // nil for one that went well
	resp.Body = counted{resp.Body, b}
	return resp, nil
}

// fail notes how the last request went.
func (b *bounded) fail(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = err
	return err
}

func (b *bounded) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// counted is a body whose bytes are counted.
type counted struct {
	io.ReadCloser
	b *bounded
}

// Read reads what is left to be read.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.b.mu.Lock()
	c.b.left -= int64(n)
	long := c.b.left < 0
	c.b.mu.Unlock()
	if long {
		return 0, c.b.fail(fmt.Errorf("%w: more than %d bytes of one server", transfer.ErrTooLarge, maxRead))
	}
	return n, err
}
