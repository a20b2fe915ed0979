// Command json is a skill that queries JSON with jq expressions and checks it
// against JSON Schemas. It computes only: it asks for nothing and calls no host
// function.
package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport query
func exportQuery() int32 { return skill.Handle(query) }

//go:wasmexport validate
func exportValidate() int32 { return skill.Handle(validate) }

func main() {}
