// Package toolchain turns the source of a skill into its module, with the
// compilers that are on this machine: which language a directory is written in,
// which programs that language needs, where they are and what is missing, and
// the commands that build the module in place.
//
// A build is the compiler's own work: what a project has its compiler run (a
// build script, a macro) runs with the rights of the person who builds. It gets
// a short list of the environment, no standard input, and an end.
//
// The package installs nothing and fetches nothing. It knows no home, no grant
// and no registry: whether what it built may run is for others.
package toolchain

import (
	"runtime"
	"slices"
)

// A Language is what the source of a skill is written in.
type Language string

// The languages, in the order in which they are listed.
const (
	Go             Language = "go"
	Rust           Language = "rust"
	C              Language = "c"
	CPP            Language = "cpp"
	AssemblyScript Language = "assemblyscript"
	Zig            Language = "zig"
	JS             Language = "js"
	TS             Language = "ts"
	Python         Language = "python"
	// WASI is a plain WASI command, here written in Go: no SDK, JSON on
	// standard input and output.
	WASI Language = "wasi"
)

// IsScript reports whether l needs no compiler: its source is run by an
// interpreter that is itself a module.
func (l Language) IsScript() bool { return l == JS || l == TS || l == Python }

// Title is the name of l for people, such as "AssemblyScript".
func (l Language) Title() string {
	if r, ok := rowOf(l); ok {
		return r.title
	}
	return string(l)
}

// Languages returns all of them, in order.
func Languages() []Language {
	var all []Language
	for _, r := range rows() {
		all = append(all, r.language)
	}
	return all
}

// A row is all there is to know about a language.
type row struct {
	language Language
	title    string
	needs    []program
	// marks are the files, or globs of them, that show that a directory is
	// written in the language; empty for one that is never recognised.
	marks []string
	// build are the commands that make the module; nil for scripts.
	build func(p Project, out string, t found) []step
	// test are the commands that run the tests of the language itself; nil for
	// none.
	test func(t found) []step
	// pass are the variables of the environment, or their beginnings with a "*"
	// at the end, that its programs are given beside the common ones.
	pass []string
}

// rows is the table of languages. Where a directory fits several rows, the first
// counts.
func rows() []row {
	return []row{
		{Go, "Go", []program{goProgram()}, []string{"go.mod", "*.go"}, buildGo, testGo, goVariables()},
		{Rust, "Rust", []program{cargo(), rustTarget()}, []string{"Cargo.toml"}, buildRust, testRust, rustVariables()},
		{AssemblyScript, "AssemblyScript", []program{node(), asc()}, []string{"asconfig.json"}, buildAssemblyScript, nil, nil},
		{Zig, "Zig", []program{zig(oldestForZig)}, []string{"main.zig", "src/main.zig"}, buildZig, testZig, zigVariables()},
		{CPP, "C++", []program{zig(oldestForC)}, sources(cppEndings()), buildCPP, nil, zigVariables()},
		{C, "C", []program{zig(oldestForC)}, sources(cEndings()), buildC, nil, zigVariables()},
		{TS, "TypeScript", nil, []string{"main.ts"}, nil, nil, nil},
		{JS, "JavaScript", nil, []string{"main.js", "main.mjs"}, nil, nil, nil},
		{Python, "Python", nil, []string{"main.py"}, nil, nil, nil},
		{WASI, "a plain WASI command, in Go", []program{goProgram()}, nil, buildGo, testGo, goVariables()},
	}
}

func rowOf(l Language) (row, bool) {
	all := rows()
	i := slices.IndexFunc(all, func(r row) bool { return r.language == l })
	if i < 0 {
		return row{}, false
	}
	return all[i], true
}

func cEndings() []string   { return []string{".c"} }
func cppEndings() []string { return []string{".cpp", ".cc", ".cxx"} }

// sources are the globs of files with one of the endings, where a small project
// keeps them.
func sources(endings []string) []string {
	var globs []string
	for _, dir := range []string{"", "src/"} {
		for _, e := range endings {
			globs = append(globs, dir+"*"+e)
		}
	}
	return globs
}

// A way is how to get a program, by the name of the operating system; "" is for
// those that have no row of their own.
type way map[string]string

func (w way) here() string {
	if text, ok := w[runtime.GOOS]; ok {
		return text
	}
	return w[""]
}
