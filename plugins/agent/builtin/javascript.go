package builtin

import (
	"slices"
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// scanJavaScript finds comments, strings, templates and regular expressions. What
// is between ${ and } of a template is code.
func scanJavaScript(text string) []span {
	s := jsScan{text: text}
	s.code(0, false)
	return s.spans
}

type jsScan struct {
	text  string
	spans []span
	depth int
}

// maxTemplates is how deep templates may be in templates; what is deeper is read as
// one string.
const maxTemplates = 50

func (s *jsScan) add(start, end int, comment bool) int {
	s.spans = append(s.spans, span{start, end, comment})
	return end
}

// code reads from a place to the end, or to the } that closes a part of a
// template, and returns where that is.
func (s *jsScan) code(i int, inTemplate bool) int {
	for braces, last := 0, byte(0); i < len(s.text); {
		c := s.text[i]
		switch {
		case strings.HasPrefix(s.text[i:], "//"):
			i = s.add(i, lineEnd(s.text, i), true)
			continue
		case strings.HasPrefix(s.text[i:], "/*"):
			i = s.add(i, blockEnd(s.text, i), true)
			continue
		case c == '"' || c == '\'':
			i = s.add(i, quoted(s.text, i, c), false)
		case c == '`':
			i = s.template(i)
		case c == '/' && regexMayBegin(s.text[:i], last):
			i = s.add(i, quoted(s.text, i, '/'), false)
		case c == '}' && inTemplate && braces == 0:
			return i
		default:
			braces += brace(c)
			i++
		}
		if c > ' ' {
			last = c
		}
	}
	return i
}

func brace(c byte) int {
	switch c {
	case '{':
		return 1
	case '}':
		return -1
	}
	return 0
}

func blockEnd(text string, at int) int {
	if n := strings.Index(text[at+2:], "*/"); n >= 0 {
		return at + 2 + n + 2
	}
	return len(text)
}

// quoted is where a string or regular expression of one line ends.
func quoted(text string, at int, quote byte) int {
	class := false
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '\n':
			return i
		case quote == '/' && c == '[':
			class = true
		case c == ']':
			class = false
		case c == quote && !class:
			return i + 1
		}
	}
	return len(text)
}

// template reads a template; the code in it is not part of its spans.
func (s *jsScan) template(at int) int {
	s.depth++
	defer func() { s.depth-- }()
	start := at
	for i := at + 1; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\':
			i++
		case s.text[i] == '`':
			return s.add(start, i+1, false)
		case strings.HasPrefix(s.text[i:], "${") && s.depth < maxTemplates:
			s.add(start, i+2, false)
			i = s.code(i+2, true)
			start = i
		}
	}
	if start < len(s.text) {
		s.add(start, len(s.text), false)
	}
	return len(s.text)
}

var wordBeforeRegex = lazyregexp.New(`(?:^|[^\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|else|do|yield|await)\s*$`)

// regexMayBegin reports whether a slash begins a regular expression: behind what
// ends an expression it divides.
func regexMayBegin(before string, last byte) bool {
	if last == 0 || strings.IndexByte("(,=:[!&|?{};+-*%~^<>", last) >= 0 {
		return true
	}
	return wordBeforeRegex().MatchString(before[max(0, len(before)-32):])
}

var (
	jsFunction = lazyregexp.New(`(?m)(?:^|[;{}])[ \t]*(export[ \t]+)?(default[ \t]+)?(?:async[ \t]+)?function[ \t]*\*?[ \t]*([\w$]*)[ \t]*\(`)
	jsArrow    = lazyregexp.New(`(?m)(?:^|[;{}])[ \t]*(export[ \t]+)?(?:const|let|var)[ \t]+([\w$]+)[ \t]*=[ \t]*(?:async[ \t]*)?(?:function[ \t]*[\w$]*[ \t]*)?\(`)
	jsList     = lazyregexp.New(`\bexport\s*\{([^}]*)\}`)
	jsParam    = lazyregexp.New(`@param\s+\{[^\n]+?\}\s+\[?([\w$]+)`)
	jsType     = lazyregexp.New(`@type\s+\{`)
	jsName     = lazyregexp.New(`^[\w$]+`)
)

func functionsOfJavaScript(s *source) []function {
	var all []function
	for _, m := range jsFunction().FindAllStringSubmatchIndex(s.code, -1) {
		name := s.code[m[6]:m[7]]
		if m[4] >= 0 && name == "" {
			name = "run" // what a default export is called
		}
		all = append(all, s.javaScript(name, m[2] >= 0, m[0], m[1]))
	}
	for _, m := range jsArrow().FindAllStringSubmatchIndex(s.code, -1) {
		end := closing(s.code, m[1]-1)
		if end < 0 || !arrow(s.code[m[0]:m[1]], s.code[end+1:]) {
			continue
		}
		all = append(all, s.javaScript(s.code[m[4]:m[5]], m[2] >= 0, m[0], m[1]))
	}
	listed := exportedNames(s.code)
	for i, f := range all {
		if slices.Contains(listed, f.name) {
			all[i].tool = true
		}
	}
	return all
}

// arrow reports whether brackets are those of a function, by what is before them
// and behind.
func arrow(before, behind string) bool {
	return strings.Contains(before, "function") || strings.HasPrefix(strings.TrimSpace(behind), "=>")
}

// exportedNames are those in export { a, b as c }.
func exportedNames(code string) (names []string) {
	for _, m := range jsList().FindAllStringSubmatch(code, -1) {
		for _, part := range strings.Split(m[1], ",") {
			if fields := strings.Fields(part); len(fields) > 0 {
				names = append(names, fields[len(fields)-1])
			}
		}
	}
	return names
}

// javaScript is a function whose declaration begins at from and whose parameters
// begin at open.
func (s *source) javaScript(name string, exported bool, from, open int) function {
	f := function{name: name, tool: exported}
	for from < open && strings.IndexByte(" \t\n;{}", s.code[from]) >= 0 {
		from++
	}
	var doc string
	if sp, ok := s.spanBefore(from); ok && sp.comment && strings.HasPrefix(s.text[sp.start:], "/**") {
		doc = s.text[sp.start:sp.end]
	}
	f.documented = strings.Trim(doc, "/* \t\r\n") != ""
	if end := closing(s.code, open-1); end >= 0 {
		f.untyped = untypedJavaScript(s.code[open:end], doc)
	}
	return f
}

// untypedJavaScript are the parameters for which JSDoc names no type. One that is
// taken apart has no name: any @param at its place is its own.
func untypedJavaScript(code, doc string) (names []string) {
	if jsType().MatchString(doc) {
		return nil
	}
	var typed []string
	for _, m := range jsParam().FindAllStringSubmatch(doc, -1) {
		typed = append(typed, m[1])
	}
	for i, p := range parameters(code) {
		name := jsName().FindString(strings.TrimPrefix(p, "..."))
		if name == "" && i < len(typed) || name != "" && slices.Contains(typed, name) {
			continue
		}
		if name == "" {
			name = brief(p)
		}
		names = append(names, name)
	}
	return names
}

var jsImport = lazyregexp.New(`\b(?:import|export)\b([^"'();]*?\bfrom)?\s*["']([^"'\n]+)["']|\b(?:import|require)\s*\(\s*(["'][^"'\n]*["']\s*\))?`)

// importsOfJavaScript are the modules that are imported. One whose name is made
// while the program runs is called "(unknown)".
func importsOfJavaScript(s *source) (modules []string) {
	for _, m := range jsImport().FindAllStringSubmatchIndex(s.text, -1) {
		switch {
		case s.inSpan(m[0]):
		case m[4] >= 0:
			modules = append(modules, s.text[m[4]:m[5]])
		case m[6] >= 0:
			modules = append(modules, strings.Trim(s.text[m[6]:m[7]], "\"') \t"))
		default:
			modules = append(modules, "(unknown)")
		}
	}
	return modules
}
