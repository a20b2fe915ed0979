package review

import "github.com/skillet-run/skillet/manifests"

// ReadByModels is what models read of a skill: text with which its author speaks to
// them.
type ReadByModels struct {
	Description    string           `json:"description"`
	Tools          []manifests.Tool `json:"tools"`
	Prompt         string           `json:"prompt,omitempty"`
	PromptTemplate string           `json:"prompt_template,omitempty"`
}

// Read is what models read of the skill of a manifest.
func Read(m *manifests.Manifest) *ReadByModels {
	return &ReadByModels{m.Description, append([]manifests.Tool{}, m.Tools...), m.Prompt, m.PromptTemplate}
}
