package config_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
)

func load(t *testing.T, file string, environ ...string) (*config.Config, error) {
	t.Helper()
	home := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(home, config.FileName), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Load(context.Background(), home, config.Layers{Environ: environ})
}

func TestDefaults(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c.Settings(), config.Defaults()) {
		t.Errorf("got %+v", c.Settings())
	}
	for _, v := range c.List() {
		if v.Source != "default" || v.Doc == "" {
			t.Errorf("%+v: want a doc and source default", v)
		}
	}
	if n := countSettings(reflect.TypeFor[config.Settings]()); len(c.List()) != n || n < 40 {
		t.Errorf("%d values, want %d", len(c.List()), n)
	}
}

// countSettings counts the fields that are no groups of fields.
func countSettings(of reflect.Type) (n int) {
	for f := range of.Fields() {
		if f.Type.Kind() == reflect.Struct {
			n += countSettings(f.Type)
		} else {
			n++
		}
	}
	return n
}

func TestPrecedenceAndSources(t *testing.T) {
	c, err := load(t, "log_level: debug\nmax_memory_mb: 128\n", "SKILLET_LOG_LEVEL=info", "SKILLET_HOME=/elsewhere", "PATH=/bin", "SKILLET_LOG_FORMAT=")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]struct {
		value  any
		source string
	}{"log_level": {"info", "SKILLET_LOG_LEVEL"}, "max_memory_mb": {128, config.FileName}, "log_format": {"text", "default"}} {
		v, err := c.Get(key)
		if err != nil || v.Value != want.value || !strings.HasSuffix(v.Source, want.source) {
			t.Errorf("%s: %+v, %v; want %+v", key, v, err, want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ name, file, env, message, hint string }{
		{"a second document", "log_level: info\n---\nlog_level: debug\n", "", "a second document", "one mapping"},
		{"null", "rate_limits: null\n", "", "setting rate_limits has no value", "its default"},
		{"typo in the file", "log_levle: info\n", "", "setting log_levle does not exist", "did you mean [choose log_level"},
		{"typo in the environment", "", "SKILLET_LOG_LEVLE=info", "SKILLET_LOG_LEVLE names no setting", "did you mean [choose log_level"},
		{"wrong type", "max_memory_mb: many\n", "", "max_memory_mb", "[list_settings]"},
		{"out of bounds", "max_memory_mb: 9999\n", "", "max_memory_mb", "1 to 4096"},
		{"out of bounds in the environment", "", "SKILLET_HTTP_MAX_MB=0", "SKILLET_HTTP_MAX_MB", "1 to 1024"},
		{"no word of it", "log_level: loud\n", "", "log_level", "trace, debug"},
		{"no mapping", "- a\n- b\n", "", "config.yaml", "must be a YAML mapping of settings"},
		{"nested", "log_level:\n  deep: 1\n", "", "log_level.deep", "log_level"},
		{"broken", "log_level: [\n", "", "config.yaml", "must be a YAML mapping of settings"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var environ []string
			if c.env != "" {
				environ = []string{c.env}
			}
			_, err := load(t, c.file, environ...)
			if err == nil {
				t.Fatal("accepted")
			}
			e := fault.AsError(err)
			if e.Kind != fault.KindUsage || !strings.Contains(e.Message, c.message) || !strings.Contains(e.Way().String(), c.hint) {
				t.Errorf("got %s: %s / %s", e.Kind, e.Message, e.Way().String())
			}
		})
	}
}

func TestGetUnknown(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Get("max_memory")
	if e := fault.AsError(err); e == nil || e.Kind != fault.KindNotFound || !strings.Contains(e.Way().String(), "max_memory_mb") {
		t.Errorf("got %+v", e)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("log_level: debug\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("max_fuel: 1e3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := load(t, string(b))
		if (c == nil) == (err == nil) {
			t.Errorf("config %v, error %v", c, err)
		}
	})
}

func TestNumbersAreReadAsTheyAreWritten(t *testing.T) {
	c, err := load(t, "max_fuel: 1e9\n", "SKILLET_MAX_MEMORY_MB=010", "SKILLET_MAX_EXECUTION_SECONDS=1.5")
	if err != nil {
		t.Fatal(err)
	}
	s := c.Settings()
	if s.MaxMemoryMB != 10 || s.MaxFuel != 1e9 || s.MaxExecutionSeconds != 1.5 {
		t.Errorf("got %+v", s)
	}
	for _, file := range []string{"min_free_mb: 0.5", "max_memory_mb: true", "max_memory_mb: 1.9", "max_fuel: .inf", "max_fuel: -1", "max_fuel: 1e30", "log_level: 5", "max_memory_mb: [7]"} {
		if _, err := load(t, file+"\n"); err == nil || fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, v := range []string{"SKILLET_MIN_FREE_MB=0.5", "SKILLET_MAX_MEMORY_MB=0x10", "SKILLET_MAX_FUEL=1_000", "SKILLET_MAX_FUEL=-1"} {
		if _, err := load(t, "", v); err == nil || fault.AsError(err).Kind != fault.KindUsage {
			t.Errorf("%s: %v", v, err)
		}
	}
}
