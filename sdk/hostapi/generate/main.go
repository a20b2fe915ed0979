// Command generate writes the low-level parts of the SDKs and the reference page from the description of the
// host interface. It runs at the top of the tree: make generate.
package main

import (
	"fmt"
	"os"

	"github.com/skillet-run/skillet/sdk/hostapi"
)

func main() {
	written, err := hostapi.Generate(".")
	for _, path := range written {
		fmt.Println(path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
