// Package config reads the settings of a home: one flat list, each with a
// default, overridden by the home's config.yaml, then by the environment, and
// frozen from then on. An unknown key is an error, and every value knows where
// it came from.
//
// It knows what the settings mean to people, not what the packages do with
// them.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"

	"github.com/skillet-run/skillet/host/task"
)

// Settings are the settings of a home. Every field has a "doc" tag: the text
// that `skillet config list` shows.
type Settings struct {
	// LogLevel is the least severe level that is logged.
	LogLevel string `koanf:"log_level" doc:"least severe level that is logged: trace, debug, info, warn, error, off"`
	// LogFormat is "text" or "json".
	LogFormat string `koanf:"log_format" doc:"form of the log on standard error: text or json"`
	// MaxMemoryMB, MaxExecutionSeconds and MaxFuel are ceilings over what
	// manifests and flags may ask for.
	MaxMemoryMB         int     `koanf:"max_memory_mb" doc:"the most memory any call may have, in MB, whatever its manifest says"`
	MaxExecutionSeconds float64 `koanf:"max_execution_seconds" doc:"the longest any call may take, in seconds, whatever its manifest says"`
	MaxFuel             uint64  `koanf:"max_fuel" doc:"the most fuel any call may use, whatever its manifest says"`
	// HTTPTimeoutSeconds bounds one HTTP request of a guest.
	HTTPTimeoutSeconds float64 `koanf:"http_timeout_seconds" doc:"the longest one HTTP request of a skill may take, in seconds"`
	// HTTPMaxMB bounds the body of one HTTP response.
	HTTPMaxMB int `koanf:"http_max_mb" doc:"the largest HTTP response body a skill may receive, in MB"`
	// SecretKey says where the identity that seals secrets is kept.
	SecretKey string `koanf:"secret_key" doc:"where the key that seals secrets is kept: auto, file, keyring"`
	// StoreKeyFile names a file with the key that encrypts the store at rest.
	StoreKeyFile string `koanf:"store_key_file" doc:"file with 32 bytes as 64 hexadecimal digits that encrypts the store at rest; empty for none; set it before the first use of a home"`
	// LockWaitSeconds bounds how long a command waits for another.
	LockWaitSeconds float64 `koanf:"lock_wait_seconds" doc:"how long a command waits for another command's lock, in seconds"`
	// ProposalExpiryDays is how long a proposal waits for a person.
	ProposalExpiryDays float64 `koanf:"proposal_expiry_days" doc:"how long a proposal waits for a person before it expires, in days"`
	// MinFreeMB is the free space below which the store takes no more writes.
	MinFreeMB int `koanf:"min_free_mb" doc:"free disk space below which nothing more is written, in MB"`
	// DownloadTimeoutSeconds bounds fetching or publishing one package.
	DownloadTimeoutSeconds float64 `koanf:"download_timeout_seconds" doc:"the longest it may take to fetch or publish one package, in seconds"`
	// SessionMaxMB and SessionsTotalMB bound the state of one session, and of all.
	SessionMaxMB    int `koanf:"session_max_mb" doc:"the most that one session of a skill may keep, in MB"`
	SessionsTotalMB int `koanf:"sessions_total_mb" doc:"the most that all sessions together may keep, in MB"`
	// RecordCalls is how many recent calls of each installed skill are kept as
	// recordings; 0 keeps none. RecordCallsMB and RecordCallsDays bound how much
	// they take of each skill, and how old they become.
	RecordCalls     int     `koanf:"record_calls" doc:"how many recent calls of each installed skill are kept as recordings, on which updates are tried; 0 keeps none"`
	RecordCallsMB   int     `koanf:"record_calls_mb" doc:"the most that the kept recordings of one skill may take, in MB"`
	RecordCallsDays float64 `koanf:"record_calls_days" doc:"how long recordings of calls are kept, in days"`
	// RateLimits are how often skills may be called; they can only be set in the
	// file.
	RateLimits []RateLimit `koanf:"rate_limits" doc:"how often skills may be called, a list: skill, tool, max_calls, per_seconds"`
	// Registries are where short names are looked for; they can only be set in
	// the file.
	Registries []Registry `koanf:"registries" doc:"registries that short names are looked for in, a list: name, url, names, mirrors, redirects, plain_http"`
	// RevocationLists are where lists of what is revoked are fetched from; they
	// can only be set in the file.
	RevocationLists []string `koanf:"revocation_lists" doc:"revocation lists that skillet trust revocations update fetches, a list of oci://, oci-layout: and https:// addresses"`
}

// Defaults are the settings of a home without a configuration.
func Defaults() Settings {
	return Settings{
		LogLevel: "warn", LogFormat: "text",
		MaxMemoryMB: 1024, MaxExecutionSeconds: 300, MaxFuel: 1_000_000_000_000,
		HTTPTimeoutSeconds: 30, HTTPMaxMB: 10,
		SecretKey: "auto", LockWaitSeconds: 30, ProposalExpiryDays: 30, MinFreeMB: 64,
		DownloadTimeoutSeconds: 600, SessionMaxMB: 64, SessionsTotalMB: 1024, RecordCallsMB: 32, RecordCallsDays: 30, RateLimits: []RateLimit{}, Registries: []Registry{}, RevocationLists: []string{},
	}
}

// A Value is one setting as people see it.
type Value struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	// Source is "default", the path of the file, or the environment variable.
	Source string `json:"source"`
	Doc    string `json:"doc"`
}

// A Config is the settings together with their sources. It does not change.
type Config struct {
	settings Settings
	values   []Value
}

// Settings are the values in force.
func (c *Config) Settings() Settings { return c.settings }

// List returns every setting in the order of [Settings].
func (c *Config) List() []Value { return slices.Clone(c.values) }

// Get returns one setting, and a [task.KindNotFound] error that suggests the
// nearest key for one that does not exist.
func (c *Config) Get(key string) (Value, error) {
	i := slices.IndexFunc(c.values, func(v Value) bool { return v.Key == key })
	if i < 0 {
		return Value{}, unknown(task.KindNotFound, key, "setting %s does not exist", key)
	}
	return c.values[i], nil
}

// FileName is the name of the configuration file in the home.
const FileName = "config.yaml"

// envPrefix begins the environment variables that override settings:
// SKILLET_LOG_LEVEL sets log_level.
const envPrefix = "SKILLET_"

// notSettings are variables with the prefix that are no settings.
var notSettings = []string{"SKILLET_HOME", "SKILLET_PROVE", "SKILLET_TOOLS"}

// Load reads the configuration of a home. environ is in the form of
// [os.Environ]. Errors are [task.Error]s of [task.KindUsage] that name the file
// or the variable.
func Load(home string, environ []string) (*Config, error) {
	path := filepath.Join(home, FileName)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, b, environ)
}

// Parse is [Load] for a file of that path which holds b.
func Parse(path string, b []byte, environ []string) (*Config, error) {
	k := koanf.New(".")
	if err := k.Load(structs.Provider(Defaults(), "koanf"), nil); err != nil {
		return nil, fmt.Errorf("load default settings: %w", err)
	}
	sources := map[string]string{}
	if err := loadFile(k, path, b, sources); err != nil {
		return nil, err
	}
	if err := loadEnv(k, environ, sources); err != nil {
		return nil, err
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
		return task.Errorf(task.KindUsage, "read configuration %s: %w", path, err).WithHint("it must be a flat YAML mapping of settings, with registries, rate_limits and revocation_lists as lists; `skillet config list` shows them")
	}
	for _, key := range file.Keys() {
		if !slices.Contains(keys(), key) {
			return unknown(task.KindUsage, key, "%s: setting %s does not exist", path, key)
		}
		sources[key] = path
	}
	return k.Merge(file)
}

func loadEnv(k *koanf.Koanf, environ []string, sources map[string]string) error {
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		key, ok := strings.CutPrefix(name, envPrefix)
		if !ok || value == "" || slices.Contains(notSettings, name) {
			continue
		}
		key = strings.ToLower(key)
		if !slices.Contains(keys(), key) {
			return unknown(task.KindUsage, key, "environment variable %s names no setting", name)
		}
		if slices.Contains([]string{registriesKey, rateLimitsKey, revocationListsKey}, key) {
			return task.Errorf(task.KindUsage, "environment variable %s cannot hold a list", name).WithHint("write it in %s in the home, under %s", FileName, key)
		}
		sources[key] = name
	}
	return k.Load(env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return settingsOnly(environ) },
		TransformFunc: func(name, value string) (string, any) {
			return strings.ToLower(strings.TrimPrefix(name, envPrefix)), value
		},
	}), nil)
}

// settingsOnly leaves out what is no setting; an empty variable sets nothing.
func settingsOnly(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		return value == "" || slices.Contains(notSettings, name)
	})
}

func unmarshal(k *koanf.Koanf, path string) (Settings, error) {
	var s Settings
	err := k.UnmarshalWithConf("", &s, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: &s, TagName: "koanf", ErrorUnused: true, DecodeHook: number,
	}})
	if err != nil {
		return s, task.Errorf(task.KindUsage, "read configuration: %w", err).
			WithHint("look at %s and the SKILLET_ environment variables; `skillet config list` shows the settings", path)
	}
	return s, nil
}

// number reads the numbers of environment variables, which are text, in base
// ten, and refuses numbers that would lose a part: min_free_mb: 0.5 is not 0.
func number(_, to reflect.Type, v any) (any, error) {
	text, isText := v.(string)
	f, isFloat := v.(float64)
	whole := to.Kind() == reflect.Int || to.Kind() == reflect.Uint64
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
	case isFloat && whole && f != math.Trunc(f):
		return nil, fmt.Errorf("%v is not a whole number", f)
	}
	return v, nil
}

// fields are the fields of Settings, in order.
func fields() []reflect.StructField {
	return reflect.VisibleFields(reflect.TypeFor[Settings]())
}

func keys() []string {
	var ks []string
	for _, f := range fields() {
		ks = append(ks, f.Tag.Get("koanf"))
	}
	return ks
}

func values(s Settings, sources map[string]string) []Value {
	var vs []Value
	for _, f := range fields() {
		key := f.Tag.Get("koanf")
		source := sources[key]
		if source == "" {
			source = "default"
		}
		vs = append(vs, Value{key, reflect.ValueOf(s).FieldByIndex(f.Index).Interface(), source, f.Tag.Get("doc")})
	}
	return vs
}

func unknown(k task.Kind, key, format string, args ...any) error {
	e := task.Errorf(k, format, args...)
	if best, ok := task.Nearest(key, keys()); ok {
		return e.WithHint("did you mean %s? `skillet config list` shows every setting", best)
	}
	return e.WithHint("`skillet config list` shows every setting")
}
