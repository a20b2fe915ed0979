package manifests

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/skillet-run/skillet/manifests/semver"
)

// A Ref names an installed skill, and perhaps one version and one tool of it.
type Ref struct {
	Name    string // a skill's name
	Version string // a semantic version; empty = the active one
	Tool    string // a tool's name; empty = the only tool
}

// ErrRef is what the error of a text that is not a [Ref] wraps.
var ErrRef = errors.New("not a skill reference")

var (
	skillName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	toolName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

const maxName = 64 // characters of the name of a skill or tool

// ParseRef reads "name", "name@version", "name:tool" or "name@version:tool".
// The error wraps [ErrRef] and says which part is wrong.
func ParseRef(text string) (Ref, error) {
	rest, tool, hasTool := strings.Cut(text, ":")
	name, version, hasVersion := strings.Cut(rest, "@")
	switch {
	case !skillName.MatchString(name) || len(name) > maxName:
		return Ref{}, refError(text, "the name is %q; write lower-case letters, digits and single hyphens, such as html-to-text", name)
	case hasVersion && !isVersion(version):
		return Ref{}, refError(text, "the version is %q; write three numbers, such as %s@1.2.0", version, name)
	case hasTool && (!toolName.MatchString(tool) || len(tool) > maxName):
		return Ref{}, refError(text, "the tool is %q; write letters, digits and underscores, such as %s:read_text", tool, name)
	}
	return Ref{Name: name, Version: version, Tool: tool}, nil
}

func refError(text, format string, args ...any) error {
	return fmt.Errorf("%w: %q: %s", ErrRef, shorten(text, 200), fmt.Sprintf(format, args...))
}

func isVersion(text string) bool {
	_, err := semver.ParseVersion(text)
	return err == nil
}

// String writes r the way [ParseRef] reads it.
func (r Ref) String() string {
	text := r.Name
	if r.Version != "" {
		text += "@" + r.Version
	}
	if r.Tool != "" {
		text += ":" + r.Tool
	}
	return text
}
