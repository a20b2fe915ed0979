package main

import (
	"encoding/binary"

	"github.com/skillet-run/skillet/bench/guests/go/figures"
)

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoad8(offset uint64) uint32

//go:wasmimport extism:host/env input_load_u64
func inputLoad64(offset uint64) uint64

//go:wasmimport extism:host/env alloc
func alloc(length uint64) uint64

//go:wasmimport extism:host/env store_u8
func store8(offset uint64, value uint32)

//go:wasmimport extism:host/env store_u64
func store64(offset, value uint64)

//go:wasmimport extism:host/env output_set
func outputSet(offset, length uint64)

func read() []byte {
	text := make([]byte, inputLength())
	whole := len(text) &^ 7
	for i := 0; i < whole; i += 8 {
		binary.LittleEndian.PutUint64(text[i:], inputLoad64(uint64(i)))
	}
	for i := whole; i < len(text); i++ {
		text[i] = byte(inputLoad8(uint64(i)))
	}
	return text
}

func write(text []byte) {
	block := alloc(uint64(len(text)))
	whole := len(text) &^ 7
	for i := 0; i < whole; i += 8 {
		store64(block+uint64(i), binary.LittleEndian.Uint64(text[i:]))
	}
	for i := whole; i < len(text); i++ {
		store8(block+uint64(i), uint32(text[i]))
	}
	outputSet(block, uint64(len(text)))
}

// init makes what encoding/json keeps for a type, before the snapshot that calls
// start from: a call that had to make it would be ten times slower.
func init() { figures.Of(nil) }

//go:wasmexport count
func count() int32 {
	write(figures.Of(read()))
	return 0
}

//go:wasmexport echo
func echo() int32 {
	write(read())
	return 0
}
