package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packageRow is a row of host/README.md about a package.
var packageRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*) \\|$")

// The page about the rooms has every package below host, in the order of the rooms, and no other.
func TestPageOfRooms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "host/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]bool{}
	last := ""
	for _, row := range packageRow.FindAllStringSubmatch(string(text), -1) {
		name := "host/" + row[1]
		switch {
		case on[name]:
			t.Errorf("host/README.md has %s twice", name)
		case row[2] == "":
			t.Errorf("host/README.md does not say what %s is", name)
		case place(name) < place(last) || place(name) == place(last) && name < last:
			t.Errorf("host/README.md has %s after %s", name, last)
		}
		on[name], last = true, name
	}
	for _, p := range load(t) {
		name := p.ImportPath
		if strings.HasPrefix(name, "host/") && len(p.GoFiles) > 0 && !on[name] {
			t.Errorf("host/README.md lacks %s", name)
		}
	}
	for name := range on {
		if files, err := filepath.Glob(filepath.Join(root, name, "*.go")); err != nil || len(files) == 0 {
			t.Errorf("host/README.md has %s, where no package is, %v", name, err)
		}
	}
}

// place is that of a package's room in the table.
func place(pkg string) int {
	in, _ := roomOf(pkg)
	return slices.IndexFunc(rooms, func(r room) bool { return r.name == in.name })
}
