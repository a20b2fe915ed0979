// Package service asks the service of a home, at its local socket, to do what a command would
// do itself.
package service

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
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

// patience is how long a service may take to say that it is there: longer than a busy machine
// delays one that will answer. One that says nothing is done without.
const patience = 5 * time.Second

// longest is the longest answer, in bytes: a call answers at most 64 MiB, which is longer as text.
const longest = 256 << 20

// A Conn is a connection to a service, for one request at a time.
type Conn struct {
	conn halfCloser
	r    *bufio.Reader
	// host is a name that the service answers to.
	host string
}

// A halfCloser is a connection whose sending side can be closed alone.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// Dial connects to the service at a socket. common is what the command has to have in common
// with it, as upkeep.Common.Digest has it. The error is [ErrNone].
func Dial(ctx context.Context, socket, common string) (*Conn, error) {
	if _, err := os.Lstat(socket); err != nil {
		return nil, none(err)
	}
	c, err := local(ctx, socket)
	if err != nil {
		return nil, err
	}
	if err := c.known(ctx, common); err != nil {
		return nil, errors.Join(none(err), c.Close())
	}
	return c, nil
}

func local(ctx context.Context, socket string) (*Conn, error) {
	opened, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, none(err)
	}
	return &Conn{opened.(*net.UnixConn), bufio.NewReader(opened), "localhost"}, nil
}

// Reach connects to a service to ask how it is, whatever its settings: at its socket if it has
// one, and at its address otherwise. There nothing secret is said, and whoever answers need not
// prove who it is. The error is [ErrNone].
func Reach(ctx context.Context, socket, address string) (*Conn, error) {
	if socket != "" {
		return local(ctx, socket)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, none(err)
	}
	at := net.JoinHostPort(reachable(u.Hostname()), u.Port())
	if u.Scheme != "https" {
		opened, err := new(net.Dialer).DialContext(ctx, "tcp", at)
		if err != nil {
			return nil, none(err)
		}
		return &Conn{opened.(*net.TCPConn), bufio.NewReader(opened), "localhost"}, nil
	}
	opened, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, none(err)
	}
	t := opened.(*tls.Conn)
	return &Conn{t, bufio.NewReader(t), nameOf(t.ConnectionState().PeerCertificates)}, nil
}

// reachable is where a service is reached from here that listens at an address, which may stand for all.
func reachable(listens string) string {
	if ip := net.ParseIP(listens); listens == "" || ip != nil && ip.IsUnspecified() {
		return "localhost"
	}
	return listens
}

// nameOf is a name that a certificate is for, which requests have to have.
func nameOf(chain []*x509.Certificate) string {
	switch {
	case len(chain) == 0:
	case len(chain[0].DNSNames) > 0:
		return strings.Replace(chain[0].DNSNames[0], "*", "any", 1)
	case len(chain[0].IPAddresses) > 0:
		ip := chain[0].IPAddresses[0].String()
		if strings.Contains(ip, ":") {
			ip = "[" + ip + "]"
		}
		return ip
	}
	return "localhost"
}

// Ready returns why the service takes no requests now.
func (c *Conn) Ready(ctx context.Context) error {
	return c.look(ctx, "/v1/health/ready", &api.Health{})
}

// Sample is what the service counted since it began.
func (c *Conn) Sample(ctx context.Context) (s api.Sample, err error) {
	return s, c.look(ctx, "/v1/stats/now", &s)
}

// look asks how the service is. It waits no longer than patience, and ends with ctx.
func (c *Conn) look(ctx context.Context, path string, v any) error {
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	return c.ask(ctx, http.MethodGet, path, nil, v)
}

// known checks that the service is ready, and one that does the same as the command would.
func (c *Conn) known(ctx context.Context, common string) error {
	var s api.Service
	if err := c.look(ctx, "/v1/service", &s); err != nil {
		return err
	}
	if s.Common == "" || s.Common != common {
		return errors.New("it has another home, program or settings")
	}
	return c.conn.SetDeadline(time.Time{})
}

// Close ends the connection.
func (c *Conn) Close() error { return c.conn.Close() }

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
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return none(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.conn.CloseWrite() })
	defer stop()
	if err := r.Write(c.conn); err != nil { // part of a request is not acted on
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
func (c *Conn) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method, "http://"+c.host+path, content)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", api.CommandType)
	r.Header.Set("Content-Type", "application/json")
	return r, nil
}

func none(err error) error { return fmt.Errorf("%w: %w", ErrNone, err) }
