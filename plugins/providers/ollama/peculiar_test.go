package ollama

import (
	"encoding/json"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/acceptance"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

// open opens the provider without configured models, so that all is the server's.
func open(t *testing.T, reply func(wire.Request) wire.Turn, more map[string]string) *Provider {
	t.Helper()
	server := httptest.NewServer(wire.Ollama(wire.Script{Models: acceptance.Models(), Reply: reply}))
	t.Cleanup(server.Close)
	env := map[string]string{"OLLAMA_BASE_URL": server.URL}
	for name, value := range more {
		env[name] = value
	}
	return New(acceptance.Lookup(env))
}

func named(t *testing.T, p *Provider, name string) provider.Model {
	t.Helper()
	models, err := p.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range models {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no %s in %+v", name, models)
	return provider.Model{}
}

// TestLoad loads and unloads a model, and reads what memory it takes.
func TestLoad(t *testing.T) {
	p := open(t, nil, nil)
	m := named(t, p, "test-model")
	if m.Loaded || m.MemoryBytes != 1<<20 || m.ContextTokens != 8192 || !m.Tools || !m.Thinking {
		t.Errorf("before: %+v", m)
	}
	if e := named(t, p, "test-embed"); e.Dimensions != wire.Dimensions || !e.Embeddings {
		t.Errorf("embeddings: %+v", e)
	}
	if err := p.Load(t.Context(), "test-model"); err != nil {
		t.Fatal(err)
	}
	if m = named(t, p, "test-model"); !m.Loaded || m.MemoryBytes != 1<<20+1<<17 || m.ContextTokens != 4096 {
		t.Errorf("loaded: %+v", m)
	}
	if err := p.Unload(t.Context(), "test-model"); err != nil {
		t.Fatal(err)
	}
	if m = named(t, p, "test-model"); m.Loaded {
		t.Errorf("unloaded: %+v", m)
	}
}

// TestOptions has settings in each request, and nothing cut without a word.
func TestOptions(t *testing.T) {
	var mu sync.Mutex
	var sent struct {
		Truncate  *bool           `json:"truncate"`
		Shift     *bool           `json:"shift"`
		KeepAlive json.RawMessage `json:"keep_alive"`
		Think     json.RawMessage `json:"think"`
		Options   struct {
			NumCtx int `json:"num_ctx"`
		} `json:"options"`
	}
	p := open(t, func(r wire.Request) wire.Turn {
		mu.Lock()
		defer mu.Unlock()
		if err := json.Unmarshal(r.Raw, &sent); err != nil {
			t.Error(err)
		}
		return wire.Turn{Text: "ok"}
	}, map[string]string{"OLLAMA_CONTEXT_LENGTH": "2048", "OLLAMA_KEEP_ALIVE": "10m"})
	if m := named(t, p, "test-model"); m.ContextTokens != 2048 {
		t.Errorf("%+v", m)
	}
	if _, err := p.Generate(t.Context(), acceptance.Ask("hello"), nil); err != nil {
		t.Fatal(err)
	}
	if sent.Options.NumCtx != 2048 || string(sent.KeepAlive) != `"10m0s"` || sent.Truncate == nil || *sent.Truncate || sent.Shift == nil || *sent.Shift || string(sent.Think) != "false" {
		t.Errorf("%+v", sent)
	}
}

func TestWrongOptions(t *testing.T) {
	for _, name := range []string{"OLLAMA_CONTEXT_LENGTH", "OLLAMA_KEEP_ALIVE"} {
		if err := open(t, nil, map[string]string{name: "much"}).Health(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestNoThinking asks a model to think that cannot.
func TestNoThinking(t *testing.T) {
	r := acceptance.Ask("hello")
	r.Model, r.Thinking = "test-embed", 100
	if _, err := open(t, nil, nil).Generate(t.Context(), r, nil); err == nil {
		t.Error("no error")
	}
}

func TestLocal(t *testing.T) {
	for base, want := range map[string]bool{"": true, "http://localhost:1": true, "http://[::1]:1": true, "http://192.168.1.2:11434": false, "https://ollama.com": false} {
		info, err := New(acceptance.Lookup(map[string]string{"OLLAMA_BASE_URL": base})).Info(t.Context())
		if err != nil || info.Local != want {
			t.Errorf("%q: %+v, %v", base, info, err)
		}
	}
}
