package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport markdown_to_text
func exportToText() int32 { return skill.Handle(toText) }

//go:wasmexport markdown_to_html
func exportToHTML() int32 { return skill.Handle(toHTML) }

//go:wasmexport links
func exportLinks() int32 { return skill.Handle(links) }
