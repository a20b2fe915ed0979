package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport http_get
func exportGet() int32 { return skill.Handle(get) }

//go:wasmexport http_head
func exportHead() int32 { return skill.Handle(head) }
