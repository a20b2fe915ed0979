package answer

import "encoding/json"

// maxSchemaDepth bounds how deep [Strict] looks.
const maxSchemaDepth = 32

// schema is the part of JSON Schema that [Strict] looks at.
type schema struct {
	Type                 json.RawMessage            `json:"type"`
	Properties           map[string]json.RawMessage `json:"properties"`
	Required             []string                   `json:"required"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	Items                json.RawMessage            `json:"items"`
	AnyOf                []json.RawMessage          `json:"anyOf"`
	Defs                 map[string]json.RawMessage `json:"$defs"`

	// Words that strict modes refuse.
	AllOf         json.RawMessage `json:"allOf"`
	OneOf         json.RawMessage `json:"oneOf"`
	Not           json.RawMessage `json:"not"`
	If            json.RawMessage `json:"if"`
	PatternProps  json.RawMessage `json:"patternProperties"`
	PropertyNames json.RawMessage `json:"propertyNames"`
}

// Strict says whether a JSON Schema is one that servers can hold an answer to
// exactly: each object says all its properties, requires them, and allows no
// others, and nothing is put together of other schemas but by anyOf.
func Strict(text json.RawMessage) bool {
	var root schema
	return json.Unmarshal(text, &root) == nil && string(root.Type) == `"object"` && strict(text, 0)
}

func strict(text json.RawMessage, depth int) bool {
	var s schema
	if depth > maxSchemaDepth || json.Unmarshal(text, &s) != nil {
		return false
	}
	if s.AllOf != nil || s.OneOf != nil || s.Not != nil || s.If != nil || s.PatternProps != nil || s.PropertyNames != nil {
		return false
	}
	if string(s.Type) == `"object"` && !closed(s) {
		return false
	}
	for _, part := range s.parts() {
		if !strict(part, depth+1) {
			return false
		}
	}
	return true
}

func closed(s schema) bool {
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	for name := range s.Properties {
		if !required[name] {
			return false
		}
	}
	return string(s.AdditionalProperties) == "false"
}

func (s schema) parts() []json.RawMessage {
	parts := s.AnyOf
	if s.Items != nil {
		parts = append(parts, s.Items)
	}
	for _, p := range s.Properties {
		parts = append(parts, p)
	}
	for _, p := range s.Defs {
		parts = append(parts, p)
	}
	return parts
}
