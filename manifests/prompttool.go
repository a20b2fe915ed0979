package manifests

import (
	"encoding/json"
	"slices"
)

// PromptToolName is the name under which a prompt is shown and called like a
// tool.
const PromptToolName = "prompt"

// PromptTool describes a prompt and its parameters as a tool and its input, so
// that both are read and checked in one way: [CoerceArgs] reads key=value
// pairs for it, [Manifest.ValidateInput] refuses what does not fit and what is
// unknown, and its schema tells people and models what it takes. ok is false
// unless m is a prompt, with a text of its own.
func (m *Manifest) PromptTool() (t Tool, ok bool) {
	if !m.Type.IsPrompt() || m.Prompt == "" && m.PromptTemplate == "" {
		return Tool{}, false
	}
	return Tool{Name: PromptToolName, Description: m.Description, InputSchema: parameterSchema(m.Parameters)}, true
}

// A parameterObject is the JSON Schema of a prompt's parameters. Members are in
// the order of their names, so that equal parameters have equal texts.
type parameterObject struct {
	Type       string                     `json:"type"`
	Additional bool                       `json:"additionalProperties"`
	Required   []string                   `json:"required,omitempty"`
	Properties map[string]parameterMember `json:"properties,omitempty"`
}

type parameterMember struct {
	Type        string          `json:"type"`
	Description string          `json:"description,omitempty"`
	Enum        []string        `json:"enum,omitempty"`
	Pattern     string          `json:"pattern,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
}

func parameterSchema(all []Parameter) json.RawMessage {
	o := parameterObject{Type: "object", Properties: map[string]parameterMember{}}
	for _, p := range all {
		member := parameterMember{Type: p.Type, Description: p.Description, Pattern: p.Pattern, Default: p.Default}
		if p.Type == "enum" {
			member.Type, member.Enum = "string", p.Values
		}
		o.Properties[p.Name] = member
		if p.Required && len(p.Default) == 0 {
			o.Required = append(o.Required, p.Name)
		}
	}
	slices.Sort(o.Required)
	b, err := json.Marshal(o)
	if err != nil { // cannot fail: texts, and defaults that are JSON
		panic("manifests: describe parameters: " + err.Error())
	}
	return b
}
