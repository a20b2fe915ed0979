package mcplogin

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// nearness is how near to this machine an address is. What a server names may not be nearer
// than the server itself: this machine would send requests for it where it cannot.
type nearness int

const (
	public   nearness = iota
	private           // the networks of this machine
	loopback          // this machine
	never             // addresses of links, such as those that tell machines of a cloud about themselves
)

func nearnessOf(a netip.Addr) nearness {
	a = a.Unmap()
	switch {
	case a.IsLoopback():
		return loopback
	case a.IsLinkLocalUnicast(), a.IsMulticast(), a.IsUnspecified():
		return never
	case a.IsPrivate(), netip.MustParsePrefix("100.64.0.0/10").Contains(a):
		return private
	}
	return public
}

// isLoopback reports whether the host of an address is this machine by its name alone.
func isLoopback(u *url.URL) bool {
	if u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.Unmap().IsLoopback()
}

// checkAddress refuses what is not https, or http on this machine.
func checkAddress(what, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, fmt.Errorf("%w: %s is not an address: %s", ErrRefused, what, shown(address))
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u)) {
		return nil, fmt.Errorf("%w: %s is not https: %s", ErrRefused, what, shown(address))
	}
	return u, nil
}

// checkNamed refuses an address that a server names: it has to be https, and on this machine
// only when the server is.
func checkNamed(server *url.URL, what, address string) error {
	u, err := checkAddress(what, address)
	if err == nil && isLoopback(u) && !isLoopback(server) {
		err = fmt.Errorf("%w: %s is on this machine, and the server is not: %s", ErrRefused, what, shown(address))
	}
	return err
}

// reach is how near addresses may be that a server names.
func reach(ctx context.Context, server *url.URL) (nearness, error) {
	if isLoopback(server) {
		return loopback, nil
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", server.Hostname())
	if err != nil || len(all) == 0 {
		return public, fmt.Errorf("the host %s was not found", host(server.String()))
	}
	for _, a := range all {
		if nearnessOf(a) != private {
			return public, nil
		}
	}
	return private, nil
}

// client is what requests of a login are sent with: by no proxy, to where no redirect leads,
// and not nearer to this machine than the server.
func (k *Keeper) client(ctx context.Context, server string) (*http.Client, error) {
	u, err := checkAddress("the server", server)
	if err != nil {
		return nil, err
	}
	most, err := reach(ctx, u)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || nearnessOf(at.Addr()) > most {
			return fmt.Errorf("%s is in a network that the server may not lead into", strings.TrimSuffix(address, ":443"))
		}
		return nil
	}}
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: k.roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect },
	}, nil
}

var errRedirect = fmt.Errorf("%w: it answers with a redirect, which is not followed", ErrRefused)
