package script

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/skillet-run/skillet/sdk"
	"github.com/skillet-run/skillet/skills/qjs"
)

// javaScript is QuickJS, for JavaScript and TypeScript.
func javaScript() Interpreter {
	return Interpreter{
		Name:       "qjs",
		Extensions: []string{".js", ".mjs", ".ts", ".mts", ".jsx", ".tsx"},
		Origin:     fromNPM{Name: qjs.PackageName, Version: qjs.Version, Integrity: qjs.Integrity},
		Engine:     []string{qjs.EnginePath},
		Licence:    "package/LICENSE",
		Link:       ofOne(qjs.Link),
		Prelude:    qjs.Prelude(),
		Start:      "init",
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

// nowhere begins paths that no system opens, whatever it is. esbuild has only those
// where it looks for a file without asking.
func nowhere() string {
	if runtime.GOOS == "windows" {
		return "C:\\\x00"
	}
	return "/\x00"
}

// bundleJavaScript makes one script of a program and all it imports. Files are
// read from the given tree only.
func bundleJavaScript(files fs.FS, main string) ([]byte, error) {
	library, err := sdk.Files("js")
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	b := bundler{files: files, library: library, main: path.Clean(main)}
	result := api.Build(api.BuildOptions{
		EntryPoints:    []string{"main"}, // which the plugin knows; a name might be a pattern
		Outfile:        "out.js",
		AbsWorkingDir:  nowhere(),
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
		return nil, messageError(main, placed(result.Errors))
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
			return nil, fault.Wrap(fault.KindInternal, fmt.Errorf("read the source map: %w", err))
		}
		for i, s := range p.Map.Sources {
			p.Map.Sources[i] = strings.TrimPrefix(s, packageSpace+":")
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	return text, nil
}

// placed is the first error that has a place, or else the first: that there is no
// folder to look in for what is put together at run time has none.
func placed(all []api.Message) api.Message {
	i := slices.IndexFunc(all, func(m api.Message) bool { return m.Location != nil })
	return all[max(i, 0)]
}

// messageError is an error with its place and its line.
func messageError(main string, m api.Message) error {
	l := m.Location
	if l == nil {
		return fault.Errorf(fault.KindVerification, "%s: %s", main, m.Text).WithHint("correct the script")
	}
	file, ours := strings.CutPrefix(l.File, packageSpace+":")
	if !ours && !strings.HasPrefix(l.File, librarySpace+":") {
		return fault.Errorf(fault.KindVerification, "%s: it leads to a file that is not in the package", main).WithHint("correct the script")
	}
	if l.LineText == noMap { // the end of the file, and not the author's line
		l.Line, l.Column, l.LineText = l.Line-1, 0, ""
	}
	message := fmt.Sprintf("%s:%d:%d: %s", file, l.Line, l.Column+1, m.Text)
	if line := strings.TrimSpace(l.LineText); line != "" {
		message += ": " + clip(line)
	}
	e := fault.Errorf(fault.KindVerification, "%s", message)
	if strings.HasPrefix(m.Text, "Could not resolve ") { // import(`./${name}`)
		return e.WithHint("write the whole name, once for each file that may be imported")
	}
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
