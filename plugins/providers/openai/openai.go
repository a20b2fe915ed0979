// Package openai is a provider that asks OpenAI, or any server that speaks
// OpenAI's chat completions: vLLM, llama.cpp, LM Studio, OpenRouter, Groq and
// others. It refuses to know the host, budgets and retries.
package openai

import (
	"context"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/answer"
	"github.com/skillet-run/skillet/plugins/providers/internal/catalog"
	"github.com/skillet-run/skillet/plugins/providers/internal/failure"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
)

// Version is the provider's own.
const Version = "1.0.0"

const defaultBase = "https://api.openai.com/v1"

// Provider implements provider.Provider. Make one with [New].
type Provider struct {
	settings upstream.Settings
	limit    string // the name of the field that bounds an answer
	chat     sdk.ChatCompletionService
	vectors  sdk.EmbeddingService
	models   sdk.ModelService
	catalog  *catalog.Catalog
}

// New returns the provider that the environment describes: OPENAI_API_KEY,
// OPENAI_BASE_URL, OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_HEADERS,
// OPENAI_MODELS and OPENAI_MAX_TOKENS_FIELD. What is missing or wrong is an error
// of the methods.
func New(env upstream.Env) *Provider {
	s := upstream.Read(env, upstream.Variables{
		Provider: "openai", Key: "OPENAI_API_KEY", Base: "OPENAI_BASE_URL",
		Headers: "OPENAI_HEADERS", Models: "OPENAI_MODELS", DefaultBase: defaultBase,
	})
	p := &Provider{settings: s, limit: limitField(env("OPENAI_MAX_TOKENS_FIELD"), s.Custom)}
	if s.Check() == nil {
		options := options(env, s)
		p.chat, p.vectors, p.models = sdk.NewChatCompletionService(options...), sdk.NewEmbeddingService(options...), sdk.NewModelService(options...)
	}
	list := p.list
	if !s.Custom {
		list = nil // the table; OpenAI's own list has everything else, too, and no limits
	}
	p.catalog = catalog.New(known, s.Models, assumed, list)
	return p
}

// limitField: OpenAI's models want max_completion_tokens, most other servers
// know max_tokens.
func limitField(configured string, custom bool) string {
	if configured != "" {
		return configured
	}
	if custom {
		return "max_tokens"
	}
	return "max_completion_tokens"
}

// options leave nothing to the SDK's own look at the environment.
func options(env upstream.Env, s upstream.Settings) []option.RequestOption {
	options := []option.RequestOption{
		option.WithBaseURL(s.Base.String()),
		option.WithHTTPClient(s.Client(failure.OpenAI)),
		option.WithMaxRetries(0), // retries are the host's
	}
	if s.Key != "" {
		options = append(options, option.WithAPIKey(s.Key))
	}
	if id := env("OPENAI_ORG_ID"); id != "" {
		options = append(options, option.WithOrganization(id))
	}
	if id := env("OPENAI_PROJECT_ID"); id != "" {
		options = append(options, option.WithProject(id))
	}
	return options
}

// Info implements provider.Provider.
func (p *Provider) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "openai", Version: Version, Note: p.settings.Whose("OpenAI's models") + ", through chat completions"}, nil
}

// Models implements provider.Provider: a table for OpenAI itself, and what the
// server lists for another.
func (p *Provider) Models(ctx context.Context) ([]provider.Model, error) {
	if err := p.settings.Check(); err != nil && p.settings.Custom {
		return nil, err
	}
	models, err := p.catalog.Models(ctx)
	return models, p.settings.Fail(ctx, "list models", err)
}

func (p *Provider) list(ctx context.Context) ([]provider.Model, error) {
	page, err := p.models.List(ctx)
	if err != nil {
		return nil, err
	}
	models := make([]provider.Model, 0, len(page.Data))
	for _, m := range page.Data {
		models = append(models, provider.Model{Name: m.ID, Loaded: true, Embeddings: strings.Contains(m.ID, "embed")})
	}
	return models, nil
}

// Health implements provider.Provider: it lists the models.
func (p *Provider) Health(ctx context.Context) error {
	if err := p.settings.Check(); err != nil {
		return err
	}
	_, err := p.list(ctx)
	return p.settings.Fail(ctx, "health", err)
}

// Load implements provider.Provider. The models are always ready; one that is not
// there is an error.
func (p *Provider) Load(ctx context.Context, model string) error {
	if err := p.settings.Check(); err != nil {
		return err
	}
	if has, err := p.catalog.Has(ctx, model); has || err != nil {
		return p.settings.Fail(ctx, "load "+model, err)
	}
	_, err := p.models.Get(ctx, model)
	return p.settings.Fail(ctx, "load "+model, err)
}

// Unload implements provider.Provider. There is nothing to give back.
func (p *Provider) Unload(context.Context, string) error { return nil }

// Embed implements provider.Provider.
func (p *Provider) Embed(ctx context.Context, r provider.EmbedRequest) (provider.EmbedResponse, error) {
	if err := p.settings.Check(); err != nil {
		return provider.EmbedResponse{}, err
	}
	answered, err := p.vectors.New(ctx, sdk.EmbeddingNewParams{
		Model: r.Model, Input: sdk.EmbeddingNewParamsInputUnion{OfArrayOfStrings: r.Texts},
	})
	if err != nil {
		return provider.EmbedResponse{}, p.settings.Fail(ctx, "embed with "+r.Model, err)
	}
	vectors, err := inOrder(answered.Data, len(r.Texts))
	if err != nil {
		return provider.EmbedResponse{}, p.settings.Fail(ctx, "embed with "+r.Model, err)
	}
	return provider.EmbedResponse{Model: answered.Model, Vectors: vectors, Usage: provider.Usage{InputTokens: int(answered.Usage.PromptTokens)}}, nil
}

// inOrder puts vectors where their index says.
func inOrder(data []sdk.Embedding, n int) ([][]float32, error) {
	vectors := make([][]float32, n)
	for _, one := range data {
		if one.Index < 0 || one.Index >= int64(n) || vectors[one.Index] != nil {
			return nil, answer.Broken("a vector for text %d of %d", one.Index, n)
		}
		vector := make([]float32, len(one.Embedding))
		for i, v := range one.Embedding {
			vector[i] = float32(v)
		}
		if err := answer.Unit(vector); err != nil {
			return nil, err
		}
		vectors[one.Index] = vector
	}
	if len(data) != n {
		return nil, answer.Broken("%d vectors for %d texts", len(data), n)
	}
	return vectors, nil
}
