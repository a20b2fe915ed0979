package bundle_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// The digest of a package covers the names and the bytes of all its files, however it is packed.
func ExampleFromFiles() {
	p, err := bundle.FromFiles(map[string][]byte{
		"skill.json": []byte(`{"name": "greet", "version": "1.0.0", "description": "Greets people.", "type": "code_inline",
			"command": "main.wasm", "tools": [{"name": "hello", "description": "Greets one person."}]}`),
		"main.wasm": []byte("\x00asm\x01\x00\x00\x00"),
	})
	if err != nil {
		log.Fatal(err)
	}
	var packed bytes.Buffer
	if err := p.WriteArchive(&packed); err != nil {
		log.Fatal(err)
	}
	again, err := bundle.ReadArchive(&packed)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.FileName(), again.Digest() == p.Digest())
	for _, f := range again.Files() {
		fmt.Println(f.Path)
	}
	// Output:
	// greet-1.0.0.skill true
	// main.wasm
	// skill.json
}
