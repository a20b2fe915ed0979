package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport query
func exportQuery() int32 { return skill.Handle(query) }

//go:wasmexport validate
func exportValidate() int32 { return skill.Handle(validate) }
