// Package anthropic is a provider that asks Anthropic's messages API. It refuses
// to know the host, budgets and retries.
package anthropic

import (
	"context"
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/providers/internal/catalog"
	"github.com/skillet-run/skillet/plugins/providers/internal/failure"
	"github.com/skillet-run/skillet/plugins/providers/internal/upstream"
)

// Version is the provider's own.
const Version = "1.0.0"

const defaultBase = "https://api.anthropic.com"

// Provider implements provider.Provider. Make one with [New].
type Provider struct {
	settings upstream.Settings
	messages sdk.MessageService
	models   sdk.ModelService
	catalog  *catalog.Catalog
}

// New returns the provider that the environment describes: ANTHROPIC_API_KEY,
// ANTHROPIC_BASE_URL, ANTHROPIC_HEADERS and ANTHROPIC_MODELS. What is missing or
// wrong is an error of the methods.
func New(env upstream.Env) *Provider {
	s := upstream.Read(env, upstream.Variables{
		Provider: "anthropic", Key: "ANTHROPIC_API_KEY", Base: "ANTHROPIC_BASE_URL",
		Headers: "ANTHROPIC_HEADERS", Models: "ANTHROPIC_MODELS", DefaultBase: defaultBase,
	})
	p := &Provider{settings: s}
	list := p.list
	if s.Check() == nil {
		options := options(s)
		p.messages, p.models = sdk.NewMessageService(options...), sdk.NewModelService(options...)
	} else {
		list = nil // nobody can be asked: the table
	}
	s.Models = slices.DeleteFunc(s.Models, func(m provider.Model) bool { return m.Embeddings })
	p.catalog = catalog.New(known, s.Models, assumed, list)
	return p
}

// options leave nothing to the SDK's own look at the environment and at files.
func options(s upstream.Settings) []option.RequestOption {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(s.Base.String()),
		option.WithHTTPClient(s.Client(failure.Anthropic)),
		option.WithMaxRetries(0), // retries are the host's
	}
	if s.Key != "" {
		options = append(options, option.WithAPIKey(s.Key))
	}
	return options
}

// Info implements provider.Provider.
func (p *Provider) Info(context.Context) (provider.Info, error) {
	return provider.Info{Name: "anthropic", Version: Version, Note: p.settings.Whose("Anthropic's models") + ", through the messages API; it has no embeddings"}, nil
}

// Models implements provider.Provider: what the server lists, and without a key
// the table.
func (p *Provider) Models(ctx context.Context) ([]provider.Model, error) {
	models, err := p.catalog.Models(ctx)
	return models, p.settings.Fail(ctx, "list models", err)
}

const page = 1000 // models

func (p *Provider) list(ctx context.Context) ([]provider.Model, error) {
	answered, err := p.models.List(ctx, sdk.ModelListParams{Limit: sdk.Int(page)})
	if err != nil {
		return nil, err
	}
	models := make([]provider.Model, 0, len(answered.Data))
	for _, m := range answered.Data {
		models = append(models, provider.Model{
			Name: m.ID, ContextTokens: int(m.MaxInputTokens), OutputTokens: int(m.MaxTokens), Loaded: true,
			Text: true, Tools: true, Streaming: true,
			JSONSchema: m.Capabilities.StructuredOutputs.Supported || !m.JSON.Capabilities.Valid(),
			Thinking:   m.Capabilities.Thinking.Supported || !m.JSON.Capabilities.Valid(),
		})
	}
	return models, nil
}

// Health implements provider.Provider: it lists one model.
func (p *Provider) Health(ctx context.Context) error {
	if err := p.settings.Check(); err != nil {
		return err
	}
	_, err := p.models.List(ctx, sdk.ModelListParams{Limit: sdk.Int(1)})
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
	_, err := p.models.Get(ctx, model, sdk.ModelGetParams{})
	return p.settings.Fail(ctx, "load "+model, err)
}

// Unload implements provider.Provider. There is nothing to give back.
func (p *Provider) Unload(context.Context, string) error { return nil }

// Embed implements provider.Provider: it always fails with class invalid.
func (p *Provider) Embed(context.Context, provider.EmbedRequest) (provider.EmbedResponse, error) {
	return provider.EmbedResponse{}, &provider.Error{Class: provider.ClassInvalid,
		Message: "anthropic: embed: Anthropic has no models that embed; choose another provider for embeddings"}
}
