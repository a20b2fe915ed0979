// Package gemini is a provider that asks the Gemini API. It refuses to know the
// host, budgets and retries, and Google's cloud with its other ways to be let in.
package gemini

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/answer"
	"github.com/skillet-run/skillet/plugins/providers/internal/catalog"
	"github.com/skillet-run/skillet/plugins/providers/internal/failure"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
)

// Version is the provider's own.
const Version = "1.0.0"

const defaultBase = "https://generativelanguage.googleapis.com"

// Provider implements provider.Provider. Make one with [New].
type Provider struct {
	settings upstream.Settings
	client   *genai.Client
	wrong    error
	catalog  *catalog.Catalog
}

// New returns the provider that the environment describes: GEMINI_API_KEY,
// GEMINI_BASE_URL, GEMINI_HEADERS and GEMINI_MODELS. What is missing or wrong is
// an error of the methods.
func New(env upstream.Env) *Provider {
	s := upstream.Read(env, upstream.Variables{
		Provider: "gemini", Key: "GEMINI_API_KEY", Base: "GEMINI_BASE_URL",
		Headers: "GEMINI_HEADERS", Models: "GEMINI_MODELS", DefaultBase: defaultBase,
	})
	p := &Provider{settings: s, wrong: s.Check()}
	list := p.list
	if p.wrong == nil {
		p.client, p.wrong = dial(s)
	}
	if p.wrong != nil {
		list = nil // nobody can be asked: the table
	}
	p.catalog = catalog.New(known, s.Models, assumed, list)
	return p
}

// dial makes a client that looks at nothing in the environment. The SDK wants a
// key even for a server that needs none.
func dial(s upstream.Settings) (*genai.Client, error) {
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		APIKey:      cmp.Or(s.Key, "none"),
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  s.Client(failure.Gemini),
		HTTPOptions: genai.HTTPOptions{BaseURL: strings.TrimSuffix(s.Base.String(), "/") + "/", APIVersion: "v1beta"},
	})
	if err != nil {
		// The SDK's own message has the configuration, with the key, in it.
		return nil, &provider.Error{Class: provider.ClassInvalid, Message: "gemini: settings: the client refuses them"}
	}
	return client, nil
}

// Info implements provider.Provider.
func (p *Provider) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "gemini", Version: Version, Note: p.settings.Whose("Google's Gemini models") + ", through generateContent"}, nil
}

// Models implements provider.Provider: what the server lists, and without a key
// the table.
func (p *Provider) Models(ctx context.Context) ([]provider.Model, error) {
	models, err := p.catalog.Models(ctx)
	return models, p.settings.Fail(ctx, "list models", err)
}

const maxModels = 1000

func (p *Provider) list(ctx context.Context) ([]provider.Model, error) {
	var models []provider.Model
	for m, err := range p.client.Models.All(ctx) {
		if err != nil {
			return nil, err
		}
		if one, ok := model(m); ok {
			models = append(models, one)
		}
		if len(models) == maxModels {
			break
		}
	}
	return models, nil
}

// model is one of the list; those that neither answer nor embed are left out.
func model(m *genai.Model) (provider.Model, bool) {
	text := slices.Contains(m.SupportedActions, "generateContent")
	embeds := slices.Contains(m.SupportedActions, "embedContent")
	return provider.Model{
		Name: strings.TrimPrefix(m.Name, "models/"), ContextTokens: int(m.InputTokenLimit), OutputTokens: int(m.OutputTokenLimit),
		Text: text, Tools: text, JSONSchema: text, Streaming: text, Thinking: text && m.Thinking, Embeddings: embeds, Loaded: true,
	}, text || embeds
}

// Health implements provider.Provider: it lists one model.
func (p *Provider) Health(ctx context.Context) error {
	if p.wrong != nil {
		return p.wrong
	}
	_, err := p.client.Models.List(ctx, &genai.ListModelsConfig{PageSize: 1})
	return p.settings.Fail(ctx, "health", err)
}

// Load implements provider.Provider. The models are always ready; one that is not
// there is an error.
func (p *Provider) Load(ctx context.Context, model string) error {
	if p.wrong != nil {
		return p.wrong
	}
	if has, err := p.catalog.Has(ctx, model); has || err != nil {
		return p.settings.Fail(ctx, "load "+model, err)
	}
	_, err := p.client.Models.Get(ctx, model, nil)
	return p.settings.Fail(ctx, "load "+model, err)
}

// Unload implements provider.Provider. There is nothing to give back.
func (p *Provider) Unload(context.Context, string) error { return nil }

// batch is how many texts the server embeds at a time.
const batch = 100

// Embed implements provider.Provider. The server does not count the tokens, which
// are estimated.
func (p *Provider) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	if p.wrong != nil {
		return provider.EmbedResponse{}, p.wrong
	}
	out := provider.EmbedResponse{Model: r.Model, Usage: provider.Usage{Estimated: true}}
	for texts := range slices.Chunk(r.Texts, batch) {
		vectors, err := p.embed(ctx, r.Model, texts)
		if err != nil {
			return provider.EmbedResponse{}, p.settings.Fail(ctx, "embed with "+r.Model, err)
		}
		out.Vectors = append(out.Vectors, vectors...)
		for _, text := range texts {
			out.Usage.InputTokens += len(text)/4 + 1
		}
	}
	return out, nil
}

func (p *Provider) embed(ctx context.Context, model string, texts []string) ([][]float32, error) {
	var contents []*genai.Content
	for _, text := range texts {
		contents = append(contents, genai.NewContentFromText(text, genai.RoleUser))
	}
	answered, err := p.client.Models.EmbedContent(ctx, model, contents, nil)
	if err != nil {
		return nil, err
	}
	if len(answered.Embeddings) != len(texts) {
		return nil, answer.Broken("%d vectors for %d texts", len(answered.Embeddings), len(texts))
	}
	vectors := make([][]float32, len(texts))
	for i, e := range answered.Embeddings {
		if e == nil {
			return nil, answer.Broken("no vector for text %d", i)
		}
		if err := answer.Unit(e.Values); err != nil {
			return nil, err
		}
		vectors[i] = e.Values
	}
	return vectors, nil
}
