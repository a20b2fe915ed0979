package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport html_to_text
func exportToText() int32 { return skill.Handle(toText) }

//go:wasmexport html_to_markdown
func exportToMarkdown() int32 { return skill.Handle(toMarkdown) }

//go:wasmexport links
func exportLinks() int32 { return skill.Handle(links) }
