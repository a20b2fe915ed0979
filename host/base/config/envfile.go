package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/internal/absent"
	"github.com/skillet-run/skillet/internal/openfile"
)

// envFile reads the environment file that is named, or the one in the home when
// there is one.
func (l Layers) envFile(ctx context.Context, home string) ([]assignment, error) {
	path, named := l.EnvFile, l.EnvFile != ""
	for _, v := range l.Environ {
		if value, ok := strings.CutPrefix(v, EnvFileVariable+"="); ok && !named && value != "" {
			path = value
		}
	}
	named = path != ""
	if !named {
		path = filepath.Join(home, EnvFileName)
	}
	f, err := openfile.Open(ctx, path)
	if !named && absent.Is(err, path) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Errorf(fault.KindUsage, "read environment file: %w", err).WithHint("name one that is there, with %s or %s", fault.SetField(fault.FieldEnvFile), EnvFileVariable)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fault.Errorf(fault.KindUsage, "read environment file: %w", err).WithHint("name a file, with %s or %s", fault.SetField(fault.FieldEnvFile), EnvFileVariable)
	}
	return parseEnvFile(path, b)
}

// parseEnvFile reads lines of NAME=VALUE. Blank lines and those that begin with #
// are skipped, "export " may stand in front, and a value may be quoted by '
// or ". Nothing is expanded. A name that is not a setting, or is set twice, is an
// error.
func parseEnvFile(path string, b []byte) ([]assignment, error) {
	if len(b) > MaxFile || !utf8.Valid(b) {
		return nil, fault.Errorf(fault.KindUsage, "environment file %s: not a text, or longer than %d KB", path, MaxFile>>10).
			WithHint("it has lines such as %sLOG_LEVEL=debug", envPrefix)
	}
	var as []assignment
	seen := map[string]int{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		place := fmt.Sprintf("%s:%d", path, n)
		name, value, err := envLine(line)
		switch {
		case err != nil:
			return nil, fault.Errorf(fault.KindUsage, "%s: %w", place, err).WithHint("a line is NAME=VALUE, such as %sLOG_LEVEL=debug", envPrefix)
		case !strings.HasPrefix(name, envPrefix):
			return nil, unknown(fault.KindUsage, strings.ToLower(name), "%s: %s names no setting: the names begin with %s", place, name, envPrefix)
		case slices.Contains(notSettings, name):
			return nil, fault.Errorf(fault.KindUsage, "%s: %s cannot be set here", place, name).WithHint("set it in the environment")
		case seen[name] > 0:
			return nil, fault.Errorf(fault.KindUsage, "%s: %s is there twice, line %d sets it, too", place, name, seen[name]).WithHint("delete one of them")
		}
		seen[name] = n
		if value != "" {
			as = append(as, assignment{key: keyOfVariable(name), name: name, value: value, source: place})
		}
	}
	return as, nil
}

var errLine = errors.New("it is not NAME=VALUE")

// envLine takes a line apart.
func envLine(line string) (name, value string, err error) {
	name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || name == "" || strings.ContainsAny(name, " \t'\"") {
		return "", "", errLine
	}
	if value == "" || value[0] != '\'' && value[0] != '"' {
		return name, value, nil
	}
	quote := value[:1]
	inside, rest, ok := strings.Cut(value[1:], quote)
	if rest = strings.TrimSpace(rest); !ok || rest != "" && rest[0] != '#' {
		return "", "", fmt.Errorf("%w: the quotes do not fit", errLine)
	}
	return name, inside, nil
}
