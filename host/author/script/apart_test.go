package script_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/host/author/script"
)

// ways are scripts that would have a bundler open a file outside of the package, for
// its path. It lies in dir, and its name is secret.json.
func ways(dir string) map[string]string {
	const tool = "export function tool() { return 1 }\n"
	file := filepath.ToSlash(dir) + "/secret.json"
	up := strings.Repeat("../", 40)
	escaped := strings.Repeat(`\x2e\u002e/`, 40)
	relative := strings.TrimPrefix(file, "/")
	return map[string]string{
		"map":          tool + "//# sourceMappingURL=" + file,
		"old map":      tool + "//@ sourceMappingURL=" + file + "\n",
		"map block":    tool + "/*# sourceMappingURL=" + file + " */",
		"map url":      tool + "//# sourceMappingURL=file://" + file,
		"map host":     tool + "//# sourceMappingURL=file://localhost" + file,
		"map relative": tool + "//# sourceMappingURL=" + up + relative,
		"map first":    "//# sourceMappingURL=" + file + "\n" + tool,
		"maps":         tool + strings.Repeat("/*# sourceMappingURL="+file+"*/ //# sourceMappingURL="+file+"\r\n", 3) + "\u2028//# sourceMappingURL=" + file,
		"map data":     tool + `//# sourceMappingURL=data:application/json,{"version":3,"mappings":"AAAA","sources":["file://` + file + `"]}`,
		"map of maps":  tool + `//# sourceMappingURL=data:application/json,{"version":3,"sections":[{"url":"file://` + file + `"}]}`,
		"import":       `import a from "` + file + `"; export const tool = () => a`,
		"import url":   `import a from "file://` + file + `"; export const tool = () => a`,
		"import up":    `import a from "` + up + relative + `"; export const tool = () => a`,
		"import as":    `import a from "` + file + `" with {type: "json"}; export const tool = () => a`,
		"data":         `import a from "data:application/json,{}"; export const tool = () => a`,
		"require":      `export const tool = () => require("` + file + `")`,
		"glob":         "export const tool = (i) => require(`./" + relative[:len(relative)-len("secret.json")] + "${i}.json`)",
		"glob up":      "export const tool = (i) => require(`" + up + relative[:len(relative)-len("secret.json")] + "${i}.json`)",
		"glob escaped": "export const tool = (i) => import(`" + escaped + relative[:len(relative)-len("secret.json")] + "${i}.json`)",
		"glob joined":  `export const tool = (i) => import("` + up + relative[:len(relative)-len("secret.json")] + `" + i + ".json")`,
		"jsx":          "/** @jsxRuntime automatic @jsxImportSource " + filepath.ToSlash(dir) + " */\nexport const tool = () => <a/>",
	}
}

// The library that bundles opens nothing by itself, also where the system does not
// hold it back.
func TestBundlingOpensNothingOutside(t *testing.T) {
	t.Parallel()
	const secret = "SECRET-OF-SOMEBODY"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.json"), []byte(`"`+secret+`"`), 0o644); err != nil {
		t.Fatal(err)
	}
	in, _ := script.Find("qjs")
	for name, text := range ways(dir) {
		for _, file := range []string{"main.js", "main.tsx"} {
			b, err := in.Program(script.Tree{file: []byte(text)}, file)
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s: %s has a file that is not in the package", name, b)
			}
			if err == nil && !strings.Contains(name, "map") || err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", name, err)
			}
			if strings.HasPrefix(name, "glob") && !strings.Contains(fmt.Sprint(err), file+":1:") {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil && strings.HasPrefix(name, "map") && !strings.HasPrefix(err.Error(), file) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, main := range []string{"../" + filepath.ToSlash(dir) + "/*.json", "**/*.json", filepath.ToSlash(dir) + "/secret.json"} {
		b, err := in.Program(script.Tree{"main.js": []byte("export const tool = 1")}, main)
		if err == nil || bytes.Contains(b, []byte(secret)) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %s, %v", main, b, err)
		}
	}
}

// What in a package says where files are found, and what kind they are, leads to none
// outside of it.
func TestBundlingHeedsNoConfiguration(t *testing.T) {
	t.Parallel()
	const secret = "SECRET-OF-SOMEBODY"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret.json"), []byte(`"`+secret+`"`), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.ToSlash(dir) + "/secret.json"
	up := strings.Repeat("../", 40) + strings.TrimPrefix(file, "/")
	use := func(name, with string) []byte {
		return []byte(`import a from "` + name + `"` + with + `; export const tool = () => a`)
	}
	in, _ := script.Find("qjs")
	for name, files := range map[string]script.Tree{
		"tsconfig":       {"main.ts": use("secret", ""), "tsconfig.json": []byte(`{"extends":"` + file + `","compilerOptions":{"baseUrl":"` + dir + `","paths":{"*":["` + file + `"]}}}`)},
		"jsconfig":       {"main.ts": use("secret.json", ""), "jsconfig.json": []byte(`{"compilerOptions":{"baseUrl":"` + dir + `"}}`)},
		"main":           {"main.ts": use("e", ""), "node_modules/e/package.json": []byte(`{"main":"` + up + `"}`)},
		"module":         {"main.ts": use("e", ""), "node_modules/e/package.json": []byte(`{"module":"` + file + `"}`)},
		"exports":        {"main.ts": use("e/x", ""), "node_modules/e/package.json": []byte(`{"exports":{"./x":{"import":"` + up + `"}}}`)},
		"browser":        {"main.ts": use("e", ""), "node_modules/e/package.json": []byte(`{"main":"./x.js","browser":{"./x.js":"` + up + `"}}`)},
		"imports":        {"main.ts": use("#s", ""), "package.json": []byte(`{"imports":{"#s":"` + up + `"}}`)},
		"a package up":   {"main.ts": use("../"+up, "")},
		"name of a file": {"main.ts": use(file, ` with {type: "file"}`)},
		"text":           {"main.ts": use(up, ` with {type: "text"}`)},
		"bytes":          {"main.ts": use(file, ` with {type: "bytes"}`)},
		"style":          {"main.ts": use("./s.css", ` with {type: "css"}`), "s.css": []byte(`@import "` + file + `"; a { background: url(` + file + `) }`)},
	} {
		b, err := in.Program(files, "main.ts")
		if err == nil || bytes.Contains(b, []byte(secret)) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
}

// A comment that names a source map is a comment, whatever it names: a pipe that
// nobody writes to, a file without an end. And a text that has one is a text.
func TestSourceMapsAreNotRead(t *testing.T) {
	t.Parallel()
	pipe := namedPipe(t)
	for _, at := range []string{pipe, "file://" + pipe, "/dev/zero", "/dev/tty", "gone.map", "main.js"} {
		wasm, err := build(t, map[string]string{"main.js": "export function tool() { return '//# sourceMappingURL=x' }\n//# sourceMappingURL=" + at})
		if err != nil || !bytes.Contains(wasm, []byte("//# sourceMappingURL=x")) {
			t.Errorf("%s: %v", at, err)
		}
	}
	_, err := build(t, map[string]string{"main.js": "//# sourceMappingURL=main.js.map\nexport function tool( {"})
	if err == nil || !strings.Contains(err.Error(), "main.js:") || strings.Contains(err.Error(), "none:") {
		t.Errorf("%v", err)
	}
}

// What cannot be bundled within the bounds of a build ends that build and nothing else.
func TestBundlingIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds to fill what there is")
	}
	t.Parallel()
	var many strings.Builder // each file is small enough
	files := map[string]string{}
	for i := range 10 {
		name := "./m" + string(rune('a'+i)) + ".js"
		many.WriteString("import " + `"` + name + `";`)
		files[name[2:]] = "globalThis.x = '" + strings.Repeat("x", script.MaxProgram-100) + "'"
	}
	files["main.js"] = many.String() + "export const tool = () => 1"
	for name, files := range map[string]map[string]string{
		"deep":  {"main.js": "export const tool = () => " + strings.Repeat("(", 3<<20)},
		"large": {"main.js": "import './x'; export const tool = () => 1", "x.js": strings.Repeat(" ", script.MaxProgram+1)},
		"many":  files,
		"dense": {"main.js": "export const tool = () => [" + strings.Repeat("a=>b,", script.MaxProgram/6) + "]"},
	} {
		_, err := build(t, files)
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.KindLimit {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := build(t, map[string]string{"main.js": "export const tool = () => 1"}); err != nil {
		t.Error(err)
	}
}
