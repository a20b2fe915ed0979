package manifests

import "regexp"

// A PromptPart is a piece of a prompt: text that stands as it is, or the name of
// what stands in its place.
type PromptPart struct {
	Text string
	// Name is the placeholder's name; empty for text.
	Name string
}

// placeholder finds {name}, and {{name}}, which stands for the text {name}.
var placeholder = regexp.MustCompile(`\{\{[A-Za-z_][A-Za-z0-9_]*\}\}|\{[A-Za-z_][A-Za-z0-9_]*\}`)

// splitPrompt takes a prompt apart. {name} is a placeholder and {{name}} the text
// {name}, if isName says that the name is one; everything else, other braces
// included, is text. There is no other syntax.
func splitPrompt(text string, isName func(string) bool) []PromptPart {
	var parts []PromptPart
	from := 0
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		found := text[at[0]:at[1]]
		escaped := found[1] == '{'
		name := found[1 : len(found)-1]
		if escaped {
			name = name[1 : len(name)-1]
		}
		if !isName(name) {
			continue
		}
		parts = append(parts, PromptPart{Text: text[from:at[0]]})
		if escaped {
			parts = append(parts, PromptPart{Text: "{" + name + "}"})
		} else {
			parts = append(parts, PromptPart{Name: name})
		}
		from = at[1]
	}
	return append(parts, PromptPart{Text: text[from:]})
}

// PromptParts takes [Manifest.Prompt] apart. In a prompt_inline skill every {name}
// is a placeholder. The prompt of a conversation is mostly text that was not
// written as a template, such as that of a SKILL.md: there only the names of
// parameters are.
func (m *Manifest) PromptParts() []PromptPart {
	return splitPrompt(m.Prompt, func(name string) bool { return m.Type == KindPromptInline || m.isParameter(name) })
}

// TemplateParts takes [Manifest.PromptTemplate] apart, in which every {name} is a
// placeholder. One that is not a parameter stands for the context files; see
// [Manifest.ContextName].
func (m *Manifest) TemplateParts() []PromptPart {
	return splitPrompt(m.PromptTemplate, func(string) bool { return true })
}

// ContextName is the placeholder of the template in whose place the context files
// stand; empty when there is none, and they stand after the template.
func (m *Manifest) ContextName() string {
	if m.ContextFiles == nil {
		return ""
	}
	for _, p := range m.TemplateParts() {
		if p.Name != "" && !m.isParameter(p.Name) {
			return p.Name
		}
	}
	return ""
}

func (m *Manifest) isParameter(name string) bool {
	_, ok := m.Parameter(name)
	return ok
}

// Parameter returns the parameter called name, and whether there is one.
func (m *Manifest) Parameter(name string) (Parameter, bool) {
	for _, p := range m.Parameters {
		if p.Name == name {
			return p, true
		}
	}
	return Parameter{}, false
}
