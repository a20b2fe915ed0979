// Command http is a skill that fetches pages and files from the addresses it was
// granted. The host makes every request and checks every redirect; the skill
// turns the answer into text.
package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport http_get
func exportGet() int32 { return skill.Handle(get) }

//go:wasmexport http_head
func exportHead() int32 { return skill.Handle(head) }

func main() {}
