package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skillet-run/skillet/manifests"
	agentdef "github.com/skillet-run/skillet/manifests/agent"
	"github.com/skillet-run/skillet/manifests/testcase"
)

// The bounds of what a model may hand in.
const (
	maxFiles     = 32
	maxFileKB    = 256 // of a file, unless the rules say less
	maxPackageKB = 1024
)

// pkg is a skill that a model wrote.
type pkg struct {
	manifest  *manifests.Manifest
	files     map[string][]byte
	rationale string
}

func readRules(text json.RawMessage) (r agentdef.Validation, err error) {
	if len(text) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("the validation of the task cannot be read: %w", err)
	}
	return r, nil
}

// readPackage reads the answer of a model. Problems are what is wrong with it, for
// the model to mend.
func readPackage(text string, rules agentdef.Validation) (pkg, []string) {
	p, err := unpack(text)
	if err != nil {
		return p, []string{err.Error()}
	}
	c := packageCheck{pkg: &p, rules: rules}
	c.sizes()
	c.readManifest()
	if p.manifest != nil {
		c.script()
		c.cases()
	}
	if len(strings.TrimSpace(string(p.files["README.md"]))) == 0 {
		c.say("README.md is missing or empty")
	}
	return p, c.problems
}

func unpack(text string) (pkg, error) {
	var a struct {
		Files []struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		} `json:"files"`
		Rationale string `json:"rationale"`
	}
	object, err := findObject(text)
	if err == nil {
		err = json.Unmarshal(object, &a)
	}
	if err == nil && len(a.Files) == 0 {
		err = errors.New("it has no files")
	}
	if err == nil && len(a.Files) > maxFiles {
		err = fmt.Errorf("it has %d files, and may have %d", len(a.Files), maxFiles)
	}
	if err != nil {
		return pkg{}, fmt.Errorf("it is not the JSON that was asked for: %s", brief(err.Error()))
	}
	p := pkg{files: map[string][]byte{}, rationale: head(strings.TrimSpace(a.Rationale), 4000)}
	for _, f := range a.Files {
		if why := badPath(f.Path); why != "" {
			return pkg{}, fmt.Errorf("the path %q %s", brief(f.Path), why)
		}
		if _, twice := p.files[f.Path]; twice {
			return pkg{}, fmt.Errorf("the file %s is there twice", f.Path)
		}
		p.files[f.Path] = []byte(f.Content)
	}
	return p, nil
}

// badPath says what is wrong with the path of a file; empty when nothing is.
func badPath(p string) string {
	switch {
	case p == "" || len(p) > 200 || !utf8.ValidString(p):
		return "is empty, too long or no text"
	case path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../"):
		return "leads out of the package, or is not written plainly"
	case strings.ContainsFunc(p, func(r rune) bool { return !strings.ContainsRune(plainPath, r) }):
		return "may have letters, digits, . _ - and / only"
	case strings.HasPrefix(p, ".") || strings.Contains(p, "/."):
		return "is hidden"
	case p != manifests.FileJSON && p != "README.md" && !slices.Contains([]string{".js", ".py", ".json", ".yaml", ".txt", ".md", ".csv", ".html"}, path.Ext(p)):
		return "is of no kind that a skill in a script is made of"
	}
	return ""
}

const plainPath = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"

type packageCheck struct {
	*pkg
	rules    agentdef.Validation
	problems []string
}

func (c *packageCheck) say(format string, args ...any) {
	c.problems = append(c.problems, brief(fmt.Sprintf(format, args...)))
}

func (c *packageCheck) sizes() {
	most, all := maxFileKB, 0
	if kb := c.rules.MaxFileSizeKB; kb > 0 && kb < most {
		most = kb
	}
	for _, name := range sortedKeys(c.files) {
		all += len(c.files[name])
		if len(c.files[name]) > most<<10 {
			c.say("%s has %d bytes, and may have %d KiB", name, len(c.files[name]), most)
		}
	}
	if all > maxPackageKB<<10 {
		c.say("the files have %d bytes together, and may have %d KiB", all, maxPackageKB)
	}
}

func (c *packageCheck) readManifest() {
	text, ok := c.files[manifests.FileJSON]
	if !ok {
		c.say("skill.json is missing")
		return
	}
	m, err := manifests.Parse(text, manifests.FileJSON)
	if err != nil {
		c.say("%v", err)
		return
	}
	switch _, ok := scriptKinds[m.Command]; {
	case m.Type != manifests.KindCodeInline:
		c.say("skill.json: type must be code_inline")
	case !ok:
		c.say("skill.json: command must be qjs or python, not %q", m.Command)
	case len(m.Args) == 0 || c.files[m.Args[0]] == nil:
		c.say("skill.json: args must begin with the name of the script, and that file be there")
	case len(m.Tools) == 0:
		c.say("skill.json: it has no tools")
	default:
		c.manifest = m
	}
}

// cases reads the test cases: each has to name a tool that there is.
func (c *packageCheck) cases() {
	tested := map[string]bool{}
	for _, name := range sortedKeys(c.files) {
		if !testcase.IsFile(name) {
			continue
		}
		cases, err := testcase.Parse(c.files[name], name)
		if err != nil {
			c.say("%v", err)
			continue
		}
		for _, k := range cases {
			c.testCase(name, k, tested)
		}
	}
	for _, t := range c.manifest.Tools {
		if !tested[t.Name] {
			c.say("no test case calls the tool %s", t.Name)
		}
	}
}

func (c *packageCheck) testCase(file string, k testcase.Case, tested map[string]bool) {
	name := k.Tool
	if name == "" && len(c.manifest.Tools) == 1 {
		name = c.manifest.Tools[0].Name
	}
	if _, ok := c.manifest.Tool(name); !ok {
		c.say("%s: the case %q calls the tool %q, which there is not", file, k.Name, name)
		return
	}
	if k.Skip == "" {
		tested[name] = true
	}
}
