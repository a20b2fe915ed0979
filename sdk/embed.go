// Package sdk holds the source files of the SDKs for skill authors, so that a new
// project can be given those of its language and builds with nothing else. It
// refuses to know what a project looks like.
package sdk

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed go/call.go go/doc.go go/error.go go/file.go go/host_other.go go/host_wasip1.go go/http.go go/import_other.go
//go:embed go/import_wasip1.go go/jsontype.go go/kv.go go/message.go go/request.go go/skill.go go/wire.go
//go:embed c/skillet.h zig/skillet.zig
//go:embed rust/Cargo.toml rust/src/host.rs rust/src/json.rs rust/src/lib.rs
//go:embed js/host.js js/request.js js/shape.js js/skillet.js js/host.d.ts js/shape.d.ts js/skillet.d.ts
//go:embed assemblyscript/skillet/*.ts
//go:embed python/skillet/*.py python/skillet/*.pyi python/skillet/py.typed
var files embed.FS

// source says in which folder the files for a language are.
type source struct {
	language string
	folder   string
}

// sources is the table of languages, in the words of skillet new --lang. What is
// in the folder and embedded is what a project gets.
func sources() []source {
	return []source{
		{"go", "go"},
		{"c", "c"},
		{"cpp", "c"},
		{"zig", "zig"},
		{"rust", "rust"},
		{"assemblyscript", "assemblyscript"},
		{"js", "js"},
		{"ts", "js"},
		{"python", "python"},
	}
}

// Languages lists the languages that have an SDK.
func Languages() []string {
	var names []string
	for _, s := range sources() {
		names = append(names, s.language)
	}
	return names
}

// Files returns the files that a project in a language needs, without tests. It
// is an error when there is no SDK for the language.
func Files(language string) (fs.FS, error) {
	for _, s := range sources() {
		if s.language == language {
			return fs.Sub(files, s.folder)
		}
	}
	return nil, fmt.Errorf("sdk for %q: there is none; those there are: %s", language, strings.Join(Languages(), ", "))
}
