package lockfile_test

import (
	"fmt"

	"github.com/skillet-run/skillet/manifests/lockfile"
)

// Compare says in words what an update changed.
func ExampleCompare() {
	before := &lockfile.Lock{Roots: []lockfile.Requirement{{Name: "csv", Constraint: "^1"}}}
	after := &lockfile.Lock{Roots: []lockfile.Requirement{{Name: "csv", Constraint: "^1"}, {Name: "pdf", Constraint: "*"}}}
	fmt.Print(lockfile.Compare(before, after))
	// Output:
	// + asked for pdf *
}
