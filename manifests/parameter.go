package manifests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// parameters checks each parameter by itself.
func (c *checker) parameters() {
	seen := map[string]int{}
	for i, p := range c.m.Parameters {
		at := "parameters" + indexStep(i)
		if first, ok := seen[p.Name]; ok {
			c.report(at+".name", "give each parameter its own", "has the name of parameters[%d]", first)
		}
		seen[p.Name] = i
		if p.Type == "enum" && len(p.Values) == 0 {
			c.report(at+".values", `add them, such as ["short", "long"]`, "is missing; an enum takes one of them")
		}
		if p.Type != "enum" && len(p.Values) > 0 {
			c.report(at+".values", `set type to "enum"`, "would be ignored: the type is %s", p.Type)
		}
		re := c.pattern(at+".pattern", p)
		if len(p.Default) > 0 && !p.fits(re) {
			c.report(at+".default", "write a value a caller could give", "%s does not fit the parameter", show(p.Default))
		}
	}
}

func (c *checker) pattern(at string, p Parameter) *regexp.Regexp {
	if p.Pattern == "" {
		return nil
	}
	if p.Type != "string" {
		c.report(at, `set type to "string"`, "would be ignored: the type is %s", p.Type)
		return nil
	}
	re, _, err := CompilePattern(p.Pattern)
	if err != nil {
		c.report(at, "write RE2 syntax, such as ^[a-z]+$", "is not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return nil
	}
	return re
}

// fits reports whether the default of p is a value of p.
func (p Parameter) fits(re *regexp.Regexp) bool {
	switch p.Type {
	case "integer":
		var n int64
		return json.Unmarshal(p.Default, &n) == nil
	case "number":
		var f float64
		return json.Unmarshal(p.Default, &f) == nil
	case "boolean":
		var b bool
		return json.Unmarshal(p.Default, &b) == nil
	}
	var text string
	if json.Unmarshal(p.Default, &text) != nil {
		return false
	}
	if p.Type == "enum" {
		return slices.Contains(p.Values, text)
	}
	return re == nil || re.MatchString(text)
}

// placeholders demands that the prompt of a skill and its parameters name the
// same things.
func (c *checker) placeholders() {
	if !c.m.Type.IsPrompt() {
		return
	}
	used := map[string]bool{}
	note := func(at string, parts []PromptPart, known func(string) bool) {
		for _, part := range parts {
			name := part.Name
			if name != "" && !used[name] && !known(name) {
				c.report(at, fmt.Sprintf("add a parameter called %s, or write {{%s}} for the text {%s}", name, name, name), "has {%s}, which is not a parameter", name)
			}
			used[name] = true
		}
	}
	context := c.m.ContextName()
	note("prompt", c.m.PromptParts(), c.m.isParameter)
	note("prompt_template", c.m.TemplateParts(), func(name string) bool { return name == context || c.m.isParameter(name) })
	for i, p := range c.m.Parameters {
		if !used[p.Name] {
			c.report("parameters"+indexStep(i), fmt.Sprintf("write {%s} in the prompt, or remove it", p.Name), "would be ignored: the prompt does not have {%s}", p.Name)
		}
	}
}

// A misplaced field has no meaning for some kinds of skills.
type misplaced struct {
	path string
	set  bool
	code bool // it has none for skills that run code; otherwise for prompts
	why  string
	out  string
}

// misplacedFields are the fields that not every kind of skill has a use for.
func misplacedFields(m *Manifest) []misplaced {
	const run = "it is about running code, and a prompt is not run"
	p := m.Security.Permissions
	return []misplaced{
		{"prompt", m.Prompt != "", true, "a skill that runs code never reads it", "remove it"},
		{"prompt_template", m.PromptTemplate != "", true, "a skill that runs code never reads it", "remove it"},
		{"parameters", len(m.Parameters) > 0, true, "a skill that runs code has tools, and they have input schemas", "remove it"},
		{"context_files", m.ContextFiles != nil, true, "a skill that runs code reads files by itself", "ask for them with security.permissions.file_read"},
		{"model", m.Model != "", true, "a skill that runs code never reads it", "remove it"},
		{"context_window", m.ContextWindow != 0, true, "a skill that runs code never reads it", "remove it"},
		{"output_format", m.OutputFormat != "", true, "a skill that runs code has output schemas", "remove it"},

		{"command", m.Command != "", false, run, "remove it"},
		{"args", len(m.Args) > 0, false, run, "remove it"},
		{"tools", len(m.Tools) > 0, false, run, "remove it"},
		{"snapshot", m.Snapshot != "", false, run, "remove it"},
		{"config", len(m.Config) > 0, false, run, "remove it"},
		{"session_config", m.SessionConfig != nil, false, run, "remove it"},
		{"security.resource_limits", m.Security.ResourceLimits != ResourceLimits{}, false, run, "remove it; context_files and context_window bound a prompt"},
		{"resilience", !m.Resilience.isZero(), false, run, "remove it"},
		{"performance", m.Performance != Performance{}, false, run, "remove it"},
		{"security.permissions", p.asksBeyond("file_read"), false, "a prompt reads files at most", "keep file_read alone"},
		{"prompt_template", m.PromptTemplate != "" && m.Type == KindPromptInline, false, "the prompt of a prompt_inline skill is prompt", "remove one of the two"},
		{"context_files", m.ContextFiles != nil && m.Type == KindPromptInline, false, "a prompt_inline skill takes parameters and no files", `set type to "conversation"`},
		{"security.permissions.file_read", len(p.FileRead) > 0 && m.ContextFiles == nil, false, "nothing reads them", "name them in context_files, which asks for them"},
	}
}

func (r Resilience) isZero() bool {
	return r.RetryConfig == nil && r.CircuitBreaker == nil && r.Timeout == 0 && r.FallbackCommand == "" && r.HealthCheck == nil
}

// misplaced refuses fields that would be ignored.
func (c *checker) misplaced() {
	for _, f := range misplacedFields(c.m) {
		if f.set && (f.code && c.m.Type.IsCode() || !f.code && c.m.Type.IsPrompt()) {
			c.report(f.path, f.out, "would be ignored: %s", f.why)
		}
	}
}
