package builtin

import (
	"embed"
	"slices"
	"sync"

	agentdef "github.com/skillet-run/skillet/manifests/agent"
)

// The built-in definitions.
const (
	General      = "general"
	Planner      = "planner"
	Code         = "code"
	Research     = "research"
	FileOps      = "fileops"
	Conversation = "conversation"
)

//go:embed definitions/*.yaml
var files embed.FS

var parsed = sync.OnceValue(func() []agentdef.Definition {
	all := make([]agentdef.Definition, 0, len(Names()))
	for _, name := range Names() {
		d, err := agentdef.Parse(mustRead(name), name+".yaml")
		if err != nil {
			panic(err) // a file of the program itself
		}
		all = append(all, *d)
	}
	return all
})

func mustRead(name string) []byte {
	text, err := files.ReadFile("definitions/" + name + ".yaml")
	if err != nil {
		panic(err) // as above
	}
	return text
}

// Names are the names of the built-in definitions, in the order in which they are
// best shown.
func Names() []string { return []string{General, Conversation, Planner, Research, FileOps, Code} }

// Definitions are the built-in definitions, in the order of [Names].
func Definitions() []agentdef.Definition { return slices.Clone(parsed()) }

// Definition is the built-in definition of a name.
func Definition(name string) (d agentdef.Definition, ok bool) {
	i := slices.Index(Names(), name)
	if i < 0 {
		return d, false
	}
	return parsed()[i], true
}

// Text is the YAML of a built-in definition, to copy and to change.
func Text(name string) (text []byte, ok bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	return mustRead(name), true
}
