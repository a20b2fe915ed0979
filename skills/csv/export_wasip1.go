package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport parse
func exportParse() int32 { return skill.Handle(parse) }

//go:wasmexport query
func exportQuery() int32 { return skill.Handle(query) }

//go:wasmexport stats
func exportStats() int32 { return skill.Handle(stats) }

//go:wasmexport to_json
func exportToJSON() int32 { return skill.Handle(toJSON) }
