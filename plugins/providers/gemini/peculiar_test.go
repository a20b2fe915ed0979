package gemini

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/acceptance"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

func TestThink(t *testing.T) {
	for _, c := range []struct {
		model  string
		tokens int
		want   string
	}{
		{"gemini-2.5-flash", 0, `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", 500, `{"includeThoughts":true,"thinkingBudget":500}`},
		{"gemini-2.5-pro", 0, `{"thinkingBudget":128}`},
		{"gemini-3-pro-preview", 0, `{"thinkingLevel":"LOW"}`},
		{"gemini-3-pro-preview", 9000, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-2.0-flash", 0, `null`},
		{"gemma-3", 0, `null`},
	} {
		got, err := json.Marshal(think(provider.Request{Model: c.model, Thinking: c.tokens}))
		if err != nil || string(got) != c.want {
			t.Errorf("%s with %d tokens: %s, want %s", c.model, c.tokens, got, c.want)
		}
	}
}

// TestBlocked has a prompt that the server does not want.
func TestBlocked(t *testing.T) {
	p, _ := subject().Start(t, wire.Turns(wire.Turn{Refusal: "PROHIBITED_CONTENT"}))
	_, err := p.Generate(t.Context(), acceptance.Ask("hello"), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.ClassRefused {
		t.Errorf("%v", err)
	}
}

// TestMalformed has a call that the server itself could not read.
func TestMalformed(t *testing.T) {
	p, _ := subject().Start(t, wire.Turns(wire.Turn{Finish: "MALFORMED_FUNCTION_CALL"}))
	_, err := p.Generate(t.Context(), acceptance.Ask("hello"), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.Class != provider.ClassInternal {
		t.Errorf("%v", err)
	}
}

// TestWait reads how long to wait out of the body.
func TestWait(t *testing.T) {
	p, _ := subject().Start(t, wire.Turns(wire.Turn{Fault: wire.Fault{Status: 429, RetryAfter: "34"}}))
	_, err := p.Generate(t.Context(), acceptance.Ask("hello"), nil)
	var e *provider.Error
	if !errors.As(err, &e) || e.RetryAfter != 34*time.Second {
		t.Errorf("%v", err)
	}
}

func TestManyTexts(t *testing.T) {
	p, _ := subject().Start(t, nil)
	r, err := p.Embed(t.Context(), provider.EmbedRequest{Model: "test-embed", Texts: make([]string, 2*batch+1)})
	if err != nil || len(r.Vectors) != 2*batch+1 {
		t.Errorf("%d vectors, %v", len(r.Vectors), err)
	}
}
