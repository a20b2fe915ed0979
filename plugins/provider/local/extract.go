package local

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	var b bytes.Buffer
	b.WriteByte('{')
	found := map[string]bool{}
	for _, m := range membersOf(s.Properties) {
		v, ok := findValue(m, texts)
		if !ok {
			continue
		}
		if len(found) > 0 {
			b.WriteByte(',')
		}
		found[m.name] = true
		name, err := json.Marshal(m.name)
		if err != nil {
			return "", refuse(provider.ClassInternal, "write %q: %v", m.name, err)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	missing := slices.DeleteFunc(slices.Clone(s.Required), func(n string) bool { return found[n] })
	if len(missing) > 0 {
		return "", refuse(provider.ClassInvalid, "without a language model, a value is found only where it is written as \"name: value\"; missing: %s", strings.Join(missing, ", "))
	}
	return b.String(), nil
}

// maxName is how long the name of a value may be that is looked for, in bytes.
const maxName = 100

// findValue finds the value of a property in the texts, the first that fits.
func findValue(m member, texts []string) (json.RawMessage, bool) {
	var p property
	if len(m.name) > maxName || json.Unmarshal(m.value, &p) != nil {
		return nil, false
	}
	words := regexp.QuoteMeta(strings.ToLower(m.name))
	words = strings.NewReplacer("_", `[ _-]`, `\-`, `[ _-]`).Replace(words)
	line := regexp.MustCompile(`(?im)^[ \t>*-]*["*_` + "`" + `]*` + words + `["*_` + "`" + `]*[ \t]*[:=][ \t]*["*_` + "`" + `]*(.+?)["*_` + "`" + `,]*[ \t\r]*$`)
	for _, text := range texts {
		if v, ok := inObject(text, m.name, &p); ok {
			return v, true
		}
		for _, found := range line.FindAllStringSubmatch(text, 16) {
			if v, ok := p.convert(found[1]); ok {
				return v, true
			}
		}
	}
	return nil, false
}

// inObject looks for the member of a JSON object that stands in a text.
func inObject(text, name string, p *property) (json.RawMessage, bool) {
	for at, tries := 0, 0; tries < 8; tries++ {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			return nil, false
		}
		at += i
		var object json.RawMessage
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&object) == nil {
			for _, m := range membersOf(object) {
				if m.name == name && p.has(m.value) {
					return m.value, true
				}
			}
		}
		at++
	}
	return nil, false
}

// has says whether a value is of the type, and among the values, of a property.
func (p *property) has(v json.RawMessage) bool {
	types := map[byte]string{'{': "object", '[': "array", '"': "string", 't': "boolean", 'f': "boolean", 'n': "null"}
	name := types[v[0]]
	if name == "" {
		name = "number"
		if _, err := strconv.ParseInt(string(v), 10, 64); err == nil && !p.Type.is("number") {
			name = "integer"
		}
	}
	if !p.Type.is(name) || name == "object" || name == "array" && p.Items == nil {
		return false
	}
	var text string
	return len(p.Enum) == 0 || json.Unmarshal(v, &text) == nil && slices.Contains(p.Enum, text)
}

// convert makes a value of a property of what stands behind its name.
func (p *property) convert(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(text)
	if p.Items != nil && p.Type.is("array") {
		if !p.Items.Type.is("string") {
			return nil, false
		}
		var list []string
		for _, item := range strings.Split(text, ",") {
			list = append(list, strings.TrimSpace(item))
		}
		b, err := json.Marshal(list)
		return b, err == nil
	}
	if p.Type.is("string") {
		for _, e := range p.Enum {
			if strings.EqualFold(e, text) {
				text = e
			}
		}
		b, err := json.Marshal(text)
		return b, err == nil && p.has(b)
	}
	yes := map[string]string{"yes": "true", "no": "false", "true": "true", "false": "false"}
	if v, ok := yes[strings.ToLower(text)]; ok && p.Type.is("boolean") {
		return json.RawMessage(v), true
	}
	v := json.RawMessage(text)
	return v, json.Valid(v) && strings.IndexByte("0123456789-", text[0]) >= 0 && p.has(v) && p.allows(text)
}
