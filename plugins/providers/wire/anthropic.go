package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Anthropic returns a server of Anthropic's API: /v1/messages as a stream, and
// /v1/models.
func Anthropic(s Script) http.Handler {
	a := &anthropic{server: &server{script: s, dialect: anthropicWords{}}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", a.messages)
	mux.HandleFunc("GET /v1/models", a.list)
	return mux
}

type anthropic struct{ *server }

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   []struct {
		Text string `json:"text"`
	} `json:"content"`
}

type anthropicRequest struct {
	Model     string           `json:"model"`
	MaxTokens int              `json:"max_tokens"`
	System    []anthropicBlock `json:"system"`
	Messages  []struct {
		Role    string           `json:"role"`
		Content []anthropicBlock `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	OutputConfig struct {
		Effort string `json:"effort"`
		Format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	Temperature *float64 `json:"temperature"`
	Stop        []string `json:"stop_sequences"`
	Stream      bool     `json:"stream"`
}

func (a *anthropic) enter(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Anthropic-Version") == "" {
		a.invalid(w, "anthropic-version: header is required")
		return false
	}
	return a.allowed(w, r.Header.Get("X-Api-Key"))
}

func (a *anthropic) messages(w http.ResponseWriter, r *http.Request) {
	var in anthropicRequest
	if !a.enter(w, r) {
		return
	}
	raw, ok := a.read(w, r, &in)
	if !ok {
		return
	}
	if _, ok := a.has(w, in.Model); !ok {
		return
	}
	req := Request{Model: in.Model, Raw: raw, Header: r.Header, MaxTokens: in.MaxTokens, Stop: in.Stop, Schema: in.OutputConfig.Format.Schema}
	for _, b := range in.System {
		req.System += b.Text
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, Tool{t.Name, t.Description, t.InputSchema})
	}
	wrong := in.refused()
	if wrong == "" {
		wrong = in.conversation(&req)
	}
	if wrong != "" {
		a.invalid(w, "%s", wrong)
		return
	}
	req.Thinking = in.thinking()
	a.stream(w, r, req)
}

func (in anthropicRequest) thinking() string {
	switch in.Thinking.Type {
	case "enabled":
		return strconv.Itoa(in.Thinking.Budget)
	case "adaptive":
		return in.OutputConfig.Effort
	}
	return ""
}

// refused returns what the real server would say to the parameters.
func (in anthropicRequest) refused() string {
	switch thinks := in.Thinking.Type == "enabled" || in.Thinking.Type == "adaptive"; {
	case in.Model == "" || in.MaxTokens <= 0 || len(in.Messages) == 0 || !in.Stream:
		return "model, max_tokens, messages and stream are needed here"
	case in.Thinking.Type == "enabled" && in.Thinking.Budget < 1024:
		return "thinking.enabled.budget_tokens: input should be greater than or equal to 1024"
	case in.Thinking.Type == "enabled" && in.Thinking.Budget >= in.MaxTokens:
		return "max_tokens must be greater than thinking.budget_tokens"
	case thinks && in.Temperature != nil && *in.Temperature != 1:
		return "temperature may only be set to 1 when thinking is enabled"
	case in.Temperature != nil && *in.Temperature > 1:
		return "temperature: range: 0..1"
	}
	return ""
}

// conversation reads the messages and returns what the real server would refuse.
func (in anthropicRequest) conversation(req *Request) string {
	open := map[string]string{}
	last := ""
	for i, m := range in.Messages {
		if m.Role == last {
			return fmt.Sprintf("messages.%d: roles must alternate between \"user\" and \"assistant\"", i)
		}
		if last = m.Role; len(m.Content) == 0 {
			return fmt.Sprintf("messages.%d: content must not be empty", i)
		}
		if m.Role == "assistant" {
			req.Messages = append(req.Messages, spoken(m.Content, open))
		} else if wrong := heard(req, m.Content, open); wrong != "" {
			return fmt.Sprintf("messages.%d: %s", i, wrong)
		}
	}
	if last != "user" {
		return "the conversation must end with a user message"
	}
	return ""
}

func spoken(blocks []anthropicBlock, open map[string]string) Message {
	message := Message{Role: "assistant"}
	for _, b := range blocks {
		message.Text += b.Text
		message.Signed += b.Signature + b.Data
		if b.Type == "tool_use" {
			open[b.ID] = b.Name
			message.Calls = append(message.Calls, Call{b.ID, b.Name, string(b.Input)})
		}
	}
	return message
}

// heard takes tool results apart, which come as blocks of one user message.
func heard(req *Request, blocks []anthropicBlock, open map[string]string) string {
	for _, b := range blocks {
		if b.Type != "tool_result" {
			if len(open) > 0 {
				return "tool_use ids were found without tool_result blocks immediately after"
			}
			req.Messages = append(req.Messages, Message{Role: "user", Text: b.Text})
			continue
		}
		name, ok := open[b.ToolUseID]
		if !ok {
			return "unexpected tool_use_id found in tool_result blocks"
		}
		delete(open, b.ToolUseID)
		text := ""
		for _, c := range b.Content {
			text += c.Text
		}
		req.Messages = append(req.Messages, Message{Role: "tool", Text: text, CallID: b.ToolUseID, Tool: name, Failed: b.IsError})
	}
	if len(open) > 0 {
		return "tool_use ids were found without tool_result blocks immediately after"
	}
	return ""
}

func (a *anthropic) list(w http.ResponseWriter, r *http.Request) {
	if !a.enter(w, r) {
		return
	}
	type supported struct {
		Supported bool `json:"supported"`
	}
	type item struct {
		Type         string               `json:"type"`
		ID           string               `json:"id"`
		DisplayName  string               `json:"display_name"`
		CreatedAt    string               `json:"created_at"`
		MaxInput     int                  `json:"max_input_tokens"`
		MaxTokens    int                  `json:"max_tokens"`
		Capabilities map[string]supported `json:"capabilities"`
	}
	items := []item{}
	for _, m := range a.models() {
		items = append(items, item{"model", m.Name, m.Name, "2026-01-01T00:00:00Z", m.ContextTokens, m.OutputTokens,
			map[string]supported{"structured_outputs": {true}, "thinking": {m.Thinking}}})
	}
	write(w, struct {
		Data    []item  `json:"data"`
		HasMore bool    `json:"has_more"`
		FirstID *string `json:"first_id"`
		LastID  *string `json:"last_id"`
	}{items, false, nil, nil})
}

type anthropicWords struct{}

func (anthropicWords) length() string { return "max_tokens" }

func (anthropicWords) contentType() string { return "text/event-stream" }

type anthropicUsage struct {
	Input        int `json:"input_tokens"`
	CacheCreated int `json:"cache_creation_input_tokens"`
	CacheRead    int `json:"cache_read_input_tokens"`
	Output       int `json:"output_tokens"`
	Details      struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func anthropicUsed(u Usage, output int) anthropicUsage {
	used := anthropicUsage{Input: u.Input - u.Cached, CacheRead: u.Cached, Output: output}
	if output > 1 {
		used.Details.Thinking = u.Thinking
	}
	return used
}

// anthropicEvent is an event of a stream; which fields it has depends on its type.
type anthropicEvent struct {
	Type    string            `json:"type"`
	Message *anthropicMessage `json:"message,omitempty"`
	Index   *int              `json:"index,omitempty"`
	Block   any               `json:"content_block,omitempty"` // one of the three below
	Delta   any               `json:"delta,omitempty"`         // an anthropicDelta or an anthropicEnd
	Usage   *anthropicUsage   `json:"usage,omitempty"`
}

type anthropicMessage struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	Role       string         `json:"role"`
	Model      string         `json:"model"`
	Content    []string       `json:"content"`
	StopReason *string        `json:"stop_reason"`
	Usage      anthropicUsage `json:"usage"`
}

type anthropicTextBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicThinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type anthropicToolBlock struct {
	Type  string   `json:"type"`
	ID    string   `json:"id"`
	Name  string   `json:"name"`
	Input struct{} `json:"input"`
}

type anthropicDelta struct {
	Type        string  `json:"type"`
	Text        string  `json:"text,omitempty"`
	Thinking    string  `json:"thinking,omitempty"`
	Signature   string  `json:"signature,omitempty"`
	PartialJSON *string `json:"partial_json,omitempty"`
}

type anthropicEnd struct {
	StopReason   string  `json:"stop_reason"`
	StopSequence *string `json:"stop_sequence"`
}

func (e anthropicEvent) String() string {
	return "event: " + e.Type + "\ndata: " + line(e) + "\n\n"
}

func (anthropicWords) pieces(r Request, t Turn) []string {
	usage := t.count(r)
	begin, end := anthropicUsed(usage, 1), anthropicUsed(usage, usage.Output)
	events := []anthropicEvent{
		{Type: "message_start", Message: &anthropicMessage{"msg_" + strconv.Itoa(r.Number), "message", "assistant", r.Model, []string{}, nil, begin}},
		{Type: "ping"},
	}
	for i, b := range anthropicBlocks(r, t) {
		events = append(events, anthropicEvent{Type: "content_block_start", Index: &i, Block: b.start})
		for _, d := range b.deltas {
			events = append(events, anthropicEvent{Type: "content_block_delta", Index: &i, Delta: d})
		}
		events = append(events, anthropicEvent{Type: "content_block_stop", Index: &i})
	}
	finish := t.Finish
	if finish == "" {
		finish = map[bool]string{true: "tool_use", false: "end_turn"}[len(t.Calls) > 0]
	}
	events = append(events, anthropicEvent{Type: "message_delta", Delta: anthropicEnd{StopReason: finish}, Usage: &end}, anthropicEvent{Type: "message_stop"})
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = e.String()
	}
	return out
}

type anthropicStream struct {
	start  any
	deltas []anthropicDelta
}

func anthropicBlocks(r Request, t Turn) []anthropicStream {
	var blocks []anthropicStream
	if t.Thinking != "" {
		b := anthropicStream{start: anthropicThinkingBlock{Type: "thinking"}}
		for _, piece := range textPieces(t.Thinking) {
			b.deltas = append(b.deltas, anthropicDelta{Type: "thinking_delta", Thinking: piece})
		}
		blocks = append(blocks, anthropicStream{b.start, append(b.deltas, anthropicDelta{Type: "signature_delta", Signature: Signature(t.Thinking)})})
	}
	if text := t.Text + t.Refusal; text != "" {
		b := anthropicStream{start: anthropicTextBlock{Type: "text"}}
		for _, piece := range textPieces(text) {
			b.deltas = append(b.deltas, anthropicDelta{Type: "text_delta", Text: piece})
		}
		blocks = append(blocks, b)
	}
	for _, c := range t.ids(r.Number, "toolu_") {
		b := anthropicStream{start: anthropicToolBlock{Type: "tool_use", ID: c.ID, Name: c.Name}}
		for _, piece := range append([]string{""}, inputPieces(c.Input)...) {
			b.deltas = append(b.deltas, anthropicDelta{Type: "input_json_delta", PartialJSON: &piece})
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// Signature is the proof that a server gives of its thinking.
func Signature(thinking string) string {
	return base64.StdEncoding.EncodeToString([]byte("proof of " + thinking))
}

// anthropicTypes are the errors by status.
var anthropicTypes = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
	413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
}

type anthropicFailure struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func (anthropicWords) failure(status int, f Fault) string {
	e := anthropicFailure{Type: "error", RequestID: "req_1"}
	e.Error.Type, e.Error.Message = anthropicTypes[status], f.Message
	if e.Error.Type == "" {
		e.Error.Type = f.Code
	}
	return line(e)
}

func (w anthropicWords) broken(f Fault) string {
	return "event: error\ndata: " + w.failure(0, f) + "\n\n"
}
