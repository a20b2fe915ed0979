package review

import (
	"bytes"
	"maps"
	"slices"

	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// testSteps say which test cases a package lost, and which expect something else:
// a fault that they would have found is not found any more.
func testSteps(before, after *bundle.Package) []Step {
	steps := []Step{}
	old, now := cases(before), cases(after)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		is, ok := now[name]
		switch {
		case !ok:
			steps = append(steps, Step{Change: Removed, Words: "has lost the test case " + name, Before: name, Alarming: true})
		case !bytes.Equal(old[name], is):
			steps = append(steps, Step{Change: Changed, Words: "has changed the test case " + name, Before: name, After: name})
		}
	}
	return steps
}

// cases are the test cases of a package, by file and name. Those of a file that
// cannot be read are one, which is the file.
func cases(p *bundle.Package) map[string][]byte {
	all := map[string][]byte{}
	for _, f := range p.Files() {
		if !testcase.IsFile(f.Path) {
			continue
		}
		data, err := p.Read(f.Path)
		if err != nil { // every file of the index is there
			continue
		}
		found, err := testcase.Parse(data, f.Path)
		if err != nil {
			all[f.Path] = data
			continue
		}
		for _, c := range found {
			b, err := testcase.Encode(c)
			if err != nil {
				b = data
			}
			all[f.Path+": "+c.Name] = b
		}
	}
	return all
}
