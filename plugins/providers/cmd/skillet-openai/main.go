// Command skillet-openai is the provider of package openai as a plugin. Skillet starts it,
// with the environment variables that package reads.
package main

import (
	"os"

	"github.com/skillet-run/skillet/plugins"
	"github.com/skillet-run/skillet/plugins/providers/openai"
)

func main() { plugins.ServeProvider(openai.New(os.Getenv)) }
