package code

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/run/runner"
	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
	"github.com/skillet-run/skillet/manifests/testcase"
)

var (
	//go:embed guest/skill.js
	javascriptSkill string
	//go:embed guest/skill.py
	pythonSkill string
)

// What a skill that is made of a script has.
const (
	skillTool   = "run"
	skillMember = "data" // the member of the input that is the data, when that is not an object
	skillCase   = testcase.Dir + "/as-it-ran.json"
	maxCaseFile = 1 << 20
)

// A maker makes a package of the run of a script.
type maker struct {
	k      kept
	t      tape
	engine engine
	// interpreter is what runs it, and called what its calls were of, by skill and tool.
	interpreter runner.Target
	called      map[manifests.Ref]manifests.Tool

	name, version, description string
}

type skillManifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	Type         string            `json:"type"`
	Command      string            `json:"command"`
	Args         []string          `json:"args"`
	Dependencies map[string]string `json:"dependencies"`
	Tools        []skillToolOf     `json:"tools"`
	Security     skillSecurity     `json:"security"`
}

type skillToolOf struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
}

type skillSecurity struct {
	Permissions struct {
		Skills []manifests.NamePermission `json:"skills,omitempty"`
	} `json:"permissions"`
	Limits map[string]float64 `json:"resource_limits"`
}

// files are those of the package.
func (m *maker) files() (map[string][]byte, error) {
	manifest, err := m.manifest()
	if err != nil {
		return nil, err
	}
	test, err := m.testCase()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{manifests.FileJSON: manifest, m.main(): []byte(m.program()), skillCase: test}, nil
}

func (m *maker) main() string {
	if m.k.Language == "python" {
		return "main.py"
	}
	return "main.js"
}

// program is the first file: the script, and what runs it.
func (m *maker) program() string {
	text, given, member := javascriptSkill, fmt.Sprint(m.t.Data != nil), "undefined"
	if m.k.Language == "python" {
		text, given, member = pythonSkill, map[bool]string{true: "True", false: "False"}[m.t.Data != nil], "None"
	}
	if m.wrapped() {
		member = quoted(skillMember)
	}
	return strings.NewReplacer(
		"__CODE__", quotedList(strings.Split(m.t.Code, "\n"), "\n"), "__TEXTS__", quotedList(m.texts(), " "),
		"__GIVEN__", given, "__MEMBER__", member, "__GUEST__", strings.TrimRight(m.engine.guest, "\n"), "__REST__", quoted(m.engine.rest),
	).Replace(text)
}

// quoted is a text as both languages write it.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil { // a string cannot fail
		return `""`
	}
	return strings.TrimRight(b.String(), "\n")
}

func quotedList(all []string, between string) string {
	var b strings.Builder
	b.WriteString("[")
	for i, s := range all {
		if i > 0 || between == "\n" {
			b.WriteString(map[bool]string{true: "\n\t", false: " "}[between == "\n"])
		}
		b.WriteString(quoted(s))
		if i < len(all)-1 || between == "\n" {
			b.WriteString(",")
		}
	}
	if between == "\n" {
		b.WriteString("\n")
	}
	return b.String() + "]"
}

// takesText reports whether a text is handed to the tool of a call as it stands.
func (m *maker) takesText(c taped) bool {
	return len(m.called[manifests.Ref{Name: c.Skill, Tool: c.Tool}].InputSchema) == 0
}

// texts are the tools that take a text as it stands, as the script named them.
func (m *maker) texts() []string {
	found := map[string]bool{}
	for _, c := range m.t.Calls {
		if m.takesText(c) {
			found[c.Skill+":"+c.Asked] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// wrapped reports whether the data is a member of the input: an input is an object.
func (m *maker) wrapped() bool {
	return m.t.Data != nil && !bytes.HasPrefix(bytes.TrimSpace(m.t.Data), []byte("{"))
}

// input is that of the run, as the skill is given it.
func (m *maker) input() (json.RawMessage, error) {
	switch {
	case m.t.Data == nil:
		return json.RawMessage("{}"), nil
	case m.wrapped():
		return json.Marshal(map[string]json.RawMessage{skillMember: m.t.Data})
	}
	return m.t.Data, nil
}

func (m *maker) manifest() ([]byte, error) {
	input, err := m.input()
	if err != nil {
		return nil, err
	}
	out := skillManifest{
		Name: m.name, Version: m.version, Description: m.description, Type: string(manifests.KindCodeInline), Command: m.engine.name, Args: []string{m.main()},
		Dependencies: map[string]string{m.engine.name: m.interpreter.Package.Manifest().Version},
		Tools:        []skillToolOf{{Name: skillTool, Description: m.description, InputSchema: inputSchema(input), OutputSchema: outputSchema(m.t.Value)}},
	}
	tools := map[string][]string{}
	for _, c := range m.t.Calls {
		out.Dependencies[c.Skill] = c.Version
		if !slices.Contains(tools[c.Skill], c.Tool) {
			tools[c.Skill] = append(tools[c.Skill], c.Tool)
		}
	}
	for _, skill := range slices.Sorted(maps.Keys(tools)) {
		out.Security.Permissions.Skills = append(out.Security.Permissions.Skills, manifests.NamePermission{Name: skill, Reason: "the script calls " + clip(strings.Join(tools[skill], ", "), 400)})
	}
	l := m.interpreter.Package.Manifest().Limits()
	out.Security.Limits = map[string]float64{"max_execution_time": usualTime, "max_fuel": usualFuel, "max_output_kb": usualOutput >> 10, "max_memory_mb": float64(l.MemoryBytes >> 20)}
	return indented(out)
}

func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return b.Bytes(), err
}

// testCase is the run, with what its calls were answered in the place of the skills.
func (m *maker) testCase() ([]byte, error) {
	input, err := m.input()
	if err != nil {
		return nil, err
	}
	c := testcase.Case{Name: "as in the run " + m.k.ID, Tool: skillTool, Input: input, ExpectExact: exactly(m.t.Value)}
	for _, call := range m.t.Calls {
		if g := "skill:" + call.Skill; !slices.Contains(c.Grants, g) {
			c.Grants = append(c.Grants, g)
		}
		mock, err := m.mock(call)
		if err != nil {
			return nil, err
		}
		c.Mocks, c.MockOrder = append(c.Mocks, mock), testcase.OrderSequence
	}
	b, err := testcase.Encode(c)
	if err == nil && len(b) > maxCaseFile {
		err = fault.Errorf(fault.KindLimit, "the calls of the run %s are too long for a test case", m.k.ID).WithHint("run the script on less data, and make the skill of that run")
	}
	return b, err
}

// mock answers a call as it was answered.
func (m *maker) mock(c taped) (testcase.Mock, error) {
	ask := map[string]string{"skill": c.Skill}
	if c.Asked != "" {
		ask["tool"] = c.Asked
	}
	body := c.Input
	var text string
	if m.takesText(c) && json.Unmarshal([]byte(body), &text) == nil {
		body = text
	}
	request, err := json.Marshal(ask)
	if err != nil {
		return testcase.Mock{}, err
	}
	x := testcase.Mock{Call: "skill_call", Request: request, Body: json.RawMessage(quoted(body))}
	if c.Kind != "" {
		x.Error = &testcase.Failure{Kind: c.Kind, Message: c.Told}
		return x, nil
	}
	x.Respond = &testcase.Answer{Payload: testcase.Payload{Body: &c.Answer}}
	return x, nil
}

// exactly is a value as a pattern of itself.
func exactly(value json.RawMessage) json.RawMessage {
	if bytes.Contains(value, []byte(`"$`)) {
		return fmt.Appendf(nil, `{"$exact":%s}`, value)
	}
	return value
}

// pack makes the package, and says what is wrong with its name.
func (m *maker) pack() (*bundle.Package, map[string][]byte, error) {
	ref, err := manifests.ParseRef(m.name)
	if err != nil || ref.Version != "" || ref.Tool != "" {
		return nil, nil, fault.Errorf(fault.KindUsage, "%q is not a name for a skill", clip(m.name, 100)).WithHint("use lower-case letters, digits and -, such as weekly-report")
	}
	files, err := m.files()
	if err != nil {
		return nil, nil, err
	}
	p, err := bundle.FromFiles(files)
	if err != nil {
		return nil, nil, fault.Wrap(fault.KindUsage, err)
	}
	return p, files, nil
}

// calls are the tools that the run called, as SKILL@VERSION:TOOL, each once.
func (m *maker) calls() []string {
	all := []string{}
	for _, c := range m.t.Calls {
		if one := c.Skill + "@" + c.Version + ":" + c.Tool; !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// usually fills in what nobody has said.
func (m *maker) usually() {
	m.version = cmp.Or(m.version, "1.0.0")
	m.name = cmp.Or(m.name, "script-"+manifests.DigestOf([]byte(m.t.Code)).Hex()[:8])
	var names []string
	for _, c := range m.t.Calls {
		if one := c.Skill + ":" + c.Tool; !slices.Contains(names, one) {
			names = append(names, one)
		}
	}
	what := "and calls no tools"
	if len(names) > 0 {
		what = "that calls " + strings.Join(names, ", ")
	}
	m.description = cmp.Or(m.description, clip("Runs a script in "+m.k.Language+" "+what+".", 1000))
}
