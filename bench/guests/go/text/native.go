//go:build !wasip1

package main

import (
	"fmt"
	"io"
	"os"

	"github.com/skillet-run/skillet/bench/guests/go/figures"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		_, err = os.Stdout.Write(figures.Of(text))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
