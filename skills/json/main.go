// Command json is a skill that queries JSON with jq expressions and checks it
// against JSON Schemas. It computes only: it asks for nothing and calls no host
// function.
package main

func main() {}
