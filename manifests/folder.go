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
// specification, or below it.
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
var interpreters = map[string]string{".py": pythonScripts, ".js": "qjs", ".mjs": "qjs", ".ts": "qjs", ".mts": "qjs"}

const pythonScripts = "python"

// programs are endings of names of programs that nothing here runs.
var programs = []string{".sh", ".bash", ".zsh", ".ps1", ".bat", ".cmd", ".rb", ".pl", ".php", ".lua", ".cjs", ".r", ".go", ".rs", ".java", ".exe"}

// maxScripts is how many scripts of a folder are tools.
const maxScripts = 128

// What the tool of a script takes: what a command line gives one, and for Python files.
const (
	scriptFile = `{"type":"object","additionalProperties":false,"required":["path"],"properties":{` +
		`"path":{"type":"string"},"text":{"type":"string"},"base64":{"type":"string","description":"In place of text, of a file that is none."}}}`
	scriptFields = `"args":{"type":"array","items":{"type":"string"},"description":"Arguments, as on a command line."},` +
		`"stdin":{"type":"string","description":"What it reads from its standard input."}`
	scriptFileFields = `,"files":{"type":"array","items":` + scriptFile + `,"description":"Files that it finds, by paths relative to the folder of the skill."},` +
		`"outputs":{"type":"array","items":{"type":"string"},"description":"Files that it writes and that are to be in the answer: paths or patterns, such as out/*.csv."}`
	scriptEnd = `"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":"integer"}`
)

// scriptInput is the schema of what the tool of a script takes, and scriptOutput of what it
// answers.
func scriptInput(s Script) json.RawMessage {
	fields := scriptFields
	if s.Interpreter == pythonScripts {
		fields += scriptFileFields
	}
	return json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{` + fields + `}}`)
}

func scriptOutput(s Script) json.RawMessage {
	fields := scriptEnd
	if s.Interpreter == pythonScripts {
		fields += `,"files":{"type":"array","items":` + scriptFile + `}`
	}
	return json.RawMessage(`{"type":"object","required":["stdout","stderr","exit_code"],"properties":{` + fields + `}}`)
}

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
	modules := map[string]bool{} // directories whose Python files are parts of a module
	for _, p := range paths {
		if dir, file := path.Split(p); file == "__init__.py" && dir != "scripts/" {
			modules[dir] = true
		}
	}
	for _, p := range slices.Sorted(slices.Values(paths)) {
		s, ok := scriptAt(p, taken)
		if dir, _ := path.Split(p); !ok || modules[dir] {
			continue
		}
		m.AgentSkill.Scripts = append(m.AgentSkill.Scripts, s)
		if s.Tool == "" {
			continue
		}
		m.Tools = append(m.Tools, Tool{
			Name: s.Tool, Export: s.Tool, Description: fmt.Sprintf("Runs %s with the interpreter %s.", s.Path, s.Interpreter),
			InputSchema: scriptInput(s), OutputSchema: scriptOutput(s),
		})
	}
	return m, nil
}

var notInIdentifier = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// scriptAt is the script at p; ok is false for what is none. Files whose names begin with
// an underscore are parts of others.
func scriptAt(p string, taken map[string]bool) (s Script, ok bool) {
	dir, file := path.Split(p)
	ext := strings.ToLower(path.Ext(file))
	s = Script{Path: p, Interpreter: interpreters[ext]}
	switch {
	case !strings.HasPrefix(dir, "scripts/") || strings.HasPrefix(file, "_"):
		return s, false
	case s.Interpreter == "":
		return s, slices.Contains(programs, ext)
	case strings.HasSuffix(file, ".d.ts") || len(taken) > maxScripts:
		return s, false
	}
	name := strings.Trim(notInIdentifier.ReplaceAllString(strings.TrimSuffix(strings.TrimPrefix(p, "scripts/"), path.Ext(file)), "_"), "_")
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
