package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Gemini returns a server of the Gemini API below /v1beta: streamGenerateContent
// with alt=sse, batchEmbedContents, and the list of models.
func Gemini(s Script) http.Handler {
	g := &gemini{server: &server{script: s, dialect: geminiWords{}}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1beta/models/{call}", g.call)
	mux.HandleFunc("GET /v1beta/models", g.list)
	return mux
}

type gemini struct{ *server }

type geminiPart struct {
	Text             string              `json:"text,omitempty"`
	Thought          bool                `json:"thought,omitempty"`
	ThoughtSignature string              `json:"thoughtSignature,omitempty"`
	FunctionCall     *geminiCall         `json:"functionCall,omitempty"`
	FunctionResponse *geminiFunctionDone `json:"functionResponse,omitempty"`
}

type geminiCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type geminiFunctionDone struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Response struct {
		Output string `json:"output"`
		Error  string `json:"error"`
	} `json:"response"`
}

type geminiContent struct {
	Role  string       `json:"role,omitempty"`
	Parts []geminiPart `json:"parts"`
}

type geminiRequest struct {
	Contents          []geminiContent `json:"contents"`
	SystemInstruction geminiContent   `json:"systemInstruction"`
	Tools             []struct {
		FunctionDeclarations []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	GenerationConfig struct {
		MIMEType        string          `json:"responseMimeType"`
		Schema          json.RawMessage `json:"responseJsonSchema"`
		MaxOutputTokens int             `json:"maxOutputTokens"`
		Stop            []string        `json:"stopSequences"`
		Thinking        *struct {
			Budget *int   `json:"thinkingBudget"`
			Level  string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

func (g *gemini) enter(w http.ResponseWriter, r *http.Request) bool {
	return g.allowed(w, r.Header.Get("X-Goog-Api-Key"))
}

func (g *gemini) call(w http.ResponseWriter, r *http.Request) {
	if !g.enter(w, r) {
		return
	}
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	if _, ok := g.has(w, model); !ok {
		return
	}
	switch {
	case method == "streamGenerateContent" && r.URL.Query().Get("alt") == "sse":
		g.generate(w, r, model)
	case method == "batchEmbedContents":
		g.embed(w, r, model)
	default:
		g.fail(w, http.StatusNotFound, Fault{Message: "no such method here: " + method})
	}
}

func (g *gemini) generate(w http.ResponseWriter, r *http.Request, model string) {
	var in geminiRequest
	raw, ok := g.read(w, r, &in)
	if !ok {
		return
	}
	config := in.GenerationConfig
	req := Request{Model: model, Raw: raw, Header: r.Header, MaxTokens: config.MaxOutputTokens, Schema: config.Schema, Stop: config.Stop}
	if t := config.Thinking; t != nil && t.Budget != nil {
		req.Thinking = strconv.Itoa(*t.Budget)
	} else if t != nil {
		req.Thinking = t.Level
	}
	for _, p := range in.SystemInstruction.Parts {
		req.System += p.Text
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			req.Tools = append(req.Tools, Tool{f.Name, f.Description, f.Schema})
		}
	}
	if wrong := in.conversation(&req); wrong != "" {
		g.invalid(w, "%s", wrong)
		return
	}
	g.stream(w, r, req)
}

// conversation reads the contents and returns what the real server would refuse.
func (in geminiRequest) conversation(req *Request) string {
	if len(in.Contents) == 0 {
		return "contents is not specified"
	}
	if len(req.Schema) > 0 && in.GenerationConfig.MIMEType != "application/json" {
		return "a response schema needs the MIME type application/json"
	}
	calls := 0
	for _, c := range in.Contents {
		if c.Role != "user" && c.Role != "model" {
			return "please use a valid role: user, model"
		}
		if len(c.Parts) == 0 {
			return "contents.parts must not be empty"
		}
		answers := 0
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				answers++
			}
		}
		if answers != calls {
			return "the number of function response parts should be equal to number of function call parts of the function call turn"
		}
		calls = geminiTurn(req, c)
	}
	return ""
}

// geminiTurn adds the messages of one content, and returns how many calls it has.
func geminiTurn(req *Request, c geminiContent) int {
	spoken := Message{Role: map[string]string{"user": "user", "model": "assistant"}[c.Role]}
	answered := false
	for _, p := range c.Parts {
		spoken.Text += p.Text
		spoken.Signed += p.ThoughtSignature
		if f := p.FunctionCall; f != nil {
			spoken.Calls = append(spoken.Calls, Call{f.ID, f.Name, string(f.Args)})
		}
		if f := p.FunctionResponse; f != nil {
			answered = true
			req.Messages = append(req.Messages, Message{Role: "tool", CallID: f.ID, Tool: f.Name,
				Text: f.Response.Output + f.Response.Error, Failed: f.Response.Error != ""})
		}
	}
	if !answered || spoken.Text != "" {
		req.Messages = append(req.Messages, spoken)
	}
	return len(spoken.Calls)
}

func (g *gemini) embed(w http.ResponseWriter, r *http.Request, model string) {
	var in struct {
		Requests []struct {
			Content geminiContent `json:"content"`
		} `json:"requests"`
	}
	raw, ok := g.read(w, r, &in)
	if !ok {
		return
	}
	req := Request{Model: model, Raw: raw, Header: r.Header}
	for _, one := range in.Requests {
		text := ""
		for _, p := range one.Content.Parts {
			text += p.Text
		}
		req.Texts = append(req.Texts, text)
	}
	if turn := g.reply(&req); g.instead(w, r, turn.Fault) {
		return
	}
	type item struct {
		Values []float32 `json:"values"`
	}
	items := make([]item, len(req.Texts))
	for i, text := range req.Texts {
		items[i].Values = vector(text)
	}
	write(w, struct {
		Embeddings []item `json:"embeddings"`
	}{items})
}

func (g *gemini) list(w http.ResponseWriter, r *http.Request) {
	if !g.enter(w, r) {
		return
	}
	type item struct {
		Name     string   `json:"name"`
		Version  string   `json:"version"`
		Input    int      `json:"inputTokenLimit"`
		Output   int      `json:"outputTokenLimit"`
		Methods  []string `json:"supportedGenerationMethods"`
		Thinking bool     `json:"thinking,omitempty"`
	}
	items := []item{}
	for _, m := range g.models() {
		methods := []string{"generateContent", "countTokens"}
		if m.Embeddings {
			methods = append(methods, "embedContent")
		}
		items = append(items, item{"models/" + m.Name, "001", m.ContextTokens, m.OutputTokens, methods, m.Thinking})
	}
	write(w, struct {
		Models []item `json:"models"`
	}{items})
}

type geminiWords struct{}

func (geminiWords) length() string { return "MAX_TOKENS" }

func (geminiWords) contentType() string { return "text/event-stream" }

type geminiCandidate struct {
	Content *geminiContent `json:"content,omitempty"`
	Finish  string         `json:"finishReason,omitempty"`
	Index   int            `json:"index"`
}

type geminiUsage struct {
	Prompt   int `json:"promptTokenCount"`
	Answer   int `json:"candidatesTokenCount,omitempty"`
	Total    int `json:"totalTokenCount"`
	Cached   int `json:"cachedContentTokenCount,omitempty"`
	Thoughts int `json:"thoughtsTokenCount,omitempty"`
}

type geminiChunk struct {
	Candidates []geminiCandidate `json:"candidates,omitempty"`
	Feedback   *struct {
		Reason string `json:"blockReason"`
	} `json:"promptFeedback,omitempty"`
	Usage        geminiUsage `json:"usageMetadata"`
	ModelVersion string      `json:"modelVersion"`
	ResponseID   string      `json:"responseId"`
}

func (geminiWords) pieces(r Request, t Turn) []string {
	u := t.count(r)
	chunk := geminiChunk{ModelVersion: r.Model, ResponseID: fmt.Sprintf("r%d", r.Number)}
	chunk.Usage = geminiUsage{u.Input, u.Output - u.Thinking, u.Input + u.Output, u.Cached, u.Thinking}
	if t.Refusal != "" {
		chunk.Feedback = &struct {
			Reason string `json:"blockReason"`
		}{t.Refusal}
		return []string{"data: " + line(chunk) + "\r\n\r\n"}
	}
	var out []string
	send := func(parts []geminiPart, finish string) {
		chunk.Candidates = []geminiCandidate{{Content: &geminiContent{"model", parts}, Finish: finish}}
		out = append(out, "data: "+line(chunk)+"\r\n\r\n")
	}
	for _, p := range geminiParts(t) {
		send([]geminiPart{p}, "")
	}
	finish := t.Finish
	if finish == "" {
		finish = "STOP"
	}
	send([]geminiPart{{}}, finish)
	return out
}

// geminiParts are those of an answer. The proof of thinking is at the first call,
// or else at the last text.
func geminiParts(t Turn) []geminiPart {
	var parts []geminiPart
	for _, piece := range textPieces(t.Thinking) {
		parts = append(parts, geminiPart{Text: piece, Thought: true})
	}
	for _, piece := range textPieces(t.Text) {
		parts = append(parts, geminiPart{Text: piece})
	}
	signed := len(parts) - 1
	for _, c := range t.Calls {
		parts = append(parts, geminiPart{FunctionCall: &geminiCall{c.ID, c.Name, argument(c.Input)}})
	}
	if len(t.Calls) > 0 {
		signed++
	}
	if t.Thinking != "" && signed >= 0 {
		parts[signed].ThoughtSignature = Signature(t.Thinking)
	}
	return parts
}

// geminiStatuses are the words for statuses.
var geminiStatuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
	500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

type geminiDetail struct {
	Type  string `json:"@type"`
	Delay string `json:"retryDelay,omitempty"`
}

type geminiError struct {
	Error struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Status  string         `json:"status"`
		Details []geminiDetail `json:"details,omitempty"`
	} `json:"error"`
}

func (geminiWords) failure(status int, f Fault) string {
	var e geminiError
	e.Error.Code, e.Error.Message, e.Error.Status = status, f.Message, geminiStatuses[status]
	if f.Code != "" && e.Error.Status == "" {
		e.Error.Status = f.Code
	}
	if f.RetryAfter != "" {
		e.Error.Details = []geminiDetail{{"type.googleapis.com/google.rpc.RetryInfo", f.RetryAfter + "s"}}
	}
	return line(e)
}

func (w geminiWords) broken(f Fault) string { return "data: " + w.failure(503, f) + "\r\n\r\n" }
