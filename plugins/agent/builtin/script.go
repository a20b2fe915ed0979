package builtin

import (
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// What scripts must keep to is looked for in their text: comments and strings are
// told from code, and functions and imports found in what is left. That is enough
// to send a careless answer back. It is not a wall: a script that means harm can hide
// from it, and meets the sandbox.

// A scriptKind is how scripts of a language are read.
type scriptKind struct {
	extension string
	scan      func(source string) []span
	functions func(s *source) []function
	imports   func(s *source) []string
}

var scriptKinds = map[string]scriptKind{
	"qjs":    {".js", scanJavaScript, functionsOfJavaScript, importsOfJavaScript},
	"python": {".py", scanPython, functionsOfPython, importsOfPython},
}

// A span is a piece of a program that is not code.
type span struct {
	start, end int
	comment    bool // else a string
}

// source is a program: its text, and the same with comments and strings blank.
// Both are equally long.
type source struct {
	text, code string
	spans      []span
}

func readSource(text string, scan func(string) []span) *source {
	s := &source{text: text, spans: scan(text)}
	code := []byte(text)
	for _, sp := range s.spans {
		for i := sp.start; i < sp.end; i++ {
			if code[i] != '\n' {
				code[i] = ' '
			}
		}
	}
	s.code = string(code)
	return s
}

// behind is the number of the first span that begins at or behind a place.
func (s *source) behind(at int) int {
	return sort.Search(len(s.spans), func(i int) bool { return s.spans[i].start >= at })
}

// spanAt is the span that begins at or behind a place with nothing but white space
// before it.
func (s *source) spanAt(at int) (span, bool) {
	i := s.behind(at)
	if i == len(s.spans) || strings.TrimSpace(s.text[at:s.spans[i].start]) != "" {
		return span{}, false
	}
	return s.spans[i], true
}

// spanBefore is the span that ends before a place with nothing but white space
// behind it.
func (s *source) spanBefore(at int) (span, bool) {
	i := s.behind(at) - 1
	if i < 0 || s.spans[i].end > at || strings.TrimSpace(s.text[s.spans[i].end:at]) != "" {
		return span{}, false
	}
	return s.spans[i], true
}

// inSpan reports whether a place is in a comment or a string.
func (s *source) inSpan(at int) bool {
	i := s.behind(at+1) - 1
	return i >= 0 && at < s.spans[i].end
}

// A function is one of a program.
type function struct {
	name       string
	tool       bool // it can be called as a tool
	documented bool
	untyped    []string // parameters that name no type
}

// script checks all scripts of the package, and that the first has the tools.
func (c *packageCheck) script() {
	kind := scriptKinds[c.manifest.Command]
	first := c.manifest.Args[0]
	if path.Ext(first) != kind.extension {
		c.say("skill.json: %s runs files that end in %s", c.manifest.Command, kind.extension)
		return
	}
	for _, name := range sortedKeys(c.files) {
		if path.Ext(name) != kind.extension {
			continue
		}
		s := readSource(string(c.files[name]), kind.scan)
		functions := kind.functions(s)
		c.functions(name, functions)
		c.imports(name, s, kind)
		c.blocked(name, s)
		if name == first {
			c.tools(name, functions)
		}
	}
}

func (c *packageCheck) functions(file string, all []function) {
	for _, f := range all {
		if c.rules.RequiredDocstring && !f.documented {
			c.say("%s: the function %s does not say what it does", file, f.name)
		}
		if c.rules.RequireTypeHints && len(f.untyped) > 0 {
			c.say("%s: parameters of %s have no type: %s", file, f.name, strings.Join(f.untyped, ", "))
		}
	}
}

func (c *packageCheck) tools(file string, all []function) {
	for _, t := range c.manifest.Tools {
		name := t.Name
		if t.Export != "" {
			name = t.Export
		}
		if !slices.ContainsFunc(all, func(f function) bool { return f.tool && f.name == name }) {
			c.say("%s: function %s for the tool %s not found", file, name, t.Name)
		}
	}
}

// imports checks what a script imports. Files of the package may always be.
func (c *packageCheck) imports(file string, s *source, kind scriptKind) {
	for _, module := range kind.imports(s) {
		if c.own(file, module, kind.extension) {
			continue
		}
		if kind.extension == ".js" && module != "skillet" {
			c.say("%s: imports %s, which is neither \"skillet\" nor a file of the package; other modules do not exist", file, module)
			continue
		}
		if len(c.rules.AllowedImports) > 0 && !covered(module, c.rules.AllowedImports) {
			c.say("%s: imports %s, which is not allowed", file, module)
		}
		if covered(module, c.rules.BlockedImports) {
			c.say("%s: imports %s, which is blocked", file, module)
		}
	}
}

// own reports whether a module is a file of the package.
func (c *packageCheck) own(file, module, extension string) bool {
	dir := path.Dir(file)
	if extension == ".js" {
		_, ok := c.files[path.Join(dir, module)]
		return ok && strings.HasPrefix(module, ".")
	}
	if strings.HasPrefix(module, ".") {
		return true
	}
	for name := module; ; {
		if _, ok := c.files[path.Join(dir, strings.ReplaceAll(name, ".", "/")+extension)]; ok {
			return true
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return false
		}
		name = name[:i] // what is imported may be a name in a module
	}
}

// covered reports whether a module is one of a list, or inside of one.
func covered(module string, list []string) bool {
	return slices.ContainsFunc(list, func(l string) bool {
		return module == l || strings.HasPrefix(module, l+".") || strings.HasPrefix(module, l+"/")
	})
}

// blocked looks for calls of what must not be imported: eval and os.system are not
// imported to be used.
func (c *packageCheck) blocked(file string, s *source) {
	for _, name := range c.rules.BlockedImports {
		re, err := regexp.Compile(`(^|[^.\w$])` + regexp.QuoteMeta(name) + `\s*\(`)
		if err == nil && re.MatchString(s.code) {
			c.say("%s: calls %s, which is blocked", file, name)
		}
	}
}

// maxParameters is how far the end of the parameters of a function is looked for,
// in bytes.
const maxParameters = 10_000

// closing is the place of the bracket that closes the one at a place of the code;
// -1 when there is none near.
func closing(code string, at int) int {
	depth := 0
	for i := at; i < min(len(code), at+maxParameters); i++ {
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// parameters splits what is between the brackets of a function at its commas.
func parameters(code string) (all []string) {
	depth, from := 0, 0
	for i := 0; i <= len(code); i++ {
		if i == len(code) || code[i] == ',' && depth == 0 {
			if p := strings.TrimSpace(code[from:i]); p != "" {
				all = append(all, p)
			}
			from = i + 1
			continue
		}
		switch code[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
	}
	return all
}
