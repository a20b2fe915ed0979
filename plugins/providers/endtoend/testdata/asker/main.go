// Asker asks a model, as skills do that summarise or translate.
package main

import skill "github.com/skillet-run/skillet/sdk/go"

func main() {}

//go:wasmexport ask
func ask() int32 {
	return skill.Handle(func(in struct {
		Question string `json:"question"`
	}) (string, error) {
		a, err := skill.ModelCall(skill.Prompt{Model: "fast", Text: in.Question, MaxTokens: 100})
		return a.Text, err
	})
}
