package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// providersKey is the setting that has a group for each provider.
const providersKey = "providers"

// Providers are the providers of models, by name.
type Providers map[string]Provider

// String is the names, as `skillet config list` shows it.
func (p Providers) String() string {
	if len(p) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(p)), ", ")
}

// A Provider answers requests for models.
type Provider struct {
	// Kind is one of [ProviderKinds].
	Kind string `koanf:"kind" json:"kind" doc:"what it is: openai (and servers like it), anthropic, gemini, ollama, local, or plugin"`
	// BaseURL is where its server is; empty for the usual one.
	BaseURL string `koanf:"base_url" json:"base_url,omitempty" doc:"where its server is, http:// or https://; empty: the usual one"`
	// Secret names the secret in the vault that holds its key; empty for none.
	Secret string `koanf:"secret" json:"secret,omitempty" doc:"the name of the secret that holds its key"`
	// Program is the plugin to start, and Digest what its file must hash to.
	Program string `koanf:"program" json:"program,omitempty" doc:"the file of the plugin to start, an absolute path"`
	Digest  string `koanf:"digest" json:"digest,omitempty" doc:"what that file must hash to: sha256: and 64 hexadecimal digits"`
	// Env are more variables of its environment, NAME=value.
	Env []string `koanf:"env" json:"env,omitempty" doc:"more variables of its environment, a list of NAME=value; no place for keys, which are secrets"`
	// Models say more about its models than it does itself.
	Models []ProviderModel `koanf:"models" json:"models,omitempty" doc:"its models, a list: name, tiers, context_tokens, output_tokens, memory_mb, input_usd, output_usd"`
	// RequestsPerMinute and TokensPerMinute bound what it is sent; 0 bounds nothing.
	RequestsPerMinute int `koanf:"requests_per_minute" json:"requests_per_minute,omitempty" doc:"how many requests it is sent in a minute; 0: no bound"`
	TokensPerMinute   int `koanf:"tokens_per_minute" json:"tokens_per_minute,omitempty" doc:"how many tokens it is sent in a minute; 0: no bound"`
	// TimeoutSeconds bounds one request; 0 leaves it to the host.
	TimeoutSeconds float64 `koanf:"timeout_seconds" json:"timeout_seconds,omitempty" doc:"the longest that one answer of it may take, in seconds; 0: the usual time"`
}

// A ProviderModel says of a model what its provider does not, or says otherwise.
type ProviderModel struct {
	Name  string   `koanf:"name" json:"name"`
	Tiers []string `koanf:"tiers" json:"tiers,omitempty"`
	// ContextTokens and OutputTokens bound a request with its answer, and the
	// answer. Here and below, 0 leaves it to the provider.
	ContextTokens int `koanf:"context_tokens" json:"context_tokens,omitempty"`
	OutputTokens  int `koanf:"output_tokens" json:"output_tokens,omitempty"`
	// MemoryMB is what it takes on this machine while it is loaded.
	MemoryMB int `koanf:"memory_mb" json:"memory_mb,omitempty"`
	// InputUSD and OutputUSD are the price of a million tokens.
	InputUSD  float64 `koanf:"input_usd" json:"input_usd,omitempty"`
	OutputUSD float64 `koanf:"output_usd" json:"output_usd,omitempty"`
}

// String is the name, as `skillet config list` shows it.
func (m ProviderModel) String() string { return m.Name }

// ProviderKinds are the kinds of providers.
func ProviderKinds() []string {
	return []string{"openai", "anthropic", "gemini", "ollama", "local", "plugin"}
}

var (
	providerName  = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	secretName    = lazyregexp.New(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	variable      = lazyregexp.New(`^[A-Z_][A-Z0-9_]*=`)
	programDigest = lazyregexp.New(`^sha256:[0-9a-f]{64}$`)
)

// isModelName reports whether a text can be what a provider calls a model. A regular
// expression of it takes longer to compile than a command to run.
func isModelName(text string) bool {
	n := utf8.RuneCountInString(text)
	return n > 0 && n <= 200 && !strings.ContainsFunc(text, func(r rune) bool {
		return r == ',' || unicode.IsSpace(r) || unicode.Is(unicode.C, r)
	})
}

// checkProviders refuses what cannot be meant, saying which provider it is.
func checkProviders(ps Providers, sources map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(ps)) {
		prefix := providersKey + "." + name + "."
		if len(name) > 40 || !providerName().MatchString(name) {
			return fault.Errorf(fault.KindUsage, "setting %s: %q is not a name of a provider", providersKey, name).
				WithHint("it has up to 40 lower-case letters, digits and single dashes between them")
		}
		if err := ps[name].check(prefix, sources); err != nil {
			return err
		}
	}
	return nil
}

func (p Provider) check(prefix string, sources map[string]string) error {
	own := p.Kind != "local"
	err := firstBroken(sources, []bound{
		{prefix + "kind", slices.Contains(ProviderKinds(), p.Kind), strings.Join(ProviderKinds(), ", ")},
		{prefix + "base_url", p.BaseURL == "" || own && isServer(p.BaseURL), "http:// or https:// and a host, without a name, a password, a query; local has none"},
		{prefix + "secret", p.Secret == "" || own && secretName().MatchString(p.Secret), "the name of a secret: lower-case letters, digits, dots, dashes and underscores; local has none"},
		{prefix + "program", (p.Program == "" || own && filepath.IsAbs(p.Program)) && (p.Kind != "plugin" || p.Program != ""), "the absolute path of a file; a plugin must have one, and local has none"},
		{prefix + "digest", (p.Digest == "") == (p.Program == "") && (p.Digest == "" || programDigest().MatchString(p.Digest)), "sha256: and the 64 hexadecimal digits of the program's hash, which goes with program: `sha256sum FILE`"},
		{prefix + "env", !slices.ContainsFunc(p.Env, func(v string) bool { return !own || !variable().MatchString(v) }), "a list of NAME=value, where NAME has upper-case letters, digits and _; local has none"},
		{prefix + "requests_per_minute", p.RequestsPerMinute >= 0 && p.RequestsPerMinute <= 1_000_000, "0 to 1000000"},
		{prefix + "tokens_per_minute", p.TokensPerMinute >= 0 && p.TokensPerMinute <= 1_000_000_000, "0 to 1000000000"},
		{prefix + "timeout_seconds", p.TimeoutSeconds >= 0 && p.TimeoutSeconds <= 3600, "0 to 3600"},
	})
	if err != nil {
		return err
	}
	return checkModels(p.Models, prefix+"models", sources[prefix+"models"])
}

// isServer reports whether a text is the address of an HTTP server and no more.
func isServer(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

func checkModels(ms []ProviderModel, key, source string) error {
	seen := map[string]bool{}
	for i, m := range ms {
		for _, c := range []struct {
			field string
			value any
			ok    bool
			want  string
		}{
			{"name", m.Name, isModelName(m.Name) && !seen[m.Name], "a name of a model, which is there once"},
			{"tiers", m.Tiers, !slices.ContainsFunc(m.Tiers, func(t string) bool { return !isTier(t) }), "fast, balanced, smart, code, conversation"},
			{"context_tokens", m.ContextTokens, m.ContextTokens >= 0 && m.ContextTokens <= 1<<30, "0 to 1073741824"},
			{"output_tokens", m.OutputTokens, m.OutputTokens >= 0 && m.OutputTokens <= 1<<30, "0 to 1073741824"},
			{"memory_mb", m.MemoryMB, m.MemoryMB >= 0 && m.MemoryMB <= 1<<24, "0 to 16777216"},
			{"input_usd", m.InputUSD, m.InputUSD >= 0 && m.InputUSD <= 1e6, "0 to 1000000, for a million tokens"},
			{"output_usd", m.OutputUSD, m.OutputUSD >= 0 && m.OutputUSD <= 1e6, "0 to 1000000, for a million tokens"},
		} {
			if !c.ok {
				return fault.Errorf(fault.KindUsage, "setting %s[%d]%s: the %s is %q", key, i, from(source), c.field, fmt.Sprint(c.value)).WithHint("it must be %s", c.want)
			}
		}
		seen[m.Name] = true
	}
	return nil
}

func isTier(name string) bool {
	_, ok := Tiers{}.named()[name]
	return ok
}
