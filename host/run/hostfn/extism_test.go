package hostfn

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	extism "github.com/extism/go-sdk"
)

// onExtism runs the guest that calls http_request on the Extism go-sdk.
func onExtism(t *testing.T, request string, hosts ...string) (string, error) {
	t.Helper()
	ctx := context.Background()
	p, err := extism.NewPlugin(ctx, extism.Manifest{
		Wasm:         []extism.Wasm{extism.WasmData{Data: extismGuest(extismFunc(t, "http_request"), request)}},
		AllowedHosts: hosts,
	}, extism.PluginConfig{}, nil)
	must(t, err)
	defer p.Close(ctx)
	_, out, err := p.Call("run", nil)
	return string(out), err
}

// TestExtismHTTP shows the holes of the Extism go-sdk's HTTP side by side with the same guest here: a
// redirect that leaves the allowed hosts and takes the secret header along, and addresses that nobody checks.
func TestExtismHTTP(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	allowed, inside := newSite(t), newSite(t)
	inside.mux.HandleFunc("/secret", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("INSIDE")) })
	allowed.redirects("/out", 302, "http://localhost"+inside.port()+"/secret")
	request := field("url", allowed.URL+"/out", "method", "GET")
	request = strings.TrimSuffix(request, "}") + `,"headers":{"X-Api-Key":"from-the-host"}}`

	t.Run("redirect on the go-sdk", func(t *testing.T) {
		out, err := onExtism(t, request, "127.0.0.1")
		if err != nil || out != "INSIDE" {
			t.Fatalf("%q, %v: the hole is closed and the comparison no longer holds", out, err)
		}
		if r, _ := inside.last(t); r.Header.Get("X-Api-Key") != "from-the-host" {
			t.Error("the header did not go along: the comparison no longer holds")
		}
	})
	t.Run("redirect here", func(t *testing.T) {
		before := inside.hits()
		e := env(t, allowed.grant())
		out, err := runExtism(t, rt, e, "http_request", request)
		if !errors.Is(err, ErrDenied) || out != "" || inside.hits() != before {
			t.Errorf("%q, %v; %d requests got inside", out, err, inside.hits()-before)
		}
		if d := e.Denials(); len(d) != 1 || d[0].Request != "http:GET http://localhost"+inside.port()+"/secret" {
			t.Errorf("denials %+v", d)
		}
	})
	t.Run("redirect here, granted", func(t *testing.T) {
		e := env(t, allowed.grant(), "http:GET http://localhost"+inside.port()+"/*")
		if out, err := runExtism(t, rt, e, "http_request", request); err != nil || out != "INSIDE" {
			t.Errorf("%q, %v", out, err)
		}
		if r, _ := inside.last(t); r.Header.Get("X-Api-Key") != "" {
			t.Error("the header went along")
		}
	})

	mapped := "http://[::ffff:127.0.0.1]" + inside.port() + "/secret"
	for _, u := range []string{inside.URL + "/secret", "http://LOCALHOST" + inside.port() + "/secret", "http://0.0.0.0" + inside.port() + "/secret", mapped} {
		t.Run("address "+u, func(t *testing.T) {
			if out, err := onExtism(t, field("url", u), "*"); err != nil || out != "INSIDE" {
				t.Errorf("go-sdk: %q, %v: the comparison no longer holds", out, err)
			}
			before := inside.hits()
			e := env(t, "http:* http://*.example.com/*", "http:* https://*.example.com/*") // there is no wider grant
			out, err := runExtism(t, rt, e, "http_request", field("url", u))
			if err == nil || out != "" || inside.hits() != before {
				t.Errorf("here: %q, %v", out, err)
			}
		})
	}
	t.Run("a name that is rebound", func(t *testing.T) {
		set := settings(t, "http:GET http://granted.example"+inside.port()+"/*")
		set.Resolver = names(t, map[string]string{"granted.example": "127.0.0.1"})
		before := inside.hits()
		e := open(t, set)
		out, err := runExtism(t, rt, e, "http_request", field("url", "http://granted.example"+inside.port()+"/secret"))
		if !errors.Is(err, ErrDenied) || out != "" || inside.hits() != before {
			t.Errorf("%q, %v", out, err)
		}
	})
}

// TestExtismHTTPAnswer: status and header of the last response, and failures that end the call.
func TestExtismHTTPAnswer(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	s := newSite(t)
	s.mux.HandleFunc("/x", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("X-Two", "1")
		w.Header().Add("X-Two", "2")
		w.WriteHeader(404)
		w.Write([]byte("gone"))
	})
	set := settings(t, s.grant())
	set.MaxHTTPBytes = 10
	e := open(t, set)
	out, err := runExtism(t, rt, e, "http_request", field("url", s.URL+"/x", "method", "PUT"), "sent")
	if err != nil || out != "gone" {
		t.Fatalf("%q, %v", out, err)
	}
	if r, body := s.last(t); r.Method != "PUT" || body != "sent" {
		t.Errorf("%s %q", r.Method, body)
	}
	if status, _ := extismStatus(context.Background(), e, nil, nil); status != 404 {
		t.Errorf("status %d", status)
	}
	header, err := runExtism(t, rt, e, "http_headers")
	var flat map[string]string
	if err != nil || json.Unmarshal([]byte(header), &flat) != nil || flat["x-two"] != "1,2" {
		t.Errorf("header %q, %v", header, err)
	}
	s.mux.HandleFunc("/long", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 11)) })
	if _, err := runExtism(t, rt, e, "http_request", field("url", s.URL+"/long")); failureKind(err) != KindLimit {
		t.Errorf("long: %v", err)
	}
	if status, _ := extismStatus(context.Background(), e, nil, nil); status != 0 {
		t.Errorf("status %d after a failure", status)
	}
	if _, err := runExtism(t, rt, e, "http_request", "{"); failureKind(err) != KindInvalid {
		t.Errorf("nonsense: %v", err)
	}
}

// TestHTTPFromGuest: http_request of the project's own module, from a real guest.
func TestHTTPFromGuest(t *testing.T) {
	t.Parallel()
	rt := runtime(t)
	s := newSite(t)
	e := env(t, s.grant())
	r := runBulk(t, rt, e, "http_request", field("url", s.URL+"/", "method", "POST"), "sent")
	if string(r.Body) != "ok" || get[int](t, r, "status") != 200 {
		t.Errorf("%s %q", r.Meta, r.Body)
	}
	if _, body := s.last(t); body != "sent" {
		t.Errorf("sent %q", body)
	}
	e = open(t, kvSettings(t, memory(t)))
	wantKind(t, "put", runBulk(t, rt, e, "kv_put", `{"key":"k"}`, "value"), "")
	if r := runBulk(t, rt, e, "kv_get", `{"key":"k"}`, ""); string(r.Body) != "value" {
		t.Errorf("%s %q", r.Meta, r.Body)
	}
}
