// A reactor that does much at its start and little in a call.
package main

import (
	"strconv"
	"unsafe"
)

//go:wasmimport skillet:host/v1 output_write
func outputWrite(ptr unsafe.Pointer, n uint32)

var table = func() map[string]int {
	m := map[string]int{}
	for i := range 20_000 {
		m[strconv.Itoa(i)] = i * i
	}
	return m
}()

//go:wasmexport run
func run() int32 {
	text := strconv.Itoa(table["1234"])
	outputWrite(unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
	return 0
}

func main() {}
