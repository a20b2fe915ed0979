package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport read_text
func exportReadText() int32 { return skill.Handle(readText) }

//go:wasmexport write_text
func exportWriteText() int32 { return skill.Handle(writeText) }

//go:wasmexport list_dir
func exportListDir() int32 { return skill.Handle(listDir) }

//go:wasmexport read_bin
func exportReadBin() int32 { return skill.Handle(readBin) }

//go:wasmexport search
func exportSearch() int32 { return skill.Handle(search) }
