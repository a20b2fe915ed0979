package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the top of the tree.
const root = "../.."

// TestChecklists walks the checklists of CONTRIBUTING.md: each place of a row is
// there, and so is the test that fails when the place is forgotten.
func TestChecklists(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, adding, _ := strings.Cut(string(b), "\n## Adding things\n")
	adding, _, _ = strings.Cut(adding, "\n## ")
	sections := strings.Split(adding, "\n### ")[1:]
	if len(sections) == 0 {
		t.Fatal("CONTRIBUTING.md has no checklist below Adding things")
	}
	for _, section := range sections {
		title, text, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) {
			rows := checklist(text)
			if len(rows) < 3 {
				t.Errorf("the checklist has %d rows", len(rows))
			}
			for _, r := range rows {
				r.check(t)
			}
		})
	}
}

// A row of a checklist: what has to be edited, and what finds it forgotten.
type row struct{ places, tests []string }

var inCode = regexp.MustCompile("`([^`]+)`")

// checklist reads the rows of the table whose head begins with "place" and ends
// with "found by".
func checklist(text string) []row {
	var rows []row
	_, table, _ := strings.Cut(text, "| place | what | found by |\n| --- | --- | --- |\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 {
			break
		}
		var r row
		for i, into := range []*[]string{&r.places, nil, &r.tests} {
			for _, m := range inCode.FindAllStringSubmatch(cells[i], -1) {
				if into != nil {
					*into = append(*into, m[1])
				}
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func (r row) check(t *testing.T) {
	if len(r.places) == 0 || len(r.tests) == 0 {
		t.Errorf("a row names the places %q and the tests %q; it needs both", r.places, r.tests)
	}
	for _, place := range r.places {
		if found, err := filepath.Glob(filepath.Join(root, place)); err != nil || len(found) == 0 {
			t.Errorf("%s is not there, %v", place, err)
		}
	}
	for _, name := range r.tests {
		dir, test, ok := strings.Cut(name, " ")
		if !ok || !slices.Contains(testsIn(t, filepath.Join(root, dir)), test) {
			t.Errorf("%s: there is no such test; it is written as the folder of a package, a space, and its name", name)
		}
	}
}

// testsIn are the names of the tests of a package.
func testsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names = append(names, fn.Name.Name)
			}
		}
	}
	return names
}
