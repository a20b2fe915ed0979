package mcp

import (
	"context"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/host/app/invoke"
	"github.com/skillet-run/skillet/manifests"
)

// A prompt is a skill that is text for a model, and how a client sees it.
type prompt struct {
	skill string
	shown *sdk.Prompt
}

func newPrompt(m *manifests.Manifest) prompt {
	shown := &sdk.Prompt{Name: nameOf(m.Name, ""), Title: m.Name, Description: m.Description, Meta: sdk.Meta{metaSkill: m.Name + "@" + m.Version}}
	for _, p := range m.Parameters {
		shown.Arguments = append(shown.Arguments, &sdk.PromptArgument{Name: p.Name, Description: p.Description, Required: p.Required && len(p.Default) == 0})
	}
	return prompt{m.Name, shown}
}

// render answers with the messages of a prompt. No model is asked.
func (s *tokenServer) render(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	s.mu.Lock()
	p, ok := s.shown.prompts[r.Params.Name]
	s.mu.Unlock()
	if !ok {
		return nil, invalid("unknown prompt %q", r.Params.Name)
	}
	by := s.pass().By()
	target, err := s.e.s.Invoke.Find(ctx, by, invoke.Address{Ref: manifests.Ref{Name: p.skill}}, nil)
	if err != nil {
		return nil, s.wrong(err)
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(r.Params.Arguments)) {
		words = append(words, name+"="+r.Params.Arguments[name])
	}
	input, err := target.Input(words)
	if err != nil {
		return nil, s.wrong(err)
	}
	got, res, err := s.e.s.Invoke.Render(ctx, invoke.Invocation{Target: target, By: by, Input: input, Bounds: s.bounds, Workspace: s.workspace})
	if err == nil && !res.OK {
		err = res.Error
	}
	if err != nil {
		return nil, s.wrong(err)
	}
	out := &sdk.GetPromptResult{Description: p.shown.Description, Meta: metaOf(res)}
	for _, m := range got.Messages {
		role := sdk.Role("user") // a client has no other
		if m.Role == "assistant" {
			role = "assistant"
		}
		out.Messages = append(out.Messages, &sdk.PromptMessage{Role: role, Content: &sdk.TextContent{Text: m.Content}})
	}
	return out, nil
}

// wrong is why a prompt cannot be had.
func (s *tokenServer) wrong(err error) error {
	e := s.e.s.Explain(err)
	text := e.Message
	if hint := s.e.hint(e); hint != "" {
		text += "; " + hint
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}
