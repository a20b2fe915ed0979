package api_test

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/base/otlp"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/host/edge/api"
)

// A collector receives what is sent by OTLP.
type collector struct {
	mu      sync.Mutex
	spans   map[string]*spans.Span // by name
	metrics map[string]bool
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/traces":
		var in collecttrace.ExportTraceServiceRequest
		if proto.Unmarshal(body, &in) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		for _, of := range in.ResourceSpans {
			for _, scope := range of.ScopeSpans {
				for _, s := range scope.Spans {
					c.spans[s.Name] = s
				}
			}
		}
	case "/v1/metrics":
		var in collectmetrics.ExportMetricsServiceRequest
		if proto.Unmarshal(body, &in) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		for _, of := range in.ResourceMetrics {
			for _, scope := range of.ScopeMetrics {
				for _, m := range scope.Metrics {
					c.metrics[m.Name] = true
				}
			}
		}
	}
}

// A request that brings a trace with it is one trace down to the call of the guest, which a
// collector is sent together with the metrics.
func TestTraceToTheGuest(t *testing.T) {
	s := serve(t, api.Settings{})
	s.install("1.0.0")
	c := &collector{spans: map[string]*spans.Span{}, metrics: map[string]bool{}}
	at := httptest.NewServer(c)
	defer at.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", at.URL)
	to, err := otlp.Open(t.Context(), otlp.Options{Getenv: os.Getenv, Version: "1.0.0", Metrics: s.edge.Gather(t.Context(), ada)})
	if err != nil {
		t.Fatal(err)
	}
	edge := api.New(hclog.NewNullLogger(), api.Services{
		Admit: s.h.Admit(), Invoke: s.h.Invoke(), Code: s.h.Code(), Govern: s.h.Govern(), Work: s.h.Work(), Explain: meaning.Of, Ready: s.h.CatchUp,
	}, api.Settings{})
	traced := httptest.NewUnstartedServer(edge.Handler(func(*http.Request) bool { return true }))
	traced.Config.BaseContext = func(net.Listener) context.Context { return trace.With(t.Context(), to.Tracer()) }
	traced.Start()
	defer traced.Close()
	s.url = traced.URL
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	a := s.ask(s.tokens[caller], "POST", "/v1/skills/echo/tools/echo/invoke", `{"input":1}`, "Traceparent", parent)
	if a.status != 200 || a.header.Get("Trace-Id") != parent[3:35] {
		t.Fatalf("%s %v", a, a.header)
	}
	traced.Close() // every span has ended
	if err := to.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := parent[36:52]
	for _, name := range []string{"POST /v1/skills/{skill}/tools/{tool}/invoke", "run", "attempt", "guest"} {
		span := c.spans[name]
		if span == nil {
			t.Fatalf("there is no span %s in %v", name, c.spans)
		}
		if got := hex.EncodeToString(span.TraceId); got != parent[3:35] || hex.EncodeToString(span.ParentSpanId) != before {
			t.Errorf("%s is of the trace %s, and inside of %x, want %s", name, got, span.ParentSpanId, before)
		}
		before = hex.EncodeToString(span.SpanId)
	}
	for _, name := range []string{"skillet_calls_total", "skillet_call_duration_seconds", "skillet_queue_depth"} {
		if !c.metrics[name] {
			t.Errorf("there is no metric %s in %v", name, c.metrics)
		}
	}
}
