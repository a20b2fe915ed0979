package manifests_test

import (
	"reflect"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

// resilient is a manifest with two tools and more members.
func resilient(t *testing.T, more string) *manifests.Manifest {
	t.Helper()
	m, err := manifests.Parse([]byte(`name: demo
description: Shows something.
version: 1.0.0
type: code_inline
command: main.wasm
tools:
  - {name: run, input_schema: {type: object}}
  - {name: look, read_only: true, idempotent: true, input_schema: {type: object}}
  - {name: plain, read_only: true}
`+more), "skill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if ps := m.Unsupported(); len(ps) > 0 {
		t.Fatalf("refused: %v", manifests.Errors(ps))
	}
	return m
}

func TestRetries(t *testing.T) {
	t.Parallel()
	usual := manifests.RetryConfig{
		MaxAttempts: 3, BackoffStrategy: manifests.BackoffExponential, BaseDelay: 0.5, MaxDelay: 30,
		RetryOn: []manifests.Reason{manifests.ReasonTimeout, manifests.ReasonNetworkError},
	}
	with := func(change func(*manifests.RetryConfig)) manifests.RetryConfig {
		r := usual
		change(&r)
		return r
	}
	for text, want := range map[string]manifests.RetryConfig{
		"": {MaxAttempts: 1},
		"resilience: {retry_config: {max_attempts: 1}}":              {MaxAttempts: 1},
		"resilience: {retry_config: {}}":                             usual,
		"resilience: {retry_config: {max_attempts: 5}}":              with(func(r *manifests.RetryConfig) { r.MaxAttempts = 5 }),
		"resilience: {retry_config: {backoff_strategy: linear}}":     with(func(r *manifests.RetryConfig) { r.BackoffStrategy = manifests.BackoffLinear }),
		"resilience: {retry_config: {base_delay: 60}}":               with(func(r *manifests.RetryConfig) { r.BaseDelay, r.MaxDelay = 60, 60 }),
		"resilience: {retry_config: {max_delay: 5}}":                 with(func(r *manifests.RetryConfig) { r.MaxDelay = 5 }),
		"resilience: {retry_config: {retry_on: [resource_limit]}}\n": with(func(r *manifests.RetryConfig) { r.RetryOn = []manifests.Reason{manifests.ReasonResourceLimit} }),
	} {
		if got := resilient(t, text).Retries(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	if _, ok := resilient(t, "").Breaker(); ok {
		t.Error("a breaker nobody asked for")
	}
	for text, want := range map[string]manifests.CircuitBreaker{
		"{}": {FailureThreshold: 5, RecoveryTimeout: 60, HalfOpenProbes: 1},
		"{failure_threshold: 2, recovery_timeout: 0.5, half_open_probes: 3}": {FailureThreshold: 2, RecoveryTimeout: 0.5, HalfOpenProbes: 3},
	} {
		if got, ok := resilient(t, "resilience: {circuit_breaker: "+text+"}").Breaker(); !ok || got != want {
			t.Errorf("%s: got %+v, %v", text, got, ok)
		}
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	const ask = "security: {permissions: {skills: [\"other-*\"]}}\n"
	for text, want := range map[string]manifests.Ref{
		"":                                     {},
		"resilience: {fallback_command: look}": {Tool: "look"},
		ask + `resilience: {fallback_command: "other-one:run"}`:          {Name: "other-one", Tool: "run"},
		ask + `resilience: {fallback_command: "other-one@2.0.0-rc:run"}`: {Name: "other-one", Version: "2.0.0-rc", Tool: "run"},
	} {
		got, ok := resilient(t, text).Fallback()
		if got != want || ok != (want.Tool != "") {
			t.Errorf("%q: got %+v, %v", text, got, ok)
		}
	}
}

func TestHealthTool(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"":                             {},
		"{enabled: true}":              {},
		"{enabled: false, tool: look}": {},
		"{enabled: true, tool: look}":  {"look", "{}"},
		"{enabled: true, tool: plain}": {"plain", ""},
		"{enabled: true, tool: look, input: {a: 1}}": {"look", `{"a":1}`},
	} {
		more := ""
		if text != "" {
			more = "resilience: {health_check: " + text + "}"
		}
		tool, input, ok := resilient(t, more).HealthTool()
		if tool.Name != want[0] || string(input) != want[1] || ok != (want[0] != "") {
			t.Errorf("%q: got %s, %s, %v", text, tool.Name, input, ok)
		}
	}
}

func TestPerformance(t *testing.T) {
	t.Parallel()
	plain, caching := resilient(t, ""), resilient(t, "performance: {caching: {result_cache_ttl: 1}}")
	for _, tool := range plain.Tools {
		if plain.Caches(tool) || caching.Caches(tool) != (tool.Name == "look") {
			t.Errorf("%s: kept %v, %v", tool.Name, plain.Caches(tool), caching.Caches(tool))
		}
	}
	for text, want := range map[string][2]int{
		"":                          {},
		"{max_concurrent_calls: 3}": {3, manifests.DefaultQueue},
		"{max_concurrent_calls: 3, execution_queue_size: 0}": {3, 0},
		"{max_concurrent_calls: 1, execution_queue_size: 9}": {1, 9},
	} {
		more := ""
		if text != "" {
			more = "performance: {execution: " + text + "}"
		}
		running, waiting, ok := resilient(t, more).Queue()
		if running != want[0] || waiting != want[1] || ok != (text != "") {
			t.Errorf("%q: got %d, %d, %v", text, running, waiting, ok)
		}
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	const head = `{"name":"demo","description":"d","version":"1.0.0","command":"m.wasm","tools":[{"name":"run"}],"type":`
	for members, want := range map[string]manifests.Sessions{
		``: {Seconds: 3600, Max: 10, Discard: true, Persist: true},
		`,"session_config":{"session_timeout":5,"max_sessions":2,"cleanup_on_exit":false,"state_persistence":false}`: {Seconds: 5, Max: 2},
		`,"session_config":{"cleanup_on_exit":true,"state_persistence":true}`:                                        {Seconds: 3600, Max: 10, Discard: true, Persist: true},
	} {
		m, err := manifests.Parse([]byte(head+`"code_session"`+members+`}`), "skill.json")
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Sessions(); !ok || got != want {
			t.Errorf("%s: %+v, %v", members, got, ok)
		}
	}
	m, err := manifests.Parse([]byte(head+`"code_inline"}`), "skill.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Sessions(); ok {
		t.Error("a code_inline skill has sessions")
	}
}
