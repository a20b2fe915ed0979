package agent_test

import (
	"fmt"
	"log"

	"github.com/skillet-run/skillet/manifests/agent"
)

// A definition names the tools that the agent may call, one by one or all of a skill.
func ExampleParse() {
	d, err := agent.Parse([]byte(`
name: reader
description: Reads files and answers questions about them.
model_tier: fast
system_prompt: Answer from the files, and say when they do not say.
tools: ["files:read_text", "markdown"]
`), "reader.yaml")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Allows("files", "read_text"), d.Allows("files", "write_text"), d.Allows("markdown", "outline"))
	fmt.Println(d.Iterations())
	// Output:
	// true false true
	// 5
}
