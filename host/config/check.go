package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/task"
)

// check refuses values that are out of bounds, naming where they came from.
func check(s Settings, sources map[string]string) error {
	for _, c := range []struct {
		key  string
		ok   bool
		want string
	}{
		{"log_level", slices.Contains([]string{"trace", "debug", "info", "warn", "error", "off"}, s.LogLevel), "trace, debug, info, warn, error or off"},
		{"log_format", slices.Contains([]string{"text", "json"}, s.LogFormat), "text or json"},
		{"max_memory_mb", s.MaxMemoryMB >= 1 && s.MaxMemoryMB <= 4096, "1 to 4096"},
		{"max_execution_seconds", s.MaxExecutionSeconds > 0 && s.MaxExecutionSeconds <= 86400, "more than 0, at most 86400"},
		{"max_fuel", s.MaxFuel > 0 && s.MaxFuel <= 1<<62, "1 to 4611686018427387904"},
		{"http_timeout_seconds", s.HTTPTimeoutSeconds > 0 && s.HTTPTimeoutSeconds <= 3600, "more than 0, at most 3600"},
		{"http_max_mb", s.HTTPMaxMB >= 1 && s.HTTPMaxMB <= 1024, "1 to 1024"},
		{"secret_key", slices.Contains([]string{"auto", "file", "keyring"}, s.SecretKey), "auto, file or keyring"},
		{"lock_wait_seconds", s.LockWaitSeconds > 0 && s.LockWaitSeconds <= 3600, "more than 0, at most 3600"},
		{"proposal_expiry_days", s.ProposalExpiryDays > 0 && s.ProposalExpiryDays <= 3650, "more than 0, at most 3650"},
		{"min_free_mb", s.MinFreeMB >= 0, "0 or more"},
		{"session_max_mb", s.SessionMaxMB >= 1 && s.SessionMaxMB <= 256, "1 to 256"},
		{"sessions_total_mb", s.SessionsTotalMB >= 1 && s.SessionsTotalMB <= 1<<20, "1 to 1048576"},
		{"record_calls", s.RecordCalls >= 0 && s.RecordCalls <= 1000, "0 to 1000"},
		{"record_calls_mb", s.RecordCallsMB >= 1 && s.RecordCallsMB <= 1<<16, "1 to 65536"},
		{"record_calls_days", s.RecordCallsDays > 0 && s.RecordCallsDays <= 3650, "more than 0, at most 3650"},
		{"download_timeout_seconds", s.DownloadTimeoutSeconds > 0 && s.DownloadTimeoutSeconds <= 86400, "more than 0, at most 86400"},
	} {
		if !c.ok {
			return task.Errorf(task.KindUsage, "setting %s%s: out of bounds", c.key, from(sources[c.key])).
				WithHint("it must be %s", c.want)
		}
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
