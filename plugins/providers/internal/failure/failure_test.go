package failure

import (
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		read   upstream.Decode
		status int
		body   string
		want   upstream.Failure
	}{
		{"openai length", OpenAI, 400, `{"error":{"message":"m","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`,
			upstream.Failure{Class: provider.ClassContextLength, Message: "m"}},
		{"openai quota", OpenAI, 429, `{"error":{"message":"m","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			upstream.Failure{Class: provider.ClassUnavailable, Message: "m"}},
		{"openai number", OpenAI, 400, `{"error":{"message":"m","code":400}}`, upstream.Failure{Message: "m"}},
		{"openai no code", OpenAI, 401, `{"error":{"message":"m","code":null}}`, upstream.Failure{Message: "m"}},
		{"vllm", OpenAI, 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","code":400}`,
			upstream.Failure{Class: provider.ClassContextLength, Message: "This model's maximum context length is 4096 tokens."}},
		{"fastapi", OpenAI, 404, `{"detail":"Not Found"}`, upstream.Failure{Message: "Not Found"}},
		{"anthropic overloaded", Anthropic, 0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			upstream.Failure{Class: provider.ClassUnavailable, Message: "Overloaded"}},
		{"anthropic length", Anthropic, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			upstream.Failure{Class: provider.ClassContextLength, Message: "prompt is too long: 210000 tokens > 200000 maximum"}},
		{"gemini wait", Gemini, 429, `{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`,
			upstream.Failure{Class: provider.ClassRateLimited, Message: "m", RetryAfter: 34500 * time.Millisecond}},
		{"gemini key", Gemini, 400, `{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`,
			upstream.Failure{Class: provider.ClassAuth, Message: "m"}},
		{"gemini length", Gemini, 400, `{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed","status":"INVALID_ARGUMENT"}}`,
			upstream.Failure{Class: provider.ClassContextLength, Message: "The input token count exceeds the maximum number of tokens allowed"}},
		{"ollama memory", Ollama, 500, `{"error":"model requires more system memory (8 GiB) than is available"}`,
			upstream.Failure{Class: provider.ClassUnavailable, Message: "model requires more system memory (8 GiB) than is available"}},
		{"ollama length", Ollama, 400, `{"error":"the input length exceeds the context length"}`,
			upstream.Failure{Class: provider.ClassContextLength, Message: "the input length exceeds the context length"}},
		{"ollama", Ollama, 404, `{"error":"model not found"}`, upstream.Failure{Message: "model not found"}},
	} {
		if got := c.read(c.status, []byte(c.body)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(400, `{"error":{"message":"m","type":"t","code":1,"status":"INTERNAL","details":[{"retryDelay":"1s"}]}}`)
	f.Add(0, `{"error":"x"}`)
	f.Add(500, `<html>`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		for _, read := range []upstream.Decode{OpenAI, Anthropic, Gemini, Ollama} {
			if got := read(status, []byte(body)); got.RetryAfter < 0 {
				t.Errorf("%+v", got)
			}
		}
	})
}
