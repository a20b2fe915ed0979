package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skillet-run/skillet/manifests"
)

// A tool is a tool of a skill, and how a model sees it.
type tool struct {
	skill, name string
	shown       *sdk.Tool
	// free says that no schema says what the input is, so that the arguments have it as the
	// member [inputMember]: a text as it stands, or JSON.
	free bool
	// own answers a call of a tool that is not one of a skill; nil for one that is.
	own func(ctx context.Context, r *sdk.CallToolRequest, again bool) (*sdk.CallToolResult, error)
}

// toolsOf are the tools of a skill that can be called: those for the host alone are left out.
func toolsOf(m *manifests.Manifest) []manifests.Tool {
	var all []manifests.Tool
	kv := m.Security.Permissions.KV
	for _, t := range m.Tools {
		_, script := m.Script(t.Name)
		if (m.Type.IsCode() || m.Type.IsMCP() || script) && (kv == nil || kv.Migrate != t.Name) {
			all = append(all, t)
		}
	}
	return all
}

// maxName is the longest name that all clients take.
const maxName = 64

// nameOf names a tool of a skill, or the skill's prompt when tool is empty: SKILL__TOOL. Names of
// skills have no underscores, so that no two tools have one name; one that is too long ends in
// a part of its hash.
func nameOf(skill, tool string) string {
	name := skill
	if tool != "" {
		name += "__" + tool
	}
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:maxName-9] + "_" + hex.EncodeToString(sum[:4])
}

// inputMember names the one member of the arguments of a tool without a schema. Its value is
// the input: arguments are always an object, and such an input may be anything.
const inputMember = "input"

// freeSchema is the schema of the arguments of a tool that has none.
const freeSchema = `{"type":"object","properties":{"` + inputMember + `":{"description":"The input: any text, or any JSON."}},"required":["` + inputMember + `"],"additionalProperties":false}`

func newTool(m *manifests.Manifest, t manifests.Tool) tool {
	input := t.InputSchema // which describes an object
	if len(input) == 0 {
		input = json.RawMessage(freeSchema)
	}
	open, destroys := m.Security.Permissions.Network != nil, !t.ReadOnly
	shown := &sdk.Tool{
		Name: nameOf(m.Name, t.Name), Title: m.Name + ": " + t.Name, Description: t.Description, InputSchema: input,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent || t.ReadOnly, DestructiveHint: &destroys, OpenWorldHint: &open},
		Meta:        sdk.Meta{metaSkill: m.Name + "@" + m.Version},
	}
	if shown.Description == "" {
		shown.Description = m.Description
	}
	if isObject(t.OutputSchema) { // which older clients insist on
		shown.OutputSchema = t.OutputSchema
	}
	return tool{skill: m.Name, name: t.Name, shown: shown, free: len(t.InputSchema) == 0}
}

// metaSkill says which version of which skill it is, in what is told beside a tool.
const metaSkill = "run.skillet/skill"

// isObject reports whether a schema says that it describes an object.
func isObject(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

// inputOf is the input of a tool in the arguments of a call.
func (t tool) inputOf(arguments json.RawMessage) ([]byte, error) {
	if len(bytes.TrimSpace(arguments)) == 0 || string(bytes.TrimSpace(arguments)) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, errors.New("the arguments are not an object")
	}
	if !t.free {
		return arguments, nil
	}
	value, ok := members[inputMember]
	if !ok || len(members) != 1 {
		return nil, errors.New(`the arguments have one member, "` + inputMember + `", and no other`)
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return []byte(text), nil
	}
	return value, nil
}
