package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/edge/api"
)

// BenchmarkServed is a call over HTTP: alone, by 32 callers, and by them while 50 clients
// follow the events of the home.
func BenchmarkServed(b *testing.B) {
	s := serveFor(b, api.Settings{Limits: api.Limits{PerToken: 1e6, All: 1e6}}, host.ExpectMuch)
	s.install("1.0.0")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	call := func() {
		r, err := http.NewRequestWithContext(b.Context(), "POST", s.url+"/v1/skills/echo/tools/echo/invoke", strings.NewReader(`{"input":{"say":"hello"}}`))
		if err != nil {
			b.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+s.tokens[govern.RoleCaller])
		r.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			b.Error(err)
			return
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `"ok":true`) {
			b.Errorf("%d %s %v", resp.StatusCode, body, err)
		}
	}
	many := func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				call()
			}
		})
	}
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			call()
		}
	})
	b.Run("many", many)
	for range 50 {
		s.open(govern.RoleViewer)
	}
	b.Run("followed", many)
}
