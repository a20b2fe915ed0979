package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/answer"
	"github.com/skillet-run/skillet/plugins/providers/internal/failure"
)

// Generate implements provider.Provider. The answer is always streamed.
func (p *Provider) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	if err := p.settings.Check(); err != nil {
		return provider.Response{}, err
	}
	params, extra, err := p.request(r)
	if err == nil {
		err = answer.Check(r)
	}
	if err != nil {
		return provider.Response{}, p.settings.Fail(ctx, "generate with "+r.Model, err)
	}
	stream := p.chat.NewStreaming(ctx, params, extra...)
	defer stream.Close()
	c := &collector{Builder: answer.NewBuilder(emit), asked: r, model: r.Model}
	var failed error
	for failed == nil && stream.Next() {
		failed = c.take(stream.Current())
	}
	if err := c.EmitError(); err != nil {
		return provider.Response{}, err
	}
	if failed == nil {
		failed = streamError(stream.Err())
	}
	response, err := c.response(failed)
	return response, p.settings.Fail(ctx, "generate with "+r.Model, err)
}

// streamError reads a failure that came in the middle of an answer.
func streamError(err error) error {
	var failed *ssestream.StreamError
	if !errors.As(err, &failed) {
		return err
	}
	f := failure.OpenAI(0, failed.Event.Data)
	if f.Class == "" {
		f.Class = provider.ClassUnavailable
	}
	return &provider.Error{Class: f.Class, Message: f.Message}
}

// request turns a request into OpenAI's words, and into the fields that the SDK
// does not have under that name.
func (p *Provider) request(r provider.Request) (sdk.ChatCompletionNewParams, []option.RequestOption, error) {
	params := sdk.ChatCompletionNewParams{
		Model:           r.Model,
		Messages:        messages(r),
		ReasoningEffort: shared.ReasoningEffort(effort(r.Model, r.Thinking)),
		StreamOptions:   sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	var extra []option.RequestOption
	if r.MaxTokens > 0 {
		extra = append(extra, option.WithJSONSet(p.limit, r.MaxTokens+r.Thinking))
	}
	if len(r.Stop) > 0 {
		params.Stop = sdk.ChatCompletionNewParamsStopUnion{OfStringArray: r.Stop}
	}
	// Models that reason take no temperature while they do.
	if r.Temperature != nil && (!reasons(r.Model) || params.ReasoningEffort == shared.ReasoningEffortNone) {
		params.Temperature = sdk.Float(*r.Temperature)
	}
	var err error
	if params.Tools, err = tools(r.Tools); err != nil {
		return params, nil, err
	}
	if len(r.Schema) > 0 {
		params.ResponseFormat = format(r.Schema)
	}
	return params, extra, nil
}

func messages(r provider.Request) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	if r.System != "" {
		out = append(out, sdk.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		switch m.Role {
		case provider.RoleAssistant:
			out = append(out, said(m))
		case provider.RoleTool:
			text := m.Text
			if m.Failed {
				text = "error: " + text // there is no field for it
			}
			out = append(out, sdk.ToolMessage(text, m.CallID))
		default:
			out = append(out, sdk.UserMessage(m.Text))
		}
	}
	return out
}

func said(m provider.Message) sdk.ChatCompletionMessageParamUnion {
	var message sdk.ChatCompletionAssistantMessageParam
	if m.Text != "" || len(m.Calls) == 0 {
		message.Content.OfString = sdk.String(m.Text)
	}
	for _, c := range m.Calls {
		message.ToolCalls = append(message.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       c.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: string(c.Input)},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &message}
}

func tools(offered []provider.Tool) ([]sdk.ChatCompletionToolUnionParam, error) {
	var out []sdk.ChatCompletionToolUnionParam
	for _, t := range offered {
		var schema shared.FunctionParameters
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
			return nil, &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("the schema of tool %s: %v", t.Name, err)}
		}
		out = append(out, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: sdk.String(t.Description), Parameters: schema,
		}))
	}
	return out, nil
}

// format holds the answer to a schema: strictly, where the schema is of the kind
// that servers can be strict with.
func format(schema json.RawMessage) sdk.ChatCompletionNewParamsResponseFormatUnion {
	described := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: schema}
	if answer.Strict(schema) {
		described.Strict = param.NewOpt(true)
	}
	return sdk.ChatCompletionNewParamsResponseFormatUnion{
		OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{JSONSchema: described},
	}
}

// finishes are the words for why an answer ended.
var finishes = map[string]string{
	"stop": provider.FinishStop, "length": provider.FinishLength, "content_filter": provider.FinishFilter,
	"tool_calls": provider.FinishTools, "function_call": provider.FinishTools,
}

// A collector puts the chunks of an answer together.
type collector struct {
	*answer.Builder
	asked                  provider.Request
	model, finish, refusal string
	usage                  sdk.CompletionUsage
	counted                bool
}

func (c *collector) take(chunk sdk.ChatCompletionChunk) error {
	if chunk.Model != "" {
		c.model = chunk.Model
	}
	if chunk.JSON.Usage.Valid() {
		c.usage, c.counted = chunk.Usage, true
	}
	for _, choice := range chunk.Choices {
		if choice.FinishReason != "" {
			c.finish = choice.FinishReason
		}
		if err := c.delta(choice.Delta); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) delta(d sdk.ChatCompletionChunkChoiceDelta) error {
	c.refusal += d.Refusal
	if err := c.Thinking(thought(d.JSON.ExtraFields)); err != nil {
		return err
	}
	if err := c.Text(d.Content); err != nil {
		return err
	}
	for _, call := range d.ToolCalls {
		if err := c.Call(int(call.Index), call.ID, call.Function.Name, call.Function.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// thought reads the thinking, which other servers send and OpenAI keeps: vLLM
// and DeepSeek call it reasoning_content, OpenRouter and Groq reasoning.
func thought(fields map[string]respjson.Field) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if f, ok := fields[name]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// response ends the answer. failed is what ended the stream, nil if it just ended.
func (c *collector) response(failed error) (provider.Response, error) {
	if failed != nil {
		return provider.Response{}, failed
	}
	if c.finish == "" {
		return provider.Response{}, io.ErrUnexpectedEOF
	}
	finish, ok := finishes[c.finish]
	if !ok {
		finish = provider.FinishStop
	}
	r, err := c.Builder.Response(finish)
	if err != nil {
		return provider.Response{}, err
	}
	if c.refusal != "" && r.Text == "" {
		return provider.Response{}, &provider.Error{Class: provider.ClassRefused, Message: c.refusal}
	}
	r.Model, r.Usage = c.model, c.used(r)
	return r, nil
}

// used is the usage, or an estimate of it with a server that does not count.
func (c *collector) used(r provider.Response) provider.Usage {
	if !c.counted {
		return answer.Estimate(c.asked, r)
	}
	return provider.Usage{
		InputTokens: int(c.usage.PromptTokens), OutputTokens: int(c.usage.CompletionTokens),
		ThinkingTokens: int(c.usage.CompletionTokensDetails.ReasoningTokens),
		CachedTokens:   int(c.usage.PromptTokensDetails.CachedTokens),
	}
}
