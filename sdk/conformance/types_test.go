package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// tsc is TypeScript's compiler, or the test is skipped.
func tsc(t *testing.T) string {
	t.Helper()
	tool, err := filepath.Abs(top + "/.tools/node/node_modules/.bin/tsc")
	must(t, err)
	if _, err := os.Stat(tool); err == nil {
		return tool
	}
	if tool, err = exec.LookPath("tsc"); err != nil {
		t.Skip("there is no tsc: make toolchains")
	}
	return tool
}

// TestTypes has TypeScript's compiler check the skill in TypeScript, and with it the declarations of the SDK.
func TestTypes(t *testing.T) {
	t.Parallel()
	if out, err := exec.CommandContext(t.Context(), tsc(t), "-p", "ts").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// keysOfSDK is a skill that lists what the SDK in JavaScript really has.
const keysOfSDK = `import * as sdk from "skillet";
export function keys() {
	const members = (v) => typeof v === "object" || v === sdk.log ? Object.keys(v) : [];
	return Object.fromEntries(Object.keys(sdk).map((k) => [k, members(sdk[k])]));
}`

// TestDeclared: the declarations for TypeScript have everything that is there, and nothing else.
func TestDeclared(t *testing.T) {
	t.Parallel()
	tool, dir := tsc(t), t.TempDir()
	real := keys(t)
	var source strings.Builder
	source.WriteString(`import * as sdk from "skillet";` + "\n")
	for _, name := range slices.Sorted(maps.Keys(real)) {
		fmt.Fprintf(&source, "sdk.%s;\n", name)
		for _, member := range real[name] {
			fmt.Fprintf(&source, "sdk.%s.%s;\n", name, member)
		}
		if len(real[name]) > 0 {
			fmt.Fprintf(&source, "export const %s: Exclude<keyof typeof sdk.%s, \"%s\"> extends never ? true : false = true;\n",
				name, name, strings.Join(real[name], `" | "`))
		}
	}
	text := source.String()
	must(t, os.WriteFile(filepath.Join(dir, "main.ts"), []byte(text), 0o644))
	types, err := filepath.Abs("../js/skillet.d.ts")
	must(t, err)
	config, err := os.ReadFile("ts/tsconfig.json")
	must(t, err)
	config = []byte(strings.ReplaceAll(string(config), "../../js/skillet.d.ts", filepath.ToSlash(types)))
	must(t, os.WriteFile(filepath.Join(dir, "tsconfig.json"), config, 0o644))
	if out, err := exec.CommandContext(t.Context(), tool, "-p", dir).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, text)
	}
	declared, err := os.ReadFile("../js/skillet.d.ts")
	must(t, err)
	for _, m := range regexp.MustCompile(`(?m)^export declare (?:const|function|class) (\w+)`).FindAllSubmatch(declared, -1) {
		if _, ok := real[string(m[1])]; !ok {
			t.Errorf("%s is declared, and not there", m[1])
		}
	}
}

// TestEveryNameIsDeclared: each value that the SDK in JavaScript defines is declared for TypeScript, whose compiler need
// not be here to find one that is not.
func TestEveryNameIsDeclared(t *testing.T) {
	t.Parallel()
	real, err := os.ReadFile("../js/skillet.js")
	must(t, err)
	declared, err := os.ReadFile("../js/skillet.d.ts")
	must(t, err)
	names := regexp.MustCompile(`(?m)^export (?:const|function|class) (\w+)`).FindAllSubmatch(real, -1)
	if len(names) == 0 {
		t.Fatal("../js/skillet.js exports nothing: this test looks for another form")
	}
	for _, m := range names {
		if !regexp.MustCompile(`(?m)^export declare (?:const|function|class) ` + string(m[1]) + `\b`).Match(declared) {
			t.Errorf("%s is in skillet.js, and not declared in skillet.d.ts", m[1])
		}
	}
}

// keys are the names that the module has, each with those of its members.
func keys(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "main.js"), []byte(keysOfSDK), 0o644))
	wasm := language{name: "js", main: "main.js", script: "qjs"}.build(t, dir)
	b, err := shared()
	must(t, err)
	m, err := b.module(t.Context(), wasm)
	must(t, err)
	r, err := m.Call(t.Context(), sandbox.Call{Export: "keys", Env: hostfn.NewEnv(hostfn.Settings{})})
	must(t, err)
	var all map[string][]string
	must(t, json.Unmarshal(r.Output, &all))
	return all
}

// signatures is a program that lists the functions and classes of a Python file, with the parameters of the functions
// and their defaults, which a stub may leave open.
const signatures = `
import ast, json, sys
def listed(file, stub):
    all = {}
    for node in ast.parse(open(file).read()).body:
        if isinstance(node, ast.FunctionDef) and (node.name[0] != "_"):
            a = node.args
            defaults = [ast.unparse(d) for d in a.defaults]
            all[node.name] = [[p.arg for p in a.args], a.kwarg and a.kwarg.arg, len(defaults)]
        elif isinstance(node, ast.ClassDef) and node.name[0] != "_":
            all[node.name] = "class"
        elif isinstance(node, ast.Assign) and not stub and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "namedtuple":
            all[node.targets[0].id] = "class"
    return all
real, stub = listed(sys.argv[1], False), listed(sys.argv[2], True)
wrong = [n for n in sorted(set(real) | set(stub)) if real.get(n) != stub.get(n)]
print("\n".join("%s is %s, and declared as %s" % (n, real.get(n), stub.get(n)) for n in wrong))
`

// TestStubs: the stubs for Python have the functions that there are, with their parameters.
func TestStubs(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	files, err := filepath.Glob("../python/skillet/*.py")
	must(t, err)
	if len(files) < 5 {
		t.Fatal(files)
	}
	for _, file := range files {
		out, err := exec.CommandContext(t.Context(), python, "-c", signatures, file, file+"i").CombinedOutput()
		if text := strings.TrimSpace(string(out)); err != nil || text != "" {
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, text)
		}
	}
}
