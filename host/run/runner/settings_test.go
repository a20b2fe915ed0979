package runner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"

	"github.com/skillet-run/skillet/host/run/hostfn"
)

// TestEverySettingIsFilled: a call gets all that host functions work on. What is left
// out would have a function do nothing, or find nothing, in every call.
func TestEverySettingIsFilled(t *testing.T) {
	t.Parallel()
	leftOut := map[string]string{
		"Resolver": "the system's", "RootCAs": "the system's", "Notifications": "the default", "VarBytes": "the default", "Stage": "set where there is one, by onStage",
	}
	filled := settingsIn(t, "attempt.go")
	s := reflect.TypeFor[hostfn.Settings]()
	for i := range s.NumField() {
		name := s.Field(i).Name
		isFilled, isLeftOut := slices.Contains(filled, name), leftOut[name] != ""
		if !isFilled && !isLeftOut {
			t.Errorf("%s is not filled in: no call has it", name)
		}
		if isFilled && isLeftOut {
			t.Errorf("%s is filled in: take it out of the list here", name)
		}
	}
}

// settingsIn are the fields that a file names in hostfn.Settings{...}.
func settingsIn(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		made, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if of, ok := made.Type.(*ast.SelectorExpr); !ok || of.Sel.Name != "Settings" {
			return true
		}
		for _, e := range made.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok {
					names = append(names, key.Name)
				}
			}
		}
		return true
	})
	return names
}
