package trace_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/trace"
)

// Spans nest as contexts do, go on with the trace of a request, and are named to who is asked.
func TestSpans(t *testing.T) {
	kept := tracetest.NewSpanRecorder()
	ctx := trace.With(t.Context(), sdk.NewTracerProvider(sdk.WithSpanProcessor(kept)).Tracer("test"))
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx, outer := trace.Serve(ctx, "outer", func(name string) string { return map[string]string{"traceparent": parent}[name] })
	inside, inner := trace.Start(ctx, "inner", trace.String("skill", "text"))
	h := http.Header{}
	trace.Inject(inside, h)
	inner.Set(trace.Int("fuel", 7))
	inner.End(fault.Wrap(fault.KindLimit, errors.New("the words of a skill")))
	outer.End(nil)
	spans := kept.Ended()
	if len(spans) != 2 || spans[0].Name() != "inner" || spans[0].Parent().SpanID() != spans[1].SpanContext().SpanID() || spans[1].Parent().SpanID().String() != "b7ad6b7169203331" {
		t.Fatalf("%v", spans)
	}
	if s := spans[0].Status(); s.Description != string(fault.KindLimit) {
		t.Errorf("the status says %q", s.Description)
	}
	if id := trace.ID(inside); id != "0af7651916cd43dd8448eb211c80319c" || !strings.Contains(h.Get("Traceparent"), id) || strings.Contains(h.Get("Traceparent"), "b7ad") {
		t.Errorf("the trace is %s, and said with %v", id, h)
	}
}

// Where no one wants spans, nothing is made and nothing is said.
func TestNoTracer(t *testing.T) {
	ctx, s := trace.Start(t.Context(), "a")
	s.Set(trace.Int("b", 1))
	s.End(errors.New("c"))
	h := http.Header{}
	trace.Inject(ctx, h)
	if _, s := trace.Serve(ctx, "a", h.Get); s != (trace.Span{}) || ctx != t.Context() || trace.ID(ctx) != "" || len(h) != 0 {
		t.Error("something was made", s, h)
	}
}
