package providergrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providergrpc"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/provider/providertest"
	"github.com/skillet-run/skillet/plugins/wire"
)

// dial serves what is registered and returns a connection to it.
func dial(t *testing.T, register func(*grpc.Server)) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(wire.ServerOptions()...)
	register(s)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// remote is a provider served and called over gRPC.
func remote(t *testing.T, p provider.Provider, timeouts providergrpc.Timeouts) *providergrpc.Client {
	t.Helper()
	return providergrpc.NewClient(dial(t, func(s *grpc.Server) { providergrpc.Register(s, p) }), timeouts)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	p := remote(t, providertest.Reference{}, providergrpc.Timeouts{})
	providertest.Run(t, func(*testing.T) provider.Provider { return p }, providertest.Options{
		Slow: providertest.ReferenceSlow, Alike: [3]string{"abc abc", "cab cab", "xyz"},
	})
}

// canned answers with what it holds.
type canned struct {
	providertest.Reference
	models   []provider.Model
	generate func(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error)
	vectors  [][]float32
	load     error
}

func (c *canned) Models(context.Context) ([]provider.Model, error) { return c.models, nil }
func (c *canned) Load(context.Context, string) error               { return c.load }

func (c *canned) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	return c.generate(ctx, r, emit)
}

func (c *canned) Embed(context.Context, provider.EmbedRequest) (provider.EmbedResponse, error) {
	return provider.EmbedResponse{Model: "m", Vectors: c.vectors}, nil
}

// Every field of a request and an answer arrives as it was.
func TestFields(t *testing.T) {
	t.Parallel()
	half := 0.5
	request := provider.Request{
		Model: "m", System: "s", Schema: json.RawMessage(`{"a": 1}`), Thinking: 3, MaxTokens: 4, Temperature: &half, Stop: []string{"x", ""},
		Messages: []provider.Message{{
			Role: "assistant", Text: "t", CallID: "c", Failed: true, Opaque: json.RawMessage(`[ 1 ]`),
			Calls: []provider.ToolCall{{ID: "i", Name: "n", Input: json.RawMessage(`{}`)}},
		}},
		Tools: []provider.Tool{{Name: "n", Description: "d", InputSchema: json.RawMessage(`true`)}},
	}
	answer := provider.Response{
		Model: "m", Text: "t", Thinking: "h", Finish: provider.FinishTools, Opaque: json.RawMessage(`"o"`),
		Calls: []provider.ToolCall{{ID: "i", Name: "n", Input: json.RawMessage(`{"b":2}`)}},
		Usage: provider.Usage{InputTokens: 1, OutputTokens: 2, ThinkingTokens: 3, CachedTokens: 4, Estimated: true},
	}
	models := []provider.Model{{
		Name: "m", Tiers: []string{"fast"}, ContextTokens: 1, OutputTokens: 2, Text: true, Tools: true, JSONSchema: true, Thinking: true,
		Streaming: true, Embeddings: true, Dimensions: 3, MemoryBytes: 4, Loaded: true, InputUSD: 5, OutputUSD: 6,
	}}
	p := remote(t, &canned{models: models, generate: func(_ context.Context, r provider.Request, _ func(provider.Delta) error) (provider.Response, error) {
		if !reflect.DeepEqual(r, request) {
			t.Errorf("request %+v, want %+v", r, request)
		}
		return answer, nil
	}}, providergrpc.Timeouts{})
	if got, err := p.Generate(t.Context(), request, nil); err != nil || !reflect.DeepEqual(got, answer) {
		t.Errorf("%+v, want %+v, %v", got, answer, err)
	}
	if got, err := p.Models(t.Context()); err != nil || !reflect.DeepEqual(got, models) {
		t.Errorf("%+v, want %+v, %v", got, models, err)
	}
}

// An error arrives with its class, its message and its wait.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, class := range []provider.Class{
		provider.ClassRateLimited, provider.ClassTimeout, provider.ClassUnavailable, provider.ClassInvalid, provider.ClassRefused,
		provider.ClassContextLength, provider.ClassAuth, provider.ClassCancelled, provider.ClassInternal,
	} {
		want := provider.Error{Class: class, Message: "why: é\n" + string(class), RetryAfter: 1500 * time.Millisecond}
		var got *provider.Error
		if err := remote(t, &canned{load: &want}, providergrpc.Timeouts{}).Load(t.Context(), "m"); !errors.As(err, &got) || *got != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

func TestOtherErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	for name, c := range map[string]struct {
		err  error
		want provider.Class
	}{
		"plain":           {errors.New("why"), provider.ClassInternal},
		"unknown class":   {&provider.Error{Class: "new"}, provider.ClassInternal},
		"long":            {&provider.Error{Class: provider.ClassAuth, Message: long}, provider.ClassAuth},
		"of a context":    {context.DeadlineExceeded, provider.ClassTimeout},
		"no detail":       {status.Error(codes.NotFound, "there is none"), provider.ClassInvalid},
		"a size of gRPC":  {status.Error(codes.ResourceExhausted, "too large"), provider.ClassInternal},
		"longest wait":    {&provider.Error{Class: provider.ClassRateLimited, Message: "m", RetryAfter: math.MaxInt64}, provider.ClassRateLimited},
		"wait in between": {&provider.Error{Class: provider.ClassRateLimited, Message: "m", RetryAfter: 1}, provider.ClassRateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := remote(t, &canned{load: c.err}, providergrpc.Timeouts{}).Load(t.Context(), "m")
			var e *provider.Error
			if !errors.As(err, &e) || e.Class != c.want || len(e.Message) > 4<<10 || e.RetryAfter < 0 || e.RetryAfter > 24*time.Hour {
				t.Errorf("%T %v, want class %s", err, err, c.want)
			}
		})
	}
}

// wrong is a server that answers what no provider may.
type wrong struct {
	providerpb.UnimplementedProviderServer
	events []*providerpb.GenerateEvent
	model  *providerpb.Model
	embed  *providerpb.EmbedResponse
}

func (w *wrong) Generate(_ *providerpb.GenerateRequest, s grpc.ServerStreamingServer[providerpb.GenerateEvent]) error {
	for _, e := range w.events {
		if err := s.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (w *wrong) Models(context.Context, *providerpb.Empty) (*providerpb.ModelList, error) {
	return &providerpb.ModelList{Models: []*providerpb.Model{w.model}}, nil
}

func (w *wrong) Embed(context.Context, *providerpb.EmbedRequest) (*providerpb.EmbedResponse, error) {
	return w.embed, nil
}

func (w *wrong) client(t *testing.T) *providergrpc.Client {
	return providergrpc.NewClient(dial(t, func(s *grpc.Server) { providerpb.RegisterProviderServer(s, w) }), providergrpc.Timeouts{})
}

func internal(t *testing.T, err error) {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.ClassInternal {
		t.Errorf("%T %v, want class internal", err, err)
	}
}

func whole(r *providerpb.GenerateResponse) *providerpb.GenerateEvent {
	return &providerpb.GenerateEvent{Event: &providerpb.GenerateEvent_Response{Response: r}}
}

func piece(text string) *providerpb.GenerateEvent {
	return &providerpb.GenerateEvent{Event: &providerpb.GenerateEvent_Delta{Delta: &providerpb.Delta{Text: text}}}
}

// What a plugin answers is checked before it is believed.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	right := &providerpb.GenerateResponse{Finish: provider.FinishStop}
	half := strings.Repeat("x", providergrpc.MaxMessage/2)
	for name, events := range map[string][]*providerpb.GenerateEvent{
		"nothing":             nil,
		"pieces only":         {piece("a")},
		"more behind":         {whole(right), piece("a")},
		"two answers":         {whole(right), whole(right)},
		"unknown finish":      {whole(&providerpb.GenerateResponse{Finish: "later"})},
		"input is no JSON":    {whole(&providerpb.GenerateResponse{Finish: "tools", Calls: []*providerpb.ToolCall{{Input: []byte("{")}}})},
		"opaque is no JSON":   {whole(&providerpb.GenerateResponse{Finish: "stop", Opaque: []byte("x")})},
		"more than it may be": {piece(half), piece(half), piece("a"), whole(right)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := (&wrong{events: events}).client(t).Generate(t.Context(), provider.Request{}, nil)
			internal(t, err)
		})
	}
	for _, usd := range []float64{math.NaN(), math.Inf(1), -1, 1e9} {
		_, err := (&wrong{model: &providerpb.Model{Name: "m", InputUsd: usd}}).client(t).Models(t.Context())
		internal(t, err)
	}
	for _, vectors := range [][]*providerpb.Vector{
		nil, {{Values: []float32{1}}}, {{Values: []float32{1}}, {Values: []float32{1, 0}}}, {{}, {}},
		{{Values: []float32{1}}, {Values: []float32{float32(math.NaN())}}},
	} {
		_, err := (&wrong{embed: &providerpb.EmbedResponse{Vectors: vectors}}).client(t).Embed(t.Context(), provider.EmbedRequest{Texts: []string{"a", "b"}})
		internal(t, err)
	}
}

// Messages are bounded in both directions.
func TestMessageSize(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", providergrpc.MaxMessage+1)
	p := remote(t, &canned{generate: func(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error) {
		return provider.Response{Text: huge, Finish: provider.FinishStop}, nil
	}}, providergrpc.Timeouts{})
	_, err := p.Generate(t.Context(), provider.Request{}, nil)
	internal(t, err)
	_, err = p.Generate(t.Context(), provider.Request{System: huge}, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.ClassInvalid {
		t.Errorf("%v, want class invalid", err)
	}
}

// A caller without a deadline gets one, and the provider is told that nobody waits.
func TestTimeout(t *testing.T) {
	t.Parallel()
	told := make(chan error, 1)
	p := remote(t, &canned{generate: func(ctx context.Context, _ provider.Request, _ func(provider.Delta) error) (provider.Response, error) {
		<-ctx.Done()
		told <- ctx.Err()
		return provider.Response{}, ctx.Err()
	}}, providergrpc.Timeouts{Work: 50 * time.Millisecond})
	_, err := p.Generate(context.Background(), provider.Request{}, nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.ClassTimeout {
		t.Errorf("%v, want class timeout", err)
	}
	if <-told == nil {
		t.Error("the provider was not told")
	}
}

// A request that is wrong does not reach the provider.
func TestWrongRequest(t *testing.T) {
	t.Parallel()
	three := 3.0
	p := remote(t, &canned{generate: func(context.Context, provider.Request, func(provider.Delta) error) (provider.Response, error) {
		t.Error("it was reached")
		return provider.Response{}, nil
	}}, providergrpc.Timeouts{})
	for _, r := range []provider.Request{
		{Schema: json.RawMessage("{")}, {Temperature: &three}, {Tools: []provider.Tool{{InputSchema: json.RawMessage("no")}}},
		{Messages: []provider.Message{{Calls: []provider.ToolCall{{Input: json.RawMessage("'")}}}}},
	} {
		_, err := p.Generate(t.Context(), r, nil)
		var e *provider.Error
		if !errors.As(err, &e) || e.Class != provider.ClassInvalid {
			t.Errorf("%v, want class invalid", err)
		}
	}
}

func TestBrokenText(t *testing.T) {
	t.Parallel()
	p := remote(t, &canned{generate: func(_ context.Context, _ provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
		return provider.Response{Text: "a\xffb", Finish: provider.FinishStop}, emit(provider.Delta{Text: "\xff"})
	}}, providergrpc.Timeouts{})
	r, err := p.Generate(t.Context(), provider.Request{System: "\xff"}, nil)
	if err != nil || r.Text != "a\uFFFDb" {
		t.Errorf("%q, %v", r.Text, err)
	}
}
