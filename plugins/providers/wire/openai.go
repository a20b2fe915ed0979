package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// OpenAI returns a server of OpenAI's API below /v1: chat/completions as a
// stream, embeddings, models.
func OpenAI(s Script) http.Handler {
	o := &openAI{server: &server{script: s, dialect: openAIWords{}}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", o.chat)
	mux.HandleFunc("POST /v1/embeddings", o.embed)
	mux.HandleFunc("GET /v1/models", o.list)
	return mux
}

type openAI struct{ *server }

type openAICall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type openAIRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCalls  []openAICall    `json:"tool_calls"`
		ToolCallID string          `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	ReasoningEffort     string   `json:"reasoning_effort"`
	MaxTokens           int      `json:"max_tokens"`
	MaxCompletionTokens int      `json:"max_completion_tokens"`
	Stop                []string `json:"stop"`
	Stream              bool     `json:"stream"`
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (o *openAI) enter(w http.ResponseWriter, r *http.Request) bool {
	return o.allowed(w, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
}

func (o *openAI) chat(w http.ResponseWriter, r *http.Request) {
	var in openAIRequest
	if !o.enter(w, r) {
		return
	}
	raw, ok := o.read(w, r, &in)
	if !ok {
		return
	}
	if _, ok := o.has(w, in.Model); !ok {
		return
	}
	req := Request{Model: in.Model, Raw: raw, Header: r.Header, Schema: in.ResponseFormat.JSONSchema.Schema,
		Thinking: in.ReasoningEffort, MaxTokens: max(in.MaxTokens, in.MaxCompletionTokens), Stop: in.Stop}
	if wrong := o.conversation(&req, in); wrong != "" {
		o.invalid(w, "%s", wrong)
		return
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	o.stream(w, r, req)
}

// conversation reads the messages and returns what the real server would refuse.
func (o *openAI) conversation(req *Request, in openAIRequest) string {
	if in.Model == "" || len(in.Messages) == 0 || !in.Stream || !in.StreamOptions.IncludeUsage {
		return "model, messages, stream and stream_options.include_usage are needed here"
	}
	open := map[string]bool{}
	for i, m := range in.Messages {
		text := ""
		if len(m.Content) > 0 && json.Unmarshal(m.Content, &text) != nil {
			return fmt.Sprintf("messages[%d].content is not a string", i)
		}
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Sprintf("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages", i)
		}
		if m.Role == "system" || m.Role == "developer" {
			req.System = text
			continue
		}
		if m.Role == "tool" && !open[m.ToolCallID] {
			return fmt.Sprintf("messages[%d]: a tool message must answer a tool call", i)
		}
		delete(open, m.ToolCallID)
		message := Message{Role: m.Role, Text: text, CallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
			message.Calls = append(message.Calls, Call{c.ID, c.Function.Name, c.Function.Arguments})
		}
		req.Messages = append(req.Messages, message)
	}
	return ""
}

func (o *openAI) embed(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if !o.enter(w, r) {
		return
	}
	raw, ok := o.read(w, r, &in)
	if !ok {
		return
	}
	if _, ok := o.has(w, in.Model); !ok {
		return
	}
	turn := o.reply(&Request{Model: in.Model, Texts: in.Input, Raw: raw, Header: r.Header})
	if o.instead(w, r, turn.Fault) {
		return
	}
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	items := make([]item, len(in.Input))
	for i, text := range in.Input { // the last one first: the order is not promised
		items[len(items)-1-i] = item{"embedding", i, vector(text)}
	}
	tokens := 1 + len(raw)/4
	write(w, struct {
		Object string         `json:"object"`
		Data   []item         `json:"data"`
		Model  string         `json:"model"`
		Usage  map[string]int `json:"usage"`
	}{"list", items, in.Model, map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}})
}

func (o *openAI) list(w http.ResponseWriter, r *http.Request) {
	if !o.enter(w, r) {
		return
	}
	type item struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int    `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	var items []item
	for _, m := range o.models() {
		items = append(items, item{m.Name, "model", 1700000000, "test"})
	}
	write(w, struct {
		Object string `json:"object"`
		Data   []item `json:"data"`
	}{"list", items})
}

type openAIWords struct{}

func (openAIWords) length() string { return "length" }

func (openAIWords) contentType() string { return "text/event-stream" }

type openAIDelta struct {
	Role      string       `json:"role,omitempty"`
	Content   *string      `json:"content,omitempty"`
	Reasoning string       `json:"reasoning_content,omitempty"`
	Refusal   string       `json:"refusal,omitempty"`
	ToolCalls []openAICall `json:"tool_calls,omitempty"`
}

type openAIChoice struct {
	Index  int         `json:"index"`
	Delta  openAIDelta `json:"delta"`
	Finish *string     `json:"finish_reason"`
}

type openAIUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	In         struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

type openAIChunk struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int            `json:"created"`
	Model   string         `json:"model"`
	Choices []openAIChoice `json:"choices"`
	Usage   *openAIUsage   `json:"usage"`
}

func (openAIWords) pieces(r Request, t Turn) []string {
	var out []string
	send := func(choices []openAIChoice, usage *openAIUsage) {
		out = append(out, "data: "+line(openAIChunk{"chatcmpl-" + strconv.Itoa(r.Number), "chat.completion.chunk", 1700000000, r.Model, choices, usage})+"\n\n")
	}
	for _, d := range openAIDeltas(r, t) {
		send([]openAIChoice{{Delta: d}}, nil)
	}
	finish := t.Finish
	if finish == "" {
		finish = map[bool]string{true: "tool_calls", false: "stop"}[len(t.Calls) > 0]
	}
	send([]openAIChoice{{Finish: &finish}}, nil)
	send([]openAIChoice{}, openAIUsed(t.count(r)))
	return append(out, "data: [DONE]\n\n")
}

func openAIUsed(u Usage) *openAIUsage {
	used := &openAIUsage{Prompt: u.Input, Completion: u.Output, Total: u.Input + u.Output}
	used.In.Cached, used.Out.Reasoning = u.Cached, u.Thinking
	return used
}

func openAIDeltas(r Request, t Turn) []openAIDelta {
	empty := ""
	deltas := []openAIDelta{{Role: "assistant", Content: &empty}}
	for _, piece := range textPieces(t.Thinking) {
		deltas = append(deltas, openAIDelta{Reasoning: piece})
	}
	for _, piece := range textPieces(t.Text) {
		deltas = append(deltas, openAIDelta{Content: &piece})
	}
	for _, piece := range textPieces(t.Refusal) {
		deltas = append(deltas, openAIDelta{Refusal: piece})
	}
	for i, c := range t.ids(r.Number, "call_") {
		begin := openAICall{Index: &i, ID: c.ID, Type: "function"}
		begin.Function.Name = c.Name
		deltas = append(deltas, openAIDelta{ToolCalls: []openAICall{begin}})
		for _, piece := range inputPieces(c.Input) {
			more := openAICall{Index: &i}
			more.Function.Arguments = piece
			deltas = append(deltas, openAIDelta{ToolCalls: []openAICall{more}})
		}
	}
	return deltas
}

type openAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
	} `json:"error"`
}

func (openAIWords) failure(_ int, f Fault) string {
	var e openAIError
	e.Error.Message, e.Error.Type, e.Error.Code = f.Message, "invalid_request_error", f.Code
	return line(e)
}

func (w openAIWords) broken(f Fault) string { return "data: " + w.failure(0, f) + "\n\n" }
