// Command skillet-gemini is the provider of package gemini as a plugin. Skillet starts it,
// with the environment variables that package reads.
package main

import (
	"io"
	"log"
	"os"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/providers/gemini"
)

func main() {
	log.SetOutput(io.Discard) // the SDK logs the errors that it returns
	plugins.ServeProvider(gemini.New(os.Getenv))
}
