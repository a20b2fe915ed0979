package local

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/provider"
)

// extract answers a schema that is not known with what the text says in so many
// words: lines such as "name: value", or a JSON object with such members.
func extract(schema json.RawMessage, c conversation) (string, error) {
	var s struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil || s.Type != "object" {
		return "", refuse(provider.ClassInvalid, "without a language model, only schemas of objects can be answered")
	}
	texts := []string{c.goal}
	for _, p := range c.passages {
		texts = append(texts, p.text)
	}
	var answer step
	for _, m := range membersOf(s.Properties) {
		if v, ok := findValue(m, texts); ok {
			answer.set(m.name, v)
		}
	}
	if missing := slices.DeleteFunc(s.Required, answer.has); len(missing) > 0 {
		return "", refuse(provider.ClassInvalid, "without a language model, a value is found only where it is written as \"name: value\"; missing: %s", strings.Join(missing, ", "))
	}
	b, err := answer.input(nil)
	return string(b), err
}

// maxName is how long the name of a value may be that is looked for, in bytes.
const maxName = 100

// findValue finds the value of a property in the texts, the first that fits its schema.
func findValue(m member, texts []string) (json.RawMessage, bool) {
	s, err := manifests.CompileSchema(m.value)
	if err != nil || len(m.name) > maxName {
		return nil, false
	}
	words := regexp.QuoteMeta(strings.ToLower(m.name))
	words = strings.NewReplacer("_", `[ _-]`, `\-`, `[ _-]`).Replace(words)
	line := regexp.MustCompile(`(?im)^[ \t>*-]*["*_` + "`" + `]*` + words + `["*_` + "`" + `]*[ \t]*[:=][ \t]*["*_` + "`" + `]*(.+?)["*_` + "`" + `,]*[ \t\r]*$`)
	for _, text := range texts {
		all := inObjects(text, m.name)
		for _, found := range line.FindAllStringSubmatch(text, 16) {
			all = append(all, readings(found[1])...)
		}
		for _, v := range all {
			if s.Check(v) == nil {
				return v, true
			}
		}
	}
	return nil, false
}

// inObjects are the members of a name of the JSON objects that stand in a text, of the first eight.
func inObjects(text, name string) (all []json.RawMessage) {
	for range 8 {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			break
		}
		var object json.RawMessage
		if json.NewDecoder(strings.NewReader(text[i:])).Decode(&object) == nil {
			for _, m := range membersOf(object) {
				if m.name == name {
					all = append(all, m.value)
				}
			}
		}
		text = text[i+1:]
	}
	return all
}

// readings are the values that a text can stand for: JSON, yes or no, a string, or a list of them.
func readings(text string) (all []json.RawMessage) {
	text = strings.TrimSpace(text)
	lower := strings.ToLower(text)
	if json.Valid([]byte(text)) && text[0] != '{' {
		all = append(all, json.RawMessage(text))
	}
	if b, ok := map[string]string{"yes": "true", "no": "false", "true": "true", "false": "false"}[lower]; ok {
		all = append(all, json.RawMessage(b))
	}
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	for _, v := range []any{text, lower, list} {
		b, _ := json.Marshal(v) // strings always can be
		all = append(all, b)
	}
	return all
}
