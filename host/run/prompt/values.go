package prompt

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/manifests"
)

// read checks the parameters and returns them as text, by name, those that were
// not given by their defaults. skill is what the package is called in errors.
func read(m *manifests.Manifest, skill string, tool manifests.Tool, input json.RawMessage) (map[string]string, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if err := m.ValidateInput(tool, input); err != nil {
		return nil, fault.Wrap(fault.KindUsage, err).WithHint("%s shows the parameters of its prompt", fault.ShowSkill(skill))
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(input, &given); err != nil { // it fits a schema of an object
		return nil, fault.Wrap(fault.KindInternal, err)
	}
	values := map[string]string{}
	for _, p := range m.Parameters {
		v, ok := given[p.Name]
		if !ok {
			v = p.Default
		}
		values[p.Name] = textOf(v)
	}
	return values, nil
}

// textOf is a string without its quotes, and any other value as JSON has it.
func textOf(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

// inline reports whether a value stands in the prompt's own lines: its parameter
// bounds it, and it is one line that looks like what it is.
func inline(p manifests.Parameter, value string) bool {
	bounded := p.Type != "string" || p.Pattern != ""
	return bounded && strings.IndexFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
