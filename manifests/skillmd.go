package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests/semver"
)

// maxDescription is how many characters a description may have. The
// specification says 1024, and skills in use go beyond that.
const maxDescription = 2048

// skillMDVersion is the version of a SKILL.md that does not give one.
const skillMDVersion = "0.0.0"

// ParseSkillMD reads a SKILL.md (Agent Skills specification,
// https://agentskills.io/specification): YAML front matter between two lines
// of three hyphens, then Markdown. It gives a manifest of [KindConversation]
// whose Prompt is the Markdown. The version and the author come from the
// front matter's metadata; without one the version is 0.0.0. name is the name
// of the file, for errors, which wrap [Errors].
func ParseSkillMD(data []byte, name string) (*Manifest, error) {
	m, errs := parseSkillMD(data)
	if len(errs) > 0 {
		return nil, documentError(name, errs)
	}
	return m, nil
}

// FrontMatter returns the front matter of a SKILL.md as a JSON object: all of its fields,
// also those that mean nothing to a [Manifest]. The error wraps [Errors]. A front matter
// that ParseSkillMD refuses may still be returned.
func FrontMatter(data []byte) (json.RawMessage, error) {
	object, p := frontMatterJSON(data)
	if p != nil {
		return nil, documentError(FileSkillMD, Errors{*p})
	}
	return object, nil
}

func frontMatterJSON(data []byte) (json.RawMessage, *Problem) {
	if p := checkSize(data); p != nil {
		return nil, p
	}
	front, _, p := splitFrontMatter(data)
	if p != nil {
		return nil, p
	}
	doc, p := readYAML(front)
	if p != nil {
		return nil, p
	}
	if doc.kind != objectNode {
		return nil, &Problem{Message: "the front matter holds no fields", Suggestion: "write fields such as name: my-skill"}
	}
	var b bytes.Buffer
	doc.appendJSON(&b)
	return b.Bytes(), nil
}

func parseSkillMD(data []byte) (*Manifest, Errors) {
	if p := checkSize(data); p != nil {
		return nil, Errors{*p}
	}
	front, body, p := splitFrontMatter(data)
	if p != nil {
		return nil, Errors{*p}
	}
	if len(body) == 0 {
		return nil, Errors{{Message: "has no instructions", Suggestion: "write them after the front matter"}}
	}
	doc, p := readYAML(front)
	if p != nil {
		return nil, Errors{*p}
	}
	f := frontMatter{m: &Manifest{Type: KindConversation, Version: skillMDVersion, Prompt: string(body), AgentSkill: &AgentSkill{}}}
	f.read(doc)
	lines := doc.lineIndex()
	if len(f.errs) > 0 {
		return nil, f.errs.locate(lines)
	}
	return f.m.checked(lines)
}

// checked checks m like a parsed manifest whose fields stand on lines.
func (m *Manifest) checked(lines map[string]int) (*Manifest, Errors) {
	doc, p := m.document()
	if p != nil {
		return nil, Errors{*p}
	}
	whole, errs := fromDocument(doc)
	if len(errs) > 0 {
		for i := range errs {
			errs[i].Line = 0
		}
		return nil, errs.locate(lines)
	}
	whole.AgentSkill, whole.lines = m.AgentSkill, lines
	return whole, nil
}

// splitFrontMatter parts a SKILL.md. The front matter keeps its line numbers:
// the opening hyphens become an empty line.
func splitFrontMatter(data []byte) (front, body []byte, p *Problem) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(data, []byte("---\n"))
	if !ok {
		return nil, nil, &Problem{Line: 1, Message: "has no front matter", Suggestion: "start the file with a line of three hyphens, then name and description, then three hyphens again"}
	}
	rest = append([]byte("\n"), rest...)
	front, body, ok = bytes.Cut(rest, []byte("\n---\n"))
	if !ok {
		front, ok = bytes.CutSuffix(rest, []byte("\n---"))
		body = nil
	}
	if !ok {
		return nil, nil, &Problem{Line: 1, Message: "the front matter does not end", Suggestion: "write a line of three hyphens after it"}
	}
	return append([]byte("\n"), front...), bytes.TrimSpace(body), nil
}

// A frontMatter reads front matter into a manifest.
type frontMatter struct {
	m    *Manifest
	errs Errors
}

func (f *frontMatter) report(at, suggestion, format string, args ...any) {
	f.errs = append(f.errs, Problem{Path: at, Message: fmt.Sprintf(format, args...), Suggestion: suggestion})
}

// frontFields are the fields of front matter.
func frontFields() []string {
	return []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
}

func (f *frontMatter) read(doc *node) {
	if doc.kind != objectNode {
		f.report("", "write fields such as name: my-skill", "the front matter holds no fields")
		return
	}
	f.m.Name = f.text(doc, "name", maxName)
	f.m.Description = f.text(doc, "description", maxDescription)
	f.m.License = f.text(doc, "license", 256)
	f.m.AgentSkill.Compatibility = f.text(doc, "compatibility", 500)
	f.tools(doc.get("allowed-tools"))
	f.metadata(doc.get("metadata"))
	for _, field := range doc.fields {
		if !slices.Contains(frontFields(), field.name) {
			f.other(field)
		}
	}
}

// other notes a field that the specification does not have. Skills are written
// for hosts that know more fields than that, and cannot be mended by whoever
// installs them; so it is told, and nothing follows from it. A version is what it
// says.
func (f *frontMatter) other(field field) {
	if r, bad := deceptive(field.name); bad {
		f.errs = append(f.errs, deceptiveProblem("", field.line, r))
		return
	}
	f.m.AgentSkill.Others = append(f.m.AgentSkill.Others, shorten(field.name, 64))
	if field.name == "version" && f.m.Version == skillMDVersion {
		f.m.Version = looseVersion(plainText(field.value), f.m.Version)
	}
}

// text returns the text field called name, of at most limit characters.
func (f *frontMatter) text(doc *node, name string, limit int) string {
	n := doc.get(name)
	if n == nil {
		return ""
	}
	text, ok := n.scalar.(string)
	switch r, bad := deceptive(text); {
	case !ok:
		f.report(name, "put it in quotes", "wants text")
	case bad:
		f.errs = append(f.errs, deceptiveProblem(name, 0, r))
	case len([]rune(text)) > limit:
		f.report(name, "shorten it", "has %s, wants at most %d", count(len([]rune(text)), "character"), limit)
	}
	return strings.TrimSpace(text)
}

// tools reads allowed-tools: words in a text, or a list of texts.
func (f *frontMatter) tools(n *node) {
	if n == nil {
		return
	}
	if text, ok := n.scalar.(string); ok {
		f.m.AgentSkill.AllowedTools = strings.Fields(text)
		return
	}
	for i, item := range n.items {
		text, ok := item.scalar.(string)
		if !ok {
			f.report("allowed-tools"+indexStep(i), "put it in quotes", "wants text")
		}
		f.m.AgentSkill.AllowedTools = append(f.m.AgentSkill.AllowedTools, text)
	}
	if n.kind != listNode {
		f.report("allowed-tools", "separate the names by spaces", "wants text")
	}
}

// metadata reads the free mapping, and takes the version and the author from
// it.
func (f *frontMatter) metadata(n *node) {
	if n == nil {
		return
	}
	if n.kind != objectNode {
		f.report("metadata", "write fields such as version: \"1.0\"", "wants an object")
		return
	}
	all := make(map[string]string, len(n.fields))
	for _, field := range n.fields {
		all[field.name] = plainText(field.value)
	}
	f.m.AgentSkill.Metadata = all
	f.m.Version = looseVersion(all["version"], f.m.Version)
	f.m.Author = shorten(strings.Join(strings.Fields(all["author"]), " "), 200)
}

// plainText is a text as it is, and any other value as JSON.
func plainText(n *node) string {
	if text, ok := n.scalar.(string); ok {
		return text
	}
	var b bytes.Buffer
	n.appendJSON(&b)
	return b.String()
}

// looseVersion returns the version that text is, or seems to be, such as 1.0.0
// for v1.0; or else what is given.
func looseVersion(text, otherwise string) string {
	v, err := semver.ParseVersion(text)
	var refused *semver.Error
	switch {
	case err == nil:
		return v.String()
	case errors.As(err, &refused) && refused.Instead != "":
		return refused.Instead
	}
	return otherwise
}
