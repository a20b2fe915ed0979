//go:build !part || files

package main

import skill "github.com/skillet-run/skillet/sdk/go"

//go:wasmexport read
func read() int32 {
	return skill.Handle(func(in struct{ Path string }) (string, error) {
		b, err := skill.ReadFile(in.Path)
		return string(b), err
	})
}

//go:wasmexport write
func write() int32 {
	return skill.Handle(func(in struct{ Path, Text string }) (int64, error) {
		return skill.WriteFile(in.Path, []byte(in.Text), skill.WriteOptions{})
	})
}
