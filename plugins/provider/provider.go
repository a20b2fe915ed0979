// Package provider is the contract of a provider: what answers model and
// embedding requests. A provider is a process of its own; what a provider in Go
// implements and what the host calls is the same interface, Provider.
//
// The package refuses to know which model is asked, why, and who pays: it has no
// tiers, budgets or retries.
package provider

import (
	"context"
	"encoding/json"
	"time"
)

// Provider answers model and embedding requests. Its methods may be called
// concurrently, end when their context does, and return an *Error for every
// failure that is more than a broken connection.
type Provider interface {
	// Info says what the provider is.
	Info(ctx context.Context) (Info, error)
	// Models lists the models that can be asked, in an order that does not change.
	Models(ctx context.Context) ([]Model, error)
	// Generate answers a request. It hands each piece of the answer to emit as it
	// comes, in order and never concurrently, and returns the whole answer, which
	// those pieces are a part of. An error of emit ends the request and is
	// returned. emit may be nil.
	Generate(ctx context.Context, r Request, emit func(Delta) error) (Response, error)
	// Embed turns each text into a vector of unit length, in order.
	Embed(ctx context.Context, r EmbedRequest) (EmbedResponse, error)
	// Load makes a model ready for requests, and Unload frees the memory it takes.
	// Providers whose models are always ready do nothing.
	Load(ctx context.Context, model string) error
	Unload(ctx context.Context, model string) error
	// Health fails when the provider cannot answer now.
	Health(ctx context.Context) error
}

// Info is what a provider says of itself.
type Info struct {
	// Name is the provider's name: "openai", "local".
	Name string `json:"name"`
	// Version is the provider's own, a semantic version.
	Version string `json:"version"`
	// Local says that nothing leaves the machine.
	Local bool `json:"local"`
	// Note is what a person should know: what the provider can and cannot do.
	Note string `json:"note,omitempty"`
}

// A Model is one that a provider offers.
type Model struct {
	Name string `json:"name"`
	// Tiers are the classes of models it belongs to: "fast", "balanced", "smart",
	// "code", "conversation". Empty leaves that to the host's settings.
	Tiers []string `json:"tiers,omitempty"`
	// ContextTokens and OutputTokens bound a request with its answer, and the
	// answer; 0 is not known.
	ContextTokens int `json:"context_tokens,omitempty"`
	OutputTokens  int `json:"output_tokens,omitempty"`
	// What the model can do. One that only embeds has Embeddings alone.
	Text       bool `json:"text,omitempty"`
	Tools      bool `json:"tools,omitempty"`
	JSONSchema bool `json:"json_schema,omitempty"`
	Thinking   bool `json:"thinking,omitempty"`
	Streaming  bool `json:"streaming,omitempty"`
	Embeddings bool `json:"embeddings,omitempty"`
	// Dimensions is the length of its vectors.
	Dimensions int `json:"dimensions,omitempty"`
	// MemoryBytes is what it takes on this machine while it is loaded; 0 for a
	// model elsewhere.
	MemoryBytes uint64 `json:"memory_bytes,omitempty"`
	// Loaded says that it is ready now; a model elsewhere always is.
	Loaded bool `json:"loaded,omitempty"`
	// InputUSD and OutputUSD are the price of a million tokens.
	InputUSD  float64 `json:"input_usd,omitempty"`
	OutputUSD float64 `json:"output_usd,omitempty"`
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool" // the result of one tool call
)

// A Message is one turn of a conversation.
type Message struct {
	Role string `json:"role"`
	// Text is what is said. Agents mark what they did not write themselves, such as
	// results of tools: see [MarkData] and [SplitData].
	Text string `json:"text,omitempty"`
	// Calls are the tool calls of an assistant's turn.
	Calls []ToolCall `json:"calls,omitempty"`
	// CallID is the ToolCall that a tool's turn answers, and Failed says that the
	// call failed and Text is its error.
	CallID string `json:"call_id,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Opaque is what the provider attached to an assistant's turn and wants back
	// with it, such as a signature of its thinking. Nobody else reads it.
	Opaque json.RawMessage `json:"opaque,omitempty"`
}

// A Tool is one that a model may call.
type Tool struct {
	// Name is made of letters, digits, "_" and "-", and has at most 64 of them.
	Name        string `json:"name"`
	Description string `json:"description"`
	// InputSchema is the JSON Schema of the input, an object.
	InputSchema json.RawMessage `json:"input_schema"`
}

// A ToolCall is a model's wish to have a tool called.
type ToolCall struct {
	// ID is unique in the conversation.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Input is one JSON object.
	Input json.RawMessage `json:"input"`
}

// Request is what a model is asked.
type Request struct {
	// Model is the name of one of the provider's models.
	Model    string    `json:"model"`
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"tools,omitempty"`
	// Schema is the JSON Schema that the answer fits; nil for text.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Thinking is how many tokens the model may think before it answers; 0 for none.
	Thinking int `json:"thinking,omitempty"`
	// MaxTokens bounds the answer; 0 leaves it to the provider.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Temperature is from 0 to 2; nil leaves it to the model.
	Temperature *float64 `json:"temperature,omitempty"`
	Stop        []string `json:"stop,omitempty"`
}

// Why an answer ended.
const (
	FinishStop   = "stop"
	FinishLength = "length" // MaxTokens was reached
	FinishTools  = "tools"  // the model wants tools called
	FinishFilter = "filter" // the provider held the rest back
)

// A Delta is a piece of an answer.
type Delta struct {
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
}

// Response is the whole answer.
type Response struct {
	// Model is the one that answered, in the provider's words.
	Model    string          `json:"model"`
	Text     string          `json:"text,omitempty"`
	Thinking string          `json:"thinking,omitempty"`
	Calls    []ToolCall      `json:"calls,omitempty"`
	Finish   string          `json:"finish"`
	Usage    Usage           `json:"usage"`
	Opaque   json.RawMessage `json:"opaque,omitempty"` // for Message.Opaque
}

// Usage counts the tokens of one answer.
type Usage struct {
	InputTokens int `json:"input_tokens"`
	// OutputTokens are all that were generated, those of thinking among them.
	OutputTokens   int `json:"output_tokens"`
	ThinkingTokens int `json:"thinking_tokens,omitempty"`
	// CachedTokens are those of the input that the provider had kept.
	CachedTokens int `json:"cached_tokens,omitempty"`
	// Estimated says that the provider told nothing and these are estimates.
	Estimated bool `json:"estimated,omitempty"`
}

// EmbedRequest asks for the vectors of texts.
type EmbedRequest struct {
	Model string   `json:"model"`
	Texts []string `json:"texts"`
}

// EmbedResponse has a vector of unit length for each text.
type EmbedResponse struct {
	Model   string      `json:"model"`
	Vectors [][]float32 `json:"vectors"`
	Usage   Usage       `json:"usage"`
}

// A Class says what kind of failure an [Error] is.
type Class string

// The classes of failure.
const (
	ClassRateLimited   Class = "rate_limited"   // too many requests: later it works
	ClassTimeout       Class = "timeout"        // no answer in time
	ClassUnavailable   Class = "unavailable"    // the provider or the model is not there now
	ClassInvalid       Class = "invalid"        // the request is wrong and always will be
	ClassRefused       Class = "refused"        // the provider does not want to answer this
	ClassContextLength Class = "context_length" // more tokens than the model takes
	ClassAuth          Class = "auth"           // no key, or a wrong one
	ClassCancelled     Class = "cancelled"      // whoever asked does not want it any more
	ClassInternal      Class = "internal"       // the provider's own failure
)

// Error is a failure of a provider.
type Error struct {
	Class   Class  `json:"class"`
	Message string `json:"message"`
	// RetryAfter is how long the provider wants to be left alone; 0 when it did not say.
	RetryAfter time.Duration `json:"retry_after,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return string(e.Class) + ": " + e.Message }
