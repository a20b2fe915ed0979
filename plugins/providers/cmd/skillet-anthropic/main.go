// Command skillet-anthropic is the provider of package anthropic as a plugin. Skillet starts it,
// with the environment variables that package reads.
package main

import (
	"os"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/providers/anthropic"
)

func main() { plugins.ServeProvider(anthropic.New(os.Getenv)) }
