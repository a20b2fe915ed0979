package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/engine/sandbox"
	"github.com/skillet-run/skillet/host/engine/sandbox/wasmbin"
	"github.com/skillet-run/skillet/host/run/hostfn"
)

// greetings are the smallest tool, as the documentation of each SDK shows it.
func greetings() map[string]string {
	return map[string]string{
		"go": `package main

import skill "conformance/skill"

type input struct {
	Name string ` + "`json:\"name\"`" + `
}

type output struct {
	Greeting string ` + "`json:\"greeting\"`" + `
}

func greet(in input) (output, error) {
	if in.Name == "" {
		return output{}, skill.Errorf(skill.Invalid, "name: must not be empty")
	}
	return output{Greeting: "Hello, " + in.Name}, nil
}

//go:wasmexport greet
func exportGreet() int32 { return skill.Handle(greet) }

func main() {}
`,
		"c": `#include "skillet.h"

SKILLET_TOOL(greet) {
	skillet_str name = {0};
	if (!skillet_get_string(in, "name", &name, err)) return false;
	if (name.len == 0) return skillet_fail(err, SKILLET_INVALID, "name: must not be empty");
	skillet_begin_object(out);
	skillet_add_string(out, "greeting", skillet_textf("Hello, %t", name));
	skillet_end_object(out);
	return true;
}
`,
		"cpp": `#include "skillet.h"

SKILLET_CPP_TOOL(greet) {
	skillet::Text name = in.text("name");
	if (!in.status()) return in.status();
	if (name.empty()) return skillet::Status(SKILLET_INVALID, "name: must not be empty");
	out.text("greeting", skillet_textf("Hello, %t", name));
	return {};
}
`,
		"assemblyscript": `import { fail, Failure, Kind, Reader, tool, Writer } from "./skillet";

export function greet(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    const name = input.text("name");
    if (input.failure !== null) return input.failure;
    if (name == "") return fail(Kind.Invalid, "name: must not be empty");
    output.text("greeting", "Hello, " + name);
    return null;
  });
}
`,
		"zig": `const skillet = @import("skillet.zig");

const Input = struct { name: []const u8 = "" };
const Output = struct { greeting: []const u8 };

fn greet(in: Input) !Output {
    if (in.name.len == 0) return skillet.fail(.invalid, "name: must not be empty", .{});
    return .{ .greeting = try skillet.print("Hello, {s}", .{in.name}) };
}

comptime {
    skillet.tool("greet", greet);
}
`,
	}
}

// TestSmall builds the smallest tool: it works, and its module imports of the host what it uses and no more.
func TestSmall(t *testing.T) {
	t.Parallel()
	rt := newSandbox(t)
	for _, l := range languages() {
		source, ok := greetings()[l.name]
		if !ok {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			quickly(t, l)
			t.Parallel()
			l.have(t)
			dir := filepath.Join(settings(t).Tools, "conformance", "small-"+l.name)
			if _, err := os.Stat(settings(t).Tools); err != nil {
				dir = t.TempDir()
			}
			l.files(t, dir)
			must(t, refresh([]byte(source), filepath.Join(dir, l.main)))
			wasm := l.compile(t, dir)
			wantImports(t, wasm, "error_write", "input_length", "input_read", "output_write")
			e := newOurs(t, rt, wasm)
			env := hostfn.NewEnv(hostfn.Settings{})
			defer env.Close()
			if r := e.run(t, Call{"greet", `{"name":"Ann"}`}, env); r.output != `{"greeting":"Hello, Ann"}` {
				t.Errorf("%+v", r)
			}
			if r := e.run(t, Call{"greet", ``}, env); r.kind != "invalid" || r.message != "name: must not be empty" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// wantImports compares what a module imports of the host interface.
func wantImports(t *testing.T, wasm []byte, want ...string) {
	t.Helper()
	m, err := wasmbin.Inspect(wasm, wasmbin.DefaultLimits())
	must(t, err)
	var got []string
	for _, i := range m.Imports {
		if strings.HasPrefix(i.Module, "skillet:") {
			got = append(got, i.Name)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("it imports %q, want %q", got, want)
	}
}

// TestAssemblyScriptWhole compiles everything in the SDK for AssemblyScript, whose compiler leaves alone what a program
// does not use.
func TestAssemblyScriptWhole(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		if l.name != "assemblyscript" {
			continue
		}
		l.have(t)
		dir := t.TempDir()
		l.files(t, dir)
		must(t, refresh([]byte(`export * from "./skillet";`+"\n"), filepath.Join(dir, l.main)))
		l.compile(t, dir)
	}
}

// TestAssemblyScriptAbort: a program that gives up is a trap, and says why.
func TestAssemblyScriptAbort(t *testing.T) {
	t.Parallel()
	for _, l := range languages() {
		if l.name != "assemblyscript" {
			continue
		}
		l.have(t)
		dir := t.TempDir()
		l.files(t, dir)
		source := `import { readFile, Failure, Reader, tool, Writer } from "./skillet";

export function greet(): i32 {
  return tool((input: Reader, output: Writer): Failure | null => {
    output.int("bytes", readFile("/none").value.length);
    return null;
  });
}
`
		must(t, refresh([]byte(source), filepath.Join(dir, l.main)))
		m, err := newSandbox(t).Load(t.Context(), l.compile(t, dir))
		must(t, err)
		env := hostfn.NewEnv(hostfn.Settings{})
		defer env.Close()
		r, err := m.Call(t.Context(), sandbox.Call{Export: "greet", Env: env})
		if !errors.As(err, new(*sandbox.TrapError)) || !strings.HasPrefix(r.GuestError, "denied: read /none: denied at skillet/result.ts:") {
			t.Errorf("%v, and the guest says %q", err, r.GuestError)
		}
	}
}
