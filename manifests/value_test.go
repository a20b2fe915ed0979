package manifests_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/skillet-run/skillet/manifests"
)

// withSchema returns a manifest with one tool of these schemas.
func withSchema(t *testing.T, input, output string) (*manifests.Manifest, manifests.Tool) {
	t.Helper()
	m := &manifests.Manifest{
		Name: "demo", Description: "d", Version: "1.0.0", Type: manifests.KindCodeInline, Command: "main.wasm",
		Tools: []manifests.Tool{{Name: "run", InputSchema: json.RawMessage(input), OutputSchema: json.RawMessage(output)}},
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	m = parse(t, string(b))
	tool, _ := m.DefaultTool()
	return m, tool
}

const personSchema = `{
	"type": "object",
	"additionalProperties": false,
	"required": ["name"],
	"properties": {
		"name": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"},
		"age": {"type": "integer", "minimum": 0, "exclusiveMaximum": 150},
		"mail": {"type": "string", "format": "email"},
		"mood": {"enum": ["glad", "sad"]},
		"friends": {"type": "array", "maxItems": 2, "uniqueItems": true, "items": {"$ref": "#"}},
		"id": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
		"odd.key": {"type": "null"}
	}
}`

func TestValidateInput(t *testing.T) {
	t.Parallel()
	m, tool := withSchema(t, personSchema, "")
	for input, want := range map[string]string{
		`{"name": "Ada"}`: "",
		`{"name": "Ada", "age": 36, "mail": "ada@example.com", "mood": "glad", "id": 5, "odd.key": null}`: "",
		`{"name": "Ada", "friends": [{"name": "Bob", "friends": [{"name": "Cy"}]}]}`:                      "",
		`{}`:                              "name: is missing",
		`[]`:                              "wants an object, has a list",
		`{"name": ""}`:                    "name: has 0 characters, wants at least 1\nname: has \"\", which does not match ^[A-Z]",
		`{"name": 5}`:                     "name: wants text, has a number",
		`{"name": "Ada", "age": -1}`:      "age: has -1, wants at least 0",
		`{"name": "Ada", "age": 150}`:     "age: has 150, wants less than 150",
		`{"name": "Ada", "age": 1.5}`:     "age: wants a whole number, has a number",
		`{"name": "Ada", "mail": "x"}`:    `mail: has "x", which is not a valid email`,
		`{"name": "Ada", "mood": "gald"}`: `mood: has "gald", wants one of "glad", "sad"; did you mean glad?`,
		`{"name": "Ada", "nmae": 1}`:      "nmae: unknown field",
		`{"name": "Ada", "friends": [{"name": "Bob"}, {"name": "bob"}]}`:            `friends[1].name: has "bob", which does not match ^[A-Z]`,
		`{"name": "Ada", "friends": [{"name": "Bob"}, {"name": "Bob"}]}`:            "friends: has the same value at [0] and [1]",
		`{"name": "Ada", "friends": [{"name": "A"}, {"name": "B"}, {"name": "C"}]}`: "friends: has 3 items, wants at most 2",
		`{"name": "Ada", "id": true}`:                                               "id: fits none of the forms allowed; wants a whole number, has true or false, or wants text, has true or false",
		`{"name": "Ada", "odd.key": 1}`:                                             `["odd.key"]: wants nothing (null), has a number`,
		`{"name": "Ada", "name": "Bob"}`:                                            "line 1: name: given twice, first on line 1; remove one of the two",
		`{"name": "Ada"`:                                                            "line 1: is not JSON: unexpected end of JSON input",
		`{"name": "Ada"} {}`:                                                        "line 1: is not JSON: invalid character '{' after top-level value",
		``:                                                                          "line 1: is not JSON: unexpected end of JSON input",
		"{\"name\": \"A\xff\"}":                                                     "line 1: is not valid UTF-8; save the document as UTF-8",
		`{"name": "Ada", "age": 1e999999}`:                                          "line 1: age: a number this large or this precise is not accepted; write at most 256 characters and an exponent within ±400",
		strings.Repeat("[", 100) + strings.Repeat("]", 100):                         "line 1: " + strings.Repeat("[0]", 64) + ": is nested deeper than 64 levels",
	} {
		err := m.ValidateInput(tool, json.RawMessage(input))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", input, err)
			}
			continue
		}
		var errs manifests.Errors
		if !errors.Is(err, manifests.ErrInput) || errors.Is(err, manifests.ErrOutput) || !errors.As(err, &errs) {
			t.Errorf("%s: %v", input, err)
			continue
		}
		if errs.Error() != want {
			t.Errorf("%s:\nhave %q\nwant %q", input, errs.Error(), want)
		}
	}
}

func TestValidateOutput(t *testing.T) {
	t.Parallel()
	m, tool := withSchema(t, "", `{"type": "array", "items": {"type": "integer"}}`)
	if err := m.ValidateOutput(tool, json.RawMessage(`[1, 2]`)); err != nil {
		t.Error(err)
	}
	err := m.ValidateOutput(tool, json.RawMessage(`[1, "2"]`))
	if !errors.Is(err, manifests.ErrOutput) || !strings.Contains(err.Error(), "tool run: [1]: wants a whole number, has text") {
		t.Error(err)
	}
	if err := m.ValidateInput(tool, json.RawMessage("\xff no JSON")); err != nil {
		t.Errorf("without a schema any bytes fit: %v", err)
	}
	if err := (&manifests.Manifest{}).ValidateOutput(tool, json.RawMessage(`{}`)); !errors.Is(err, manifests.ErrOutput) {
		t.Errorf("a tool of no manifest: %v", err)
	}
}

// TestValidationIsBounded shows that no schema and value, both written by a
// skill, take longer to check than the meter allows. Without it each of these
// takes minutes or longer, or crashes the library.
func TestValidationIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, value string }{
		"definitions that double": {doubling(40), `1`},
		"recursion that doubles": {
			`{"allOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"x": {"$ref": "#"}}}]}`,
			strings.Repeat(`{"x":`, 50) + `1` + strings.Repeat(`}`, 50),
		},
		"lists that double": {
			`{"allOf": [{"items": {"$ref": "#"}}, {"prefixItems": [{"$ref": "#"}]}]}`,
			strings.Repeat(`[`, 50) + strings.Repeat(`]`, 50),
		},
		"a long enumeration": {
			`{"items": {"enum": [` + strings.Repeat("1,", 10_000) + `2]}}`,
			`[` + strings.Repeat("3,", 10_000) + `3]`,
		},
		"numbers": {
			`{"items": {"multipleOf": 1e-300}}`,
			`[` + strings.Repeat("2.5e300,", 200_000) + `1]`,
		},
		"costly patterns": {
			`{"items": {"pattern": "^(a?){1000}b"}}`,
			`[` + strings.Repeat(`"`+strings.Repeat("a", 1000)+`",`, 100) + `""]`,
		},
		"patterns for members": {
			`{"patternProperties": {` + manyPatterns(1000) + `}}`,
			`{` + manyMembers(5000) + `}`,
		},
		"unique lists": {
			`{"uniqueItems": true}`,
			`[` + manyItems(5000) + `]`,
		},
	} {
		m, tool := withSchema(t, "", c.schema)
		err := m.ValidateOutput(tool, json.RawMessage(c.value))
		if err == nil || !strings.Contains(err.Error(), "takes more than 1000000 steps") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// doubling is a schema in which each definition applies the next one twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/d0", "$defs": {`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d": {}}}`, n)
	return b.String()
}

func manyPatterns(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"^%d$": true`, i)
	}
	return strings.Join(all, ",")
}

func manyMembers(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"m%d": 1`, i)
	}
	return strings.Join(all, ",")
}

func manyItems(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("[%d]", i)
	}
	return strings.Join(all, ",")
}

// TestHonestValuesAreNotTooCostly keeps the meter away from real work.
func TestHonestValuesAreNotTooCostly(t *testing.T) {
	t.Parallel()
	row := `{"name": "a name of some length", "size": 12345, "tags": ["a", "b"], "dir": false}`
	schema := `{"type": "array", "items": {"$ref": "#/$defs/row"}, "$defs": {"row": {"type": "object",
		"additionalProperties": false, "required": ["name"], "properties": {"name": {"type": "string", "pattern": "^[a-z ]+$"},
		"size": {"type": "integer"}, "dir": {"type": "boolean"}, "tags": {"type": "array", "uniqueItems": true, "items": {"type": "string"}}}}}}`
	m, tool := withSchema(t, "", schema)
	value := "[" + strings.Repeat(row+",", 15_000) + row + "]" // 1.2 MB
	if err := m.ValidateOutput(tool, json.RawMessage(value)); err != nil {
		t.Errorf("%.200v", err)
	}
}

func TestValidateConcurrently(t *testing.T) {
	t.Parallel()
	m, tool := withSchema(t, personSchema, "")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				err := m.ValidateInput(tool, json.RawMessage(fmt.Sprintf(`{"name": "Ada", "age": %d}`, i-4)))
				if (err != nil) != (i < 4) {
					t.Errorf("%d: %v", i-4, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestRarerKeywords holds the text of keywords that have none of their own to
// something a person can read.
func TestRarerKeywords(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"not": {"type": "object"}}`:                               "'not' failed",
		`{"contains": {"type": "string"}}`:                          "",
		`{"properties": {"a": {"contains": {"type": "string"}}}}`:   "a: no items match contains schema",
		`{"properties": {"a": {"minContains": 2, "contains": {}}}}`: "a: min 2 items required to match contains schema, but matched 1 items at 0",
		`{"dependentRequired": {"a": ["b"]}}`:                       "b: is missing; a needs it",
		`{"minProperties": 2}`:                                      "minProperties: got 1, want 2",
		`{"propertyNames": {"maxLength": 0}}`:                       `the name "a" is not accepted; has 1 character, wants at most 0`,
		`{"oneOf": [{}, {}]}`:                                       "fits more than one of the forms allowed; it must fit exactly one",
		`{"properties": {"a": false}}`:                              "a: false schema",
		`{"properties": {"a": {"const": 5}}}`:                       "a: has [1], wants 5",
	} {
		m, tool := withSchema(t, "", schema)
		err := m.ValidateOutput(tool, json.RawMessage(`{"a": [1]}`))
		var errs manifests.Errors
		if want == "" && err == nil {
			continue
		}
		if !errors.As(err, &errs) || errs.Error() != want {
			t.Errorf("%s: have %v, want %q", schema, err, want)
		}
	}
}

// TestProblemsAreCapped keeps an error readable.
func TestProblemsAreCapped(t *testing.T) {
	t.Parallel()
	m, tool := withSchema(t, "", `{"items": {"type": "string"}}`)
	err := m.ValidateOutput(tool, json.RawMessage("["+strings.Repeat("1,", 999)+"1]"))
	var errs manifests.Errors
	if !errors.As(err, &errs) || len(errs) != 21 || errs[20].Message != "and 980 more problems" {
		t.Errorf("%.300v", err)
	}
}

func BenchmarkValidateInput(b *testing.B) {
	tool := manifests.Tool{Name: "run", InputSchema: json.RawMessage(personSchema)}
	text, err := json.Marshal(&manifests.Manifest{
		Name: "demo", Description: "d", Version: "1.0.0", Type: manifests.KindCodeInline, Command: "main.wasm", Tools: []manifests.Tool{tool},
	})
	if err != nil {
		b.Fatal(err)
	}
	m, err := manifests.Parse(text, "skill.json")
	if err != nil {
		b.Fatal(err)
	}
	tool, _ = m.DefaultTool()
	input := json.RawMessage(`{"name": "Ada", "age": 36, "mail": "ada@example.com"}`)
	for b.Loop() {
		if err := m.ValidateInput(tool, input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte(fmt.Sprintf(minimal, ""))
	for b.Loop() {
		if _, err := manifests.Parse(text, "skill.json"); err != nil {
			b.Fatal(err)
		}
	}
}
