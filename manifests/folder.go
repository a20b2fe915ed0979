package manifests

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Script is a program in the directory scripts of a folder of the Agent Skills
// specification.
type Script struct {
	// Path is its path in the package.
	Path string `json:"path"`
	// Tool is the tool it is, and Interpreter the command that runs it; both are
	// empty for what no interpreter of this host is made for, such as a shell
	// script.
	Tool        string `json:"tool,omitempty"`
	Interpreter string `json:"interpreter,omitempty"`
}

// interpreters are the commands that run scripts, by the endings of their names.
var interpreters = map[string]string{".py": "python", ".js": "qjs", ".mjs": "qjs", ".ts": "qjs", ".mts": "qjs"}

// programs are endings of names of programs that nothing here runs.
var programs = []string{".sh", ".bash", ".zsh", ".ps1", ".bat", ".cmd", ".rb", ".pl", ".php", ".lua", ".cjs", ".r", ".go", ".rs", ".java", ".exe"}

// maxScripts is how many scripts of a folder are tools.
const maxScripts = 128

// scriptInput is what the tool of a script takes: what a command line gives one.
var scriptInput = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` +
	`"args":{"type":"array","items":{"type":"string"},"description":"Arguments, as on a command line."},` +
	`"stdin":{"type":"string","description":"What it reads from its standard input."}}}`)

// scriptOutput is what the tool of a script answers.
var scriptOutput = json.RawMessage(`{"type":"object","required":["stdout","stderr","exit_code"],"properties":{` +
	`"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":"integer"}}}`)

// ParseFolder reads the SKILL.md of a folder of the Agent Skills specification
// that holds the files at paths. It is [ParseSkillMD] but for the scripts: those
// that an interpreter of this host can run become tools, which take arguments and
// standard input and answer with what the script wrote.
func ParseFolder(data []byte, name string, paths []string) (*Manifest, error) {
	m, err := ParseSkillMD(data, name)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{PromptToolName: true}
	for _, p := range slices.Sorted(slices.Values(paths)) {
		s, ok := scriptAt(p, taken)
		if !ok {
			continue
		}
		m.AgentSkill.Scripts = append(m.AgentSkill.Scripts, s)
		if s.Tool == "" {
			continue
		}
		m.Tools = append(m.Tools, Tool{
			Name: s.Tool, Export: s.Tool, Description: fmt.Sprintf("Runs %s with the interpreter %s.", s.Path, s.Interpreter),
			InputSchema: scriptInput, OutputSchema: scriptOutput,
		})
	}
	return m, nil
}

var notInIdentifier = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// scriptAt is the script at p; ok is false for what is none. Modules that scripts
// import, in directories or with names that begin with an underscore, are none.
func scriptAt(p string, taken map[string]bool) (s Script, ok bool) {
	dir, file := path.Split(p)
	ext := strings.ToLower(path.Ext(file))
	s = Script{Path: p, Interpreter: interpreters[ext]}
	switch {
	case dir != "scripts/" || strings.HasPrefix(file, "_"):
		return s, false
	case s.Interpreter == "":
		return s, slices.Contains(programs, ext)
	case strings.HasSuffix(file, ".d.ts") || len(taken) > maxScripts:
		return s, false
	}
	name := strings.Trim(notInIdentifier.ReplaceAllString(strings.TrimSuffix(file, path.Ext(file)), "_"), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "script_" + name
	}
	name = name[:min(len(name), 48)]
	for unique := name; ; unique = name + "_" + strings.TrimPrefix(ext, ".") + fmt.Sprint(len(taken)) {
		if !taken[strings.ToLower(unique)] {
			taken[strings.ToLower(unique)] = true
			s.Tool = unique
			return s, true
		}
	}
}

// Script returns the script that a tool of m is, and whether it is one.
func (m *Manifest) Script(tool string) (Script, bool) {
	if m.AgentSkill == nil || tool == "" {
		return Script{}, false
	}
	i := slices.IndexFunc(m.AgentSkill.Scripts, func(s Script) bool { return s.Tool == tool })
	if i < 0 {
		return Script{}, false
	}
	return m.AgentSkill.Scripts[i], true
}
