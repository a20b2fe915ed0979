package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/base/fault"
)

// A Mount is a handler of another protocol that is served beside the API, and let in as its routes are.
type Mount struct {
	// Path is where it is, such as "/mcp".
	Path string
	// Rights are those of which a token needs one.
	Rights []govern.Right
	// Streams reports whether a request stays open, and is counted as a stream.
	Streams func(*http.Request) bool
	// Handler answers those that were let in: [PassOf] says who. It has their bodies in memory.
	Handler http.Handler
}

// Mount serves a handler to who shows a token with one of some rights, within the limits of
// all requests. Requests of it that stay open end with the right to them. It is called before
// the API is served.
func (a *API) Mount(m Mount) {
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		a.mux.HandleFunc(method+" "+m.Path, func(w http.ResponseWriter, r *http.Request) { a.mounted(m, w, r) })
	}
	a.mux.HandleFunc(http.MethodGet+" "+resourcePath(m.Path), func(w http.ResponseWriter, r *http.Request) { a.describe(m, w, r) })
}

// resourcePath is where a client finds out how it is let in to what is at a path (RFC 9728).
func resourcePath(path string) string { return "/.well-known/oauth-protected-resource" + path }

// A protectedResource says how a client is let in. No server gives tokens out: a person does.
type protectedResource struct {
	Resource string   `json:"resource"`
	Name     string   `json:"resource_name"`
	Methods  []string `json:"bearer_methods_supported"`
}

func (a *API) describe(m Mount, w http.ResponseWriter, r *http.Request) {
	hc := humago.NewContext(&huma.Operation{OperationID: strings.Trim(m.Path, "/") + "-resource", Path: resourcePath(m.Path), Method: r.Method}, r, w)
	a.paced(hc, func(huma.Context) {
		text, _ := json.Marshal(protectedResource{origin(r) + m.Path, "Skillet", []string{"header"}}) // texts alone
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // who asked may have gone
	})
}

// origin is the service as a request names it, whose host was looked at.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func (a *API) mounted(m Mount, w http.ResponseWriter, r *http.Request) {
	if foreign(r) {
		write(w, problemOf(fault.Errorf(fault.KindDenied, "the request comes from a page of another origin")))
		return
	}
	rt := route{method: r.Method, path: m.Path, id: strings.Trim(m.Path, "/"), rights: m.Rights, resource: origin(r) + resourcePath(m.Path)}
	if m.Streams(r) {
		rt.class = stream
	}
	hc := humago.NewContext(&huma.Operation{OperationID: rt.id, Path: m.Path, Method: r.Method}, r, w)
	a.admitted(rt)(hc, func(hc huma.Context) {
		body, p := bodyOf(w, r)
		if p != nil {
			write(w, p)
			return
		}
		ctx, end := context.WithCancel(hc.Context())
		defer end()
		if rt.class == stream {
			go a.whileAdmitted(ctx, hc, end)
		}
		r = r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(body))
		m.Handler.ServeHTTP(w, r)
	})
}

// foreign reports whether a page of another origin asks, also for what changes nothing.
func foreign(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// PassOf says who was let in with a request to a [Mount]; the zero value is nobody.
func PassOf(ctx context.Context) govern.Pass { return passOf(ctx) }

// bodyOf reads the body of a request, which has to arrive in time and may be as long as that
// of a call.
func bodyOf(w http.ResponseWriter, r *http.Request) ([]byte, *Problem) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(readTime)) // where there is none, there is none
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxInput))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		p := problemOf(fault.Errorf(fault.KindLimit, "the body is longer than %d bytes", long.Limit))
		p.Status, p.Title = http.StatusRequestEntityTooLarge, http.StatusText(http.StatusRequestEntityTooLarge)
		return nil, p
	case err != nil:
		p := problemOf(fault.Errorf(fault.KindUsage, "the body did not arrive"))
		p.Status, p.Title = http.StatusRequestTimeout, http.StatusText(http.StatusRequestTimeout)
		return nil, p
	}
	return body, nil
}

// whileAdmitted ends a request that stays open when its token was revoked or has expired, and
// when streams end.
func (a *API) whileAdmitted(ctx context.Context, hc huma.Context, end func()) {
	defer end()
	beat := time.NewTicker(a.set.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.ended:
			return
		case <-beat.C:
			if a.stillAdmitted(hc) != nil {
				return
			}
		}
	}
}
