package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/policies/limit"
)

// A bound is what holds for a setting.
type bound struct {
	key  string
	ok   bool
	want string
}

// firstBroken is the error of the first setting that is out of bounds.
func firstBroken(sources map[string]string, bounds []bound) error {
	for _, b := range bounds {
		if !b.ok {
			return fault.Errorf(fault.KindUsage, "setting %s%s: out of bounds", b.key, from(sources[b.key])).
				WithHint("it must be %s", b.want)
		}
	}
	return nil
}

// boundsOfCalls are those of the limits on a call.
func boundsOfCalls(c limit.Ceilings) (all []bound) {
	for _, l := range limit.All() {
		if l.Setting() == "" {
			continue
		}
		want := fmt.Sprintf("1 to %.0f", l.Number(l.Most()))
		if l.IsTime() {
			want = fmt.Sprintf("more than 0, at most %g", l.Number(l.Most()))
		}
		all = append(all, bound{l.Setting(), c.Of(l) > 0 && c.Of(l) <= l.Most(), want})
	}
	return all
}

// boundsOfWork are those of models, budgets, tasks and the memory.
func boundsOfWork(s Settings) []bound {
	const (
		model  = "PROVIDER/MODEL"
		tokens = "0 to 1000000000000"
		usd    = "0 to 1000000"
	)
	bounds := []bound{
		{"models.default", s.Models.Default == "" || isModel(s.Models.Default), model},
		{"models.cache_ttl_seconds", s.Models.CacheTTLSeconds >= 0 && s.Models.CacheTTLSeconds <= 86400*365, "0 to 31536000"},
		{"models.memory_mb", s.Models.MemoryMB >= 1 && s.Models.MemoryMB <= 1<<24, "1 to 16777216"},
		{"budget.alert_percent", s.Budget.AlertPercent >= 0 && s.Budget.AlertPercent <= 100, "0 to 100"},
		{"tasks.concurrency", s.Tasks.Concurrency >= 1 && s.Tasks.Concurrency <= 256, "1 to 256"},
		{"tasks.queue_limit", s.Tasks.QueueLimit >= 1 && s.Tasks.QueueLimit <= 1_000_000, "1 to 1000000"},
		{"tasks.timeout_seconds", s.Tasks.TimeoutSeconds > 0 && s.Tasks.TimeoutSeconds <= 86400*31, "more than 0, at most 2678400"},
		{"tasks.takeover_seconds", s.Tasks.TakeoverSeconds >= 1 && s.Tasks.TakeoverSeconds <= 3600, "1 to 3600"},
		{"tasks.approve_risk", slices.Contains([]string{"low", "medium", "high", "never"}, s.Tasks.ApproveRisk), "low, medium, high or never"},
		{"mcp.tools_budget", s.MCP.ToolsBudget >= 0 && s.MCP.ToolsBudget <= 1_000_000, "0 to 1000000"},
		{"service.token_rate", s.Service.TokenRate > 0 && s.Service.TokenRate <= 1e6, "more than 0, at most 1000000"},
		{"service.rate", s.Service.Rate > 0 && s.Service.Rate <= 1e6, "more than 0, at most 1000000"},
		{"service.in_flight", s.Service.InFlight >= 1 && s.Service.InFlight <= 100_000, "1 to 100000"},
		{"service.streams", s.Service.Streams >= 1 && s.Service.Streams <= 100_000, "1 to 100000"},
		{"service.connections", s.Service.Connections >= 1 && s.Service.Connections <= 100_000, "1 to 100000"},
		{"memory.embedder", s.Memory.Embedder == "hashing" || isModel(s.Memory.Embedder), "hashing, or " + model},
		{"memory.max_records", s.Memory.MaxRecords >= 1 && s.Memory.MaxRecords <= 5_000_000, "1 to 5000000"},
		{"memory.consolidate_after_count", s.Memory.ConsolidateAfterCount >= 1 && s.Memory.ConsolidateAfterCount <= 5_000_000, "1 to 5000000"},
		{"memory.consolidate_after_hours", s.Memory.ConsolidateAfterHours > 0 && s.Memory.ConsolidateAfterHours <= 24*365, "more than 0, at most 8760"},
	}
	for _, a := range []struct {
		name string
		Allowance
	}{{"day", s.Budget.Day}, {"month", s.Budget.Month}, {"task", s.Budget.Task}} {
		bounds = append(bounds,
			bound{"budget." + a.name + ".tokens", a.Tokens >= 0 && a.Tokens <= 1e12, tokens},
			bound{"budget." + a.name + ".usd", a.USD >= 0 && a.USD <= 1e6, usd})
	}
	lists := map[string][]string{"models.fallback": s.Models.Fallbacks()}
	for tier, names := range s.Models.Tiers.Lists() {
		lists["models.tiers."+tier] = names
	}
	for key, names := range lists {
		bounds = append(bounds, bound{key, !slices.ContainsFunc(names, func(n string) bool { return !isModel(n) }), model + ", separated by commas"})
	}
	return bounds
}

// isModel reports whether a text names a model of a provider.
func isModel(text string) bool {
	provider, model, ok := strings.Cut(text, "/")
	return ok && providerName().MatchString(provider) && isModelName(model)
}

// check refuses values that are out of bounds, naming where they came from.
func check(s Settings, sources map[string]string) error {
	err := firstBroken(sources, append(boundsOfCalls(s.Ceilings), []bound{
		{"log_level", slices.Contains([]string{"trace", "debug", "info", "warn", "error", "off"}, s.LogLevel), "trace, debug, info, warn, error or off"},
		{"releases", s.Releases == "" || listAddress().MatchString(s.Releases), "empty, oci://HOST/REPO, oci-layout:DIR or https://HOST/SHA256SUMS"},
		{"log_format", slices.Contains([]string{"text", "json"}, s.LogFormat), "text or json"},
		{"module_limit_factor", s.ModuleLimitFactor >= 1 && s.ModuleLimitFactor <= 16, "1 to 16"},
		{"compile_timeout_seconds", s.CompileTimeoutSeconds >= 1 && s.CompileTimeoutSeconds <= 3600, "1 to 3600"},
		{"http_timeout_seconds", s.HTTPTimeoutSeconds > 0 && s.HTTPTimeoutSeconds <= 3600, "more than 0, at most 3600"},
		{"http_max_mb", s.HTTPMaxMB >= 1 && s.HTTPMaxMB <= 1024, "1 to 1024"},
		{"secret_key", slices.Contains([]string{"auto", "file", "keyring"}, s.SecretKey), "auto, file or keyring"},
		{"store_backend", slices.Contains(StoreBackends(), s.StoreBackend), strings.Join(StoreBackends(), " or ")},
		{"audit_sync", slices.Contains([]string{SyncAuto, SyncEach, SyncGroup}, s.AuditSync), "auto, each or group"},
		{"lock_wait_seconds", s.LockWaitSeconds > 0 && s.LockWaitSeconds <= 3600, "more than 0, at most 3600"},
		{"proposal_expiry_days", s.ProposalExpiryDays > 0 && s.ProposalExpiryDays <= 3650, "more than 0, at most 3650"},
		{"min_free_mb", s.MinFreeMB >= 0, "0 or more"},
		{"session_max_mb", s.SessionMaxMB >= 1 && s.SessionMaxMB <= 256, "1 to 256"},
		{"sessions_total_mb", s.SessionsTotalMB >= 1 && s.SessionsTotalMB <= 1<<20, "1 to 1048576"},
		{"record_calls", s.RecordCalls >= 0 && s.RecordCalls <= 1000, "0 to 1000"},
		{"record_calls_mb", s.RecordCallsMB >= 1 && s.RecordCallsMB <= 1<<16, "1 to 65536"},
		{"record_calls_days", s.RecordCallsDays > 0 && s.RecordCallsDays <= 3650, "more than 0, at most 3650"},
		{"isolation", slices.Contains([]string{IsolationShared, IsolationProcess}, s.Isolation), "shared or process"},
		{"isolated_skills", !slices.ContainsFunc(s.Isolated(), func(p string) bool { return !fits(namePattern(), p) }), "names such as csv, or patterns such as acme-*, separated by commas"},
		{"isolated_processes", s.IsolatedProcesses >= 1 && s.IsolatedProcesses <= 1024, "1 to 1024"},
		{"download_timeout_seconds", s.DownloadTimeoutSeconds > 0 && s.DownloadTimeoutSeconds <= 86400, "more than 0, at most 86400"},
	}...))
	if err == nil {
		err = firstBroken(sources, boundsOfWork(s))
	}
	if err != nil {
		return err
	}
	if err := checkProviders(s.Providers, sources); err != nil {
		return err
	}
	if err := checkRateLimits(s.RateLimits, sources[rateLimitsKey]); err != nil {
		return err
	}
	if err := checkRevocationLists(s.RevocationLists, sources[revocationListsKey]); err != nil {
		return err
	}
	return checkRegistries(s.Registries, sources[registriesKey])
}

func from(source string) string {
	if source == "" {
		return ""
	}
	return fmt.Sprintf(" (from %s)", strings.TrimSpace(source))
}
