package config_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
)

func TestProviders(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	c, err := load(t, `
providers:
  openai: {kind: openai, secret: openai.key, requests_per_minute: 60, tokens_per_minute: 100000, timeout_seconds: 90}
  mine:
    kind: plugin
    program: /opt/mine
    digest: `+digest+`
    models:
      - {name: "big:70b", tiers: [smart, code], context_tokens: 32768, output_tokens: 4096, memory_mb: 40000, input_usd: 1.5, output_usd: 6}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := config.Providers{
		"openai": {Kind: "openai", Secret: "openai.key", RequestsPerMinute: 60, TokensPerMinute: 100000, TimeoutSeconds: 90},
		"mine": {Kind: "plugin", Program: "/opt/mine", Digest: digest, Models: []config.ProviderModel{{
			Name: "big:70b", Tiers: []string{"smart", "code"}, ContextTokens: 32768, OutputTokens: 4096, MemoryMB: 40000, InputUSD: 1.5, OutputUSD: 6,
		}}},
	}
	if got := c.Settings().Providers; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSettingsOfWorkAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"providers: {a: {kind: magic}}":                                           "providers.a.kind",
		"providers: {a: {kind: local, secret: x}}":                                "providers.a.secret",
		"providers: {a: {kind: openai, secret: 'two words'}}":                     "providers.a.secret",
		"providers: {a: {kind: openai, base_url: 'ftp://x'}}":                     "providers.a.base_url",
		"providers: {a: {kind: openai, base_url: 'https://u:p@x'}}":               "providers.a.base_url",
		"providers: {a: {kind: openai, base_url: 'https://x/v1?key=1'}}":          "providers.a.base_url",
		"providers: {a: {kind: plugin}}":                                          "providers.a.program",
		"providers: {a: {kind: plugin, program: mine}}":                           "providers.a.program",
		"providers: {a: {kind: plugin, program: /x}}":                             "providers.a.digest",
		"providers: {a: {kind: plugin, program: /x, digest: 'sha256:1'}}":         "providers.a.digest",
		"providers: {a: {kind: openai, requests_per_minute: -1}}":                 "providers.a.requests_per_minute",
		"providers: {a: {kind: openai, tokens_per_minute: -1}}":                   "providers.a.tokens_per_minute",
		"providers: {a: {kind: openai, timeout_seconds: 9999}}":                   "providers.a.timeout_seconds",
		"providers: {a: {kind: openai, models: [{name: ''}]}}":                    "providers.a.models[0]",
		"providers: {a: {kind: openai, models: [{name: x}, {name: x}]}}":          "providers.a.models[1]",
		"providers: {a: {kind: openai, models: [{name: x, tiers: [best]}]}}":      "the tiers is",
		"providers: {a: {kind: openai, models: [{name: x, context_tokens: -1}]}}": "the context_tokens is",
		"providers: {a: {kind: openai, models: [{name: x, output_tokens: -1}]}}":  "the output_tokens is",
		"providers: {a: {kind: openai, models: [{name: x, memory_mb: -1}]}}":      "the memory_mb is",
		"providers: {a: {kind: openai, models: [{name: x, input_usd: -1}]}}":      "the input_usd is",
		"providers: {a: {kind: openai, models: [{name: x, output_usd: -1}]}}":     "the output_usd is",
		"providers: {a: {kind: openai, models: [{name: x, colour: red}]}}":        "colour",
		"providers: {a: {kind: openai, models: x}}":                               "models",
		"models: {default: gpt}":                                                  "models.default",
		"models: {tiers: {fast: 'a/b, c'}}":                                       "models.tiers.fast",
		"models: {fallback: 'a/b, c'}":                                            "models.fallback",
		"models: {cache_ttl_seconds: -1}":                                         "models.cache_ttl_seconds",
		"models: {memory_mb: 0}":                                                  "models.memory_mb",
		"models: {local_only: 3}":                                                 "local_only",
		"budget: {day: {tokens: -1}}":                                             "budget.day.tokens",
		"budget: {month: {usd: -0.5}}":                                            "budget.month.usd",
		"budget: {task: {tokens: 0.5}}":                                           "tokens",
		"budget: {alert_percent: 101}":                                            "budget.alert_percent",
		"tasks: {concurrency: 0}":                                                 "tasks.concurrency",
		"tasks: {queue_limit: 0}":                                                 "tasks.queue_limit",
		"tasks: {timeout_seconds: 0}":                                             "tasks.timeout_seconds",
		"tasks: {takeover_seconds: 0}":                                            "tasks.takeover_seconds",
		"tasks: {approve_risk: sometimes}":                                        "tasks.approve_risk",
		"memory: {embedder: magic}":                                               "memory.embedder",
		"memory: {max_records: 0}":                                                "memory.max_records",
		"memory: {consolidate_after_count: 0}":                                    "memory.consolidate_after_count",
		"memory: {consolidate_after_hours: 0}":                                    "memory.consolidate_after_hours",
	} {
		_, err := load(t, text)
		if err == nil || fault.AsError(err).Kind != fault.KindUsage || !strings.Contains(err.Error(), want) || fault.AsError(err).Way().String() == "" {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
