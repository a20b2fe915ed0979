package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/answer"
	"github.com/skillet-run/skillet/plugins/providers/internal/failure"
)

// The API wants a bound of the answer, and at least so many tokens to think.
const (
	defaultMaxTokens = 8192
	minThinking      = 1024
)

// Generate implements provider.Provider. The answer is always streamed.
func (p *Provider) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	doing := "generate with " + r.Model
	if err := p.settings.Check(); err != nil {
		return provider.Response{}, err
	}
	params, err := p.request(r)
	if err == nil {
		err = answer.Check(r)
	}
	if err != nil {
		return provider.Response{}, p.settings.Fail(ctx, doing, err)
	}
	stream := p.messages.NewStreaming(ctx, params)
	defer stream.Close()
	c := &collector{Builder: answer.NewBuilder(emit)}
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
	return response, p.settings.Fail(ctx, doing, err)
}

// streamError reads a failure that came in the middle of an answer.
func streamError(err error) error {
	var failed *sdk.Error
	if !errors.As(err, &failed) {
		return err
	}
	f := failure.Anthropic(0, []byte(failed.RawJSON()))
	return &provider.Error{Class: cmp.Or(f.Class, provider.ClassUnavailable), Message: cmp.Or(f.Message, "the stream ended with an error")}
}

func (p *Provider) request(r provider.Request) (sdk.MessageNewParams, error) {
	params := sdk.MessageNewParams{Model: r.Model, StopSequences: r.Stop, MaxTokens: int64(r.MaxTokens)}
	if r.MaxTokens <= 0 {
		params.MaxTokens = defaultMaxTokens
		if known := p.catalog.Model(r.Model).OutputTokens; known > 0 {
			params.MaxTokens = min(defaultMaxTokens, int64(known))
		}
	}
	if r.System != "" {
		params.System = []sdk.TextBlockParam{{Text: r.System}}
	}
	think(&params, r)
	if r.Temperature != nil && r.Thinking <= 0 && !adaptive(r.Model) {
		params.Temperature = sdk.Float(min(*r.Temperature, 1)) // there is nothing above 1
	}
	var err error
	if params.Tools, err = tools(r.Tools); err != nil {
		return params, err
	}
	if len(r.Schema) > 0 {
		if err = json.Unmarshal(r.Schema, &params.OutputConfig.Format.Schema); err != nil {
			return params, &provider.Error{Class: provider.ClassInvalid, Message: "the schema of the answer: " + err.Error()}
		}
	}
	params.Messages, err = messages(r.Messages)
	return params, err
}

// think says how much to think. The tokens for it come on top of the answer's,
// because the API counts both in max_tokens.
func think(params *sdk.MessageNewParams, r provider.Request) {
	budget := int64(max(r.Thinking, minThinking))
	switch {
	case r.Thinking <= 0 && adaptive(r.Model) && !always(r.Model):
		off := sdk.NewThinkingConfigDisabledParam()
		params.Thinking.OfDisabled = &off
	case r.Thinking <= 0: // it does not think when nothing is said, or always
	case adaptive(r.Model):
		params.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: "summarized"}
		params.OutputConfig.Effort = effort(r.Thinking)
		params.MaxTokens += budget
	default:
		params.Thinking = sdk.ThinkingConfigParamOfEnabled(budget)
		params.MaxTokens += budget
	}
}

func tools(offered []provider.Tool) ([]sdk.ToolUnionParam, error) {
	var out []sdk.ToolUnionParam
	for _, t := range offered {
		fields := map[string]any{}
		if err := json.Unmarshal(t.InputSchema, &fields); err != nil {
			return nil, &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("the schema of tool %s: %v", t.Name, err)}
		}
		delete(fields, "type") // the SDK says "object"
		tool := sdk.ToolUnionParamOfTool(sdk.ToolInputSchemaParam{ExtraFields: fields}, t.Name)
		tool.OfTool.Description = sdk.String(t.Description)
		out = append(out, tool)
	}
	return out, nil
}

// messages puts a conversation into turns that alternate: what follows one
// another of the same side, such as the results of parallel calls, is one turn.
func messages(conversation []provider.Message) ([]sdk.MessageParam, error) {
	var out []sdk.MessageParam
	for _, m := range conversation {
		role, blocks, err := turn(m)
		if err != nil {
			return nil, err
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
		} else if len(blocks) > 0 {
			out = append(out, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	return out, nil
}

func turn(m provider.Message) (sdk.MessageParamRole, []sdk.ContentBlockParamUnion, error) {
	var blocks []sdk.ContentBlockParamUnion
	switch m.Role {
	case provider.RoleTool:
		return sdk.MessageParamRoleUser, append(blocks, sdk.NewToolResultBlock(m.CallID, m.Text, m.Failed)), nil
	case provider.RoleAssistant:
		blocks, err := said(m)
		return sdk.MessageParamRoleAssistant, blocks, err
	}
	return sdk.MessageParamRoleUser, append(blocks, sdk.NewTextBlock(m.Text)), nil
}

// said puts an earlier answer together, its thinking with the signature first.
func said(m provider.Message) ([]sdk.ContentBlockParamUnion, error) {
	var blocks []sdk.ContentBlockParamUnion
	thoughts, err := readThoughts(m.Opaque)
	if err != nil {
		return nil, err
	}
	for _, t := range thoughts {
		if t.Data != "" {
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(t.Data))
		} else {
			blocks = append(blocks, sdk.NewThinkingBlock(t.Signature, t.Thinking))
		}
	}
	if m.Text != "" {
		blocks = append(blocks, sdk.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		blocks = append(blocks, sdk.NewToolUseBlock(c.ID, c.Input, c.Name))
	}
	return blocks, nil
}

// A thought is a block of thinking that goes back as it came, the opaque part of
// an answer. Data is the whole of one that is encrypted.
type thought struct {
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

func readThoughts(opaque json.RawMessage) ([]thought, error) {
	if len(opaque) == 0 {
		return nil, nil
	}
	var thoughts []thought
	if err := json.Unmarshal(opaque, &thoughts); err != nil {
		return nil, &provider.Error{Class: provider.ClassInvalid, Message: "the opaque part of a message is not ours: " + err.Error()}
	}
	return thoughts, nil
}

// finishes are the words for why an answer ended.
var finishes = map[sdk.StopReason]string{
	sdk.StopReasonEndTurn: provider.FinishStop, sdk.StopReasonStopSequence: provider.FinishStop, sdk.StopReasonPauseTurn: provider.FinishStop,
	sdk.StopReasonMaxTokens: provider.FinishLength, sdk.StopReasonModelContextWindowExceeded: provider.FinishLength,
	sdk.StopReasonToolUse: provider.FinishTools, sdk.StopReasonRefusal: provider.FinishFilter,
}

// A collector puts the events of an answer together.
type collector struct {
	*answer.Builder
	model    string
	finish   sdk.StopReason
	ended    bool
	thoughts []thought
	usage    provider.Usage
}

func (c *collector) take(e sdk.MessageStreamEventUnion) error {
	switch e.Type {
	case "message_start":
		c.model = e.Message.Model
		u := e.Message.Usage
		c.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
	case "content_block_start":
		return c.begin(e)
	case "content_block_delta":
		return c.delta(e)
	case "message_delta":
		c.finish = e.Delta.StopReason
		u := e.Usage
		c.count(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens, u.OutputTokensDetails.ThinkingTokens)
	case "message_stop":
		c.ended = true
	}
	return nil
}

// count takes usage, which each event tells as a whole or not at all.
func (c *collector) count(in, cached, created, out, thinking int64) {
	if total := in + cached + created; total > 0 {
		c.usage.InputTokens, c.usage.CachedTokens = int(total), int(cached)
	}
	c.usage.OutputTokens = max(c.usage.OutputTokens, int(out))
	c.usage.ThinkingTokens = max(c.usage.ThinkingTokens, int(thinking))
}

func (c *collector) begin(e sdk.MessageStreamEventUnion) error {
	switch b := e.ContentBlock; b.Type {
	case "tool_use":
		return c.Call(int(e.Index), b.ID, b.Name, "")
	case "thinking":
		c.thoughts = append(c.thoughts, thought{Thinking: b.Thinking, Signature: b.Signature})
		return c.Thinking(b.Thinking)
	case "redacted_thinking":
		c.thoughts = append(c.thoughts, thought{Data: b.Data})
	case "text":
		return c.Text(b.Text)
	}
	return nil
}

func (c *collector) delta(e sdk.MessageStreamEventUnion) error {
	last := len(c.thoughts) - 1
	switch d := e.Delta; d.Type {
	case "text_delta":
		return c.Text(d.Text)
	case "input_json_delta":
		return c.Call(int(e.Index), "", "", d.PartialJSON)
	case "thinking_delta":
		if last >= 0 {
			c.thoughts[last].Thinking += d.Thinking
		}
		return c.Thinking(d.Thinking)
	case "signature_delta":
		if last >= 0 {
			c.thoughts[last].Signature += d.Signature
		}
	}
	return nil
}

// response ends the answer. failed is what ended the stream, nil if it just ended.
func (c *collector) response(failed error) (provider.Response, error) {
	if failed != nil {
		return provider.Response{}, failed
	}
	if !c.ended || c.finish == "" {
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
	if len(c.thoughts) > 0 {
		if r.Opaque, err = json.Marshal(c.thoughts); err != nil {
			return provider.Response{}, err
		}
	}
	r.Model, r.Usage = c.model, c.usage
	return r, nil
}
