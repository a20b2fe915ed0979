// Package service asks the service of a home, at its local socket, to do what a command would
// do itself.
package service

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/skillet-run/skillet/host/edge/api"
)

// ErrNone means that no service did what it was asked for, and nothing was changed: the
// command does it itself.
var ErrNone = errors.New("no service does it")

// ErrLost means that the service ended before it answered. What it was asked for may have
// been done.
var ErrLost = errors.New("the service ended before it answered")

// patience is how long a service may take to say that it is there. One that is about to end,
// or has too much to do, is done without.
const patience = 500 * time.Millisecond

// longest is the longest answer, in bytes: a call answers at most 64 MiB, which is longer as text.
const longest = 256 << 20

// A Conn is a connection to a service, for one request at a time.
type Conn struct {
	unix *net.UnixConn
	r    *bufio.Reader
}

// Dial connects to the service at a socket. common is what the command has to have in common
// with it, as upkeep.Common.Digest has it. The error is [ErrNone].
func Dial(ctx context.Context, socket, common string) (*Conn, error) {
	if _, err := os.Lstat(socket); err != nil {
		return nil, none(err)
	}
	opened, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, none(err)
	}
	c := &Conn{opened.(*net.UnixConn), bufio.NewReader(opened)}
	if err := c.known(ctx, common); err != nil {
		return nil, errors.Join(none(err), c.Close())
	}
	return c, nil
}

// known checks that the service is ready, and one that does the same as the command would.
func (c *Conn) known(ctx context.Context, common string) error {
	if err := c.unix.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	var s api.Service
	if err := c.ask(ctx, http.MethodGet, "/v1/service", nil, &s); err != nil {
		return err
	}
	if s.Common == "" || s.Common != common {
		return errors.New("it has another home, program or settings")
	}
	return c.unix.SetDeadline(time.Time{})
}

// Close ends the connection.
func (c *Conn) Close() error { return c.unix.Close() }

// Run asks the service to call a tool. When ctx ends the call is cancelled, and the result says
// what became of it.
func (c *Conn) Run(ctx context.Context, command api.Command) (r api.CommandResult, err error) {
	return r, c.ask(ctx, http.MethodPost, "/v1/run", command, &r)
}

// Skills are the installed skills; with all, every version of them.
func (c *Conn) Skills(ctx context.Context, all bool) ([]api.Skill, error) {
	found := []api.Skill{}
	for query := (url.Values{"limit": {"1000"}, "all": {strconv.FormatBool(all)}}); ; {
		var p api.Page[api.Skill]
		if err := c.ask(ctx, http.MethodGet, "/v1/skills?"+query.Encode(), nil, &p); err != nil {
			return nil, none(err) // looking changes nothing
		}
		found = append(found, p.Items...)
		if p.Next == "" {
			return found, nil
		}
		query.Set("cursor", p.Next)
	}
}

// ask makes a request and reads its answer into v. When ctx ends, the service is told so by
// the end of what is sent, and its answer is still waited for.
func (c *Conn) ask(ctx context.Context, method, path string, body, v any) error {
	r, err := request(ctx, method, path, body)
	if err != nil {
		return none(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.unix.CloseWrite() })
	defer stop()
	if err := r.Write(c.unix); err != nil { // part of a request is not acted on
		return none(err)
	}
	a, err := http.ReadResponse(c.r, r)
	if errors.Is(err, syscall.ECONNRESET) { // the service ended before it had read all of it
		return none(err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(io.LimitReader(a.Body, longest))
	switch {
	case a.StatusCode != http.StatusOK: // a problem: nothing was done
		return none(errors.New(a.Status))
	case err != nil:
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return json.Unmarshal(b, v)
}

// request makes a request, which ctx does not end.
func request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, "http://localhost"+path, content)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", api.CommandType)
	r.Header.Set("Content-Type", "application/json")
	return r, nil
}

func none(err error) error { return fmt.Errorf("%w: %w", ErrNone, err) }
