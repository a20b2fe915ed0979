package invoke

import (
	"slices"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/manifests"
)

// Input makes the input of a call of words KEY=VALUE, as the schema of the tool has the
// keys. It is nil for a tool that has no schema, and no words. The error is a
// [fault.Error] of [fault.KindUsage].
func (t Target) Input(words []string) ([]byte, error) {
	tool, ok := t.Describe()
	if !ok { // the call says it better
		return []byte("{}"), nil
	}
	if len(words) == 0 && len(tool.InputSchema) == 0 {
		return nil, nil
	}
	in, err := manifests.CoerceArgs(tool, words)
	switch {
	case err == nil:
		return in, nil
	case len(tool.InputSchema) == 0:
		return nil, fault.Wrap(fault.KindUsage, err).WithHint("give it with %s: as JSON, in a file, or from standard input", fault.SetField(fault.FieldInput))
	}
	return nil, fault.Wrap(fault.KindUsage, err).WithHint("%s shows what %s takes", fault.ShowSkill(t.name), tool.Name)
}

// SessionField is the property of a tool's input, a text, with which a session can be
// worked in: the one that the tool demands. The error is a [fault.Error] of
// [fault.KindUsage] for a skill that has no sessions, and a tool that takes something
// else.
func (t Target) SessionField() (string, error) {
	m := t.Manifest()
	if _, ok := m.Sessions(); !ok || t.installed == nil {
		return "", fault.Errorf(fault.KindUsage, "%s has no sessions", t.Label()).
			WithHint("skills of type %s have, once they are installed; %s shows the type", manifests.KindCodeSession, fault.ShowSkill(t.name))
	}
	tool, ok := m.DefaultTool()
	if t.tool != "" {
		tool, ok = m.Tool(t.tool)
	}
	ps := slices.DeleteFunc(tool.Properties(), func(p manifests.Property) bool { return !p.Required })
	if !ok || len(ps) != 1 || ps[0].Type != "string" {
		return "", fault.Errorf(fault.KindUsage, "%s has no tool of that name that takes just one text", t.name).
			WithHint("name a tool behind a colon; %s shows what each takes", fault.ShowSkill(t.name))
	}
	return ps[0].Name, nil
}
