package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/plugins/agent"
	"github.com/skillet-run/skillet/plugins/provider"
)

// runCode asks for the files of a skill, sends them back with what is wrong with
// them as often as it may think, and proposes them. It writes no file and runs
// nothing: what was proposed waits for a person.
func runCode(ctx context.Context, w *work) (agent.Report, error) {
	rules, err := readRules(w.task.Validation)
	if err != nil {
		return w.unable(err.Error(), "Mend the validation of the agent's definition."), nil
	}
	var note string
	for {
		if err := w.tell(ctx, "Writing the skill"); err != nil {
			return w.failed(err, "")
		}
		r, err := w.askFiles(ctx, note)
		if err != nil {
			return w.notWritten(err, note)
		}
		p, problems := readPackage(r.Text, rules)
		if r.Finish == provider.FinishLength {
			problems = append(problems, "the answer was cut off: write less")
		}
		if len(problems) == 0 {
			return w.propose(ctx, p)
		}
		w.tally.repairs++
		w.decide("Sent back: %s", strings.Join(problems, "; "))
		note = repairNote("The files were sent back", problems, "the files", r.Text)
	}
}

// notWritten is the report when the last thought was had, or the host refused one.
func (w *work) notWritten(err error, note string) (agent.Report, error) {
	r, err2 := w.failed(err, "")
	if err2 != nil {
		return r, err2
	}
	if errors.Is(err, errThoughts) && note != "" {
		r.Problem = fmt.Sprintf("no skill that keeps the rules was written in %s", times(w.thoughts, "attempt"))
		r.NextSteps = []string{"Ask for a smaller skill, or allow more iterations. The decisions say what was wrong each time."}
	}
	return r, nil
}

func (w *work) askFiles(ctx context.Context, note string) (provider.Response, error) {
	notes := []string{codeForm}
	if text := strings.TrimSpace(string(w.task.Validation)); text != "" && text != "null" {
		notes = append(notes, "The scripts must keep to: "+text)
	}
	if note != "" {
		notes = append(notes, note)
	}
	return w.think(ctx, "code", provider.Request{System: w.system(notes...), Messages: w.opening(shownPlain), Schema: []byte(filesSchema)})
}

// propose hands the package in and says that this is all that was done.
func (w *work) propose(ctx context.Context, p pkg) (agent.Report, error) {
	w.tally.given = true // the files were checked
	w.decide("The skill %s asks for %s.", p.manifest.Name, asksFor(p.manifest))
	id, err := w.host.Propose(ctx, agent.Skill{Files: p.files, Rationale: p.rationale})
	if err != nil {
		r, err := w.failed(fmt.Errorf("propose the skill %s: %w", p.manifest.Name, err), "")
		return r, err
	}
	r := w.report(true, fmt.Sprintf("The skill %s %s is written: %s It is not installed. The proposal %s waits for a person to decide.",
		p.manifest.Name, p.manifest.Version, sentence(p.manifest.Description), id))
	r.Proposals = []string{id}
	r.NextSteps = []string{"Look at the proposal " + id + ", and approve or reject it. Its test cases have not been run by the agent."}
	return r, nil
}

func asksFor(m *manifests.Manifest) string {
	asked, err := m.Requests("/workspace")
	if err != nil || len(asked) == 0 {
		return "no permission"
	}
	var all []string
	for _, a := range asked {
		all = append(all, a.Capability.String())
	}
	return strings.Join(all, ", ")
}

func sentence(text string) string {
	text = brief(text)
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

const filesSchema = `{
  "type": "object", "additionalProperties": false, "required": ["files", "rationale"],
  "properties": {
    "files": {
      "type": "array", "minItems": 3, "maxItems": 32, "description": "All files of the package.",
      "items": {
        "type": "object", "additionalProperties": false, "required": ["path", "content"],
        "properties": {
          "path": {"type": "string", "description": "Path in the package, with slashes."},
          "content": {"type": "string", "description": "The text of the file."}
        }
      }
    },
    "rationale": {"type": "string", "description": "Why the skill is as it is, for the person who decides about it."}
  }
}`

// codeForm says what a package is made of.
const codeForm = `Answer with one JSON object {"files": [{"path", "content"}], "rationale"}. The files are:
- skill.json, for JavaScript: {"name": "word-count", "version": "0.1.0", "description": "...", "type": "code_inline", "command": "qjs", "args": ["main.js"], "dependencies": {"qjs": "*"}, "tools": [{"name": "count", "description": "...", "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false}, "output_schema": {"type": "object"}}]}. For Python, "python" stands for "qjs" and "main.py" for "main.js". Permissions, if any: "security": {"permissions": {"network_access": true, "network": [{"url": "https://api.example.com/*", "reason": "..."}]}}.
- main.js: each tool is an exported function of its name that takes the input as one object and returns JSON: export function count({ text }) { ... }. JSDoc with "@param {type} name" stands before each function. There is no Node.js: no require, process or fs; fetch and import ... from "skillet" are there.
- or main.py: each tool is a function of its name: def count(input: dict) -> dict:, with a docstring as its first line.
- tests/cases.json: a list of cases [{"name": "counts words", "tool": "count", "input": {"text": "a b"}, "expect": {"words": 2}}, {"name": "refuses a number", "tool": "count", "input": {"text": 1}, "error_kind": "usage"}]. "expect" may be a part of the output.
- README.md: what it is for, and an example.`
