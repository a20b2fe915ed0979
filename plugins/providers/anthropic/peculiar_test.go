package anthropic

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/acceptance"
)

func TestRequestFields(t *testing.T) {
	cold, hot := 0.2, 1.8
	for name, c := range map[string]struct {
		request provider.Request
		want    map[string]string // "" is not there
	}{
		"plain":    {provider.Request{Model: "claude-sonnet-4-5", Temperature: &cold}, map[string]string{"max_tokens": "8192", "temperature": "0.2", "thinking": ""}},
		"hot":      {provider.Request{Model: "claude-sonnet-4-5", Temperature: &hot}, map[string]string{"temperature": "1"}},
		"budget":   {provider.Request{Model: "claude-sonnet-4-5", Thinking: 5000, MaxTokens: 100, Temperature: &cold}, map[string]string{"max_tokens": "5100", "temperature": "", "thinking": `{"budget_tokens":5000,"type":"enabled"}`}},
		"too few":  {provider.Request{Model: "claude-sonnet-4-5", Thinking: 5, MaxTokens: 100}, map[string]string{"max_tokens": "1124", "thinking": `{"budget_tokens":1024,"type":"enabled"}`}},
		"adaptive": {provider.Request{Model: "claude-opus-4-7", Thinking: 5000, MaxTokens: 100, Temperature: &cold}, map[string]string{"max_tokens": "5100", "temperature": "", "thinking": `{"display":"summarized","type":"adaptive"}`, "output_config": `{"effort":"medium"}`}},
		"off":      {provider.Request{Model: "claude-opus-5-5"}, map[string]string{"thinking": `{"type":"disabled"}`, "output_config": ""}},
		"always":   {provider.Request{Model: "claude-fable-5-1"}, map[string]string{"thinking": ""}},
		"schema":   {provider.Request{Model: "claude-haiku-4-5", Schema: json.RawMessage(`{"type":"object"}`)}, map[string]string{"output_config": `{"format":{"schema":{"type":"object"},"type":"json_schema"}}`}},
	} {
		var sent []byte
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusTeapot)
		}))
		c.request.Messages = acceptance.Ask("hello").Messages
		New(acceptance.Lookup(map[string]string{"ANTHROPIC_BASE_URL": server.URL})).Generate(t.Context(), c.request, nil)
		server.Close()
		var got map[string]json.RawMessage
		if err := json.Unmarshal(sent, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for field, want := range c.want {
			if string(got[field]) != want {
				t.Errorf("%s: %s is %s, want %s", name, field, got[field], want)
			}
		}
	}
}

// TestRedacted has thinking that is encrypted: it goes back as it came.
func TestRedacted(t *testing.T) {
	blocks, err := said(provider.Message{Opaque: json.RawMessage(`[{"data":"secret"},{"thinking":"a","signature":"b"}]`), Text: "t"})
	if err != nil || len(blocks) != 3 || blocks[0].OfRedactedThinking.Data != "secret" || blocks[1].OfThinking.Signature != "b" {
		t.Errorf("%+v, %v", blocks, err)
	}
}

func TestAdaptive(t *testing.T) {
	for model, want := range map[string]bool{
		"claude-opus-4-7": true, "claude-opus-4-8": true, "claude-sonnet-5": true, "claude-haiku-5-5": true, "claude-opus-4-6": false,
		"claude-sonnet-4-5-20250929": false, "claude-haiku-4-5-20251001": false, "claude-3-7-sonnet-20250219": false, "claude-sonnet-4-20250514": false, "other": false,
	} {
		if got := adaptive(model); got != want {
			t.Errorf("%s: %v", model, got)
		}
	}
}
