package api

import (
	"context"
	"net"

	"github.com/skillet-run/skillet/host/app/govern"
)

type peerKey struct{}

// ConnContext notes who is at the other end of a local socket. It is for [http.Server], whose
// handler is the API's.
func (a *API) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if u, ok := c.(*net.UnixConn); ok {
		return context.WithValue(ctx, peerKey{}, peerOf(u))
	}
	return ctx
}

// local is who is at the other end of the local socket that a request came by; ok is false
// for one that came over the network.
func local(ctx context.Context) (p govern.Peer, ok bool) {
	p, ok = ctx.Value(peerKey{}).(govern.Peer)
	return p, ok
}
