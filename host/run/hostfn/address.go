package hostfn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/policies"
	"github.com/skillet-run/skillet/policies/capability"
)

// reserved lists the address blocks that are not the public internet: the IANA special-purpose registries
// for IPv4 and IPv6 (RFC 6890 and its updates), and multicast. Addresses mapped into IPv6 are taken out of
// it first; of IPv6, only 2000::/3 is global unicast, so everything outside that block is refused anyway,
// among it ::/96, 64:ff9b::/96 and 64:ff9b:1::/48 (NAT64), fc00::/7, fe80::/10, fec0::/10 and ff00::/8.
func reserved() []netip.Prefix {
	blocks := []string{
		"0.0.0.0/8",       // this network, unspecified
		"10.0.0.0/8",      // private
		"100.64.0.0/10",   // carrier-grade NAT
		"127.0.0.0/8",     // loopback
		"169.254.0.0/16",  // link-local, cloud metadata
		"172.16.0.0/12",   // private
		"192.0.0.0/24",    // protocol assignments
		"192.0.2.0/24",    // documentation
		"192.31.196.0/24", // AS112
		"192.52.193.0/24", // AMT
		"192.88.99.0/24",  // 6to4 relay
		"192.168.0.0/16",  // private
		"192.175.48.0/24", // AS112
		"198.18.0.0/15",   // benchmarking
		"198.51.100.0/24", // documentation
		"203.0.113.0/24",  // documentation
		"224.0.0.0/4",     // multicast
		"240.0.0.0/4",     // future use, broadcast
		"2001::/23",       // protocol assignments: Teredo, ORCHID, benchmarking
		"2001:db8::/32",   // documentation
		"2002::/16",       // 6to4
		"2620:4f:8000::/48",
		"3fff::/20", // documentation
	}
	out := make([]netip.Prefix, len(blocks))
	for i, b := range blocks {
		out[i] = netip.MustParsePrefix(b)
	}
	return out
}

// publicAddress reports whether an address is on the public internet.
func publicAddress(a netip.Addr, reserved []netip.Prefix) bool {
	a = a.Unmap().WithZone("")
	if a.Is6() && !netip.MustParsePrefix("2000::/3").Contains(a) {
		return false
	}
	return a.IsValid() && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// pass is what a granted request may be connected to besides public addresses. The zero value is nothing.
type pass struct {
	addr     netip.Addr // the very address the grant names
	loopback bool       // the grant names localhost
}

// connecting is what decides about the connection that a request needs.
type connecting struct {
	pass
	// decide asks the policies about an address that the host's name leads to; nil where the host is an address.
	decide func(netip.Addr) error
}

// passFor derives the pass of a request from the grant that allowed it: only a grant that names the very
// host, as an address or as localhost, opens more than the public internet.
func passFor(by capability.Capability, to capability.Endpoint) pass {
	granted, ok := by.Endpoint()
	if !ok || granted.Host != to.Host {
		return pass{}
	}
	if a, ok := to.Addr(); ok {
		return pass{addr: a.Unmap()}
	}
	return pass{loopback: to.Host == "localhost"}
}

// addressError refuses an address a host name resolved to.
type addressError struct {
	addr netip.AddrPort
}

func (e *addressError) Error() string {
	return fmt.Sprintf("the host's address %s is not on the public internet", e.addr.Addr())
}

// connectingKey is where the context of a request holds its connecting. A context without one dials nothing.
type connectingKey struct{}

// dialer connects to the addresses a request's pass allows.
type dialer struct {
	net.Dialer
	reserved []netip.Prefix
}

// newDialer makes a dialer that looks names up with r, or the system's resolver.
func newDialer(r *net.Resolver) *dialer {
	d := &dialer{Dialer: net.Dialer{Timeout: 10 * time.Second, KeepAlive: -1, Resolver: r}, reserved: reserved()}
	d.ControlContext = func(ctx context.Context, network, address string, c syscall.RawConn) error {
		// On a goroutine of net/http's, which has nobody else to stop a panic.
		return sandbox.Contain(func() error { return d.control(ctx, network, address, c) })
	}
	return d
}

// control is asked about each address that is really dialled, after every look-up, and so sees what a
// name means now and not what it meant when somebody checked.
func (d *dialer) control(ctx context.Context, network, address string, _ syscall.RawConn) error {
	p, granted := ctx.Value(connectingKey{}).(connecting)
	to, err := netip.ParseAddrPort(address)
	if err != nil || !granted {
		return errors.New("connection without a grant")
	}
	a := to.Addr().Unmap().WithZone("")
	switch {
	case !publicAddress(a, d.reserved) && (!p.addr.IsValid() || p.addr != a) && (!p.loopback || !a.IsLoopback()):
		return &addressError{addr: netip.AddrPortFrom(a, to.Port())}
	case p.decide == nil:
		return nil
	}
	return p.decide(a)
}

// A policyError refuses an address because of what policies say of it.
type policyError struct {
	addr netip.Addr
	d    policies.Decision
}

func (e *policyError) Error() string {
	return fmt.Sprintf("%s; the host's address is %s", e.d.Reason, e.addr)
}

// server is what connections are kept for: an endpoint without method and path.
func server(e capability.Endpoint) string {
	return capability.Endpoint{Scheme: e.Scheme, Host: e.Host, Port: e.Port, Path: "/"}.URL()
}

// found is where the hosts of a call were found to be. A connection is used again for other requests, so they are
// judged by it before they are sent. It is safe for concurrent use: connections are made on goroutines of net/http's.
type found struct {
	mu    sync.Mutex
	hosts map[string][]netip.Addr // by server
}

func (f *found) note(e capability.Endpoint, a netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts == nil {
		f.hosts = map[string][]netip.Addr{}
	}
	if k := server(e); !slices.Contains(f.hosts[k], a) {
		f.hosts[k] = append(f.hosts[k], a)
	}
}

// at is where a host was found.
func (f *found) at(e capability.Endpoint) []netip.Addr {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.hosts[server(e)])
}

func (f *found) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hosts = nil
}

// locate judges a request by the address that it is sent to, once that is known.
func (e *Env) locate(r outgoing, by capability.Capability) connecting {
	p := connecting{pass: passFor(by, r.to)}
	if _, literal := r.to.Addr(); literal {
		return p
	}
	judge := func(a netip.Addr) error {
		if d := e.decideAt(r.request(), by.String(), int64(len(r.body)), a); d.Effect != policies.Allow {
			return &policyError{a, d}
		}
		return nil
	}
	for _, a := range e.web.found.at(r.to) {
		if judge(a) != nil { // a connection that is kept may lead there
			e.web.close()
			e.web.found.forget()
			break
		}
	}
	p.decide = func(a netip.Addr) error {
		err := judge(a)
		if err == nil {
			e.web.found.note(r.to, a)
		}
		return err
	}
	return p
}
