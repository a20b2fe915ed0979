package manifests

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// A Property is one property of a tool's input, for people to read.
type Property struct {
	Name string
	// Type is the JSON Schema type; several are joined by "or"; "any" when the
	// schema does not say.
	Type        string
	Description string
	Required    bool
}

// Properties lists the properties of a tool's input: required ones first, then
// by name. It is nil for a tool without an input schema.
func (t Tool) Properties() []Property {
	var schema struct {
		Properties map[string]struct {
			Type        typeNames `json:"type"`
			Description string    `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(t.InputSchema, &schema) != nil {
		return nil // a schema of another shape lists none
	}
	var ps []Property
	for name, p := range schema.Properties {
		ps = append(ps, Property{name, p.Type.String(), p.Description, slices.Contains(schema.Required, name)})
	}
	slices.SortFunc(ps, func(a, b Property) int {
		return cmp.Or(-compareBool(a.Required, b.Required), strings.Compare(a.Name, b.Name))
	})
	return ps
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// typeNames is the "type" of a JSON Schema: one name, or several.
type typeNames []string

func (n *typeNames) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*n = typeNames{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(n))
}

func (n typeNames) String() string {
	if len(n) == 0 {
		return "any"
	}
	return strings.Join(n, " or ")
}
