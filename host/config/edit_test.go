package config_test

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/config"
	"github.com/skillet-run/skillet/host/task"
)

func TestEdit(t *testing.T) {
	for _, c := range []struct{ name, file, key, value, want, old string }{
		{"nothing yet", "", "min_free_mb", "10", "min_free_mb: 10\n", ""},
		{"a text", "", "log_level", "debug", "log_level: \"debug\"\n", ""},
		{"in place", "# mine\nmin_free_mb : 5 # low\nlog_level: warn\n", "min_free_mb", "10", "# mine\nmin_free_mb: 10\nlog_level: warn\n", "5"},
		{"no line feed", "log_level: warn", "min_free_mb", "1", "log_level: warn\nmin_free_mb: 1\n", ""},
		{"another begins so", "max_fuel: 7\n", "max_memory_mb", "9", "max_fuel: 7\nmax_memory_mb: 9\n", ""},
	} {
		got, old, err := config.Edit([]byte(c.file), c.key, c.value)
		if err != nil || string(got) != c.want || old != c.old {
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
		{"", "secret_key", "file", "any more"},
		{"", "store_key_file", "/x", "any more"},
		{"{min_free_mb: 1}\n", "max_fuel", "7", ""},
		{"log_level: >\n  warn\n", "log_level", "info", ""},
		{"a: [\n", "min_free_mb", "1", "read config.yaml"},
		{"", "log_level", "debug" + strings.Repeat(" ", config.MaxFile), "larger"},
	} {
		_, _, err := config.Edit([]byte(c.file), c.key, c.value)
		if err == nil || task.AsError(err).Kind != task.KindUsage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %s=%.20q: %v", c.file, c.key, c.value, err)
		}
	}
}

// Whatever the file and the value are: an edit changes one setting or nothing.
func FuzzEdit(f *testing.F) {
	f.Add("log_level: warn\n", "min_free_mb", "3")
	f.Add("min_free_mb: &a 1\nmax_memory_mb: *a\n", "min_free_mb", "3")
	f.Add("---\nmin_free_mb: 1\n...\n", "log_level", "\"x\"\nmax_fuel: 1")
	f.Fuzz(func(t *testing.T, file, key, value string) {
		after, _, err := config.Edit([]byte(file), key, value)
		if err != nil {
			return
		}
		if _, err := config.Parse("x", after, nil); err != nil {
			t.Errorf("the new text cannot be read: %v", err)
		}
	})
}
