package config

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"

	"github.com/skillet-run/skillet/internal/absent"
)

const (
	// FileName is the name of the configuration file in the home, and
	// EnvFileName that of the environment file beside it.
	FileName    = "config.yaml"
	EnvFileName = "env"
	// EnvFileVariable names another environment file.
	EnvFileVariable = envPrefix + "ENV_FILE"
	// FlagSource is the source of what a flag set.
	FlagSource = "--set"
)

// envPrefix begins the environment variables that override settings:
// SKILLET_LOG_LEVEL sets log_level, SKILLET_MODELS_DEFAULT models.default.
const envPrefix = "SKILLET_"

// notSettings are variables with the prefix that name no setting.
var notSettings = []string{"SKILLET_HOME", "SKILLET_PROVE", "SKILLET_TOOLS", EnvFileVariable}

// Layers are what overrides the file of a home, the later the stronger. The zero
// value overrides nothing but with the environment file of the home.
type Layers struct {
	// EnvFile is read instead of the one in the home, and has to be there. When it
	// is empty, the variable [EnvFileVariable] names one.
	EnvFile string
	// Environ is in the form of [os.Environ].
	Environ []string
	// Flags are settings in the form KEY=VALUE.
	Flags []string
}

// Load reads the configuration of a home. An environment file may be a pipe, which is
// waited for until ctx is done. Errors are [fault.Error]s of
// [fault.KindUsage] that name the file or the variable.
func Load(ctx context.Context, home string, l Layers) (*Config, error) {
	path := filepath.Join(home, FileName)
	b, err := os.ReadFile(path)
	if err != nil && !absent.Is(err, path) {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	file, err := l.envFile(ctx, home)
	if err != nil {
		return nil, err
	}
	return parse(path, b, append(file, append(environment(l.Environ), flags(l.Flags)...)...))
}

// Parse is [Load] for a file of that path which holds b, and an environment.
func Parse(path string, b []byte, environ []string) (*Config, error) {
	return parse(path, b, environment(environ))
}

func parse(path string, b []byte, over []assignment) (*Config, error) {
	k := koanf.New(".")
	if err := k.Load(structs.Provider(Defaults(), "koanf"), nil); err != nil {
		return nil, fmt.Errorf("load default settings: %w", err)
	}
	sources := map[string]string{}
	if err := loadFile(k, path, b, sources); err != nil {
		return nil, err
	}
	for _, a := range over {
		if err := a.apply(k, sources); err != nil {
			return nil, err
		}
	}
	s, err := unmarshal(k, path)
	if err != nil {
		return nil, err
	}
	if err := check(s, sources); err != nil {
		return nil, err
	}
	return &Config{settings: s, values: values(s, sources)}, nil
}

func loadFile(k *koanf.Koanf, path string, b []byte, sources map[string]string) error {
	if len(b) == 0 {
		return nil
	}
	file := koanf.New(".")
	if err := file.Load(rawbytes.Provider(b), yaml.Parser()); err != nil {
		return fault.Errorf(fault.KindUsage, "read configuration %s: %w", path, err).WithHint("it must be a YAML mapping of settings, with registries, rate_limits and revocation_lists as lists; %s shows them", fault.List(fault.Settings))
	}
	if severalDocuments(b) {
		return fault.Errorf(fault.KindUsage, "%s: a second document begins with a line of ---, and its settings would be passed by", path).WithHint("make one mapping of all settings")
	}
	if key := dotted(file.Raw(), ""); key != "" {
		return fault.Errorf(fault.KindUsage, "%s: setting %s is written with a dot in it", path, key).WithHint("write it in its group: %s", nested(key))
	}
	for _, key := range file.Keys() {
		_, ok := findLeaf(key)
		switch {
		case ok && file.Get(key) == nil:
			return fault.Errorf(fault.KindUsage, "%s: setting %s has no value", path, key).WithHint("give it one, or take the line away for its default")
		case ok && key != providersKey:
			sources[key] = path
		case isGroup(key) && empty(file.Get(key)):
			file.Delete(key)
		case isGroup(key):
			return notOne(fault.KindUsage, key, "%s: setting %s is a group of settings", path, key)
		default:
			return unknown(fault.KindUsage, key, "%s: setting %s does not exist", path, key)
		}
	}
	return k.Merge(file)
}

// severalDocuments reports whether a YAML file has a document after its first, which
// the reader of settings would not look at.
func severalDocuments(b []byte) bool {
	begun := false
	for line := range bytes.Lines(b) {
		text := bytes.TrimSpace(line)
		marker := bytes.Equal(bytes.TrimRight(line, " \t\r\n"), []byte("---")) || bytes.HasPrefix(line, []byte("--- "))
		switch {
		case marker && begun:
			return true
		case len(text) > 0 && text[0] != '#' && (!marker || len(text) > 3):
			begun = true
		}
	}
	return false
}

// dotted is the first key of a file that has a dot in it; empty for none.
func dotted(m map[string]any, prefix string) string {
	for key, v := range m {
		if strings.Contains(key, ".") {
			return prefix + key
		}
		if in, ok := v.(map[string]any); ok {
			if found := dotted(in, prefix+key+"."); found != "" {
				return found
			}
		}
	}
	return ""
}

// nested is a key as it is written in a file, in one line.
func nested(key string) string {
	parts := strings.Split(key, ".")
	last := len(parts) - 1
	return strings.Join(parts[:last], ": {") + ": {" + parts[last] + ": ..." + strings.Repeat("}", last)
}

func empty(v any) bool {
	m, ok := v.(map[string]any)
	return v == nil || ok && len(m) == 0
}

// An assignment is one setting of a layer above the file.
type assignment struct {
	key    string // empty when name stands for no setting
	name   string // as it stands there: SKILLET_LOG_LEVEL, or log_level behind --set
	value  string
	source string
	err    error // of its form
}

// apply sets it.
func (a assignment) apply(k *koanf.Koanf, sources map[string]string) error {
	l, ok := findLeaf(a.key)
	switch {
	case a.err != nil:
		return a.err
	case !ok && isGroup(a.key):
		return notOne(fault.KindUsage, a.key, "%s: %s is a group of settings", a.source, a.name)
	case !ok:
		return unknown(fault.KindUsage, a.key, "%s names no setting", a.label())
	case l.of.Kind() == reflect.Slice || l.of.Kind() == reflect.Map:
		return fault.Errorf(fault.KindUsage, "%s cannot hold a list", a.label()).WithHint("write it in %s in the home, under %s", FileName, a.key)
	}
	sources[a.key] = a.source
	return k.Set(a.key, a.value)
}

// label is the name of the assignment's source in messages.
func (a assignment) label() string {
	if a.source == a.name {
		return "environment variable " + a.name
	}
	return a.source + ": " + a.name
}

// environment are the settings of an environment; an empty variable sets nothing.
func environment(environ []string) []assignment {
	var as []assignment
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, envPrefix) || value == "" || slices.Contains(notSettings, name) {
			continue
		}
		as = append(as, assignment{key: keyOfVariable(name), name: name, value: value, source: name})
	}
	return as
}

// flags are the settings of flags.
func flags(given []string) []assignment {
	var as []assignment
	for _, f := range given {
		key, value, ok := strings.Cut(f, "=")
		a := assignment{key: key, name: key, value: value, source: FlagSource}
		if !ok {
			a.err = fault.Errorf(fault.KindUsage, "%s: %q is not KEY=VALUE", FlagSource, f).WithHint("such as %s", fault.SetField(fault.FieldSettings, "log_level=debug"))
		}
		as = append(as, a)
	}
	return as
}

// keyOfVariable is the key of the setting that a variable stands for. When there
// is none, it is what the setting would be called.
func keyOfVariable(name string) string {
	name = strings.ToLower(strings.TrimPrefix(name, envPrefix))
	for _, l := range allLeaves() {
		if strings.ReplaceAll(l.key, ".", "_") == name {
			return l.key
		}
	}
	rest, ok := strings.CutPrefix(name, providersKey+"_")
	if !ok {
		return nearestGroup(name)
	}
	for _, l := range providerLeaves("x") {
		field := strings.TrimPrefix(l.key, providersKey+".x.")
		if provider, ok := strings.CutSuffix(rest, "_"+field); ok {
			return providersKey + "." + strings.ReplaceAll(provider, "_", "-") + "." + field
		}
	}
	return name
}

// nearestGroup puts a dot where one may have been meant, so that the nearest key is
// found: models_defualt is near models.default.
func nearestGroup(name string) string {
	for _, l := range allLeaves() {
		if group, _, ok := strings.Cut(l.key, "."); ok && strings.HasPrefix(name, group+"_") {
			return group + "." + strings.TrimPrefix(name, group+"_")
		}
	}
	return name
}

func unmarshal(k *koanf.Koanf, path string) (Settings, error) {
	var s Settings
	err := k.UnmarshalWithConf("", &s, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &s, TagName: "koanf", ErrorUnused: true, DecodeHook: readText,
	}})
	if err != nil {
		return s, fault.Errorf(fault.KindUsage, "read configuration: %w", err).
			WithHint("look at %s, the environment file and the SKILLET_ environment variables; %s shows the settings", path, fault.List(fault.Settings))
	}
	return s, nil
}

// readText reads the numbers and switches of environment variables, which are
// text, numbers in base ten, and refuses numbers that would lose a part:
// min_free_mb: 0.5 is not 0.
func readText(_, to reflect.Type, v any) (any, error) {
	text, isText := v.(string)
	f, isFloat := v.(float64)
	whole := slices.Contains([]reflect.Kind{reflect.Int, reflect.Int64, reflect.Uint64}, to.Kind())
	switch {
	case isText && whole:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	case isText && to.Kind() == reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", text)
		}
		return n, nil
	case isText && to.Kind() == reflect.Bool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	case isFloat && whole && f != math.Trunc(f):
		return nil, fmt.Errorf("%v is not a whole number", f)
	}
	return v, nil
}
