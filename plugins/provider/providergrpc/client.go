package providergrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

// Client is a provider that is served at the other end of a connection. Every
// failure is a *provider.Error but what emit returned.
type Client struct {
	remote   providerpb.ProviderClient
	timeouts Timeouts
}

// NewClient returns the provider served at the other end of a connection.
func NewClient(conn grpc.ClientConnInterface, t Timeouts) *Client {
	return &Client{remote: providerpb.NewProviderClient(conn), timeouts: t.orDefaults()}
}

// call makes one call, within a time and with messages of bounded size.
func call[Q proto.Message, A any](
	ctx context.Context, within time.Duration, method func(context.Context, Q, ...grpc.CallOption) (A, error), question Q,
) (a A, err error) {
	if err := wire.Fits("the request", question); err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(traced(ctx), within)
	defer cancel()
	a, err = method(ctx, question, wire.CallOptions()...)
	return a, Error(ctx, err)
}

// traced says to the provider of which trace a request is part, if it is of one: as the
// metadata "traceparent" of the W3C's Trace Context.
func traced(ctx context.Context) context.Context {
	of := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, of)
	for name, value := range of {
		ctx = metadata.AppendToOutgoingContext(ctx, name, value)
	}
	return ctx
}

// Info implements provider.Provider.
func (c *Client) Info(ctx context.Context) (provider.Info, error) {
	p, err := call(ctx, c.timeouts.Question, c.remote.Info, &providerpb.Empty{})
	return decodeInfo(p), err
}

// Models implements provider.Provider.
func (c *Client) Models(ctx context.Context) ([]provider.Model, error) {
	p, err := call(ctx, c.timeouts.Question, c.remote.Models, &providerpb.Empty{})
	if err != nil {
		return nil, err
	}
	models, err := wire.EachChecked("model", p.GetModels(), decodeModel)
	if err != nil {
		return nil, broken(err)
	}
	return models, nil
}

// Generate implements provider.Provider.
func (c *Client) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	question := EncodeRequest(r)
	if err := wire.Fits("the request", question); err != nil {
		return provider.Response{}, err
	}
	ctx, cancel := context.WithTimeout(traced(ctx), c.timeouts.Work)
	defer cancel()
	stream, err := c.remote.Generate(ctx, question, wire.CallOptions()...)
	if err != nil {
		return provider.Response{}, Error(ctx, err)
	}
	if emit == nil {
		emit = func(provider.Delta) error { return nil }
	}
	return receive(ctx, stream, emit)
}

// errNoAnswer is a stream that ended without the whole answer.
var errNoAnswer = errors.New("it ended without the whole answer")

// receive hands on the pieces of an answer and returns the whole.
func receive(ctx context.Context, stream grpc.ServerStreamingClient[providerpb.GenerateEvent], emit func(provider.Delta) error) (provider.Response, error) {
	for size := 0; ; {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return provider.Response{}, broken(errNoAnswer)
		}
		if err != nil {
			return provider.Response{}, Error(ctx, err)
		}
		if whole := event.GetResponse(); whole != nil {
			return last(ctx, stream, whole)
		}
		d := event.GetDelta()
		if size += len(d.GetText()) + len(d.GetThinking()); size > MaxMessage {
			return provider.Response{}, broken(fmt.Errorf("its pieces have more than %d bytes", MaxMessage))
		}
		if err := emit(provider.Delta{Text: d.GetText(), Thinking: d.GetThinking()}); err != nil {
			return provider.Response{}, err
		}
	}
}

// last takes the whole answer, which nothing may follow.
func last(ctx context.Context, stream grpc.ServerStreamingClient[providerpb.GenerateEvent], whole *providerpb.GenerateResponse) (provider.Response, error) {
	if _, err := stream.Recv(); err == nil {
		return provider.Response{}, broken(errors.New("it goes on after the whole answer"))
	} else if !errors.Is(err, io.EOF) {
		return provider.Response{}, Error(ctx, err)
	}
	r, err := DecodeResponse(whole)
	if err != nil {
		return provider.Response{}, broken(err)
	}
	return r, nil
}

// Embed implements provider.Provider.
func (c *Client) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	p, err := call(ctx, c.timeouts.Work, c.remote.Embed, &providerpb.EmbedRequest{Model: wire.Text(r.Model), Texts: wire.Texts(r.Texts)})
	if err != nil {
		return provider.EmbedResponse{}, err
	}
	vectors, err := decodeVectors(p.GetVectors(), len(r.Texts))
	if err != nil {
		return provider.EmbedResponse{}, broken(err)
	}
	return provider.EmbedResponse{Model: p.GetModel(), Vectors: vectors, Usage: decodeUsage(p.GetUsage())}, nil
}

// Load implements provider.Provider.
func (c *Client) Load(ctx context.Context, model string) error {
	_, err := call(ctx, c.timeouts.Work, c.remote.Load, &providerpb.ModelRequest{Model: wire.Text(model)})
	return err
}

// Unload implements provider.Provider.
func (c *Client) Unload(ctx context.Context, model string) error {
	_, err := call(ctx, c.timeouts.Work, c.remote.Unload, &providerpb.ModelRequest{Model: wire.Text(model)})
	return err
}

// Health implements provider.Provider.
func (c *Client) Health(ctx context.Context) error {
	_, err := call(ctx, c.timeouts.Question, c.remote.Health, &providerpb.Empty{})
	return err
}
