package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport pdf_to_text
func exportText() int32 { return skill.Handle(pdfToText) }

//go:wasmexport pdf_info
func exportInfo() int32 { return skill.Handle(pdfInfo) }
