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
	re, err := regexp.Compile(p.Pattern)
	if err != nil {
		c.report(at, "write RE2 syntax, such as ^[a-z]+$", "is no regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
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

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// placeholders demands that the prompt of a prompt_inline skill and its
// parameters name the same things.
func (c *checker) placeholders() {
	if c.m.Type != KindPromptInline {
		return
	}
	used := map[string]bool{}
	for _, match := range placeholder.FindAllStringSubmatch(c.m.Prompt, -1) {
		name := match[1]
		known := slices.ContainsFunc(c.m.Parameters, func(p Parameter) bool { return p.Name == name })
		if !known && !used[name] {
			c.report("prompt", fmt.Sprintf("add a parameter called %s", name), "has {%s}, which is no parameter", name)
		}
		used[name] = true
	}
	for i, p := range c.m.Parameters {
		if !used[p.Name] {
			c.report("parameters"+indexStep(i), fmt.Sprintf("write {%s} in the prompt, or remove it", p.Name), "would be ignored: the prompt does not have {%s}", p.Name)
		}
	}
}
