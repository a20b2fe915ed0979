// Package acceptance is what every provider of this module has to do towards its
// server, whichever it is: one suite, run against the servers of package wire. It
// refuses to know what is peculiar to one of them.
package acceptance

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/providertest"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
	"github.com/skillet-run/skillet/plugins/providers/wire"
)

// Key is the secret that must not be seen anywhere.
const Key = "sk-verysecretkey0123456789"

// A Subject is a provider with the server it speaks to.
type Subject struct {
	Open  func(upstream.Env) provider.Provider
	Serve func(wire.Script) http.Handler
	// Prefix begins the names of the provider's variables; ModelsName is the one for
	// models.
	Prefix, ModelsName string
	// Path is the base address behind the server's own.
	Path string
	// What the server's API does not have.
	NoEmbeddings, NoThinkingCount, NoCachedCount, NoFilter, NoFailedFlag bool
	// WholeCalls says that calls come in one piece, so that none can be cut.
	WholeCalls bool
	// Signs says that thinking has to come back with the conversation.
	Signs bool
	// Length and Filter are the words for answers that were cut or held back.
	Length, Filter string
}

// serveVariable has a test's own program be the plugin.
const serveVariable = "ACCEPTANCE_SERVE"

// Main is the whole TestMain of a provider: it runs the tests, or is the plugin in
// the process that a test starts.
func Main(m *testing.M, s Subject) {
	if os.Getenv(serveVariable) != "" {
		plugins.ServeProvider(s.Open(os.Getenv))
		return
	}
	os.Exit(m.Run())
}

// Env is the environment for a server at an address.
func (s Subject) Env(address string) map[string]string {
	return map[string]string{
		s.Prefix + "_API_KEY": Key, s.Prefix + "_BASE_URL": address + s.Path,
		s.ModelsName: `[{"name":"test-model","text":true,"tools":true,"json_schema":true,"thinking":true,"streaming":true,"context_tokens":8192},
			{"name":"test-embed","embeddings":true,"dimensions":16}]`,
	}
}

// Lookup is an environment in a map.
func Lookup(env map[string]string) upstream.Env {
	return func(name string) string { return env[name] }
}

// Models are those of every server in the suite.
func Models() []wire.Model {
	return []wire.Model{
		{Name: "test-model", ContextTokens: 8192, OutputTokens: 1024, Thinking: true, Bytes: 1 << 20},
		{Name: "test-embed", ContextTokens: 512, Embeddings: true, Bytes: 1 << 18},
	}
}

// Start starts a server that answers as reply says, and the provider for it.
func (s Subject) Start(t *testing.T, reply func(wire.Request) wire.Turn) (provider.Provider, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(s.Serve(wire.Script{Key: Key, Models: Models(), Reply: reply}))
	t.Cleanup(server.Close)
	return s.Open(Lookup(s.Env(server.URL))), server
}

// Ask is a request of one message.
func Ask(text string) provider.Request {
	return provider.Request{Model: "test-model", Messages: []provider.Message{{Role: provider.RoleUser, Text: text}}}
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"Contract", contract}, {"Process", process}, {"Faults", faults}, {"Cut", cut}, {"Ended", ended}, {"Redirect", redirect},
		{"Secrets", secrets}, {"Key", missingKey}, {"Settings", wrongSettings}, {"Environment", environment}, {"Parallel", parallel}, {"Signed", signed},
		{"Request", request}, {"Usage", usage}, {"Finish", finish}, {"BrokenInput", brokenInput}, {"Embeddings", embeddings},
	} {
		t.Run(c.name, func(t *testing.T) { t.Parallel(); c.run(t, s) })
	}
}

// model replies as the contract's suite asks.
func model() func(wire.Request) wire.Turn {
	planner := wire.Planner{
		Calls:    []wire.Call{{Name: "weather", Input: `{"city":"Paris"}`}},
		Thinking: "Paris is a city.",
		Object:   func(wire.Request) string { return `{"city":"Paris","country":"France"}` },
		Answer: func(results []wire.Message) string {
			return fmt.Sprintf("Bonjour, Zoë: %d results. 巴黎", len(results))
		},
	}
	return func(r wire.Request) wire.Turn {
		turn := planner.Reply(r)
		if n := len(r.Messages); n > 0 && r.Messages[n-1].Text == "slowly" {
			turn.Fault = wire.Fault{Delay: 20 * time.Millisecond}
			turn.Text += fmt.Sprintf("%01000d", 0)
		}
		return turn
	}
}

func contract(t *testing.T, s Subject) {
	p, _ := s.Start(t, model())
	providertest.Run(t, func(*testing.T) provider.Provider { return p }, providertest.Options{Slow: "slowly"})
}

// process runs the contract's suite again, with the provider as a plugin in a
// process of its own, which finds its settings in its environment alone.
func process(t *testing.T, s Subject) {
	_, server := s.Start(t, model())
	env := []string{serveVariable + "=1"}
	for name, value := range s.Env(server.URL) {
		env = append(env, name+"="+value)
	}
	supervisor := plugins.New(hclog.NewNullLogger(), plugins.Settings{Dir: t.TempDir()})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		supervisor.Stop(ctx)
	})
	p, err := supervisor.Provider(t.Context(), plugins.Spec{Name: "subject", Env: env})
	if err != nil {
		t.Fatal(err)
	}
	providertest.Run(t, func(*testing.T) provider.Provider { return p }, providertest.Options{Slow: "slowly"})
}
