package providergrpc

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providerpb"
)

// text is a string as it may be sent: bytes that are no UTF-8 are replaced.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(list []string) []string { return each(list, text) }

// each converts a list; none stays none.
func each[A, B any](list []A, convert func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// eachChecked converts a list that may be wrong. what names its elements.
func eachChecked[A, B any](what string, list []A, convert func(A) (B, error)) ([]B, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		var err error
		if out[i], err = convert(v); err != nil {
			return nil, fmt.Errorf("%s %d: %w", what, i+1, err)
		}
	}
	return out, nil
}

// raw is JSON that was received; none is nil.
func raw(what string, b []byte) (json.RawMessage, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if !json.Valid(b) {
		return nil, fmt.Errorf("%s is not JSON", what)
	}
	return b, nil
}

// count is a number of tokens or the like that was received: never negative, and
// no larger than sums of it can be.
func count(n int64) int { return int(min(max(n, 0), math.MaxInt32)) }

// EncodeRequest and DecodeRequest convert a request for a model. Decoding fails
// when what must be JSON is not.
func EncodeRequest(r provider.Request) *providerpb.GenerateRequest {
	return &providerpb.GenerateRequest{
		Model: text(r.Model), System: text(r.System),
		Messages: each(r.Messages, encodeMessage), Tools: each(r.Tools, EncodeTool),
		Schema: r.Schema, Thinking: int64(r.Thinking), MaxTokens: int64(r.MaxTokens),
		Temperature: r.Temperature, Stop: texts(r.Stop),
	}
}

// DecodeRequest is described at EncodeRequest.
func DecodeRequest(p *providerpb.GenerateRequest) (r provider.Request, err error) {
	r = provider.Request{
		Model: p.GetModel(), System: p.GetSystem(), Thinking: count(p.GetThinking()), MaxTokens: count(p.GetMaxTokens()),
		Stop: slices.Clone(p.GetStop()),
	}
	if p.Temperature != nil {
		if t := p.GetTemperature(); t >= 0 && t <= 2 {
			r.Temperature = &t
		} else {
			return r, fmt.Errorf("temperature %v is not from 0 to 2", t)
		}
	}
	if r.Messages, err = eachChecked("message", p.GetMessages(), decodeMessage); err != nil {
		return r, err
	}
	if r.Tools, err = eachChecked("tool", p.GetTools(), DecodeTool); err != nil {
		return r, err
	}
	r.Schema, err = raw("schema", p.GetSchema())
	return r, err
}

func encodeMessage(m provider.Message) *providerpb.Message {
	return &providerpb.Message{
		Role: text(m.Role), Text: text(m.Text), Calls: each(m.Calls, encodeCall),
		CallId: text(m.CallID), Failed: m.Failed, Opaque: m.Opaque,
	}
}

func decodeMessage(p *providerpb.Message) (m provider.Message, err error) {
	m = provider.Message{Role: p.GetRole(), Text: p.GetText(), CallID: p.GetCallId(), Failed: p.GetFailed()}
	if m.Calls, err = eachChecked("call", p.GetCalls(), decodeCall); err != nil {
		return m, err
	}
	m.Opaque, err = raw("opaque", p.GetOpaque())
	return m, err
}

// EncodeTool and DecodeTool convert a tool. Decoding fails when its schema is no
// JSON.
func EncodeTool(t provider.Tool) *providerpb.Tool {
	return &providerpb.Tool{Name: text(t.Name), Description: text(t.Description), InputSchema: t.InputSchema}
}

// DecodeTool is described at EncodeTool.
func DecodeTool(p *providerpb.Tool) (t provider.Tool, err error) {
	t = provider.Tool{Name: p.GetName(), Description: p.GetDescription()}
	t.InputSchema, err = raw("input schema", p.GetInputSchema())
	return t, err
}

func encodeCall(c provider.ToolCall) *providerpb.ToolCall {
	return &providerpb.ToolCall{Id: text(c.ID), Name: text(c.Name), Input: c.Input}
}

func decodeCall(p *providerpb.ToolCall) (c provider.ToolCall, err error) {
	c = provider.ToolCall{ID: p.GetId(), Name: p.GetName()}
	c.Input, err = raw("input", p.GetInput())
	return c, err
}

// EncodeResponse and DecodeResponse convert the answer of a model. Decoding fails
// when what must be JSON is not, or when the answer ended for no known reason.
func EncodeResponse(r provider.Response) *providerpb.GenerateResponse {
	return &providerpb.GenerateResponse{
		Model: text(r.Model), Text: text(r.Text), Thinking: text(r.Thinking), Calls: each(r.Calls, encodeCall),
		Finish: text(r.Finish), Usage: encodeUsage(r.Usage), Opaque: r.Opaque,
	}
}

// DecodeResponse is described at EncodeResponse.
func DecodeResponse(p *providerpb.GenerateResponse) (r provider.Response, err error) {
	r = provider.Response{
		Model: p.GetModel(), Text: p.GetText(), Thinking: p.GetThinking(), Finish: p.GetFinish(), Usage: decodeUsage(p.GetUsage()),
	}
	if !slices.Contains([]string{provider.FinishStop, provider.FinishLength, provider.FinishTools, provider.FinishFilter}, r.Finish) {
		return r, fmt.Errorf("finish is %q", cut(r.Finish, 40))
	}
	if r.Calls, err = eachChecked("call", p.GetCalls(), decodeCall); err != nil {
		return r, err
	}
	r.Opaque, err = raw("opaque", p.GetOpaque())
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
		InputTokens: count(p.GetInputTokens()), OutputTokens: count(p.GetOutputTokens()),
		ThinkingTokens: count(p.GetThinkingTokens()), CachedTokens: count(p.GetCachedTokens()), Estimated: p.GetEstimated(),
	}
}

func encodeInfo(i provider.Info) *providerpb.ProviderInfo {
	return &providerpb.ProviderInfo{Name: text(i.Name), Version: text(i.Version), Local: i.Local, Note: text(i.Note)}
}

func decodeInfo(p *providerpb.ProviderInfo) provider.Info {
	return provider.Info{Name: p.GetName(), Version: p.GetVersion(), Local: p.GetLocal(), Note: p.GetNote()}
}

func encodeModel(m provider.Model) *providerpb.Model {
	return &providerpb.Model{
		Name: text(m.Name), Tiers: texts(m.Tiers), ContextTokens: int64(m.ContextTokens), OutputTokens: int64(m.OutputTokens),
		Text: m.Text, Tools: m.Tools, JsonSchema: m.JSONSchema, Thinking: m.Thinking, Streaming: m.Streaming,
		Embeddings: m.Embeddings, Dimensions: int64(m.Dimensions), MemoryBytes: m.MemoryBytes, Loaded: m.Loaded,
		InputUsd: m.InputUSD, OutputUsd: m.OutputUSD,
	}
}

// decodeModel fails when a price is not one: budgets are counted with it.
func decodeModel(p *providerpb.Model) (provider.Model, error) {
	m := provider.Model{
		Name: p.GetName(), Tiers: slices.Clone(p.GetTiers()), ContextTokens: count(p.GetContextTokens()), OutputTokens: count(p.GetOutputTokens()),
		Text: p.GetText(), Tools: p.GetTools(), JSONSchema: p.GetJsonSchema(), Thinking: p.GetThinking(), Streaming: p.GetStreaming(),
		Embeddings: p.GetEmbeddings(), Dimensions: count(p.GetDimensions()), MemoryBytes: p.GetMemoryBytes(), Loaded: p.GetLoaded(),
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
	return each(vectors, func(v []float32) *providerpb.Vector { return &providerpb.Vector{Values: v} })
}

// decodeVectors fails when there are not as many as there are texts, or they are
// not all of one length, or one has a value that is no number.
func decodeVectors(list []*providerpb.Vector, texts int) ([][]float32, error) {
	if len(list) != texts {
		return nil, fmt.Errorf("%d vectors for %d texts", len(list), texts)
	}
	return eachChecked("vector", list, func(p *providerpb.Vector) ([]float32, error) {
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
