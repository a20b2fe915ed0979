// Package trace says which part of the host worked on a request, from when to when: spans of
// OpenTelemetry, which nest as the calls do.
//
// Spans go where the context says. For a context without a [Tracer], which is the usual one,
// [Start] returns at once. What spans say is names and counts, never
// what a caller or a skill wrote.
package trace

import (
	"context"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/skillet-run/skillet/host/base/fault"
)

// A Tracer makes spans.
type Tracer = trace.Tracer

// An Attr says something about a span.
type Attr = attribute.KeyValue

// String is an attribute with a text.
func String(name, value string) Attr { return attribute.String(name, value) }

// Int is an attribute with a number.
func Int(name string, value int64) Attr { return attribute.Int64(name, value) }

type key struct{}

// With sends the spans of ctx to t; nil sends them nowhere.
func With(ctx context.Context, t Tracer) context.Context {
	if t == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, t)
}

// A Span is a part of the work on a request. The zero value is none, and does nothing.
type Span struct{ s trace.Span }

// Start begins a span inside of that of ctx. End it.
func Start(ctx context.Context, name string, attrs ...Attr) (context.Context, Span) {
	return start(ctx, name, attrs)
}

// Serve begins a span for a request, which goes on with the trace that its headers name.
func Serve(ctx context.Context, name string, header func(string) string, attrs ...Attr) (context.Context, Span) {
	if ctx.Value(key{}) == nil {
		return ctx, Span{}
	}
	ctx = w3c.Extract(ctx, asked(header))
	return start(ctx, name, attrs, trace.WithSpanKind(trace.SpanKindServer))
}

// start keeps nothing of attrs where there are no spans, so that those cost no allocation.
func start(ctx context.Context, name string, attrs []Attr, o ...trace.SpanStartOption) (context.Context, Span) {
	t, ok := ctx.Value(key{}).(Tracer)
	if !ok {
		return ctx, Span{}
	}
	ctx, s := t.Start(ctx, name, append(o, trace.WithAttributes(slices.Clone(attrs)...))...)
	return ctx, Span{s}
}

// Name names a span anew.
func (s Span) Name(name string) {
	if s.s != nil {
		s.s.SetName(name)
	}
}

// Set says more about a span.
func (s Span) Set(attrs ...Attr) {
	if s.s != nil {
		s.s.SetAttributes(slices.Clone(attrs)...)
	}
}

// End ends a span, whose work failed when err is not nil. Of the error its kind is said.
func (s Span) End(err error) {
	if s.s == nil {
		return
	}
	if err != nil {
		s.s.SetStatus(codes.Error, string(fault.AsError(err).Kind))
	}
	s.s.End()
}

// ID is that of the trace that ctx is part of; empty for none.
func ID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		return c.TraceID().String()
	}
	return ""
}

// w3c has the headers of the W3C's Trace Context.
var w3c = propagation.TraceContext{}

// Inject says to whoever is sent a request of which trace it is part, where spans are made.
func Inject(ctx context.Context, h http.Header) {
	if ctx.Value(key{}) != nil {
		w3c.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// asked are the headers of a request, to be read.
type asked func(string) string

func (a asked) Get(name string) string { return a(name) }
func (a asked) Set(string, string)     {}
func (a asked) Keys() []string         { return w3c.Fields() }
