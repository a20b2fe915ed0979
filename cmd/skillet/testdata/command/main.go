// Command command is a WASI command for the tests: it takes JSON from its
// standard input and answers on its standard output.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

func main() {
	var in struct{ Text, Path string }
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, "read the input:", err)
		os.Exit(3)
	}
	if in.Path != "" {
		b, err := os.ReadFile(in.Path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(4)
		}
		in.Text = string(b)
	}
	fmt.Fprintln(os.Stderr, "working")
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"upper": strings.ToUpper(in.Text), "args": os.Args[1:]})
}
