package main

import (
	"encoding/json"
	"strings"
	"testing"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const person = `{
	"type": "object",
	"required": ["name"],
	"properties": {
		"name": {"type": "string", "minLength": 1},
		"age": {"type": "integer", "minimum": 0},
		"mail": {"type": "string", "format": "email"},
		"tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
		"id": {"oneOf": [{"type": "string"}, {"type": "integer"}]}
	},
	"additionalProperties": false,
	"$defs": {"tag": {"pattern": "^[a-z/]+$"}}
}`

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data string
		want       []problem
	}{
		{"valid", `{"name":"Ann","age":3,"tags":["a/b"],"id":7}`, nil},
		{"a format is an annotation", `{"name":"Ann","mail":"x"}`, nil},
		{"missing", `{}`, []problem{{"", "/required", "missing property 'name'"}}},
		{"wrong type", `{"name":7}`, []problem{{"/name", "/properties/name/type", "got number, want string"}}},
		{"two", `{"name":"","age":-1}`, []problem{
			{"/age", "/properties/age/minimum", "minimum: got -1, want 0"},
			{"/name", "/properties/name/minLength", "minLength: got 0, want 1"}}},
		{"unknown", `{"name":"A","x~/y":1}`, []problem{{"", "/additionalProperties", "additional properties 'x~/y' not allowed"}}},
		{"reference", `{"name":"A","tags":["ok","Bad"]}`, []problem{{"/tags/1", "/$defs/tag/pattern", "'Bad' does not match pattern '^[a-z/]+$'"}}},
		{"choice", `{"name":"A","id":null}`, []problem{
			{"/id", "/properties/id/oneOf", "'oneOf' failed, none matched"},
			{"/id", "/properties/id/oneOf/0/type", "got null, want string"},
			{"/id", "/properties/id/oneOf/1/type", "got null, want integer"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := validate(validateInput{Data: json.RawMessage(tt.data), Schema: json.RawMessage(person)})
			if err != nil || got.Valid != (tt.want == nil) || got.ErrorCount != len(tt.want) {
				t.Fatalf("validate(%s) = %+v, %v", tt.data, got, err)
			}
			for _, want := range tt.want {
				if !containsProblem(got.Errors, want) {
					t.Errorf("validate(%s) = %+v, lacks %+v", tt.data, got.Errors, want)
				}
			}
		})
	}
}

func containsProblem(all []problem, p problem) bool {
	for _, have := range all {
		if have == p {
			return true
		}
	}
	return false
}

func TestValidateOptions(t *testing.T) {
	t.Parallel()
	got, err := validate(parsed[validateInput](t, `{"data":"x","schema":{"format":"email"},"check_formats":true}`))
	if err != nil || got.Valid {
		t.Errorf("validate with check_formats = %+v, %v; want an error", got, err)
	}
	got, err = validate(parsed[validateInput](t, `{"data":[1,2,3],"schema":{"items":{"type":"string"}},"max_errors":2}`))
	if err != nil || len(got.Errors) != 2 || got.ErrorCount != 3 || !got.Truncated {
		t.Errorf("validate with max_errors 2 = %+v, %v; want 2 of 3", got, err)
	}
	got, err = validate(parsed[validateInput](t, `{"text":" [1] ","schema":{"$schema":"http://json-schema.org/draft-04/schema#","type":"array"}}`))
	if err != nil || !got.Valid {
		t.Errorf("validate with a draft-04 schema = %+v, %v", got, err)
	}
}

func TestValidateErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, input, contains string }{
		{"no schema", `{"data":1}`, "schema: must be given"},
		{"no data", `{"schema":{}}`, "data or text"},
		{"two documents", `{"text":"1 2","schema":{}}`, "one JSON document, not 2"},
		{"empty text", `{"text":"","schema":{}}`, "one JSON document, not 0"},
		{"wrong schema", `{"data":1,"schema":{"type":"strin"}}`, "schema: at /type: "},
		{"schema of a wrong type", `{"data":1,"schema":[]}`, "schema: "},
		{"remote reference", `{"data":1,"schema":{"$ref":"https://example.com/s.json"}}`, "https://example.com/s.json: schemas elsewhere are not loaded"},
		{"file reference", `{"data":1,"schema":{"$ref":"file:///etc/passwd"}}`, "schemas elsewhere are not loaded"},
		{"relative reference", `{"data":1,"schema":{"$ref":"other.json"}}`, "schemas elsewhere are not loaded"},
		{"missing definition", `{"data":1,"schema":{"$ref":"#/$defs/x"}}`, "schema: "},
		{"bad pattern", `{"data":"1","schema":{"pattern":"("}}`, "schema: "},
		{"huge exponent in data", `{"data":1e999999999,"schema":{"minimum":1}}`, "data: the exponent of 1e999999999"},
		{"huge exponent in schema", `{"data":1,"schema":{"minimum":1e-999999999}}`, "schema: the exponent of"},
		{"max_errors", `{"data":1,"schema":{},"max_errors":0}`, "max_errors: must be from 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := validate(parsed[validateInput](t, tt.input))
			if skill.KindOf(err) != skill.Invalid || !strings.Contains(err.Error(), tt.contains) {
				t.Errorf("validate(%s) = %v (%s), want %q", tt.input, err, skill.KindOf(err), tt.contains)
			}
			if err != nil && strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("validate(%s): more than one line: %q", tt.input, err)
			}
		})
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(`{"name":"A"}`, person)
	f.Add(`[1,1.0]`, `{"uniqueItems":true,"$ref":"#"}`)
	f.Add(`1e999`, `{"multipleOf":0.1}`)
	f.Add(`{}`, ``)
	f.Add(`"x"`, `{"$ref":"http://a/"}`)
	f.Fuzz(func(t *testing.T, data, schema string) {
		got, err := validate(validateInput{Text: &data, Schema: json.RawMessage(schema)})
		if err == nil && got.Valid != (got.ErrorCount == 0) {
			t.Errorf("validate(%q, %q) = %+v", data, schema, got)
		}
	})
}
