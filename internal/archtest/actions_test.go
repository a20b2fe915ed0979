package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
)

// tellsActionsApart are the files that do something of their own for many actions,
// each with the test that fails for an action it does not know. Everything else asks
// the table of package capability.
var tellsActionsApart = map[string]string{
	"host/review/review/imports.go": "host/review/review TestEveryFunctionNeedsItsPermission", // imports of other modules than the host's
	"host/run/casetest/mocks.go":    "host/run/casetest TestEveryFunctionCanBeRecordedAndMocked",
	"policies/matchable.go":         "policies TestNamesOfEveryAction", // the form of names
}

// TestOnePlaceForActions: a list of actions elsewhere would be one more place to
// forget when there is a new one.
func TestOnePlaceForActions(t *testing.T) {
	const most = 3
	names := constants(t)
	if len(names) != len(capability.Actions()) {
		t.Fatalf("found the constants %v of %v", names, capability.Actions())
	}
	seen := map[string]bool{}
	for _, p := range load(t) {
		for _, name := range p.GoFiles {
			file := path.Join(p.ImportPath, name)
			if seen[file] || p.ImportPath == "policies/capability" {
				continue
			}
			seen[file] = true
			found, test := namesIn(t, filepath.Join(p.Dir, name), names), tellsActionsApart[file]
			dir, test, _ := strings.Cut(test, " ")
			switch {
			case len(found) > most && test == "":
				t.Errorf("%s tells %v apart: ask the table of package capability, or name the test that finds an action it does not know", file, found)
			case len(found) <= most && test != "":
				t.Errorf("%s only names %v: take it out of the list", file, found)
			case test != "" && !slices.Contains(testsIn(t, filepath.Join(root, dir)), test):
				t.Errorf("%s: there is no test %s in %s", file, test, dir)
			}
		}
	}
}

// constants are the names of the actions in the source.
func constants(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "policies/capability/action.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Action" {
				names = append(names, v.Names[0].Name)
			}
		}
		return true
	})
	return names
}

// namesIn are those of names that a file takes from package capability, each once.
func namesIn(t *testing.T, file string, names []string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, sel.Sel.Name) {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "capability" {
				found = append(found, sel.Sel.Name)
			}
		}
		return true
	})
	slices.Sort(found)
	return slices.Compact(found)
}
