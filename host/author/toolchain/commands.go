package toolchain

import "path/filepath"

// A step is one command of a build.
type step struct {
	program string
	words   []string
	environ []string // beside the listed variables
	// artifact takes the path of the module out of what the command printed on
	// standard output; nil when the command writes it where it was told.
	artifact func(stdout []byte) (string, error)
}

const (
	rustReactor = "wasm32-unknown-unknown"
	rustCommand = "wasm32-wasip1"
)

// goEnviron has the build depend on the project alone: no workspace around it,
// no flags of the person.
func goEnviron() []string {
	return []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOWASM="}
}

func buildGo(p Project, out string, t found) []step {
	flags := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", out}
	if !p.Command {
		flags = append(flags, "-buildmode=c-shared")
	}
	return []step{{program: "go", words: t.command("go", append(flags, ".")...), environ: goEnviron()}}
}

func testGo(t found) []step {
	return []step{{program: "go", words: t.command("go", "test", "./..."), environ: []string{"GOWORK=off", "GOFLAGS="}}}
}

func buildRust(p Project, _ string, t found) []step {
	target := rustReactor
	if p.Command {
		target = rustCommand
	}
	return []step{{
		program:  "cargo",
		words:    t.command("cargo", "build", "--release", "--target", target, "--message-format=json-render-diagnostics"),
		environ:  []string{"CARGO_ENCODED_RUSTFLAGS=--remap-path-prefix=" + p.Dir + "=.\x1f-Cstrip=symbols", "CARGO_TARGET_DIR=" + filepath.Join(p.Dir, "target"), "CARGO_TERM_COLOR=never"},
		artifact: cargoArtifact,
	}}
}

func testRust(t found) []step {
	return []step{{program: "cargo", words: t.command("cargo", "test", "--quiet")}}
}

func buildAssemblyScript(_ Project, out string, t found) []step {
	// Entry files and options are in asconfig.json.
	return []step{{program: "asc", words: t.command("asc", "--target", "release", "--outFile", out, "--noColors")}}
}

// stackBytes is the stack of C, C++ and Zig. Their usual one is 16 MiB, which
// makes each new instance slow.
const stackBytes = "131072"

func buildZig(p Project, out string, t found) []step {
	main := "main.zig"
	if !isFile(filepath.Join(p.Dir, main)) {
		main = "src/main.zig"
	}
	words := []string{"build-exe", main, "-O", "ReleaseSmall", "-fstrip", "--stack", stackBytes, "-femit-bin=" + out}
	if p.Command {
		words = append(words, "-target", "wasm32-wasi")
	} else {
		words = append(words, "-target", "wasm32-freestanding", "-fno-entry", "-rdynamic")
	}
	return []step{{program: "zig", words: t.command("zig", words...), environ: zigEnviron(p)}}
}

func testZig(t found) []step {
	return []step{{program: "zig", words: t.command("zig", "test", "main.zig")}}
}

// zigEnviron keeps what the compiler keeps of a project out of sight.
func zigEnviron(p Project) []string {
	return []string{"ZIG_LOCAL_CACHE_DIR=" + filepath.Join(p.Dir, ".zig-cache")}
}

func buildC(p Project, out string, t found) []step {
	return compileC(p, out, t, append([]string{"cc", "-std=gnu23"}, p.files(sources(cEndings()))...))
}

func buildCPP(p Project, out string, t found) []step {
	return compileC(p, out, t, append([]string{"c++", "-std=c++20", "-fno-exceptions", "-fno-rtti"}, p.files(sources(cppEndings()))...))
}

// compileC builds a module with the C library of WASI: one that a tool of is
// called, or a command.
func compileC(p Project, out string, t found, first []string) []step {
	model := "reactor"
	if p.Command {
		model = "command"
	}
	words := append(first, "-target", "wasm32-wasi", "-mexec-model="+model, "-O2", "-Wall", "-Wextra", "-I.",
		"-fno-sanitize=all", "-ffile-prefix-map="+p.Dir+"=.", "-Wl,--strip-all", "-Wl,-z,stack-size="+stackBytes, "-o", out)
	return []step{{program: "zig", words: t.command("zig", words...), environ: zigEnviron(p)}}
}
