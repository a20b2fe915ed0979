package acceptance

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

// A log keeps what the server was asked.
type log struct {
	mu   sync.Mutex
	seen []wire.Request
}

func (l *log) reply(next func(wire.Request) wire.Turn) func(wire.Request) wire.Turn {
	return func(r wire.Request) wire.Turn {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen = append(l.seen, r)
		return next(r)
	}
}

func (l *log) last(t *testing.T) wire.Request {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) == 0 {
		t.Fatal("the server was not asked")
	}
	return l.seen[len(l.seen)-1]
}

// environment has variables that the SDKs would read by themselves say something
// else, in this process.
func environment(t *testing.T, s Subject) {
	for _, name := range []string{"OPENAI_ORG_ID", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "OLLAMA_HOST", "OPENAI_CUSTOM_HEADERS"} {
		if os.Getenv(name) != "" {
			t.Skipf("%s is set", name)
		}
	}
	var l log
	_, server := s.Start(t, l.reply(wire.Turns(wire.Turn{Text: "hi"})))
	env := s.Env(server.URL)
	env[s.Prefix+"_HEADERS"] = `{"X-Team":"blue"}`
	if _, err := s.Open(Lookup(env)).Generate(t.Context(), Ask("hello"), nil); err != nil {
		t.Fatal(err)
	}
	if got := l.last(t).Header.Get("X-Team"); got != "blue" {
		t.Errorf("X-Team is %q", got)
	}
	env["HTTP_PROXY"] = "http://127.0.0.1:1" // not for loopback
	if _, err := s.Open(Lookup(env)).Generate(t.Context(), Ask("hello"), nil); err != nil {
		t.Error(err)
	}
	proxied := httptest.NewServer(s.Serve(wire.Script{Key: Key, Models: Models(), Reply: wire.Turns(wire.Turn{Text: "by proxy"})}))
	defer proxied.Close()
	env = s.Env("http://models.example")
	env["HTTP_PROXY"] = proxied.URL
	r, err := s.Open(Lookup(env)).Generate(t.Context(), Ask("hello"), nil)
	if err != nil || r.Text != "by proxy" {
		t.Errorf("through a proxy: %q, %v", r.Text, err)
	}
}

func tools() []provider.Tool {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","description":"Where."}},"required":["city"]}`)
	return []provider.Tool{
		{Name: "files__read", Description: "Reads a file.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Name: "weather", Description: "Tells the weather.", InputSchema: schema},
	}
}

// parallel has two calls in one answer, and both results go back.
func parallel(t *testing.T, s Subject) {
	var l log
	planner := wire.Planner{Calls: []wire.Call{{Name: "weather", Input: `{"city":"Köln","days":[1,2]}`}, {Name: "files__read", Input: `{}`}}}
	p, _ := s.Start(t, l.reply(planner.Reply))
	r := Ask("What is the weather, and what is in the file?")
	r.Tools = tools()
	first, err := p.Generate(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Calls) != 2 || first.Finish != provider.FinishTools || first.Calls[0].ID == first.Calls[1].ID {
		t.Fatalf("%+v", first)
	}
	if c := first.Calls[0]; c.Name != "weather" || !sameJSON(string(c.Input), `{"city":"Köln","days":[1,2]}`) {
		t.Errorf("first call %s(%s)", c.Name, c.Input)
	}
	if c := first.Calls[1]; c.Name != "files__read" || string(c.Input) != "{}" {
		t.Errorf("second call %s(%s)", c.Name, c.Input)
	}
	r.Messages = append(r.Messages, provider.Message{Role: provider.RoleAssistant, Text: first.Text, Calls: first.Calls, Opaque: first.Opaque},
		provider.Message{Role: provider.RoleTool, CallID: first.Calls[0].ID, Text: "rain"},
		provider.Message{Role: provider.RoleTool, CallID: first.Calls[1].ID, Text: "no such file", Failed: true})
	second, err := p.Generate(t.Context(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(second.Text, "rain") || !strings.Contains(second.Text, "no such file") || second.Finish != provider.FinishStop {
		t.Errorf("%+v", second)
	}
	results := wire.Results(l.last(t))
	if len(results) != 2 || results[0].Failed || results[1].Failed == s.NoFailedFlag && !strings.HasPrefix(results[1].Text, "error: ") {
		t.Errorf("%+v", results)
	}
	if got := l.last(t).Tools; len(got) != 2 || got[1].Name != "weather" || !strings.Contains(string(got[1].Schema), `"Where."`) {
		t.Errorf("tools %+v", got)
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	again, _ := json.Marshal(x)
	want, _ := json.Marshal(y)
	return string(again) == string(want)
}

// signed has thinking before a call: it goes back with its proof, where there is
// one, after a conversation through JSON.
func signed(t *testing.T, s Subject) {
	var l log
	planner := wire.Planner{Thinking: "The user wants the weather.", Calls: []wire.Call{{Name: "weather", Input: `{"city":"Paris"}`}}}
	p, _ := s.Start(t, l.reply(planner.Reply))
	r := Ask("What is the weather?")
	r.Tools, r.Thinking, r.MaxTokens = tools(), 2048, 100
	var thinking strings.Builder
	first, err := p.Generate(t.Context(), r, func(d provider.Delta) error {
		thinking.WriteString(d.Thinking)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if first.Thinking != planner.Thinking || thinking.String() != planner.Thinking {
		t.Errorf("thinking %q, in pieces %q", first.Thinking, thinking.String())
	}
	if asked := l.last(t); asked.Thinking == "" || asked.MaxTokens < 2148 {
		t.Errorf("thinking %q, max tokens %d", asked.Thinking, asked.MaxTokens)
	}
	kept, err := json.Marshal(provider.Message{Role: provider.RoleAssistant, Text: first.Text, Calls: first.Calls, Opaque: first.Opaque})
	var message provider.Message
	if err != nil || json.Unmarshal(kept, &message) != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, message, provider.Message{Role: provider.RoleTool, CallID: first.Calls[0].ID, Text: "rain"})
	if _, err := p.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(l.last(t).Messages, func(m wire.Message) bool { return m.Role == "assistant" })
	if got := l.last(t).Messages[i].Signed; s.Signs && got != wire.Signature(planner.Thinking) {
		t.Errorf("signature %q", got)
	}
	r.Messages[1].Opaque = json.RawMessage(`"\u0000`)
	if _, err := p.Generate(t.Context(), r, nil); s.Signs {
		classed(t, err, provider.ClassInvalid)
	}
}

// request has everything in it that a request can have.
func request(t *testing.T, s Subject) {
	var l log
	p, _ := s.Start(t, l.reply(wire.Turns(wire.Turn{Text: `{"city":"Paris"}`})))
	warm := 1.5
	r := provider.Request{Model: "test-model", System: "Be brief.", MaxTokens: 77, Temperature: &warm, Stop: []string{"END"},
		Schema: json.RawMessage(`{"$id":"https://example.org/plan.schema.json","type":"object","properties":{"city":{"type":"string"}}}`),
		Messages: []provider.Message{
			{Role: provider.RoleUser, Text: "first"}, {Role: provider.RoleAssistant, Text: "second"}, {Role: provider.RoleUser, Text: "third"},
		}}
	if _, err := p.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	got := l.last(t)
	if got.System != r.System || got.MaxTokens != 77 || !slices.Equal(got.Stop, r.Stop) || !sameJSON(string(got.Schema), string(r.Schema)) {
		t.Errorf("system %q, max tokens %d, stop %q, schema %s", got.System, got.MaxTokens, got.Stop, got.Schema)
	}
	var said []string
	for _, m := range got.Messages {
		said = append(said, m.Role+": "+m.Text)
	}
	if want := []string{"user: first", "assistant: second", "user: third"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
	r.Schema, r.Tools = nil, []provider.Tool{{Name: "broken", InputSchema: json.RawMessage(`{`)}}
	_, err := p.Generate(t.Context(), r, nil)
	classed(t, err, provider.ClassInvalid)
}

func usage(t *testing.T, s Subject) {
	p, _ := s.Start(t, wire.Turns(wire.Turn{Text: "words", Thinking: "thoughts", Usage: wire.Usage{Input: 100, Output: 50, Thinking: 20, Cached: 40}}))
	r, err := p.Generate(t.Context(), Ask("hello"), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := provider.Usage{InputTokens: 100, OutputTokens: 50, ThinkingTokens: 20, CachedTokens: 40}
	if s.NoThinkingCount {
		want.ThinkingTokens = r.Usage.ThinkingTokens
	}
	if s.NoCachedCount {
		want.CachedTokens = 0
	}
	if r.Usage != want || r.Model != "test-model" {
		t.Errorf("%+v, want %+v; model %q", r.Usage, want, r.Model)
	}
}

func finish(t *testing.T, s Subject) {
	for word, want := range map[string]string{s.Length: provider.FinishLength, s.Filter: provider.FinishFilter, "": provider.FinishStop} {
		if word == "" && s.NoFilter && want == provider.FinishFilter {
			continue
		}
		half := []wire.Call{{Name: "weather", Input: `{"city":"Par`}}
		if word == "" || s.WholeCalls {
			half = nil
		}
		p, _ := s.Start(t, wire.Turns(wire.Turn{Text: "words", Finish: word, Calls: half}))
		r, err := p.Generate(t.Context(), Ask("hello"), nil)
		if err != nil || r.Finish != want && !(word == s.Filter && s.NoFilter) || r.Text != "words" || len(r.Calls) != 0 {
			t.Errorf("%q: %+v, %v", word, r, err)
		}
	}
}

// brokenInput has a call whose input is no JSON object.
func brokenInput(t *testing.T, s Subject) {
	for _, input := range []string{`{"city": `, `"Paris"`, `[1]`, `7`} {
		p, _ := s.Start(t, wire.Turns(wire.Turn{Calls: []wire.Call{{Name: "weather", Input: input}}}))
		r := Ask("hello")
		r.Tools = tools()
		got, err := p.Generate(t.Context(), r, nil)
		if err == nil {
			t.Errorf("%s: %+v", input, got)
			continue
		}
		classed(t, err, provider.ClassInternal)
	}
}

func embeddings(t *testing.T, s Subject) {
	p, _ := s.Start(t, nil)
	r, err := p.Embed(t.Context(), provider.EmbedRequest{Model: "test-embed", Texts: []string{"a cat", "a dog", "a house"}})
	if s.NoEmbeddings {
		classed(t, err, provider.ClassInvalid)
		return
	}
	if err != nil || len(r.Vectors) != 3 {
		t.Fatalf("%d vectors, %v", len(r.Vectors), err)
	}
	for _, v := range r.Vectors {
		sum := 0.0
		for _, x := range v {
			sum += float64(x) * float64(x)
		}
		if len(v) != wire.Dimensions || math.Abs(sum-1) > 1e-4 {
			t.Errorf("a vector of length %v with %d values", math.Sqrt(sum), len(v))
		}
	}
	failing, _ := s.Start(t, wire.Turns(wire.Turn{Fault: wire.Fault{Status: 429, RetryAfter: "3"}}))
	_, err = failing.Embed(t.Context(), provider.EmbedRequest{Model: "test-embed", Texts: []string{"a"}})
	if e := classed(t, err, provider.ClassRateLimited); e.RetryAfter.Seconds() != 3 {
		t.Errorf("wait %v", e.RetryAfter)
	}
}
