package manifests_test

import (
	"fmt"
	"log"

	"github.com/skillet-run/skillet/manifests"
)

const greet = `{
  "name": "greet", "version": "1.0.0", "description": "Greets people.", "type": "code_inline", "command": "main.wasm",
  "tools": [{
    "name": "hello", "description": "Greets one person.",
    "input_schema": {"type": "object", "properties": {"name": {"type": "string"}, "times": {"type": "integer"}}}
  }],
  "security": {"permissions": {"network": [{"url": "https://api.example.com/*", "reason": "to look names up"}]}}
}`

// The errors of a manifest name the line and the field, and say what to write.
func ExampleParse() {
	m, err := manifests.Parse([]byte(greet), "skill.json")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Name, m.Version, m.Tools[0].Name)

	_, err = manifests.Parse([]byte(`{"name": "Greet", "version": "1.0.0", "description": "Greets.", "type": "code_inline", "command": "main.wasm", "tools": [{"name": "hello", "description": "Greets."}]}`), "skill.json")
	fmt.Println(err)
	// Output:
	// greet 1.0.0 hello
	// parse manifest skill.json: line 1: name: "Greet" is not accepted; write lower-case letters, digits and single hyphens, at most 64, such as html-to-text
}

// The schema of a tool says what the values on a command line are.
func ExampleCoerceArgs() {
	m, err := manifests.Parse([]byte(greet), "skill.json")
	if err != nil {
		log.Fatal(err)
	}
	input, err := manifests.CoerceArgs(m.Tools[0], []string{"name=42", "times=42"})
	fmt.Println(string(input), err)
	// Output:
	// {"name":"42","times":42} <nil>
}

func ExampleParseRef() {
	ref, err := manifests.ParseRef("files@1.2.0:read_text")
	fmt.Println(ref.Name, ref.Version, ref.Tool, err)
	// Output:
	// files 1.2.0 read_text <nil>
}
