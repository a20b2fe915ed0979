package api

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// An Upgrade is a protocol that is spoken on the connection of a request, in place of HTTP. It
// is for commands: who asks over the network does not find it.
type Upgrade struct {
	// Path is where it is asked for, with POST.
	Path string
	// Protocol is its name.
	Protocol string
	// Rights are those of which who asks needs one.
	Rights []govern.Right
	// Begin returns what speaks, for the body of a request. Its error is answered, and nothing
	// is spoken. What speaks ends with its context, or when nothing more is said.
	Begin func(body []byte) (speak func(ctx context.Context, in io.Reader, out io.Writer) error, err error)
}

// Upgrade serves a protocol at the local socket. It is counted as a stream, and ends as streams
// do. It is called before the API is served.
func (a *API) Upgrade(u Upgrade) {
	a.mux.HandleFunc(http.MethodPost+" "+u.Path, func(w http.ResponseWriter, r *http.Request) {
		if _, ok := local(r.Context()); !ok || r.Header.Get("Upgrade") != u.Protocol {
			write(w, problemOf(fault.Errorf(fault.KindNotFound, "nothing is at %s", u.Path)))
			return
		}
		rt := route{method: r.Method, path: u.Path, id: strings.Trim(u.Path, "/"), rights: u.Rights, class: stream}
		hc := humago.NewContext(&huma.Operation{OperationID: rt.id, Path: u.Path, Method: r.Method}, r, w)
		a.admitted(rt)(hc, func(hc huma.Context) { a.upgrade(hc, u, w, r) })
	})
}

func (a *API) upgrade(hc huma.Context, u Upgrade, w http.ResponseWriter, r *http.Request) {
	body, p := bodyOf(w, r)
	if p != nil {
		write(w, p)
		return
	}
	speak, err := u.Begin(body)
	if err != nil {
		write(w, problemOf(a.s.Explain(err)))
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		a.log.Error("a connection is not handed over", "path", u.Path, "err", err)
		write(w, problemOf(fault.Errorf(fault.KindInternal, "the connection is not handed over")))
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Time{}) // it has none to take away, or is closed
	if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+u.Protocol+"\r\n\r\n"); err != nil {
		return // who asked has gone
	}
	ctx, end := context.WithCancel(hc.Context())
	defer end()
	go a.whileAdmitted(ctx, hc, end)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })() // who reads from it wakes up
	if err := speak(ctx, buffered.Reader, conn); err != nil && ctx.Err() == nil {
		a.log.Warn("it ended early", "path", u.Path, "err", err)
	}
}
