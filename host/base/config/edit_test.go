package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
)

func TestEdit(t *testing.T) {
	for _, c := range []struct{ name, file, key, value, want, old string }{
		{"nothing yet", "", "min_free_mb", "10", "min_free_mb: 10\n", ""},
		{"a text", "", "log_level", "debug", "log_level: \"debug\"\n", ""},
		{"in place", "# mine\nmin_free_mb : 5 # low\nlog_level: warn\n", "min_free_mb", "10", "# mine\nmin_free_mb: 10\nlog_level: warn\n", "5"},
		{"no line feed", "log_level: warn", "min_free_mb", "1", "log_level: warn\nmin_free_mb: 1\n", ""},
		{"a group that is not there", "log_level: warn\n", "models.default", "local/x", "log_level: warn\nmodels:\n  default: \"local/x\"\n", ""},
		{"one more in a group", "models:\n    # mine\n    local_only: true\n\nlog_level: warn\n", "models.default", "local/x", "models:\n    # mine\n    local_only: true\n    default: \"local/x\"\n\nlog_level: warn\n", ""},
		{"in place in a group", "models:\n  default: a/b # why\n  local_only: true\n", "models.default", "c/d", "models:\n  default: \"c/d\"\n  local_only: true\n", "a/b"},
		{"groups in groups", "budget:\n  day:\n    usd: 2\n  task: {usd: 1}\n", "budget.day.tokens", "5", "budget:\n  day:\n    usd: 2\n    tokens: 5\n  task: {usd: 1}\n", ""},
		{"a provider", "providers:\n  a: {kind: local}\n", "providers.b.kind", "ollama", "providers:\n  a: {kind: local}\n  b:\n    kind: \"ollama\"\n", ""},
		{"an empty group", "models:\n", "models.local_only", "true", "models:\n  local_only: true\n", ""},
		{"another begins so", "max_fuel: 7\n", "max_memory_mb", "9", "max_fuel: 7\nmax_memory_mb: 9\n", ""},
	} {
		got, old, err := config.Edit([]byte(c.file), config.Change{Key: c.key, Value: c.value})
		if err != nil || string(got) != c.want || !slices.Equal(old, []string{c.old}) {
			t.Errorf("%s: %q, %q, %v", c.name, got, old, err)
		}
	}
}

func TestEditRefuses(t *testing.T) {
	for _, c := range []struct{ file, key, value, want string }{
		{"", "min_fre_mb", "10", "does not exist"},
		{"", "min_free_mb", "much", "min_free_mb"},
		{"", "min_free_mb", "-1", "out of bounds"},
		{"", "min_free_mb", "1\nmax_fuel: 2", "changed alone"},
		{"", "log_level", "loud", "out of bounds"},
		{"", "registries", "x", "list"},
		{"", "models", "x", "group of settings"},
		{"", "models.defualt", "x", "does not exist"},
		{"", "models.default", "x", "out of bounds"},
		{"", "models.local_only", "yes please", "models.local_only"},
		{"", "providers.a.models", "x", "list"},
		{"", "providers.a.secret", "x", "providers.a.kind"},
		{"models: {local_only: true}\n", "models.default", "a/b", "changed alone"},
		{"models:\n  tiers: {fast: a/b}\n", "models.tiers.smart", "a/b", "changed alone"},
		{"", "secret_key", "file", "any more"},
		{"", "store_key_file", "/x", "any more"},
		{"{min_free_mb: 1}\n", "max_fuel", "7", ""},
		{"log_level: >\n  warn\n", "log_level", "info", ""},
		{"a: [\n", "min_free_mb", "1", "read config.yaml"},
		{"", "log_level", "debug" + strings.Repeat(" ", config.MaxFile), "larger"},
	} {
		_, _, err := config.Edit([]byte(c.file), config.Change{Key: c.key, Value: c.value})
		kind := fault.KindUsage
		if c.want == "does not exist" {
			kind = fault.KindNotFound
		}
		if err == nil || fault.AsError(err).Kind != kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %s=%.20q: %v", c.file, c.key, c.value, err)
		}
	}
}

// A setting that is taken out leaves the others, and their comments, as they are.
func TestEditUnset(t *testing.T) {
	for _, c := range []struct{ file, key, want, old string }{
		{"log_level: debug\n", "log_level", "", "debug"},
		{"# mine\nlog_level: debug # why\nmin_free_mb: 1\n", "log_level", "# mine\nmin_free_mb: 1\n", "debug"},
		{"models:\n  # m\n  default: a/b\n  local_only: true\n", "models.local_only", "models:\n  # m\n  default: a/b\n", "true"},
		{"models:\n  default: a/b\nlog_level: debug\n", "models.default", "models:\nlog_level: debug\n", "a/b"},
	} {
		got, old, err := config.Edit([]byte(c.file), config.Change{Key: c.key, Unset: true})
		if err != nil || string(got) != c.want || !slices.Equal(old, []string{c.old}) {
			t.Errorf("%q without %s: %q, %q, %v", c.file, c.key, got, old, err)
		}
	}
	for _, c := range []struct {
		file, key, want string
		kind            fault.Kind
	}{
		{"min_free_mb: 1\n", "log_level", "is not set in config.yaml", fault.KindNotFound},
		{"", "log_levle", "does not exist", fault.KindNotFound},
		{"{min_free_mb: 1}\n", "min_free_mb", "changed alone", fault.KindUsage},
		{"log_level: >\n  warn\n", "log_level", "changed alone", fault.KindUsage},
		{"secret_key: file\n", "secret_key", "any more", fault.KindUsage},
	} {
		_, _, err := config.Edit([]byte(c.file), config.Change{Key: c.key, Unset: true})
		if e := fault.AsError(err); err == nil || e.Kind != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q without %s: %v", c.file, c.key, err)
		}
	}
}

// What is valid only together is set together.
func TestEditSeveral(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	got, old, err := config.Edit([]byte("providers:\n  x: {kind: ollama}\n"),
		config.Change{Key: "providers.mine.kind", Value: "plugin"}, config.Change{Key: "providers.mine.program", Value: "/opt/mine"},
		config.Change{Key: "providers.mine.digest", Value: digest}, config.Change{Key: "min_free_mb", Value: "3"})
	want := "providers:\n  x: {kind: ollama}\n  mine:\n    kind: \"plugin\"\n    program: \"/opt/mine\"\n    digest: \"" + digest + "\"\nmin_free_mb: 3\n"
	if err != nil || string(got) != want || !slices.Equal(old, []string{"", "", "", ""}) {
		t.Errorf("%s, %q, %v", got, old, err)
	}
}

// Whatever the file and the value are: an edit changes one setting or nothing.
func FuzzEdit(f *testing.F) {
	f.Add("log_level: warn\n", "min_free_mb", "3")
	f.Add("min_free_mb: &a 1\nmax_memory_mb: *a\n", "min_free_mb", "3")
	f.Add("models:\n  tiers:\n    fast: a/b\n", "models.tiers.smart", "c/d")
	f.Add("---\nmin_free_mb: 1\n...\n", "log_level", "\"x\"\nmax_fuel: 1")
	f.Fuzz(func(t *testing.T, file, key, value string) {
		after, _, err := config.Edit([]byte(file), config.Change{Key: key, Value: value})
		if err != nil {
			return
		}
		if _, err := config.Parse("x", after, nil); err != nil {
			t.Errorf("the new text cannot be read: %v", err)
		}
	})
}
