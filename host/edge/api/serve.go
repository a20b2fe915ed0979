package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/skillet-run/skillet/host/base/cert"
	"github.com/skillet-run/skillet/host/base/fault"
)

// Serving says how an API is served.
type Serving struct {
	// Drain is how long requests that run may go on once the service is told to end; 0 cancels
	// them at once.
	Drain time.Duration
	// Shown is the certificate of what is heard over TCP; nil without TLS. A local socket needs
	// none.
	Shown *cert.Reloader
	// Requests is what the contexts of requests are made of.
	Requests context.Context
	// Started is called when requests are answered, and what it returns when they no longer
	// are; it may be called again.
	Started func() (stop func())
}

// Scheme is that of the addresses of the service.
func (s Serving) Scheme() string {
	if s.Shown == nil {
		return "http"
	}
	return "https"
}

// Serve answers requests until ctx ends. Those that run then may go on for the time of the
// drain, and are cancelled after it. The listeners are closed at the end.
func (a *API) Serve(ctx context.Context, s Serving, ls ...net.Listener) error {
	requests, cancel := context.WithCancel(s.Requests)
	defer cancel()
	defer a.EndCalls()
	server := a.server(requests, s)
	failed := make(chan error, len(ls))
	var heard []net.Listener // before any of them is served, which changes the server
	for _, l := range ls {
		heard = append(heard, a.heard(l, s.Shown != nil, server))
	}
	for _, l := range heard {
		go func() { failed <- server.Serve(l) }()
	}
	stopping := s.Started()
	defer stopping()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stopping()
	close(a.closing)
	draining, stop := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.Drain, time.Nanosecond))
	defer stop()
	err := server.Shutdown(draining)
	if errors.Is(err, context.DeadlineExceeded) {
		cancel()
		a.EndCalls()
		err = abandon(server)
	}
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// heard is a listener as it is served: what the network reaches is bounded, and may use TLS.
func (a *API) heard(l net.Listener, secure bool, server *http.Server) net.Listener {
	if l.Addr().Network() != "tcp" {
		return l
	}
	l = a.Limit(l)
	if !secure {
		return l
	}
	return tls.NewListener(l, server.TLSConfig)
}

func (a *API) server(requests context.Context, s Serving) *http.Server {
	server := &http.Server{
		Handler: a.Handler(hosts(s.Shown)), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return requests }, ConnContext: a.ConnContext, ConnState: a.ConnState,
		ErrorLog: a.log.Named("http").StandardLogger(nil),
	}
	if s.Shown != nil {
		server.TLSConfig = s.Shown.Config()
	}
	server.RegisterOnShutdown(a.EndStreams)
	return server
}

// abandonTime is how long requests that were cancelled may take to notice it.
const abandonTime = 2 * time.Second

// abandon waits for requests that were cancelled, and closes what is left.
func abandon(server *http.Server) error {
	ctx, stop := context.WithTimeout(context.Background(), abandonTime)
	defer stop()
	if err := server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	} else if err != nil {
		return err
	}
	return nil
}

// ready says why no request can be answered now; nil for no reason.
func (a *API) ready(ctx context.Context) error {
	select {
	case <-a.closing:
		return fault.Errorf(fault.KindConflict, "the service is about to end")
	default:
		return a.s.Ready(ctx)
	}
}

// hosts says which hosts requests may name: those of the certificate where there is one, and
// this machine otherwise, as at the local socket.
func hosts(shown *cert.Reloader) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.TLS != nil {
			return shown.IsFor(r.Host)
		}
		return thisMachine(r.Host)
	}
}

// thisMachine reports whether a request names this machine: a page that a browser was led to
// by another name does not speak for whoever sits here.
func thisMachine(hostport string) bool {
	name := hostport
	if n, _, err := net.SplitHostPort(hostport); err == nil {
		name = n
	}
	name = strings.Trim(name, "[]")
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, strings.ToLower(name)) || net.ParseIP(name).IsLoopback()
}

// IsLocal reports whether only this machine can come to an address, HOST:PORT. Others could
// read tokens on the way, so anywhere else needs TLS.
func IsLocal(address string) (bool, error) {
	name, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback(), err
}

// longestSocket is the longest path of a socket that every system takes.
const longestSocket = 100

// ListenLocally listens at a local socket that only its owner may open. It is nil where the
// system does not say who is at the other end, and where the path is too long.
func ListenLocally(ctx context.Context, path string) (net.Listener, error) {
	if !LocalSocket || len(path) > longestSocket {
		return nil, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
