package providergrpc

import (
	"fmt"
	"math"
	"slices"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
	"github.com/skillet-run/skillet/plugins/wire"
)

// EncodeRequest and DecodeRequest convert a request for a model. Decoding fails
// when what must be JSON is not.
func EncodeRequest(r provider.Request) *providerpb.GenerateRequest {
	return &providerpb.GenerateRequest{
		Model: wire.Text(r.Model), System: wire.Text(r.System),
		Messages: wire.Each(r.Messages, encodeMessage), Tools: wire.Each(r.Tools, EncodeTool),
		Schema: r.Schema, Thinking: int64(r.Thinking), MaxTokens: int64(r.MaxTokens),
		Temperature: r.Temperature, Stop: wire.Texts(r.Stop),
	}
}

// DecodeRequest is described at EncodeRequest.
func DecodeRequest(p *providerpb.GenerateRequest) (r provider.Request, err error) {
	r = provider.Request{
		Model: p.GetModel(), System: p.GetSystem(), Thinking: wire.Count(p.GetThinking()), MaxTokens: wire.Count(p.GetMaxTokens()),
		Stop: slices.Clone(p.GetStop()),
	}
	if p.Temperature != nil {
		if t := p.GetTemperature(); t >= 0 && t <= 2 {
			r.Temperature = &t
		} else {
			return r, fmt.Errorf("temperature %v is not from 0 to 2", t)
		}
	}
	if r.Messages, err = wire.EachChecked("message", p.GetMessages(), decodeMessage); err != nil {
		return r, err
	}
	if r.Tools, err = wire.EachChecked("tool", p.GetTools(), DecodeTool); err != nil {
		return r, err
	}
	r.Schema, err = wire.JSON("schema", p.GetSchema())
	return r, err
}

func encodeMessage(m provider.Message) *providerpb.Message {
	return &providerpb.Message{
		Role: wire.Text(m.Role), Text: wire.Text(m.Text), Calls: wire.Each(m.Calls, encodeCall),
		CallId: wire.Text(m.CallID), Failed: m.Failed, Opaque: m.Opaque,
	}
}

func decodeMessage(p *providerpb.Message) (m provider.Message, err error) {
	m = provider.Message{Role: p.GetRole(), Text: p.GetText(), CallID: p.GetCallId(), Failed: p.GetFailed()}
	if m.Calls, err = wire.EachChecked("call", p.GetCalls(), decodeCall); err != nil {
		return m, err
	}
	m.Opaque, err = wire.JSON("opaque", p.GetOpaque())
	return m, err
}

// EncodeTool and DecodeTool convert a tool. Decoding fails when its schema is not
// JSON.
func EncodeTool(t provider.Tool) *providerpb.Tool {
	return &providerpb.Tool{Name: wire.Text(t.Name), Description: wire.Text(t.Description), InputSchema: t.InputSchema}
}

// DecodeTool is described at EncodeTool.
func DecodeTool(p *providerpb.Tool) (t provider.Tool, err error) {
	t = provider.Tool{Name: p.GetName(), Description: p.GetDescription()}
	t.InputSchema, err = wire.JSON("input schema", p.GetInputSchema())
	return t, err
}

func encodeCall(c provider.ToolCall) *providerpb.ToolCall {
	return &providerpb.ToolCall{Id: wire.Text(c.ID), Name: wire.Text(c.Name), Input: c.Input}
}

func decodeCall(p *providerpb.ToolCall) (c provider.ToolCall, err error) {
	c = provider.ToolCall{ID: p.GetId(), Name: p.GetName()}
	c.Input, err = wire.JSON("input", p.GetInput())
	return c, err
}

// EncodeResponse and DecodeResponse convert the answer of a model. Decoding fails
// when what must be JSON is not, or when the answer ended for no known reason.
func EncodeResponse(r provider.Response) *providerpb.GenerateResponse {
	return &providerpb.GenerateResponse{
		Model: wire.Text(r.Model), Text: wire.Text(r.Text), Thinking: wire.Text(r.Thinking), Calls: wire.Each(r.Calls, encodeCall),
		Finish: wire.Text(r.Finish), Usage: encodeUsage(r.Usage), Opaque: r.Opaque,
	}
}

// DecodeResponse is described at EncodeResponse.
func DecodeResponse(p *providerpb.GenerateResponse) (r provider.Response, err error) {
	r = provider.Response{
		Model: p.GetModel(), Text: p.GetText(), Thinking: p.GetThinking(), Finish: p.GetFinish(), Usage: decodeUsage(p.GetUsage()),
	}
	if !slices.Contains([]string{provider.FinishStop, provider.FinishLength, provider.FinishTools, provider.FinishFilter}, r.Finish) {
		return r, fmt.Errorf("finish is %q", wire.Cut(r.Finish, 40))
	}
	if r.Calls, err = wire.EachChecked("call", p.GetCalls(), decodeCall); err != nil {
		return r, err
	}
	r.Opaque, err = wire.JSON("opaque", p.GetOpaque())
	return r, err
}

func encodeUsage(u provider.Usage) *providerpb.Usage {
	return &providerpb.Usage{
		InputTokens: int64(u.InputTokens), OutputTokens: int64(u.OutputTokens), ThinkingTokens: int64(u.ThinkingTokens),
		CachedTokens: int64(u.CachedTokens), Estimated: u.Estimated,
	}
}

func decodeUsage(p *providerpb.Usage) provider.Usage {
	return provider.Usage{
		InputTokens: wire.Count(p.GetInputTokens()), OutputTokens: wire.Count(p.GetOutputTokens()),
		ThinkingTokens: wire.Count(p.GetThinkingTokens()), CachedTokens: wire.Count(p.GetCachedTokens()), Estimated: p.GetEstimated(),
	}
}

func encodeInfo(i provider.Info) *providerpb.ProviderInfo {
	return &providerpb.ProviderInfo{Name: wire.Text(i.Name), Version: wire.Text(i.Version), Local: i.Local, Note: wire.Text(i.Note)}
}

func decodeInfo(p *providerpb.ProviderInfo) provider.Info {
	return provider.Info{Name: p.GetName(), Version: p.GetVersion(), Local: p.GetLocal(), Note: p.GetNote()}
}

func encodeModel(m provider.Model) *providerpb.Model {
	return &providerpb.Model{
		Name: wire.Text(m.Name), Tiers: wire.Texts(m.Tiers), ContextTokens: int64(m.ContextTokens), OutputTokens: int64(m.OutputTokens),
		Text: m.Text, Tools: m.Tools, JsonSchema: m.JSONSchema, Thinking: m.Thinking, Streaming: m.Streaming,
		Embeddings: m.Embeddings, Dimensions: int64(m.Dimensions), MemoryBytes: m.MemoryBytes, Loaded: m.Loaded,
		InputUsd: m.InputUSD, OutputUsd: m.OutputUSD,
	}
}

// decodeModel fails when a price is not one: budgets are counted with it.
func decodeModel(p *providerpb.Model) (provider.Model, error) {
	m := provider.Model{
		Name: p.GetName(), Tiers: slices.Clone(p.GetTiers()), ContextTokens: wire.Count(p.GetContextTokens()), OutputTokens: wire.Count(p.GetOutputTokens()),
		Text: p.GetText(), Tools: p.GetTools(), JSONSchema: p.GetJsonSchema(), Thinking: p.GetThinking(), Streaming: p.GetStreaming(),
		Embeddings: p.GetEmbeddings(), Dimensions: wire.Count(p.GetDimensions()), MemoryBytes: p.GetMemoryBytes(), Loaded: p.GetLoaded(),
		InputUSD: p.GetInputUsd(), OutputUSD: p.GetOutputUsd(),
	}
	for _, price := range []float64{m.InputUSD, m.OutputUSD} {
		if !(price >= 0 && price <= maxPrice) {
			return m, fmt.Errorf("a price of %v USD for a million tokens", price)
		}
	}
	return m, nil
}

// maxPrice is the highest price of a million tokens that is believed, in USD.
const maxPrice = 1e6

func encodeVectors(vectors [][]float32) []*providerpb.Vector {
	return wire.Each(vectors, func(v []float32) *providerpb.Vector { return &providerpb.Vector{Values: v} })
}

// decodeVectors fails when there are not as many as there are texts, or they are
// not all of one length, or one has a value that is not a number.
func decodeVectors(list []*providerpb.Vector, texts int) ([][]float32, error) {
	if len(list) != texts {
		return nil, fmt.Errorf("%d vectors for %d texts", len(list), texts)
	}
	return wire.EachChecked("vector", list, func(p *providerpb.Vector) ([]float32, error) {
		v := p.GetValues()
		if len(v) == 0 || len(v) != len(list[0].GetValues()) {
			return nil, fmt.Errorf("%d values, the first has %d", len(v), len(list[0].GetValues()))
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nil, fmt.Errorf("it holds %v", x)
			}
		}
		return v, nil
	})
}
