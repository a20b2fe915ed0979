// Package wire has servers that speak what the servers of models speak: OpenAI's
// chat completions, Anthropic's messages, Gemini's generateContent and Ollama's
// API, each as it is on the wire, streams and failures included. A script decides
// what is answered. The package is for tests: of the providers here, and of
// whatever runs above them. It refuses to know the providers.
package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Script decides what a server answers. The zero value lets everybody in and
// answers each request with "ok".
type Script struct {
	// Key is what a request must come with; empty asks for none.
	Key string
	// Models are what the server lists. Without any it has one, "test-model",
	// which embeds as well.
	Models []Model
	// Reply decides about each request; nil says "ok". It may be called
	// concurrently.
	Reply func(Request) Turn
}

// A Model is one that a server lists.
type Model struct {
	Name          string
	ContextTokens int
	OutputTokens  int
	Thinking      bool
	Embeddings    bool
	Bytes         int64 // on disk, and in memory while it is loaded
}

// A Request is what a server was asked, in the same words for all of them.
type Request struct {
	// Number counts the requests for answers and embeddings, from 1.
	Number   int
	Model    string
	System   string
	Messages []Message
	Tools    []Tool
	Schema   json.RawMessage
	// Thinking is what the server was told of it, as it was told: "low", "2048",
	// "true"; empty when nothing was said.
	Thinking  string
	MaxTokens int
	Stop      []string
	// Texts are to be embedded; there are no Messages then.
	Texts []string
	// Raw is the whole body.
	Raw    json.RawMessage
	Header http.Header
}

// A Message is one turn of a conversation: of the roles user, assistant, and
// tool, whatever a server calls them.
type Message struct {
	Role   string
	Text   string
	Calls  []Call
	CallID string
	Tool   string // the name of the tool that answers
	Failed bool
	// Signed is the proof of an earlier answer's thinking that came back.
	Signed string
}

// A Tool is one that may be called.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// A Call asks for a tool. Input may be broken on purpose.
type Call struct {
	ID    string
	Name  string
	Input string
}

// A Turn is one answer.
type Turn struct {
	Thinking string
	Text     string
	Calls    []Call
	// Finish is the reason in the server's own word; empty is the usual one.
	Finish string
	Usage  Usage
	// Refusal is what the server says instead of an answer.
	Refusal string
	Fault   Fault
}

// Usage is what an answer cost. Zero fields are counted from the texts.
type Usage struct {
	Input, Output, Thinking, Cached int
}

// A Fault is what goes wrong with an answer.
type Fault struct {
	// Status answers with a failure: its Code and Message in the server's form.
	Status     int
	Code       string
	Message    string
	RetryAfter string
	Header     http.Header
	// After so many pieces of the stream: the connection is Cut, Garbage comes, the
	// stream has an Error, or nothing more comes until the client goes (Hang).
	After   int
	Cut     bool
	Garbage bool
	Error   bool
	Hang    bool
	// Short ends the stream after After pieces as if it were whole.
	Short bool
	// Delay is waited before each piece.
	Delay time.Duration
	// Body with ContentType is sent instead of an answer.
	Body        string
	ContentType string
	// Redirect sends the client elsewhere.
	Redirect string
}

// Turns answers with one turn after another, and repeats the last.
func Turns(turns ...Turn) func(Request) Turn {
	var mu sync.Mutex
	next := 0
	return func(Request) Turn {
		mu.Lock()
		defer mu.Unlock()
		turn := turns[min(next, len(turns)-1)]
		next++
		return turn
	}
}

// A dialect is how one server puts an answer.
type dialect interface {
	// pieces are those of the stream, ready to be sent.
	pieces(Request, Turn) []string
	// failure is the body of a failure.
	failure(status int, f Fault) string
	// broken is a piece that tells of a failure in the stream.
	broken(f Fault) string
	contentType() string
	// length is the word for an answer that reached its bound.
	length() string
}

type server struct {
	script  Script
	dialect dialect

	mu     sync.Mutex
	number int
}

func (s *server) models() []Model {
	if len(s.script.Models) == 0 {
		return []Model{{Name: "test-model", ContextTokens: 8192, OutputTokens: 1024, Thinking: true, Embeddings: true, Bytes: 1 << 20}}
	}
	return s.script.Models
}

// reply gives a request its number and asks the script.
func (s *server) reply(r *Request) Turn {
	s.mu.Lock()
	s.number++
	r.Number = s.number
	s.mu.Unlock()
	if s.script.Reply == nil {
		return Turn{Text: "ok"}
	}
	return s.script.Reply(*r)
}

// allowed answers 401 to a request that comes without the key.
func (s *server) allowed(w http.ResponseWriter, key string) bool {
	if s.script.Key == "" || key == s.script.Key {
		return true
	}
	s.fail(w, http.StatusUnauthorized, Fault{Code: "invalid_api_key", Message: "wrong key: " + key})
	return false
}

// has finds a model, and answers 404 when there is none.
func (s *server) has(w http.ResponseWriter, name string) (Model, bool) {
	for _, m := range s.models() {
		if m.Name == name {
			return m, true
		}
	}
	s.fail(w, http.StatusNotFound, Fault{Code: "model_not_found", Message: fmt.Sprintf("model %q not found", name)})
	return Model{}, false
}

func (s *server) fail(w http.ResponseWriter, status int, f Fault) {
	w.Header().Set("Content-Type", "application/json")
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.WriteHeader(status)
	io.WriteString(w, s.dialect.failure(status, f))
}

// invalid answers 400, as the servers do to a request they would not take.
func (s *server) invalid(w http.ResponseWriter, format string, args ...any) {
	s.fail(w, http.StatusBadRequest, Fault{Code: "invalid_request", Message: fmt.Sprintf(format, args...)})
}

// instead answers with a fault that comes before any answer, if the turn has one.
func (s *server) instead(w http.ResponseWriter, r *http.Request, f Fault) bool {
	for name, values := range f.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case f.Redirect != "":
		http.Redirect(w, r, f.Redirect, http.StatusTemporaryRedirect)
	case f.Status != 0:
		s.fail(w, f.Status, f)
	case f.ContentType != "":
		w.Header().Set("Content-Type", f.ContentType)
		io.WriteString(w, f.Body)
	default:
		return false
	}
	return true
}

// stream sends an answer in pieces, with the fault the turn has.
func (s *server) stream(w http.ResponseWriter, r *http.Request, req Request) {
	turn := s.reply(&req)
	if s.instead(w, r, turn.Fault) {
		return
	}
	turn = turn.bounded(req, s.dialect.length())
	w.Header().Set("Content-Type", s.dialect.contentType())
	for i, piece := range s.dialect.pieces(req, turn) {
		if !s.goesOn(w, r, i, turn.Fault) {
			return
		}
		io.WriteString(w, piece)
		http.NewResponseController(w).Flush()
	}
}

// goesOn waits as the fault wants, and says whether the stream goes on.
func (s *server) goesOn(w http.ResponseWriter, r *http.Request, piece int, f Fault) bool {
	select {
	case <-time.After(f.Delay):
	case <-r.Context().Done():
		return false
	}
	if piece != f.After {
		return true
	}
	switch {
	case f.Cut:
		panic(http.ErrAbortHandler)
	case f.Hang:
		<-r.Context().Done()
	case f.Garbage:
		io.WriteString(w, "data: {\"this\": is not\x00 JSON\n\n")
	case f.Error:
		io.WriteString(w, s.dialect.broken(f))
	case f.Short:
	default:
		return true
	}
	return false
}

// split cuts a text into pieces of n runes.
func split(text string, n int) []string {
	var pieces []string
	for runes := []rune(text); len(runes) > 0; {
		k := min(n, len(runes))
		pieces = append(pieces, string(runes[:k]))
		runes = runes[k:]
	}
	return pieces
}

// words that text and thinking, and fragments that inputs are streamed in. A
// large text comes in large pieces.
func textPieces(text string) []string  { return split(text, max(6, len(text)/50)) }
func inputPieces(text string) []string { return split(text, max(5, len(text)/20)) }

// count makes usage complete: four bytes are a token.
func (t Turn) count(r Request) Usage {
	u := t.Usage
	if u.Input == 0 {
		u.Input = 1 + len(r.Raw)/4
	}
	if u.Thinking == 0 {
		u.Thinking = (len(t.Thinking) + 3) / 4
	}
	if u.Output == 0 {
		u.Output = 1 + len(t.Text)/4 + u.Thinking
		for _, c := range t.Calls {
			u.Output += 1 + len(c.Input)/4
		}
	}
	return u
}

// bounded cuts a text that is longer than the request allows.
func (t Turn) bounded(r Request, word string) Turn {
	if u := t.count(r); r.MaxTokens <= 0 || u.Output <= r.MaxTokens || len(t.Calls) > 0 || t.Refusal != "" {
		return t
	}
	t.Thinking = t.Thinking[:min(len(t.Thinking), r.MaxTokens*2)]
	t.Text = t.Text[:min(len(t.Text), r.MaxTokens*2)]
	t.Finish, t.Usage.Output = word, r.MaxTokens
	return t
}

// ids gives each call that has none an ID.
func (t Turn) ids(number int, prefix string) []Call {
	calls := append([]Call(nil), t.Calls...)
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("%s%d_%d", prefix, number, i)
		}
	}
	return calls
}

// Dimensions is the length of the vectors the servers answer with.
const Dimensions = 16

// vector is made of a text's letters; it is not of unit length.
func vector(text string) []float32 {
	v := make([]float32, Dimensions)
	for i, r := range strings.ToLower(text) {
		v[int(r)%Dimensions] += 1 + float32(i%3)
	}
	v[0]++
	return v
}

// read decodes a body, and answers 400 when it is not what it should be.
func (s *server) read(w http.ResponseWriter, r *http.Request, into any) (json.RawMessage, bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		s.invalid(w, "we could not parse the JSON body of your request: %v", err)
		return nil, false
	}
	return body, true
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// line is a value as JSON on one line.
func line(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of this package
	}
	return string(text)
}

// argument is an input for servers that send it as JSON within JSON: one that is
// broken on purpose becomes a string.
func argument(input string) json.RawMessage {
	if json.Valid([]byte(input)) {
		return json.RawMessage(input)
	}
	return json.RawMessage(line(input))
}
