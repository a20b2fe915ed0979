// Command figures prints the sizes that this tree is kept to: lines of Go of the host's
// module without its tests, its largest packages, how long functions are, and the folders
// directly below host. It measures the directory it is started in.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	f, err := measure(os.DirFS("."))
	if err == nil {
		err = f.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "figures: %v\n", err)
		os.Exit(1)
	}
}

// figures are what was counted of a module.
type figures struct {
	lines     int            // of its Go files, with comments and blank lines
	generated int            // how many of them a program wrote
	folders   map[string]int // the lines below each folder at the top
	packages  map[string]int // the lines of each directory with Go files, generated ones not counted
	functions []int          // the lines of each function that a person wrote, shortest first
	rooms     []string       // the folders directly below host
}

// measure counts the module in a directory. Tests, test data and the modules within it
// are left out.
func measure(module fs.FS) (figures, error) {
	f := figures{folders: map[string]int{}, packages: map[string]int{}}
	err := fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return f.enter(module, name)
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return f.count(module, name)
		}
		return nil
	})
	slices.Sort(f.functions)
	return f, err
}

// enter decides whether a directory is looked into.
func (f *figures) enter(module fs.FS, name string) error {
	base := path.Base(name)
	if name != "." && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
		return fs.SkipDir
	}
	if _, err := fs.Stat(module, path.Join(name, "go.mod")); err == nil && name != "." {
		return fs.SkipDir
	}
	if path.Dir(name) == "host" {
		f.rooms = append(f.rooms, base)
	}
	return nil
}

func (f *figures) count(module fs.FS, name string) error {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	lines := bytes.Count(text, []byte{'\n'})
	f.lines += lines
	top, _, _ := strings.Cut(name, "/")
	f.folders[top] += lines
	if ast.IsGenerated(file) {
		f.generated += lines
		return nil
	}
	f.packages[path.Dir(name)] += lines
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			f.functions = append(f.functions, files.Position(fn.End()).Line-files.Position(fn.Pos()).Line+1)
		}
	}
	return nil
}

// percentile is the length that p of 100 functions do not exceed.
func (f *figures) percentile(p int) int {
	if len(f.functions) == 0 {
		return 0
	}
	return f.functions[(len(f.functions)-1)*p/100]
}

// largest are the n directories with most lines.
func largest(lines map[string]int, n int) []string {
	all := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(lines[b]-lines[a], strings.Compare(a, b))
	})
	return all[:min(n, len(all))]
}

func (f *figures) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "lines of Go, tests apart     %d, of which %d are generated\n", f.lines, f.generated)
	for _, name := range largest(f.folders, 5) {
		fmt.Fprintf(&b, "%8d  %s\n", f.folders[name], name)
	}
	fmt.Fprintf(&b, "packages                     %d, the largest\n", len(f.packages))
	for _, name := range largest(f.packages, 10) {
		fmt.Fprintf(&b, "%8d  %s\n", f.packages[name], name)
	}
	fmt.Fprintf(&b, "functions                    %d: half have at most %d lines, 95 of 100 at most %d, the longest %d\n",
		len(f.functions), f.percentile(50), f.percentile(95), f.percentile(100))
	fmt.Fprintf(&b, "folders directly below host  %d: %s\n", len(f.rooms), strings.Join(f.rooms, " "))
	_, err := io.WriteString(w, b.String())
	return err
}
