package schema_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/skillet-run/skillet/manifests/schema"
)

func ExampleAll() {
	for _, name := range slices.Sorted(maps.Keys(schema.All())) {
		fmt.Println(name)
	}
	// Output:
	// plan.schema.json
	// report.schema.json
	// task.schema.json
	// tool-call.schema.json
	// tool-result.schema.json
}
