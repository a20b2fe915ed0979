package invoke

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/internal/nearest"
	"github.com/skillet-run/skillet/manifests"
)

// A ScriptInput is what a script of an Agent Skill is given.
type ScriptInput struct {
	Args  []string `json:"args"`
	Stdin string   `json:"stdin"`
	// Files are what it finds, and Outputs the paths or patterns of what it is to hand out.
	// Both are for scripts in Python.
	Files   []ScriptFile `json:"files,omitempty"`
	Outputs []string     `json:"outputs,omitempty"`
}

// A ScriptFile is a file that a script finds or hands out: a text, or the bytes of any
// other.
type ScriptFile struct {
	Path  string `json:"path"`
	Text  string `json:"text,omitempty"`
	Bytes []byte `json:"base64,omitempty"`
}

// Script returns the target for the script at a path in the folder of an Agent Skill,
// and the input with which that gets arguments and standard input, as a command line
// would give them. Errors: [fault.KindUsage] for what has no scripts and for programs
// that nothing here runs, [fault.KindNotFound].
func (t Target) Script(at string, in ScriptInput) (Target, []byte, error) {
	if t.tool != "" {
		return t, nil, fault.Errorf(fault.KindUsage, "%s is a tool already, and a script is to be run", t.tool).WithHint("name the skill alone, or the tool without a script")
	}
	s, err := t.scriptAt(path.Clean(at))
	if err != nil {
		return t, nil, err
	}
	t.tool = s.Tool
	if in.Args == nil {
		in.Args = []string{}
	}
	b, err := json.Marshal(in)
	return t, b, err
}

func (t Target) scriptAt(at string) (manifests.Script, error) {
	m := t.Manifest()
	if m.AgentSkill == nil || len(m.AgentSkill.Scripts) == 0 {
		return manifests.Script{}, fault.Errorf(fault.KindUsage, "%s has no scripts", t.Label()).
			WithHint("a skill that is a folder with a SKILL.md may have them, in its directory scripts; of any other a tool is run")
	}
	var paths []string
	for _, s := range m.AgentSkill.Scripts {
		switch {
		case s.Path != at:
			paths = append(paths, s.Path)
		case s.Tool == "":
			return s, notRun(at, t.Label())
		default:
			return s, nil
		}
	}
	hint := "its scripts are " + strings.Join(paths, ", ")
	if near, ok := nearest.Name(at, paths); ok {
		hint = "did you mean " + near + "?"
	}
	return manifests.Script{}, fault.Errorf(fault.KindNotFound, "%s has no script %s", t.Label(), at).WithHint("%s", hint)
}

// notRun says of a script that no interpreter here is made for it.
func notRun(at, label string) error {
	if ext := path.Ext(at); ext == ".sh" || ext == ".bash" || ext == ".zsh" {
		return fault.Errorf(fault.KindUsage, "%s of %s is a program that nothing here runs: it is for a shell, and there is none in the sandbox", at, label).
			WithHint("what it does has to be written in JavaScript, TypeScript or Python, whose interpreters run in the sandbox; no other program is started")
	}
	return fault.Errorf(fault.KindUsage, "%s of %s is a program that nothing here runs", at, label).
		WithHint("what it does has to be written in JavaScript, TypeScript or Python, whose interpreters run in the sandbox; no other program is started")
}

// A ScriptEnd is what a script of an Agent Skill has left behind, as a shell would have
// it of a program.
type ScriptEnd struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
	// Files are those that were asked for.
	Files []ScriptFile `json:"files,omitempty"`
}

// EndOfScript reads the answer of a script. Error: [fault.KindSkill] for what is not one.
func EndOfScript(raw []byte) (ScriptEnd, error) {
	var e ScriptEnd
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, fault.Errorf(fault.KindSkill, "the answer is not that of a script: %w", err)
	}
	return e, nil
}
