package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/genai"

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
	config, err := p.config(r)
	if err == nil {
		err = answer.Check(r)
	}
	if err != nil {
		return provider.Response{}, p.settings.Fail(ctx, doing, err)
	}
	contents, err := contents(r.Messages)
	if err != nil {
		return provider.Response{}, p.settings.Fail(ctx, doing, err)
	}
	c := &collector{Builder: answer.NewBuilder(emit), asked: r, model: r.Model}
	var failed error
	for chunk, err := range p.client.Models.GenerateContentStream(ctx, r.Model, contents, config) {
		if failed = err; failed == nil {
			failed = c.take(chunk)
		}
		if failed != nil {
			break
		}
	}
	if err := c.EmitError(); err != nil {
		return provider.Response{}, err
	}
	response, err := c.response(streamError(failed))
	return response, p.settings.Fail(ctx, doing, err)
}

// streamError reads a failure that came in the middle of an answer.
func streamError(err error) error {
	var failed genai.APIError
	if !errors.As(err, &failed) {
		return err
	}
	return &provider.Error{Class: cmp.Or(failure.GeminiStatus(failed.Status), provider.ClassUnavailable), Message: failed.Message}
}

func (p *Provider) config(r provider.Request) (*genai.GenerateContentConfig, error) {
	config := &genai.GenerateContentConfig{
		StopSequences:         r.Stop,
		AutomaticContinuation: genai.Ptr(false), // retries are the host's
		ThinkingConfig:        think(r),
	}
	if r.System != "" {
		config.SystemInstruction = genai.NewContentFromText(r.System, "")
	}
	if r.MaxTokens > 0 { // the API counts the thinking in it
		config.MaxOutputTokens = int32(r.MaxTokens + r.Thinking)
	}
	if r.Temperature != nil {
		config.Temperature = genai.Ptr(float32(*r.Temperature))
	}
	if len(r.Schema) > 0 {
		config.ResponseMIMEType, config.ResponseJsonSchema = "application/json", r.Schema
	}
	if len(r.Tools) == 0 {
		return config, nil
	}
	var declared []*genai.FunctionDeclaration
	for _, t := range r.Tools {
		if !json.Valid(t.InputSchema) {
			return nil, &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("the schema of tool %s is not JSON", t.Name)}
		}
		declared = append(declared, &genai.FunctionDeclaration{Name: t.Name, Description: t.Description, ParametersJsonSchema: t.InputSchema})
	}
	config.Tools = []*genai.Tool{{FunctionDeclarations: declared}}
	return config, nil
}

// think says how much to think, in the way the model is told.
func think(r provider.Request) *genai.ThinkingConfig {
	tokens := int32(max(r.Thinking, 0))
	config := &genai.ThinkingConfig{IncludeThoughts: tokens > 0}
	switch thinks(r.Model) {
	case budgets:
		config.ThinkingBudget = &tokens
	case least:
		config.ThinkingBudget = genai.Ptr(max(tokens, 128))
	case levels:
		config.ThinkingLevel = genai.ThinkingLevelLow
		if tokens > 4096 {
			config.ThinkingLevel = genai.ThinkingLevelHigh
		}
	default:
		if tokens == 0 {
			return nil
		}
		config.ThinkingBudget = &tokens
	}
	return config
}

// contents puts a conversation into turns of the user and the model. The results
// of the calls of one turn are one turn.
func contents(conversation []provider.Message) ([]*genai.Content, error) {
	names := answer.ToolNames(conversation)
	var out []*genai.Content
	var last string
	for _, m := range conversation {
		role, parts, err := turn(m, names)
		if err != nil {
			return nil, err
		}
		if m.Role == provider.RoleTool && last == provider.RoleTool {
			out[len(out)-1].Parts = append(out[len(out)-1].Parts, parts...)
		} else {
			out = append(out, &genai.Content{Role: role, Parts: parts})
		}
		last = m.Role
	}
	return out, nil
}

func turn(m provider.Message, names map[string]string) (string, []*genai.Part, error) {
	switch m.Role {
	case provider.RoleTool:
		key := map[bool]string{false: "output", true: "error"}[m.Failed]
		return genai.RoleUser, []*genai.Part{{FunctionResponse: &genai.FunctionResponse{
			ID: m.CallID, Name: names[m.CallID], Response: map[string]any{key: m.Text},
		}}}, nil
	case provider.RoleAssistant:
		parts, err := said(m)
		return genai.RoleModel, parts, err
	}
	return genai.RoleUser, []*genai.Part{{Text: m.Text}}, nil
}

// signatures are the opaque part of an answer: the proofs of its thinking, which
// go back with the part they came with: a call, by its ID, or the text.
type signatures struct {
	Calls map[string][]byte `json:"calls,omitempty"`
	Text  []byte            `json:"text,omitempty"`
}

func said(m provider.Message) ([]*genai.Part, error) {
	var signed signatures
	if len(m.Opaque) > 0 {
		if err := json.Unmarshal(m.Opaque, &signed); err != nil {
			return nil, &provider.Error{Class: provider.ClassInvalid, Message: "the opaque part of a message is not ours: " + err.Error()}
		}
	}
	var parts []*genai.Part
	if m.Text != "" || len(m.Calls) == 0 {
		parts = append(parts, &genai.Part{Text: m.Text, ThoughtSignature: signed.Text})
	}
	for _, c := range m.Calls {
		var input map[string]any
		if err := json.Unmarshal(c.Input, &input); err != nil {
			return nil, &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf("the input of call %s: %v", c.ID, err)}
		}
		parts = append(parts, &genai.Part{
			FunctionCall: &genai.FunctionCall{ID: c.ID, Name: c.Name, Args: input}, ThoughtSignature: signed.Calls[c.ID],
		})
	}
	return parts, nil
}

// finishes are the words for why an answer ended. Those that are not here, such
// as SAFETY and RECITATION, hold the rest back.
var finishes = map[genai.FinishReason]string{
	genai.FinishReasonStop: provider.FinishStop, genai.FinishReasonMaxTokens: provider.FinishLength,
}

// A collector puts the chunks of an answer together.
type collector struct {
	*answer.Builder
	asked   provider.Request
	model   string
	finish  genai.FinishReason
	blocked string
	calls   int
	signed  signatures
	usage   *genai.GenerateContentResponseUsageMetadata
}

func (c *collector) take(chunk *genai.GenerateContentResponse) error {
	c.model = cmp.Or(chunk.ModelVersion, c.model)
	if chunk.UsageMetadata != nil {
		c.usage = chunk.UsageMetadata
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" {
		c.blocked = strings.ToLower(string(f.BlockReason)) + " " + f.BlockReasonMessage
	}
	if len(chunk.Candidates) == 0 || chunk.Candidates[0] == nil {
		return nil
	}
	candidate := chunk.Candidates[0]
	c.finish = cmp.Or(candidate.FinishReason, c.finish)
	if candidate.Content == nil {
		return nil
	}
	for _, part := range candidate.Content.Parts {
		if err := c.part(part); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) part(part *genai.Part) error {
	switch {
	case part == nil:
		return nil
	case part.FunctionCall != nil:
		return c.call(part)
	case part.Thought:
		return c.Thinking(part.Text)
	}
	if part.ThoughtSignature != nil {
		c.signed.Text = part.ThoughtSignature
	}
	return c.Text(part.Text)
}

// call takes a call, which comes whole.
func (c *collector) call(part *genai.Part) error {
	f := part.FunctionCall
	input, err := json.Marshal(f.Args)
	if err != nil {
		return err
	}
	id := answer.CallID(f.ID)
	if part.ThoughtSignature != nil {
		if c.signed.Calls == nil {
			c.signed.Calls = map[string][]byte{}
		}
		c.signed.Calls[id] = part.ThoughtSignature
	}
	c.calls++
	return c.Call(c.calls, id, f.Name, string(input))
}

// response ends the answer. failed is what ended the stream, nil if it just ended.
func (c *collector) response(failed error) (provider.Response, error) {
	switch {
	case failed != nil:
		return provider.Response{}, failed
	case c.blocked != "":
		return provider.Response{}, &provider.Error{Class: provider.ClassRefused, Message: "the prompt is blocked: " + c.blocked}
	case c.finish == "" || c.finish == genai.FinishReasonUnspecified:
		return provider.Response{}, io.ErrUnexpectedEOF
	case strings.Contains(string(c.finish), "_CALL"): // MALFORMED_FUNCTION_CALL and others
		return provider.Response{}, answer.Broken("the model calls a tool in a way that is not one (%s)", strings.ToLower(string(c.finish)))
	}
	r, err := c.Builder.Response(cmp.Or(finishes[c.finish], provider.FinishFilter))
	if err != nil {
		return provider.Response{}, err
	}
	if c.signed.Calls != nil || c.signed.Text != nil {
		if r.Opaque, err = json.Marshal(c.signed); err != nil {
			return provider.Response{}, err
		}
	}
	r.Model, r.Usage = c.model, c.used(r)
	return r, nil
}

func (c *collector) used(r provider.Response) provider.Usage {
	if c.usage == nil {
		return answer.Estimate(c.asked, r)
	}
	return provider.Usage{
		InputTokens:    int(c.usage.PromptTokenCount + c.usage.ToolUsePromptTokenCount),
		OutputTokens:   int(c.usage.CandidatesTokenCount + c.usage.ThoughtsTokenCount),
		ThinkingTokens: int(c.usage.ThoughtsTokenCount), CachedTokens: int(c.usage.CachedContentTokenCount),
	}
}
