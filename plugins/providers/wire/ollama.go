package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Ollama returns a server of Ollama's API: chat as a stream, embed, tags, ps,
// show, version, and generate to load and unload models.
func Ollama(s Script) http.Handler {
	o := &ollama{server: &server{script: s, dialect: ollamaWords{}}, loaded: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/chat", o.chat)
	mux.HandleFunc("POST /api/embed", o.embed)
	mux.HandleFunc("POST /api/generate", o.generate)
	mux.HandleFunc("POST /api/show", o.show)
	mux.HandleFunc("GET /api/tags", o.tags)
	mux.HandleFunc("GET /api/ps", o.ps)
	mux.HandleFunc("GET /api/version", o.version)
	mux.HandleFunc("HEAD /{$}", o.version)
	return mux
}

type ollama struct {
	*server
	memory sync.Mutex
	loaded map[string]bool
}

func (o *ollama) enter(w http.ResponseWriter, r *http.Request) bool {
	return o.allowed(w, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
}

func (o *ollama) keep(name string, loaded bool) {
	o.memory.Lock()
	defer o.memory.Unlock()
	o.loaded[name] = loaded
}

type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	ToolCalls  []ollamaCall `json:"tool_calls,omitempty"`
	ToolName   string       `json:"tool_name,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Format  json.RawMessage `json:"format"`
	Think   json.RawMessage `json:"think"`
	Stream  *bool           `json:"stream"`
	Options struct {
		NumPredict int      `json:"num_predict"`
		Stop       []string `json:"stop"`
	} `json:"options"`
}

func (o *ollama) chat(w http.ResponseWriter, r *http.Request) {
	var in ollamaRequest
	if !o.enter(w, r) {
		return
	}
	raw, ok := o.read(w, r, &in)
	if !ok {
		return
	}
	model, ok := o.has(w, in.Model)
	if !ok {
		return
	}
	req := Request{Model: in.Model, Raw: raw, Header: r.Header, Schema: in.Format, MaxTokens: in.Options.NumPredict, Stop: in.Options.Stop}
	req.Thinking = strings.Trim(string(in.Think), `"`)
	if req.Thinking != "" && req.Thinking != "false" && !model.Thinking {
		o.invalid(w, "%q does not support thinking", in.Model)
		return
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	for _, m := range in.Messages {
		if m.Role == "system" {
			req.System += m.Content
			continue
		}
		message := Message{Role: m.Role, Text: m.Content, Tool: m.ToolName, CallID: m.ToolCallID, Signed: m.Thinking}
		for _, c := range m.ToolCalls {
			message.Calls = append(message.Calls, Call{c.ID, c.Function.Name, string(c.Function.Arguments)})
		}
		req.Messages = append(req.Messages, message)
	}
	o.keep(in.Model, true)
	o.stream(w, r, req)
}

func (o *ollama) embed(w http.ResponseWriter, r *http.Request) {
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
	if turn := o.reply(&Request{Model: in.Model, Texts: in.Input, Raw: raw, Header: r.Header}); o.instead(w, r, turn.Fault) {
		return
	}
	vectors := make([][]float32, len(in.Input))
	for i, text := range in.Input {
		vectors[i] = vector(text)
	}
	o.keep(in.Model, true)
	write(w, struct {
		Model      string      `json:"model"`
		Embeddings [][]float32 `json:"embeddings"`
		Tokens     int         `json:"prompt_eval_count"`
	}{in.Model, vectors, 1 + len(raw)/4})
}

// generate without a prompt loads a model, and unloads it with keep_alive 0.
func (o *ollama) generate(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model     string          `json:"model"`
		Prompt    string          `json:"prompt"`
		KeepAlive json.RawMessage `json:"keep_alive"`
	}
	if !o.enter(w, r) {
		return
	}
	if _, ok := o.read(w, r, &in); !ok {
		return
	}
	if _, ok := o.has(w, in.Model); !ok {
		return
	}
	if in.Prompt != "" {
		o.invalid(w, "only loading and unloading is here")
		return
	}
	unload := slices.Contains([]string{"0", `"0"`, `"0s"`}, string(in.KeepAlive))
	o.keep(in.Model, !unload)
	reason := map[bool]string{true: "unload", false: "load"}[unload]
	write(w, struct {
		Model  string `json:"model"`
		Reply  string `json:"response"`
		Done   bool   `json:"done"`
		Reason string `json:"done_reason"`
	}{in.Model, "", true, reason})
}

func (o *ollama) show(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string `json:"model"`
	}
	if !o.enter(w, r) {
		return
	}
	if _, ok := o.read(w, r, &in); !ok {
		return
	}
	m, ok := o.has(w, in.Model)
	if !ok {
		return
	}
	capabilities := []string{"completion", "tools"}
	if m.Thinking {
		capabilities = append(capabilities, "thinking")
	}
	if m.Embeddings {
		capabilities = append(capabilities, "embedding")
	}
	type info struct {
		Architecture string `json:"general.architecture"`
		Context      int    `json:"llama.context_length"`
		Embedding    int    `json:"llama.embedding_length"`
	}
	write(w, struct {
		Info         info     `json:"model_info"`
		Capabilities []string `json:"capabilities"`
	}{info{"llama", m.ContextTokens, Dimensions}, capabilities})
}

type ollamaModel struct {
	Name    string `json:"name"`
	Model   string `json:"model"`
	Size    int64  `json:"size"`
	Digest  string `json:"digest"`
	VRAM    int64  `json:"size_vram,omitempty"`
	Context int    `json:"context_length,omitempty"`
}

func (o *ollama) tags(w http.ResponseWriter, r *http.Request) { o.answerModels(w, r, false) }
func (o *ollama) ps(w http.ResponseWriter, r *http.Request)   { o.answerModels(w, r, true) }

func (o *ollama) answerModels(w http.ResponseWriter, r *http.Request, onlyLoaded bool) {
	if !o.enter(w, r) {
		return
	}
	o.memory.Lock()
	defer o.memory.Unlock()
	models := []ollamaModel{}
	for i, m := range o.models() {
		one := ollamaModel{Name: m.Name, Model: m.Name, Size: m.Bytes, Digest: fmt.Sprintf("%064d", i)}
		if onlyLoaded {
			one.Size, one.VRAM, one.Context = m.Bytes+m.Bytes/8, m.Bytes, min(m.ContextTokens, 4096)
		}
		if !onlyLoaded || o.loaded[m.Name] {
			models = append(models, one)
		}
	}
	write(w, struct {
		Models []ollamaModel `json:"models"`
	}{models})
}

func (o *ollama) version(w http.ResponseWriter, r *http.Request) {
	if o.enter(w, r) {
		write(w, struct {
			Version string `json:"version"`
		}{"0.17.4"})
	}
}

type ollamaWords struct{}

func (ollamaWords) length() string { return "length" }

func (ollamaWords) contentType() string { return "application/x-ndjson" }

type ollamaChunk struct {
	Model      string        `json:"model"`
	CreatedAt  string        `json:"created_at"`
	Message    ollamaMessage `json:"message"`
	Done       bool          `json:"done"`
	DoneReason string        `json:"done_reason,omitempty"`
	Prompt     int           `json:"prompt_eval_count,omitempty"`
	Eval       int           `json:"eval_count,omitempty"`
}

func (ollamaWords) pieces(r Request, t Turn) []string {
	var out []string
	chunk := ollamaChunk{Model: r.Model, CreatedAt: "2026-01-01T00:00:00Z"}
	send := func(m ollamaMessage) {
		m.Role = "assistant"
		chunk.Message = m
		out = append(out, line(chunk)+"\n")
	}
	for _, piece := range textPieces(t.Thinking) {
		send(ollamaMessage{Thinking: piece})
	}
	for _, piece := range textPieces(t.Text + t.Refusal) {
		send(ollamaMessage{Content: piece})
	}
	for i, c := range t.Calls { // without IDs, as older servers do, unless the script has some
		call := ollamaCall{ID: c.ID}
		call.Function.Index, call.Function.Name, call.Function.Arguments = i, c.Name, argument(c.Input)
		send(ollamaMessage{ToolCalls: []ollamaCall{call}})
	}
	u := t.count(r)
	chunk.Done, chunk.DoneReason, chunk.Prompt, chunk.Eval = true, t.Finish, u.Input, u.Output
	if t.Finish == "" {
		chunk.DoneReason = "stop"
	}
	send(ollamaMessage{})
	return out
}

func (ollamaWords) failure(_ int, f Fault) string {
	return line(struct {
		Error string `json:"error"`
	}{f.Message})
}

func (w ollamaWords) broken(f Fault) string { return w.failure(0, f) + "\n" }
