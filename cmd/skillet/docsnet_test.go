package main

import (
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/skillet-run/skillet/host/run/mcpserver/mcptest"
)

// examples are the servers that pages name, all of them on this machine: each host below
// example.com is a registry, and serves the files in the directory $SERVED. A
// page that wants them has the proxy $NET and the authority $CA. $MCP is the address of an
// MCP server to which one logs in.
func examples(t *testing.T, dir string) (environ []string) {
	t.Helper()
	served := filepath.Join(dir, "served")
	if err := os.Mkdir(served, 0o755); err != nil {
		t.Fatal(err)
	}
	quiet := log.New(io.Discard, "", 0)
	mux := http.NewServeMux()
	mux.Handle("/v2/", registry.New(registry.Logger(quiet), registry.WithReferrersSupport(true)))
	mux.Handle("/", http.FileServer(http.Dir(served)))
	behind := httptest.NewUnstartedServer(mux)
	behind.Config.ErrorLog = quiet
	behind.StartTLS()
	t.Cleanup(behind.Close)
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: behind.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		tunnel(w, behind.Listener.Addr())
	}))
	t.Cleanup(proxy.Close)
	issuer := mcptest.NewIssuer(mcptest.IssuerOptions{})
	t.Cleanup(issuer.Close)
	return []string{"NET=" + proxy.URL, "CA=" + ca, "SERVED=" + served, "MCP=" + issuer.Server}
}

// tunnel joins a connection with another one to an address.
func tunnel(w http.ResponseWriter, to net.Addr) {
	far, err := net.Dial(to.Network(), to.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer far.Close()
	w.WriteHeader(http.StatusOK)
	near, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	go func() {
		_, _ = io.Copy(far, buffered) // the client may be gone
		far.Close()
	}()
	_, _ = io.Copy(near, far) // and so may the server
}
