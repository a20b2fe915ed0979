package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/duration"
	"github.com/skillet-run/skillet/internal/reexec"

	"github.com/hashicorp/go-hclog"

	"github.com/skillet-run/skillet/host/agents/event"
	"github.com/skillet-run/skillet/host/agents/llm"
	"github.com/skillet-run/skillet/host/agents/llm/budget"
	"github.com/skillet-run/skillet/host/agents/memory"
	"github.com/skillet-run/skillet/host/agents/memory/hashing"
	"github.com/skillet-run/skillet/host/base/config"
	"github.com/skillet-run/skillet/host/base/secret"
	"github.com/skillet-run/skillet/host/base/store"
	"github.com/skillet-run/skillet/host/record/registry"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/provider"
	"github.com/skillet-run/skillet/plugins/provider/local"
)

// ModelParts are what [Models] work on. All are needed.
type ModelParts struct {
	Plugins *Plugins
	Config  *config.Config
	Store   store.Store
	Events  *event.Bus
}

// Models asks the models of a home's providers: those that are installed or configured, and
// the local one. Their processes are started when they are asked. It is safe for concurrent
// use.
type Models struct {
	ModelParts
	log hclog.Logger

	mu     sync.Mutex
	router *llm.Router
	ledger *budget.Ledger
	named  *providers
}

// NewModels makes Models. Close them when done.
func NewModels(log hclog.Logger, p ModelParts) *Models { return &Models{ModelParts: p, log: log} }

// Close ends what was asked for. It does not stop the plugins.
func (m *Models) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.router == nil {
		return nil
	}
	return m.router.Close()
}

// Router asks models.
func (m *Models) Router(ctx context.Context) (*llm.Router, error) {
	err := m.open(ctx)
	return m.router, err
}

// Budget is what models may cost.
func (m *Models) Budget(ctx context.Context) (*budget.Ledger, error) {
	err := m.open(ctx)
	return m.ledger, err
}

func (m *Models) open(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.router != nil {
		return nil
	}
	s := m.Config.Settings()
	named := &providers{plugins: m.Plugins, settings: s}
	if err := named.look(ctx); err != nil {
		return err
	}
	m.named = named
	m.ledger = budget.Open(m.log.Named("budget"), m.Store.KV(), m.Events, budgetSettings(s.Budget))
	m.router = llm.New(m.log.Named("models"), m.Store, m.Events, m.ledger, named, modelSettings(s))
	return nil
}

func budgetSettings(b config.Budget) budget.Settings {
	amount := func(a config.Allowance) budget.Amount {
		return budget.Amount{Tokens: a.Tokens, MicroUSD: budget.MicroUSD(a.USD)}
	}
	s := budget.Settings{Day: amount(b.Day), Month: amount(b.Month), Task: amount(b.Task), Alert: b.AlertPercent / 100}
	if s.Alert == 0 {
		s.Alert = 1 // no alert
	}
	return s
}

func modelSettings(s config.Settings) llm.Settings {
	l := llm.Settings{
		Default: s.Models.Default, LocalOnly: s.Models.LocalOnly, CacheTTL: duration.OfSeconds(s.Models.CacheTTLSeconds),
		Fallback: s.Models.Fallbacks(), FallbackRefused: s.Models.FallbackRefused,
		LastResort:  []string{localProvider + "/" + local.Planner, localProvider + "/" + local.Hashing},
		MemoryBytes: uint64(s.Models.MemoryMB) << 20, Tiers: map[llm.Tier][]string{}, Limits: map[string]llm.Limit{}, Models: map[string][]provider.Model{},
	}
	for tier, names := range s.Models.Tiers.Lists() {
		l.Tiers[llm.Tier(tier)] = names
	}
	for name, p := range s.Providers {
		l.Limits[name] = llm.Limit{RequestsPerMinute: p.RequestsPerMinute, TokensPerMinute: p.TokensPerMinute, Timeout: duration.OfSeconds(p.TimeoutSeconds)}
		for _, m := range p.Models {
			l.Models[name] = append(l.Models[name], provider.Model{
				Name: m.Name, Tiers: m.Tiers, ContextTokens: m.ContextTokens, OutputTokens: m.OutputTokens,
				MemoryBytes: uint64(m.MemoryMB) << 20, InputUSD: m.InputUSD, OutputUSD: m.OutputUSD,
			})
		}
	}
	return l
}

// providers are those of a home: the local one, what is installed, and what is
// configured, which may say how an installed one is started, once or several times.
type providers struct {
	plugins  *Plugins
	settings config.Settings

	mu        sync.Mutex
	installed map[string]registry.Skill
}

// look sees what is installed now.
func (p *providers) look(ctx context.Context) error {
	installed, err := p.plugins.packages(ctx, manifests.KindProvider)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.installed = installed
	return nil
}

// packaged is the installed package of a name.
func (p *providers) packaged(name string) (s registry.Skill, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok = p.installed[name]
	return s, ok
}

// Names implements [llm.Providers].
func (p *providers) Names() []string {
	names := map[string]bool{localProvider: true}
	p.mu.Lock()
	for name := range p.installed {
		if !p.renamed(name) {
			names[name] = true
		}
	}
	p.mu.Unlock()
	for name := range p.settings.Providers {
		names[name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// renamed reports whether an installed package is only there to be configured under other
// names: providers of its kind are, and no setting names a model of it. By its own name it
// would be asked for its models without a key.
func (p *providers) renamed(name string) bool {
	if _, configured := p.settings.Providers[name]; configured {
		return false
	}
	m := p.settings.Models
	models := append(m.Fallbacks(), m.Default, p.settings.Memory.Embedder)
	for _, list := range m.Tiers.Lists() {
		models = append(models, list...)
	}
	of := func(model string) bool { return strings.HasPrefix(model, name+"/") }
	others := slices.ContainsFunc(slices.Collect(maps.Values(p.settings.Providers)), func(c config.Provider) bool { return c.Kind == name && c.Program == "" })
	return others && !slices.ContainsFunc(models, of)
}

// onlyLocal reports whether no provider has a language model.
func (p *providers) onlyLocal() bool {
	return !slices.ContainsFunc(p.Names(), func(name string) bool {
		return name != localProvider && p.settings.Providers[name].Kind != localProvider
	})
}

// Provider implements [llm.Providers]. Each request looks at what is installed and
// granted now: of a package that was disabled, removed or revoked meanwhile no process
// goes on.
func (p *providers) Provider(ctx context.Context, name string) (provider.Provider, error) {
	err := p.look(ctx)
	var spec plugins.Spec
	if err == nil {
		spec, err = p.spec(ctx, name)
	}
	if err != nil {
		p.plugins.withdraw(ctx, plugins.KindProvider, name, err)
		return nil, fmt.Errorf("start provider %s: %w", name, err)
	}
	return p.plugins.Supervisor().Provider(ctx, spec)
}

func (p *providers) spec(ctx context.Context, name string) (plugins.Spec, error) {
	c, configured := p.settings.Providers[name]
	s, installed := p.packaged(name)
	switch {
	case configured && c.Kind == localProvider, !configured && !installed && name == localProvider:
		return plugins.Spec{Name: name, Kind: plugins.KindProvider, Args: reexec.Plugin.Arguments(localProvider)}, nil
	case configured && c.Program != "":
		return p.configure(ctx, c, plugins.Spec{Name: name, Kind: plugins.KindProvider, Program: c.Program, Digest: c.Digest})
	case configured:
		if s, installed = p.packaged(c.Kind); !installed {
			return plugins.Spec{}, fault.Errorf(fault.KindNotFound, "the provider %s is of the kind %s, and no package of that name is installed", name, c.Kind).
				Hinted(fault.Hintf("%s, or %s", fault.Install(c.Kind), fault.SetSetting("providers."+name+".program", "")))
		}
	case !installed:
		return plugins.Spec{}, fault.Errorf(fault.KindNotFound, "provider %s not found", name).
			Hinted(fault.Hintf("%s shows those there are", fault.List(fault.Providers)))
	}
	spec, err := p.plugins.spec(ctx, s)
	if err != nil || !configured {
		return spec, err
	}
	spec.Name = name
	return p.configure(ctx, c, spec)
}

// configure puts what is configured of a provider into its environment: its key as
// NAME_API_KEY and its server as NAME_BASE_URL, where NAME is its kind. A package
// says otherwise by the names of its own variables that end so.
func (p *providers) configure(ctx context.Context, c config.Provider, spec plugins.Spec) (plugins.Spec, error) {
	spec.Env = append(spec.Env, c.Env...)
	prefix := strings.ToUpper(strings.ReplaceAll(c.Kind, "-", "_"))
	if c.Secret != "" {
		value, err := p.plugins.Secrets.Get(ctx, c.Secret)
		if errors.Is(err, secret.ErrNotFound) {
			return spec, fault.Errorf(fault.KindNotFound, "the key of the provider %s is the secret %s, which is not set", spec.Name, c.Secret).
				Hinted(fault.Hintf("%s", fault.SetSecret(c.Secret)))
		}
		if err != nil {
			return spec, err
		}
		spec.Env = withVariable(spec.Env, "_API_KEY", prefix, string(value))
		spec.Secrets = append(spec.Secrets, string(value))
	}
	if c.BaseURL != "" {
		spec.Env = withVariable(spec.Env, "_BASE_URL", prefix, c.BaseURL)
	}
	return spec, nil
}

// withVariable sets the variable whose name ends in a suffix, or else prefix and suffix.
func withVariable(env []string, suffix, prefix, value string) []string {
	name := prefix + suffix
	env = slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		n, _, _ := strings.Cut(entry, "=")
		if !strings.HasSuffix(n, suffix) {
			return false
		}
		name = n
		return true
	})
	return append(env, name+"="+value)
}

// errNoLanguageModel means that there is no provider but the local one, which plans
// and has no language model.
var errNoLanguageModel = errors.New("no provider of language models is installed or configured")

// Ready says why no language model answers skills and prompts; nil when one does.
func (m *Models) Ready(ctx context.Context) error {
	if err := m.open(ctx); err != nil {
		return err
	}
	if m.named.onlyLocal() {
		return errNoLanguageModel
	}
	return nil
}

// Generate implements [skillmodel.Generator], for the model calls of skills, and prompts.
func (m *Models) Generate(ctx context.Context, a llm.Ask) (llm.Answer, error) {
	if err := m.Ready(ctx); err != nil {
		return llm.Answer{}, fmt.Errorf("%w: %w", llm.ErrNoModel, err)
	}
	a.Accept = notPlanned
	return m.router.Generate(ctx, a)
}

// notPlanned refuses what the local provider answers, which has no language model.
func notPlanned(r provider.Response) error {
	if r.Model == local.Planner {
		return errNoLanguageModel
	}
	return nil
}

// counted is what models were asked in this process, and which providers answered; nothing
// before a model was wanted.
func (m *Models) counted() ([]llm.Use, map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.router == nil {
		return nil, nil
	}
	return m.router.Counted(), m.router.Health()
}

// Provider is the provider of a name, started.
func (m *Models) Provider(ctx context.Context, name string) (provider.Provider, error) {
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	return m.named.Provider(ctx, name)
}

// Names are the names of the home's providers, sorted.
func (m *Models) Names(ctx context.Context) ([]string, error) {
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	return m.named.Names(), nil
}

// Embedder makes vectors of memories, as a setting names it.
func (m *Models) Embedder(ctx context.Context, name string) (memory.Embedder, error) {
	if name == hashingEmbedder {
		return hashing.New(0), nil
	}
	router, err := m.Router(ctx)
	if err != nil {
		return nil, err
	}
	e, err := router.Embedder(ctx, name)
	if err != nil {
		return nil, fault.Errorf(fault.KindUsage, "setting memory.embedder: the model %s cannot be asked: %w", name, err).
			Hinted(fault.Hintf("%s shows the models there are; %s needs none", fault.List(fault.Providers), hashingEmbedder))
	}
	return e, nil
}
