package service

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Speak asks the service to speak a protocol, see api.Upgrade, and passes on what in says to
// the service, and to out what that says, until one of the two ends. The error is [ErrNone] when
// nothing was said, and [ErrLost] when the service ended first.
func (c *Conn) Speak(ctx context.Context, path, protocol string, how any, in io.Reader, out io.Writer) error {
	r, err := c.request(ctx, http.MethodPost, path, how)
	if err != nil {
		return none(err)
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	if err := r.Write(c.conn); err != nil {
		return none(err)
	}
	a, err := http.ReadResponse(c.r, r)
	if err != nil {
		return none(err)
	}
	if a.StatusCode != http.StatusSwitchingProtocols {
		return none(errors.Join(errors.New(a.Status), a.Body.Close()))
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	said := make(chan struct{})
	go func() {
		_, _ = io.Copy(c.conn, in) // when it fails the other side has ended too
		close(said)
		_ = c.conn.CloseWrite()
	}()
	_, err = io.Copy(out, c.r)
	select {
	case <-said:
		return nil
	default:
	}
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(ErrLost, err)
}
