package main

import (
	"net/http"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// A shelf has files that scripts have the web server serve.
type shelf struct{ files sync.Map }

// before serves what is on the shelf, and leaves the rest to next.
func (s *shelf) before(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", next)
	mux.HandleFunc("GET /shelf/{name}", func(w http.ResponseWriter, r *http.Request) {
		b, ok := s.files.Load(r.PathValue("name"))
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b.([]byte)) // the client may be gone
	})
	return mux
}

func (s *shelf) shelve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: shelve FILE NAME")
	}
	s.files.Store(args[1], []byte(ts.ReadFile(args[0])))
}
