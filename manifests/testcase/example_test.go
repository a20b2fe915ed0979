package testcase_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/skillet-run/skillet/manifests/testcase"
)

// A pattern names what has to be there. In the mode Subset, other members of an object do not matter.
func ExampleCompilePattern() {
	p, err := testcase.CompilePattern(json.RawMessage(`{"size": 3, "text": {"$contains": "boat"}}`), testcase.Subset)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Match("output", []byte(`{"size": 3, "text": "two boats", "took_ms": 4}`)))
	for _, d := range p.Match("output", []byte(`{"size": 4, "text": "two boats"}`)) {
		fmt.Println(d)
	}
	// Output:
	// []
	// output.size: expected 3, got 4
}
