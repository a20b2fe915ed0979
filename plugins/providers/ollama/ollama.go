// Package ollama is a provider that asks an Ollama server, on this machine or on
// another. It loads and unloads models and says what memory they take. It refuses
// to know the host, budgets and retries, and pulls no models.
package ollama

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/types/model"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/answer"
	"github.com/skillet-run/skillet/plugins/providers/internal/catalog"
	"github.com/skillet-run/skillet/plugins/providers/internal/failure"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
)

// Version is the provider's own.
const Version = "1.0.0"

const defaultBase = "http://127.0.0.1:11434"

// Provider implements provider.Provider. Make one with [New].
type Provider struct {
	settings upstream.Settings
	client   *api.Client
	wrong    error
	context  int           // of each request, in tokens; 0 leaves it to the server
	keep     *api.Duration // how long a model stays loaded; nil leaves it to the server

	mu    sync.Mutex
	shown map[string]provider.Model // by digest: what a model can does not change
}

// New returns the provider that the environment describes: OLLAMA_BASE_URL,
// OLLAMA_API_KEY, OLLAMA_HEADERS, OLLAMA_MODELS_INFO, OLLAMA_CONTEXT_LENGTH and
// OLLAMA_KEEP_ALIVE. What is missing or wrong is an error of the methods.
func New(env upstream.Env) *Provider {
	s := upstream.Read(env, upstream.Variables{
		Provider: "ollama", Key: "OLLAMA_API_KEY", Base: "OLLAMA_BASE_URL",
		Headers: "OLLAMA_HEADERS", Models: "OLLAMA_MODELS_INFO", DefaultBase: defaultBase, KeyOptional: true,
	})
	p := &Provider{settings: s, wrong: s.Check(), shown: map[string]provider.Model{}}
	if p.wrong == nil {
		p.client, p.wrong = dial(s)
	}
	if err := p.options(env); err != nil && p.wrong == nil {
		p.wrong = &provider.Error{Class: provider.ClassInvalid, Message: "ollama: settings: " + err.Error()}
	}
	return p
}

func (p *Provider) options(env upstream.Env) error {
	if v := env("OLLAMA_CONTEXT_LENGTH"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n <= 0 {
			return fmt.Errorf("OLLAMA_CONTEXT_LENGTH: want a number of tokens")
		}
		p.context = n
	}
	if v := env("OLLAMA_KEEP_ALIVE"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil {
			return fmt.Errorf("OLLAMA_KEEP_ALIVE: want a duration such as 10m")
		}
		p.keep = &api.Duration{Duration: d}
	}
	return nil
}

// placeholder stands for the server towards Ollama's client, which would read a
// private key of the user to sign requests to ollama.com. A redirecting transport
// puts the real address, and the key that was configured.
var placeholder = url.URL{Scheme: "http", Host: "server.invalid"}

func dial(s upstream.Settings) (*api.Client, error) {
	client := s.Client(failure.Ollama)
	client.Transport = &address{base: s.Base, key: s.Key, next: client.Transport}
	return api.NewClient(&placeholder, client), nil
}

type address struct {
	base *url.URL
	key  string
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (a *address) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	to := *a.base
	to.Path = strings.TrimSuffix(to.Path, "/") + "/" + strings.TrimPrefix(r.URL.Path, "/")
	r.URL = &to
	r.Host = ""
	if a.key != "" {
		r.Header.Set("Authorization", "Bearer "+a.key)
	}
	return a.next.RoundTrip(r)
}

// Info implements provider.Provider. A server on this machine is local.
func (p *Provider) Info(context.Context) (provider.Info, error) {
	info := provider.Info{Name: "ollama", Version: Version, Note: "the models of an Ollama server"}
	if p.settings.Base != nil {
		host := p.settings.Base.Hostname()
		info.Local = host == "localhost" || net.ParseIP(host).IsLoopback()
		info.Note += " at " + p.settings.Base.Host
	}
	return info, nil
}

// Models implements provider.Provider: those the server has, what they can do,
// which are loaded, and the memory they take: in memory for those that are
// loaded, on disk for the others, which is about the same.
func (p *Provider) Models(ctx context.Context) ([]provider.Model, error) {
	if p.wrong != nil {
		return nil, p.wrong
	}
	models, err := p.list(ctx)
	if err != nil {
		return nil, p.settings.Fail(ctx, "list models", err)
	}
	have := func(context.Context) ([]provider.Model, error) { return models, nil }
	return catalog.New(nil, p.settings.Models, provider.Model{}, have).Models(ctx)
}

func (p *Provider) list(ctx context.Context) ([]provider.Model, error) {
	tags, err := p.client.List(ctx)
	if err != nil {
		return nil, err
	}
	running, err := p.client.ListRunning(ctx)
	if err != nil {
		return nil, err
	}
	models := make([]provider.Model, 0, len(tags.Models))
	for _, tag := range tags.Models {
		m, err := p.show(ctx, tag)
		if err != nil {
			return nil, err
		}
		models = append(models, p.inMemory(m, running.Models))
	}
	return models, nil
}

// show asks what a model can, once for each.
func (p *Provider) show(ctx context.Context, tag api.ListModelResponse) (provider.Model, error) {
	p.mu.Lock()
	m, ok := p.shown[tag.Digest+tag.Name]
	p.mu.Unlock()
	if ok {
		return m, nil
	}
	shown, err := p.client.Show(ctx, &api.ShowRequest{Model: tag.Name})
	if err != nil {
		return provider.Model{}, err
	}
	can := func(c model.Capability) bool { return slices.Contains(shown.Capabilities, c) }
	text := can(model.CapabilityCompletion)
	m = provider.Model{
		Name: tag.Name, MemoryBytes: uint64(max(tag.Size, 0)), ContextTokens: number(shown.ModelInfo, ".context_length"),
		Text: text, Streaming: text, JSONSchema: text, Tools: can(model.CapabilityTools), Thinking: can(model.CapabilityThinking),
		Embeddings: can(model.CapabilityEmbedding),
	}
	if m.Embeddings {
		m.Dimensions = number(shown.ModelInfo, ".embedding_length")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown[tag.Digest+tag.Name] = m
	return m, nil
}

// number finds a number of a model whose name begins with its architecture.
func number(info map[string]any, suffix string) int {
	architecture, _ := info["general.architecture"].(string)
	n, _ := info[architecture+suffix].(float64)
	return int(n)
}

// inMemory completes a model by what the server runs, and by the context that we
// ask for.
func (p *Provider) inMemory(m provider.Model, running []api.ProcessModelResponse) provider.Model {
	if p.context > 0 {
		m.ContextTokens = min(p.context, cmp.Or(m.ContextTokens, p.context))
	}
	for _, r := range running {
		if r.Name != m.Name {
			continue
		}
		m.Loaded = true
		m.MemoryBytes = uint64(max(r.Size, 0))
		if p.context == 0 && r.ContextLength > 0 {
			m.ContextTokens = r.ContextLength
		}
	}
	return m
}

// Health implements provider.Provider: it asks for the server's version.
func (p *Provider) Health(ctx context.Context) error {
	if p.wrong != nil {
		return p.wrong
	}
	_, err := p.client.Version(ctx)
	return p.settings.Fail(ctx, "health", err)
}

// Load implements provider.Provider. It returns when the model is in memory.
func (p *Provider) Load(ctx context.Context, model string) error {
	return p.generate(ctx, "load ", model, p.keep)
}

// Unload implements provider.Provider.
func (p *Provider) Unload(ctx context.Context, model string) error {
	return p.generate(ctx, "unload ", model, &api.Duration{})
}

// generate without a prompt changes how long a model is kept, and nothing else.
func (p *Provider) generate(ctx context.Context, doing, model string, keep *api.Duration) error {
	if p.wrong != nil {
		return p.wrong
	}
	stream := false
	request := &api.GenerateRequest{Model: model, Stream: &stream, KeepAlive: keep, Options: p.numbers(nil)}
	err := p.client.Generate(ctx, request, func(api.GenerateResponse) error { return nil })
	return p.settings.Fail(ctx, doing+model, err)
}

// numbers are the options that each request has, with others.
func (p *Provider) numbers(options map[string]any) map[string]any {
	if options == nil {
		options = map[string]any{}
	}
	if p.context > 0 {
		options["num_ctx"] = p.context
	}
	return options
}

// Embed implements provider.Provider. A text longer than the model takes is an
// error and never cut.
func (p *Provider) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	if p.wrong != nil {
		return provider.EmbedResponse{}, p.wrong
	}
	whole := false
	answered, err := p.client.Embed(ctx, &api.EmbedRequest{
		Model: r.Model, Input: r.Texts, Truncate: &whole, KeepAlive: p.keep, Options: p.numbers(nil),
	})
	if err == nil && len(answered.Embeddings) != len(r.Texts) {
		err = answer.Broken("%d vectors for %d texts", len(answered.Embeddings), len(r.Texts))
	}
	if err != nil {
		return provider.EmbedResponse{}, p.settings.Fail(ctx, "embed with "+r.Model, err)
	}
	for _, vector := range answered.Embeddings {
		if err := answer.Unit(vector); err != nil {
			return provider.EmbedResponse{}, p.settings.Fail(ctx, "embed with "+r.Model, err)
		}
	}
	return provider.EmbedResponse{Model: cmp.Or(answered.Model, r.Model), Vectors: answered.Embeddings,
		Usage: provider.Usage{InputTokens: answered.PromptEvalCount}}, nil
}
