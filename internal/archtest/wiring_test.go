package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Package host wires and does nothing else: it has few lines, and who has a home reaches
// the services alone.
func TestHostOnlyWires(t *testing.T) {
	const most = 800
	lines, found := 0, false
	for _, s := range sources(t) {
		if filepath.Dir(s.name) != "host" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, s.name))
		if err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(text), "\n")
		ast.Inspect(s.file, func(n ast.Node) bool {
			typ, ok := n.(*ast.TypeSpec)
			if !ok || typ.Name.Name != "Host" {
				return true
			}
			found = true
			for _, f := range typ.Type.(*ast.StructType).Fields.List {
				for _, name := range f.Names {
					if name.IsExported() {
						t.Errorf("host.Host has the exported field %s", name.Name)
					}
				}
			}
			return false
		})
	}
	if lines > most || !found {
		t.Errorf("package host has %d lines, want at most %d; has a Host: %v", lines, most, found)
	}
}
