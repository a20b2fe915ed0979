package config_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/base/config"
)

// write makes a file of a home.
func write(t *testing.T, home, name, text string) string {
	t.Helper()
	path := filepath.Join(home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Each layer overrides those before it, and a value says which it came from.
func TestLayers(t *testing.T) {
	home := t.TempDir()
	file := write(t, home, config.FileName, "models: {default: a/file, tiers: {fast: a/file, smart: a/file, code: a/file}, local_only: true}\nproviders: {acme: {kind: ollama}}\n")
	env := write(t, home, config.EnvFileName, "# mine\nexport SKILLET_MODELS_TIERS_FAST='a/envfile' # why\n\nSKILLET_MODELS_TIERS_SMART=a/envfile\nSKILLET_MODELS_TIERS_CODE=\"a/envfile\"\n")
	c, err := config.Load(context.Background(), home, config.Layers{
		Environ: []string{"SKILLET_MODELS_TIERS_SMART=a/environ", "SKILLET_MODELS_TIERS_CODE=a/environ", "SKILLET_PROVIDERS_MY_OWN_REQUESTS_PER_MINUTE=7", "SKILLET_PROVIDERS_MY_OWN_KIND=local", "SKILLET_MODELS_LOCAL_ONLY=false"},
		Flags:   []string{"models.tiers.code=a/flag=x", "providers.acme.base_url=http://localhost:1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]config.Value{
		"models.default":                       {Value: "a/file", Source: file},
		"models.tiers.fast":                    {Value: "a/envfile", Source: env + ":2"},
		"models.tiers.smart":                   {Value: "a/environ", Source: "SKILLET_MODELS_TIERS_SMART"},
		"models.tiers.code":                    {Value: "a/flag=x", Source: config.FlagSource},
		"models.tiers.balanced":                {Value: "", Source: "default"},
		"models.local_only":                    {Value: false, Source: "SKILLET_MODELS_LOCAL_ONLY"},
		"providers.acme.kind":                  {Value: "ollama", Source: file},
		"providers.acme.base_url":              {Value: "http://localhost:1", Source: config.FlagSource},
		"providers.my-own.requests_per_minute": {Value: 7, Source: "SKILLET_PROVIDERS_MY_OWN_REQUESTS_PER_MINUTE"},
		"budget.day.usd":                       {Value: 10.0, Source: "default"},
		"memory.consolidate_after_hours":       {Value: 24.0, Source: "default"},
	} {
		v, err := c.Get(key)
		if err != nil || v.Value != want.Value || v.Source != want.Source || v.Doc == "" {
			t.Errorf("%s: %+v, %v; want %v from %s", key, v, err, want.Value, want.Source)
		}
	}
	if v, err := c.Get("providers"); err != nil || fmt.Sprint(v.Value) != "acme, my-own" || !strings.Contains(v.Source, file) {
		t.Errorf("%+v, %v", v, err)
	}
	want := map[string][]string{"fast": {"a/envfile"}, "smart": {"a/environ"}, "code": {"a/flag=x"}}
	if got := c.Settings().Models.Tiers.Lists(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// Another environment file stands in for the one of the home, and has to be there.
func TestNamedEnvFile(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	write(t, home, config.EnvFileName, "SKILLET_LOG_LEVEL=debug\n")
	other := write(t, elsewhere, "other", "SKILLET_LOG_FORMAT=json\n")
	third := write(t, elsewhere, "third", "SKILLET_LOG_FORMAT=text\n")
	variable := config.EnvFileVariable + "=" + other
	for _, c := range []struct {
		layers        config.Layers
		level, format string
	}{
		{config.Layers{}, "debug", "text"},
		{config.Layers{EnvFile: other}, "warn", "json"},
		{config.Layers{Environ: []string{variable}}, "warn", "json"},
		{config.Layers{Environ: []string{variable}, EnvFile: third}, "warn", "text"},
	} {
		got, err := config.Load(context.Background(), home, c.layers)
		if err != nil || got.Settings().LogLevel != c.level || got.Settings().LogFormat != c.format {
			t.Errorf("%+v: %v, %v", c.layers, got, err)
		}
	}
	for _, l := range []config.Layers{{EnvFile: other + "-not"}, {EnvFile: elsewhere}, {Environ: []string{variable + "-not"}}} {
		if _, err := config.Load(context.Background(), home, l); err == nil || fault.AsError(err).Kind != fault.KindUsage || fault.AsError(err).Way().String() == "" {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

func TestLayersRefuse(t *testing.T) {
	for _, c := range []struct{ name, file, env, environ, flag, message, hint string }{
		{"a typo in a group", "models: {defualt: a/b}", "", "", "", "setting models.defualt does not exist", "did you mean [choose models.default"},
		{"a typo of a provider", "providers: {acme: {knd: local}}", "", "", "", "providers.acme.knd", "did you mean [choose providers.acme.kind"},
		{"a provider without a kind", "providers: {acme: {secret: x}}", "", "", "", "providers.acme.kind", "openai, anthropic"},
		{"a name", "providers: {ACME: {kind: local}}", "", "", "", `"ACME" is not a name`, "lower-case"},
		{"a key with a dot", "models.default: a/b", "", "", "", "models.default is written with a dot", "models: {default: ...}"},
		{"a group with a value", "models: a/b", "", "", "", "models is a group", "models.default"},
		{"a provider with a value", "providers: {acme: local}", "", "", "", "providers.acme is a group", "providers.acme.kind"},
		{"a variable", "", "", "SKILLET_MODELS_DEFUALT=a/b", "", "SKILLET_MODELS_DEFUALT names no setting", "did you mean [choose models.default"},
		{"a variable of a group", "", "", "SKILLET_MODELS=a/b", "", "SKILLET_MODELS", "models.default"},
		{"a variable of a list", "", "", "SKILLET_PROVIDERS_A_MODELS=x", "", "cannot hold a list", "providers.a.models"},
		{"the variable of all providers", "", "", "SKILLET_PROVIDERS=x", "", "cannot hold a list", "providers"},
		{"a switch", "", "", "SKILLET_MODELS_LOCAL_ONLY=1", "", "neither true nor false", ""},
		{"a typo in the environment file", "", "\nSKILLET_LOG_LEVLE=x", "", "", "env:2: SKILLET_LOG_LEVLE names no setting", "did you mean [choose log_level"},
		{"not ours", "", "LOG_LEVEL=debug", "", "", "env:1: LOG_LEVEL names no setting", "did you mean [choose log_level"},
		{"the home", "", "SKILLET_HOME=/x", "", "", "SKILLET_HOME cannot be set here", "environment"},
		{"twice", "", "SKILLET_LOG_LEVEL=info\nSKILLET_LOG_LEVEL=warn", "", "", "env:2: SKILLET_LOG_LEVEL is there twice, line 1", "delete"},
		{"no line", "", "SKILLET_LOG_LEVEL", "", "", "env:1: it is not NAME=VALUE", "NAME=VALUE"},
		{"quotes", "", "SKILLET_LOG_LEVEL='info", "", "", "quotes do not fit", "NAME=VALUE"},
		{"more behind quotes", "", "SKILLET_LOG_LEVEL='info' x", "", "", "quotes do not fit", "NAME=VALUE"},
		{"out of bounds in the environment file", "", "SKILLET_LOG_LEVEL=loud", "", "", "env:1): out of bounds", "trace"},
		{"no text", "", "SKILLET_LOG_LEVEL=\xff", "", "", "not a text", ""},
		{"a flag", "", "", "", "log_level", "KEY=VALUE", "log_level=debug"},
		{"a typo in a flag", "", "", "", "log_levle=info", "--set: log_levle names no setting", "did you mean [choose log_level"},
		{"out of bounds in a flag", "", "", "", "log_level=", "log_level (from --set)", "trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, l := t.TempDir(), config.Layers{}
			write(t, home, config.FileName, c.file)
			write(t, home, config.EnvFileName, c.env)
			if c.environ != "" {
				l.Environ = []string{c.environ}
			}
			if c.flag != "" {
				l.Flags = []string{c.flag}
			}
			_, err := config.Load(context.Background(), home, l)
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

// A variable stands for one setting.
func TestVariablesAreApart(t *testing.T) {
	c, err := load(t, "providers: {a: {kind: local}}")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, v := range c.List() {
		name := strings.NewReplacer(".", "_", "-", "_").Replace(v.Key)
		if seen[name] != "" {
			t.Errorf("%s and %s have the same variable", v.Key, seen[name])
		}
		seen[name] = v.Key
	}
}

func TestGetGroup(t *testing.T) {
	c, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for key, hint := range map[string]string{"models": "models.default", "budget.day": "budget.day.usd", "models.defult": "did you mean [choose models.default", "providers.acme.kind": "[list_settings]", "providers.acme.knd": "providers.acme.kind"} {
		_, err := c.Get(key)
		if e := fault.AsError(err); e == nil || e.Kind != fault.KindNotFound || !strings.Contains(e.Way().String(), hint) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func FuzzEnvFile(f *testing.F) {
	f.Add([]byte("SKILLET_LOG_LEVEL=debug\n# x\n\nexport SKILLET_MODELS_DEFAULT='a/b'\n"))
	f.Add([]byte("SKILLET_PROVIDERS_A_KIND=\"local\" # y"))
	f.Add([]byte("=\n'='='\n"))
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(home, t.Name()[strings.LastIndex(t.Name(), "/")+1:])
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(path)
		c, err := config.Load(context.Background(), home, config.Layers{EnvFile: path})
		if (c == nil) == (err == nil) {
			t.Errorf("config %v, error %v", c, err)
		}
		if err != nil && fault.AsError(err).Kind != fault.KindUsage {
			t.Error(err)
		}
	})
}
