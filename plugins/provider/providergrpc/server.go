package providergrpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

// Register makes a server answer for a provider. The context of a call ends when
// its caller does not wait any more.
func Register(s grpc.ServiceRegistrar, p provider.Provider) {
	providerpb.RegisterProviderServer(s, &server{provider: p})
}

type server struct {
	providerpb.UnimplementedProviderServer
	provider provider.Provider
}

// answer is what a handler returns.
func answer[A any](a *A, err error) (*A, error) {
	if err != nil {
		return nil, Status(err)
	}
	return a, nil
}

func (s *server) Info(ctx context.Context, _ *providerpb.Empty) (*providerpb.ProviderInfo, error) {
	info, err := s.provider.Info(ctx)
	return answer(encodeInfo(info), err)
}

func (s *server) Models(ctx context.Context, _ *providerpb.Empty) (*providerpb.ModelList, error) {
	models, err := s.provider.Models(ctx)
	return answer(&providerpb.ModelList{Models: wire.Each(models, encodeModel)}, err)
}

func (s *server) Generate(p *providerpb.GenerateRequest, stream grpc.ServerStreamingServer[providerpb.GenerateEvent]) error {
	r, err := DecodeRequest(p)
	if err != nil {
		return Status(invalid(err))
	}
	response, err := s.provider.Generate(stream.Context(), r, func(d provider.Delta) error {
		piece := &providerpb.Delta{Text: wire.Text(d.Text), Thinking: wire.Text(d.Thinking)}
		return stream.Send(&providerpb.GenerateEvent{Event: &providerpb.GenerateEvent_Delta{Delta: piece}})
	})
	if err != nil {
		return Status(err)
	}
	return stream.Send(&providerpb.GenerateEvent{Event: &providerpb.GenerateEvent_Response{Response: EncodeResponse(response)}})
}

func (s *server) Embed(ctx context.Context, p *providerpb.EmbedRequest) (*providerpb.EmbedResponse, error) {
	r, err := s.provider.Embed(ctx, provider.EmbedRequest{Model: p.GetModel(), Texts: p.GetTexts()})
	return answer(&providerpb.EmbedResponse{Model: wire.Text(r.Model), Vectors: encodeVectors(r.Vectors), Usage: encodeUsage(r.Usage)}, err)
}

func (s *server) Load(ctx context.Context, p *providerpb.ModelRequest) (*providerpb.Empty, error) {
	return answer(&providerpb.Empty{}, s.provider.Load(ctx, p.GetModel()))
}

func (s *server) Unload(ctx context.Context, p *providerpb.ModelRequest) (*providerpb.Empty, error) {
	return answer(&providerpb.Empty{}, s.provider.Unload(ctx, p.GetModel()))
}

func (s *server) Health(ctx context.Context, _ *providerpb.Empty) (*providerpb.Empty, error) {
	return answer(&providerpb.Empty{}, s.provider.Health(ctx))
}
