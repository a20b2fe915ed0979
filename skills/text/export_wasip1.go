package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport statistics
func exportStatistics() int32 { return skill.Handle(statistics) }

//go:wasmexport summarize
func exportSummarize() int32 { return skill.Handle(summarize) }

//go:wasmexport diff
func exportDiff() int32 { return skill.Handle(diff) }
