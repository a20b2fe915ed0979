package ollama

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ollama/ollama/api"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/answer"
	"github.com/skillet-run/skillet/plugins/providers/internal/failure"
)

// Generate implements provider.Provider. The answer is always streamed.
func (p *Provider) Generate(ctx context.Context, r provider.Request, emit func(provider.Delta) error) (provider.Response, error) {
	doing := "generate with " + r.Model
	if p.wrong != nil {
		return provider.Response{}, p.wrong
	}
	request, err := p.request(r)
	if err == nil {
		err = answer.Check(r)
	}
	if err != nil {
		return provider.Response{}, p.settings.Fail(ctx, doing, err)
	}
	c := &collector{Builder: answer.NewBuilder(emit), asked: r}
	failed := p.client.Chat(ctx, request, c.take)
	if err := c.EmitError(); err != nil {
		return provider.Response{}, err
	}
	response, err := c.response(streamError(ctx, failed))
	return response, p.settings.Fail(ctx, doing, err)
}

// streamError reads a failure that came in the middle of an answer, which the
// client returns as plain text.
func streamError(ctx context.Context, err error) error {
	var known *provider.Error
	if err == nil || ctx.Err() != nil || errors.As(err, &known) || errors.Unwrap(err) != nil {
		return err
	}
	return &provider.Error{Class: cmp.Or(failure.OllamaClass(0, err.Error()), provider.ClassInternal), Message: err.Error()}
}

func (p *Provider) request(r provider.Request) (*api.ChatRequest, error) {
	yes, no := true, false
	request := &api.ChatRequest{
		Model: r.Model, Stream: &yes, Format: r.Schema, KeepAlive: p.keep, Options: p.numbers(options(r)),
		Think: think(r), Truncate: &no, Shift: &no, // nothing is left out without a word
	}
	if r.System != "" {
		request.Messages = append(request.Messages, api.Message{Role: "system", Content: r.System})
	}
	names := answer.ToolNames(r.Messages)
	for _, m := range r.Messages {
		message, err := turn(m, names)
		if err != nil {
			return nil, err
		}
		request.Messages = append(request.Messages, message)
	}
	for _, t := range r.Tools {
		tool := api.Tool{Type: "function", Function: api.ToolFunction{Name: t.Name, Description: t.Description}}
		if err := json.Unmarshal(t.InputSchema, &tool.Function.Parameters); err != nil {
			return nil, &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("the schema of tool %s: %v", t.Name, err)}
		}
		request.Tools = append(request.Tools, tool)
	}
	return request, nil
}

func options(r provider.Request) map[string]any {
	options := map[string]any{}
	if r.MaxTokens > 0 { // the server counts the thinking in it
		options["num_predict"] = r.MaxTokens + r.Thinking
	}
	if r.Temperature != nil {
		options["temperature"] = *r.Temperature
	}
	if len(r.Stop) > 0 {
		options["stop"] = r.Stop
	}
	return options
}

// think says whether to think. Only gpt-oss is told how much, and cannot do
// without.
func think(r provider.Request) *api.ThinkValue {
	if !strings.Contains(r.Model, "gpt-oss") {
		return &api.ThinkValue{Value: r.Thinking > 0}
	}
	switch {
	case r.Thinking <= 2048:
		return &api.ThinkValue{Value: "low"}
	case r.Thinking <= 8192:
		return &api.ThinkValue{Value: "medium"}
	}
	return &api.ThinkValue{Value: "high"}
}

func turn(m provider.Message, names map[string]string) (api.Message, error) {
	message := api.Message{Role: m.Role, Content: m.Text}
	if m.Role == provider.RoleTool {
		message.ToolCallID, message.ToolName = m.CallID, names[m.CallID]
		if m.Failed {
			message.Content = "error: " + m.Text // there is no field for it
		}
	}
	if len(m.Opaque) > 0 {
		if err := json.Unmarshal(m.Opaque, &message.Thinking); err != nil {
			return message, &provider.Error{Class: provider.ClassInvalid, Message: "the opaque part of a message is not ours: " + err.Error()}
		}
	}
	for i, c := range m.Calls {
		call := api.ToolCall{ID: c.ID, Function: api.ToolCallFunction{Index: i, Name: c.Name}}
		if err := json.Unmarshal(c.Input, &call.Function.Arguments); err != nil {
			return message, &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("the input of call %s: %v", c.ID, err)}
		}
		message.ToolCalls = append(message.ToolCalls, call)
	}
	return message, nil
}

// A collector puts the lines of an answer together.
type collector struct {
	*answer.Builder
	asked provider.Request
	calls int
	last  api.ChatResponse
}

func (c *collector) take(r api.ChatResponse) error {
	c.last = r
	if err := c.Thinking(r.Message.Thinking); err != nil {
		return err
	}
	if err := c.Text(r.Message.Content); err != nil {
		return err
	}
	for _, call := range r.Message.ToolCalls { // each comes whole
		input, err := json.Marshal(call.Function.Arguments)
		if err != nil {
			return err
		}
		c.calls++
		if err := c.Call(c.calls, call.ID, call.Function.Name, string(input)); err != nil {
			return err
		}
	}
	return nil
}

// response ends the answer. failed is what ended the stream, nil if it just ended.
func (c *collector) response(failed error) (provider.Response, error) {
	if failed != nil {
		return provider.Response{}, failed
	}
	if !c.last.Done {
		return provider.Response{}, io.ErrUnexpectedEOF
	}
	finish := provider.FinishStop
	if c.last.DoneReason == "length" {
		finish = provider.FinishLength
	}
	r, err := c.Builder.Response(finish)
	if err != nil {
		return provider.Response{}, err
	}
	if len(r.Calls) > 0 && r.Thinking != "" { // it goes on from its thinking
		if r.Opaque, err = json.Marshal(r.Thinking); err != nil {
			return provider.Response{}, err
		}
	}
	r.Model, r.Usage = cmp.Or(c.last.Model, c.asked.Model), c.used(r)
	return r, nil
}

// used is the usage. The server does not count the thinking apart: its share of
// what was generated is the share of its bytes.
func (c *collector) used(r provider.Response) provider.Usage {
	if c.last.EvalCount == 0 && c.last.PromptEvalCount == 0 {
		return answer.Estimate(c.asked, r)
	}
	u := provider.Usage{InputTokens: c.last.PromptEvalCount, OutputTokens: c.last.EvalCount}
	all := answer.Estimate(c.asked, r)
	if r.Thinking != "" {
		u.ThinkingTokens = min(u.OutputTokens, u.OutputTokens*all.ThinkingTokens/max(all.OutputTokens, 1))
	}
	return u
}
