package builtin

import (
	"strings"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// scanPython finds comments and strings.
func scanPython(text string) (spans []span) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '#':
			end := lineEnd(text, i)
			spans = append(spans, span{i, end, true})
			i = end
		case c == '"' || c == '\'':
			end := pythonString(text, i)
			spans = append(spans, span{i, end, false})
			i = end
		default:
			i++
		}
	}
	return spans
}

func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}

// pythonString is where the string ends that begins at a place.
func pythonString(text string, at int) int {
	quote := text[at : at+1]
	if strings.HasPrefix(text[at:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	for i := at + len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case text[i] == '\n' && len(quote) == 1:
			return i
		}
	}
	return len(text)
}

var pythonDef = lazyregexp.New(`(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(`)

func functionsOfPython(s *source) (all []function) {
	for _, m := range pythonDef().FindAllStringSubmatchIndex(s.code, -1) {
		name := s.code[m[4]:m[5]]
		f := function{name: name, tool: m[2] == m[3] && !strings.HasPrefix(name, "_")}
		end := closing(s.code, m[1]-1)
		if end < 0 {
			continue
		}
		f.untyped = untypedPython(s.code[m[1]:end])
		if colon := strings.IndexByte(s.code[end:], ':'); colon >= 0 {
			sp, ok := s.spanAt(afterPrefix(s.text, end+colon+1))
			f.documented = ok && !sp.comment
		}
		all = append(all, f)
	}
	return all
}

// afterPrefix is the place behind white space and the letter of a raw string.
func afterPrefix(text string, at int) int {
	rest := strings.TrimLeft(text[at:], " \t\n\r")
	if len(rest) > 1 && strings.ContainsRune("rRuU", rune(rest[0])) && (rest[1] == '"' || rest[1] == '\'') {
		return len(text) - len(rest) + 1
	}
	return at
}

func untypedPython(code string) (names []string) {
	for i, p := range parameters(code) {
		name, _, _ := strings.Cut(p, "=")
		name = strings.TrimSpace(name)
		bare := strings.TrimLeft(name, "*")
		if bare == "" || name == "/" || i == 0 && (name == "self" || name == "cls") || strings.Contains(name, ":") {
			continue
		}
		names = append(names, brief(bare))
	}
	return names
}

var (
	pythonImport = lazyregexp.New(`(?m)(?:^|[;:])[ \t]*import[ \t]+([^\n;#]+)`)
	pythonFrom   = lazyregexp.New(`(?m)(?:^|[;:])[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n;#]+)`)
	pythonWord   = lazyregexp.New(`[\w.]+`)
)

// importsOfPython are the modules, and the names that are imported from one, with
// the module before them: "from os import system" imports os.system.
func importsOfPython(s *source) (modules []string) {
	for _, m := range pythonImport().FindAllStringSubmatch(s.code, -1) {
		for _, part := range strings.Split(m[1], ",") {
			modules = append(modules, pythonWord().FindString(part))
		}
	}
	for _, m := range pythonFrom().FindAllStringSubmatch(s.code, -1) {
		for _, part := range strings.Split(strings.Trim(m[2], "() \t\n"), ",") {
			if name := pythonWord().FindString(part); name != "" {
				modules = append(modules, strings.TrimSuffix(m[1], ".")+"."+name)
			} else {
				modules = append(modules, m[1])
			}
		}
	}
	return modules
}
