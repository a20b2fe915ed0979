package script

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/skillet-run/skillet/host/npm"
	"github.com/skillet-run/skillet/host/task"
	"github.com/skillet-run/skillet/sdk"
	"github.com/skillet-run/skillet/skills/qjs"
)

// javaScript is QuickJS, for JavaScript and TypeScript.
func javaScript() Interpreter {
	return Interpreter{
		Name:       "qjs",
		Extensions: []string{".js", ".mjs", ".ts", ".mts", ".jsx", ".tsx"},
		Source:     npm.Package{Name: qjs.PackageName, Version: qjs.Version, Integrity: qjs.Integrity},
		Engine:     qjs.EnginePath,
		Licence:    "package/LICENSE",
		Link:       qjs.Link,
		Prelude:    qjs.Prelude,
		Keep:       []string{"eval"},
		Tool:       qjs.ToolExport,
		Tools:      qjs.Tools,
		Program:    bundleJavaScript,
		Manifest:   qjs.Manifest,
		Readme:     qjs.Readme,
	}
}

// program is what the prelude loads: one script that leaves its exports in
// __exports, and the source map of it.
type program struct {
	Code string     `json:"code"`
	Map  *sourceMap `json:"map"`
}

// sourceMap is what is needed of a source map (ECMA-426): it brings places in
// errors back to the author's files.
type sourceMap struct {
	Sources  []string `json:"sources"`
	Mappings string   `json:"mappings"`
}

// bundleJavaScript makes one script of a program and all it imports. Files are
// read from the given tree only.
func bundleJavaScript(files fs.FS, main string) ([]byte, error) {
	library, err := sdk.Files("js")
	if err != nil {
		return nil, task.Wrap(task.KindInternal, err)
	}
	b := bundler{files: files, library: library, main: path.Clean(main)}
	result := api.Build(api.BuildOptions{
		EntryPoints:    []string{main},
		Outfile:        "/out.js",
		AbsWorkingDir:  "/",
		Bundle:         true,
		Format:         api.FormatIIFE,
		GlobalName:     "__exports",
		Platform:       api.PlatformNeutral,
		Target:         api.ES2023,
		Charset:        api.CharsetUTF8,
		LegalComments:  api.LegalCommentsNone,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		TsconfigRaw:    "{}",
		LogLevel:       api.LogLevelSilent,
		Plugins:        []api.Plugin{{Name: "skill", Setup: b.setup}},
	})
	if len(result.Errors) > 0 {
		return nil, messageError(main, result.Errors[0])
	}
	return encodeProgram(result.OutputFiles)
}

// encodeProgram takes the code and its map out of what was bundled.
func encodeProgram(files []api.OutputFile) ([]byte, error) {
	var p program
	for _, f := range files {
		if !strings.HasSuffix(f.Path, ".map") {
			p.Code = string(f.Contents)
			continue
		}
		p.Map = &sourceMap{}
		if err := json.Unmarshal(f.Contents, p.Map); err != nil {
			return nil, task.Wrap(task.KindInternal, fmt.Errorf("read the source map: %w", err))
		}
		for i, s := range p.Map.Sources {
			p.Map.Sources[i] = strings.TrimPrefix(s, packageSpace+":")
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, task.Wrap(task.KindInternal, err)
	}
	return text, nil
}

// messageError is an error with its place and its line.
func messageError(main string, m api.Message) error {
	l := m.Location
	if l == nil {
		return task.Errorf(task.KindVerification, "%s: %s", main, m.Text).WithHint("correct the script")
	}
	file := strings.TrimPrefix(l.File, packageSpace+":")
	message := fmt.Sprintf("%s:%d:%d: %s", file, l.Line, l.Column+1, m.Text)
	if line := strings.TrimSpace(l.LineText); line != "" {
		message += ": " + clip(line)
	}
	e := task.Errorf(task.KindVerification, "%s", message)
	if len(m.Notes) > 0 {
		return e.WithHint("%s", m.Notes[0].Text)
	}
	return e.WithHint("correct the script")
}

// clip shortens a line of a file that is shown.
func clip(line string) string {
	const most = 120
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "..."
}
