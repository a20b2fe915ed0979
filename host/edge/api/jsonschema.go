package api

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// JSONSchema is the JSON Schema of what is written of one of some types, with the types that
// it needs under $defs. The names of the types are those of the OpenAPI document.
func JSONSchema(title string, types ...reflect.Type) (doc json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil { // huma panics for what cannot be written as JSON
			err = fmt.Errorf("schema of %s: %v", title, p)
		}
	}()
	registry := huma.NewMapRegistry("#/$defs/", schemaName)
	forms := make([]*huma.Schema, len(types))
	for i, t := range types {
		forms[i] = registry.Schema(t, true, "Answer")
	}
	return json.MarshalIndent(struct {
		Dialect string                  `json:"$schema"`
		Title   string                  `json:"title"`
		AnyOf   []*huma.Schema          `json:"anyOf"`
		Defs    map[string]*huma.Schema `json:"$defs,omitempty"`
	}{"https://json-schema.org/draft/2020-12/schema", title, forms, registry.Map()}, "", "  ")
}
