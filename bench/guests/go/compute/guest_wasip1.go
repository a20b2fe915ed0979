package main

import (
	"strconv"

	"github.com/skillet-run/skillet/bench/guests/go/work"
	skill "github.com/skillet-run/skillet/sdk/go"
)

//go:wasmexport spin
func spin() int32 { return answer(work.Spin) }

//go:wasmexport calls
func calls() int32 { return answer(work.Calls) }

//go:wasmexport sha256
func sha256() int32 { return answer(work.SHA256) }

//go:wasmexport sort
func sort() int32 { return answer(work.Sort) }

//go:wasmexport matrix
func matrix() int32 { return answer(work.Matrix) }

//go:wasmexport json
func json() int32 { return answer(work.JSON) }

//go:wasmexport regex
func regex() int32 { return answer(work.Regex) }

func answer(work func(uint64) uint64) int32 {
	err := run(work)
	if err != nil {
		return skill.Fail(skill.KindOf(err), err.Error())
	}
	return 0
}

func run(work func(uint64) uint64) error {
	text, err := skill.InputBytes()
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return skill.Errorf(skill.Invalid, "amount: %w", err)
	}
	return skill.OutputBytes(strconv.AppendUint(nil, work(n), 10))
}
