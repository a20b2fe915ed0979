package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/acceptance"
)

func TestEffort(t *testing.T) {
	for _, c := range []struct {
		model  string
		tokens int
		want   string
	}{
		{"gpt-5", 0, "minimal"}, {"gpt-5-mini-2025-08-07", 0, "minimal"}, {"gpt-5.2", 0, "none"}, {"gpt-6-sol", 0, "none"}, {"o3", 0, "low"},
		{"gpt-5.2-pro", 0, "low"}, {"openai/gpt-5", 0, "minimal"}, {"gpt-4.1", 0, ""}, {"gpt-4o", 0, ""}, {"gpt-5-chat-latest", 0, ""},
		{"qwen3", 0, ""}, {"qwen3", 1000, "low"}, {"gpt-5", 2048, "low"}, {"gpt-5", 2049, "medium"}, {"gpt-5", 8193, "high"},
	} {
		if got := effort(c.model, c.tokens); got != c.want {
			t.Errorf("%s with %d tokens: %q, want %q", c.model, c.tokens, got, c.want)
		}
	}
}

// body has a request sent to a server that only keeps it.
func body(t *testing.T, env map[string]string, r provider.Request) map[string]json.RawMessage {
	t.Helper()
	var sent []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	all := map[string]string{"OPENAI_BASE_URL": server.URL}
	for name, value := range env {
		all[name] = value
	}
	New(acceptance.Lookup(all)).Generate(t.Context(), r, nil)
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(sent, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestRequestFields(t *testing.T) {
	cold := 0.2
	strict := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	for name, c := range map[string]struct {
		env     map[string]string
		request provider.Request
		want    map[string]string // "" is not there
	}{
		"other server": {nil, provider.Request{Model: "qwen3", MaxTokens: 9, Temperature: &cold},
			map[string]string{"max_tokens": "9", "max_completion_tokens": "", "temperature": "0.2", "reasoning_effort": "", "response_format": ""}},
		"field": {map[string]string{"OPENAI_MAX_TOKENS_FIELD": "max_completion_tokens"}, provider.Request{Model: "m", MaxTokens: 9},
			map[string]string{"max_tokens": "", "max_completion_tokens": "9"}},
		"reasoning": {nil, provider.Request{Model: "gpt-5", MaxTokens: 9, Thinking: 4096, Temperature: &cold},
			map[string]string{"max_tokens": "4105", "temperature": "", "reasoning_effort": `"medium"`}},
		"not now": {nil, provider.Request{Model: "gpt-5.2", Temperature: &cold}, map[string]string{"temperature": "0.2", "reasoning_effort": `"none"`}},
		"strict": {nil, provider.Request{Model: "m", Schema: json.RawMessage(strict)},
			map[string]string{"response_format": `{"json_schema":{"name":"answer","strict":true,"schema":` + strict + `},"type":"json_schema"}`}},
		"not strict": {nil, provider.Request{Model: "m", Schema: json.RawMessage(`{"type":"object"}`)},
			map[string]string{"response_format": `{"json_schema":{"name":"answer","schema":{"type":"object"}},"type":"json_schema"}`}},
	} {
		c.request.Messages = acceptance.Ask("hello").Messages
		got := body(t, c.env, c.request)
		for field, want := range c.want {
			if string(got[field]) != want {
				t.Errorf("%s: %s is %s, want %s", name, field, got[field], want)
			}
		}
	}
}

// TestOtherServers has streams as servers send them that are only like OpenAI.
func TestOtherServers(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		check  func(provider.Response) bool
	}{
		"no usage, no ids": {`data: {"choices":[{"delta":{"tool_calls":[{"function":{"name":"weather","arguments":"{}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`, func(r provider.Response) bool {
			return len(r.Calls) == 1 && r.Calls[0].ID != "" && r.Usage.Estimated && r.Usage.InputTokens > 0 && r.Model == "test-model"
		}},
		"stop with calls, comments, CRLF": {": OPENROUTER PROCESSING\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"reasoning\":\"hm\",\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"weather\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n",
			func(r provider.Response) bool { return r.Finish == provider.FinishTools && r.Thinking == "hm" }},
		"same index for both": {`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"weather","arguments":"{\"a\":1}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"weather","arguments":"{\"a\":2}"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

`, func(r provider.Response) bool { return len(r.Calls) == 2 && string(r.Calls[1].Input) == `{"a":2}` }},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, c.stream)
		}))
		r, err := New(acceptance.Lookup(map[string]string{"OPENAI_BASE_URL": server.URL})).Generate(t.Context(), acceptance.Ask("hello"), nil)
		server.Close()
		if err != nil || !c.check(r) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestRefusal(t *testing.T) {
	stream := `data: {"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, stream)
	}))
	defer server.Close()
	_, err := New(acceptance.Lookup(map[string]string{"OPENAI_BASE_URL": server.URL})).Generate(t.Context(), acceptance.Ask("hello"), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "refused: ") {
		t.Errorf("%v", err)
	}
}
