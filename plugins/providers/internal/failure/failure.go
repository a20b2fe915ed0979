// Package failure reads what the servers of models say of failures, each in its own
// form, as classes of the contract. It refuses to know how a server is asked.
package failure

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
)

// openAI is the error of OpenAI's API. Code may be a number with other servers.
type openAI struct {
	Error struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
	} `json:"error"`
	Message string `json:"message"` // of other servers
	Detail  string `json:"detail"`
}

// openAICodes are codes that say more than the status.
var openAICodes = map[string]provider.Class{
	"context_length_exceeded":  provider.ClassContextLength,
	"string_above_max_length":  provider.ClassContextLength,
	"insufficient_quota":       provider.ClassUnavailable, // 429, but waiting does not help
	"rate_limit_exceeded":      provider.ClassRateLimited,
	"content_policy_violation": provider.ClassRefused,
	"content_filter":           provider.ClassRefused,
	"invalid_api_key":          provider.ClassAuth,
	"model_not_found":          provider.ClassUnavailable,
	"server_error":             provider.ClassInternal,
	"overloaded":               provider.ClassUnavailable,
}

// OpenAI reads a failure of OpenAI, or of a server that is like it. It is an
// upstream.Decode.
func OpenAI(_ int, body []byte) upstream.Failure {
	var f openAI
	if json.Unmarshal(body, &f) != nil {
		return upstream.Failure{}
	}
	out := upstream.Failure{Message: f.Error.Message + f.Message + f.Detail}
	out.Class = openAICodes[strings.Trim(string(f.Error.Code), `"`)]
	if out.Class == "" {
		out.Class = openAICodes[f.Error.Type]
	}
	if out.Class == "" && upstream.TooLong(out.Message) {
		out.Class = provider.ClassContextLength
	}
	return out
}

// anthropic is the error of Anthropic's API.
type anthropic struct {
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// anthropicKinds are the types of errors. They come with a status, and without one in the
// middle of a stream.
var anthropicKinds = map[string]provider.Class{
	"invalid_request_error": provider.ClassInvalid,
	"authentication_error":  provider.ClassAuth,
	"permission_error":      provider.ClassAuth,
	"billing_error":         provider.ClassUnavailable,
	"not_found_error":       provider.ClassUnavailable,
	"request_too_large":     provider.ClassContextLength,
	"rate_limit_error":      provider.ClassRateLimited,
	"timeout_error":         provider.ClassTimeout,
	"api_error":             provider.ClassInternal,
	"overloaded_error":      provider.ClassUnavailable,
}

// Anthropic reads a failure of Anthropic, one in the middle of a stream as well. It
// is an upstream.Decode.
func Anthropic(_ int, body []byte) upstream.Failure {
	var f anthropic
	if json.Unmarshal(body, &f) != nil {
		return upstream.Failure{}
	}
	class := anthropicKinds[f.Error.Type]
	if class == provider.ClassInvalid && upstream.TooLong(f.Error.Message) {
		class = provider.ClassContextLength
	}
	return upstream.Failure{Class: class, Message: f.Error.Message}
}

// gemini is the error of Google's APIs (google.rpc.Status).
type gemini struct {
	Error struct {
		Message string         `json:"message"`
		Status  string         `json:"status"`
		Details []geminiDetail `json:"details"`
	} `json:"error"`
}

type geminiDetail struct {
	Type   string `json:"@type"`
	Reason string `json:"reason"`
	Delay  string `json:"retryDelay"`
}

// geminiStatuses are the codes of google.rpc.Code.
var geminiStatuses = map[string]provider.Class{
	"INVALID_ARGUMENT":    provider.ClassInvalid,
	"FAILED_PRECONDITION": provider.ClassInvalid,
	"UNAUTHENTICATED":     provider.ClassAuth,
	"PERMISSION_DENIED":   provider.ClassAuth,
	"NOT_FOUND":           provider.ClassUnavailable,
	"RESOURCE_EXHAUSTED":  provider.ClassRateLimited,
	"INTERNAL":            provider.ClassInternal,
	"UNAVAILABLE":         provider.ClassUnavailable,
	"DEADLINE_EXCEEDED":   provider.ClassTimeout,
}

// Gemini reads a failure of the Gemini API. It is an upstream.Decode.
func Gemini(_ int, body []byte) upstream.Failure {
	var f gemini
	if json.Unmarshal(body, &f) != nil {
		return upstream.Failure{}
	}
	out := upstream.Failure{Class: geminiStatuses[f.Error.Status], Message: f.Error.Message}
	for _, d := range f.Error.Details {
		if d.Reason == "API_KEY_INVALID" { // it comes as an invalid argument
			out.Class = provider.ClassAuth
		}
		if wait, err := time.ParseDuration(d.Delay); err == nil && wait > 0 && wait < 24*time.Hour {
			out.RetryAfter = wait
		}
	}
	if out.Class == provider.ClassInvalid && upstream.TooLong(out.Message) {
		out.Class = provider.ClassContextLength
	}
	return out
}

// GeminiStatus is the class of a google.rpc.Code, empty for one that is not known.
func GeminiStatus(status string) provider.Class { return geminiStatuses[status] }

// Ollama reads a failure of Ollama. It is an upstream.Decode.
func Ollama(status int, body []byte) upstream.Failure {
	var f struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &f) != nil {
		return upstream.Failure{}
	}
	return upstream.Failure{Class: OllamaClass(status, f.Error), Message: f.Error}
}

// OllamaClass reads the server's words, which are all that it says; status is 0 in
// the middle of a stream. Empty is no more than the status.
func OllamaClass(status int, message string) provider.Class {
	switch {
	case upstream.TooLong(message):
		return provider.ClassContextLength
	case strings.Contains(message, "more system memory"), strings.Contains(message, "server busy"):
		return provider.ClassUnavailable
	case status == 0:
		return provider.ClassInternal
	}
	return ""
}
