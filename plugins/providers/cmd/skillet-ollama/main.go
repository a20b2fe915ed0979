// Command skillet-ollama is the provider of package ollama as a plugin. Skillet starts it,
// with the environment variables that package reads.
package main

import (
	"os"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/providers/ollama"
)

func main() { plugins.ServeProvider(ollama.New(os.Getenv)) }
