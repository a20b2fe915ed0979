// Command skillet-gemini is the provider of package gemini as a plugin. Skillet starts it,
// with the environment variables that package reads.
package main

import (
	"os"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/providers/gemini"
)

func main() { plugins.ServeProvider(gemini.New(os.Getenv)) }
