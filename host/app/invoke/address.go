package invoke

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// An Address says what is called: an installed skill, what is at a path, or a package
// that is to be fetched. Exactly one of Ref, Path and Source is set. [ParseAddress]
// reads the form in which people write one.
type Address struct {
	// Ref names an installed skill.
	Ref manifests.Ref
	// Path is of a directory, a .skill file, a module or an Extism manifest.
	Path string
	// Source is what package source reads.
	Source string
	// Tool is the tool that was named with it; empty for none.
	Tool string
}

// ParseAddress reads SKILL[@VERSION][:TOOL], PATH[:TOOL] or SOURCE[:TOOL]. A source has
// "://" in it, or begins with "oci-layout:". A path has a separator in it, is "." or "..",
// or ends in ".wasm" or ".skill". The error is a [fault.Error] of [fault.KindUsage].
func ParseAddress(text string) (Address, error) {
	if source, tool, ok := parseSource(text); ok {
		return Address{Source: source, Tool: tool}, nil
	}
	if path, tool, ok := parsePath(text); ok {
		return Address{Path: path, Tool: tool}, nil
	}
	ref, err := manifests.ParseRef(text)
	if err != nil {
		return Address{}, fault.Wrap(fault.KindUsage, err).WithHint("%s shows what is installed; a path begins with ./ or /", fault.List(fault.Skills))
	}
	return Address{Ref: ref, Tool: ref.Tool}, nil
}

// String is the address as a person writes it.
func (a Address) String() string {
	text := a.Path + a.Source
	if a.Installed() {
		return a.Ref.String()
	}
	if a.Tool != "" {
		text += ":" + a.Tool
	}
	return text
}

// skill is the address without the tool.
func (a Address) skill() string {
	a.Tool, a.Ref.Tool = "", ""
	return a.String()
}

// Installed reports whether the address names an installed skill.
func (a Address) Installed() bool { return a.Ref.Name != "" }

// parsePath splits PATH[:TOOL]; ok is false for what does not look like a path.
func parsePath(text string) (path, tool string, ok bool) {
	path = text
	if i := strings.LastIndex(text, ":"); i > 0 && !strings.ContainsAny(text[i:], `/\`) && !exists(text) {
		path, tool = text[:i], text[i+1:]
	}
	ext := filepath.Ext(path)
	ok = strings.ContainsAny(path, `/\`) || path == "." || path == ".." || ext == ".wasm" || ext == bundle.Extension
	return path, tool, ok
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// parseSource splits SOURCE[:TOOL]; ok is false for what does not look like a source.
// The tool is what follows the last colon that is not part of the source.
func parseSource(text string) (source, tool string, ok bool) {
	if !strings.Contains(text, "://") && !strings.HasPrefix(text, "oci-layout:") {
		return text, "", false
	}
	for _, form := range sourceForms() {
		if m := form.FindStringSubmatch(text); m != nil {
			return m[1], m[2], true
		}
	}
	return text, "", true
}

const toolForm = `:([A-Za-z_][A-Za-z0-9_]*)$`

// sourceForms are sources with a tool behind them.
var sourceForms = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`^((?:oci://|oci-layout:|https?://).*[@#]sha256:[0-9a-f]{64})` + toolForm),
		regexp.MustCompile(`^((?:oci://|oci-layout:).*:[A-Za-z0-9_][A-Za-z0-9._-]*)` + toolForm),
		regexp.MustCompile(`^(https?://.*\.skill)` + toolForm),
		regexp.MustCompile(`^(git\+[a-z]+://[^#]*#[^:]*:[^:]*)` + toolForm),
	}
})
