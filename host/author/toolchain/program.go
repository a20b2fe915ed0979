package toolchain

import "regexp"

// A program is one thing that has to be installed to build a language.
type program struct {
	name    string
	minimum string // oldest version that works; "" when any does
	// starts are the ways in which it may be there, the first that works counts.
	starts []start
	// version is how its answer to being asked for its version is read; its first
	// group is the version.
	version *regexp.Regexp
	get     way
}

// A start is one way to start a program. A word that begins with "tools/" is a
// file below the directory of tools, one with "./" a file of the project; any
// other first word is looked for on PATH.
type start struct {
	words []string // that start it
	ask   []string // behind them, has it print its version
}

var dotted = regexp.MustCompile(`(\d+\.\d+(?:\.\d+)?)`)

func goProgram() program {
	return program{
		name: "go", minimum: "1.24", version: regexp.MustCompile(`go(\d+\.\d+(?:\.\d+)?)`),
		starts: []start{{[]string{"go"}, []string{"version"}}},
		get: way{
			"darwin":  "brew install go",
			"windows": "winget install GoLang.Go",
			"":        "install it from https://go.dev/dl, or with the package manager of your system",
		},
	}
}

func cargo() program {
	return program{
		name: "cargo", minimum: "1.78", version: dotted,
		starts: []start{{[]string{"cargo"}, []string{"--version"}}},
		get: way{
			"windows": "winget install Rustlang.Rustup",
			"":        "install it with rustup, see https://rustup.rs",
		},
	}
}

// rustTarget is the standard library for wasm: a directory that rustc names, and
// that is there when the target is.
func rustTarget() program {
	return program{
		name: "the Rust target " + rustReactor, version: regexp.MustCompile(`(.+)`),
		starts: []start{{[]string{"rustc"}, []string{"--print", "target-libdir", "--target", rustReactor}}},
		get:    way{"": "rustup target add " + rustReactor + " " + rustCommand},
	}
}

// oldestForC and oldestForZig are the oldest versions that build each: Zig's C
// compiler has not changed for long, and the language does with each version.
const (
	oldestForC   = "0.14.0"
	oldestForZig = "0.17.0"
)

func zig(oldest string) program {
	return program{
		name: "zig", minimum: oldest, version: dotted,
		starts: []start{
			{[]string{"tools/py/bin/python", "-m", "ziglang"}, []string{"version"}},
			{[]string{"zig"}, []string{"version"}},
			{[]string{"python3", "-m", "ziglang"}, []string{"version"}},
			{[]string{"python", "-m", "ziglang"}, []string{"version"}},
		},
		get: way{
			"darwin":  "brew install zig, or python3 -m pip install ziglang==0.17.1",
			"windows": "winget install zig.zig, or python -m pip install ziglang==0.17.1",
			"":        "python3 -m pip install ziglang==0.17.1, or see https://ziglang.org/download",
		},
	}
}

func node() program {
	return program{
		name: "node", minimum: "18", version: regexp.MustCompile(`v(\d+(?:\.\d+)*)`),
		starts: []start{{[]string{"node"}, []string{"--version"}}},
		get: way{
			"darwin":  "brew install node",
			"windows": "winget install OpenJS.NodeJS",
			"":        "install it from https://nodejs.org, or with the package manager of your system",
		},
	}
}

func asc() program {
	return program{
		name: "asc", minimum: "0.27.0", version: dotted,
		starts: []start{
			{[]string{"./node_modules/.bin/asc"}, []string{"--version"}},
			{[]string{"tools/node/node_modules/.bin/asc"}, []string{"--version"}},
			{[]string{"asc"}, []string{"--version"}},
		},
		get: way{"": "npm install --save-dev assemblyscript@0.28.20"},
	}
}
