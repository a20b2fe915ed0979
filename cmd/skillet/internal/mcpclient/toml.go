package mcpclient

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A table is a header of a text in TOML, such as [a.b], and where it stands.
type table struct {
	name  string // its parts joined by dots, without quotes
	start int
}

// A line of keys is where a key stands, and in which table.
type key struct {
	table, name string
	line        int
}

// readTOML finds the tables and keys of a text. It reads no values, but where they end.
func readTOML(text string) (tables []table, keys []key, err error) {
	in, line := "", 0
	for at := 0; at < len(text); {
		line++
		end := at + strings.IndexByte(text[at:]+"\n", '\n')
		trimmed := strings.TrimSpace(text[at:min(end, len(text))])
		switch {
		case trimmed == "" || trimmed[0] == '#':
			at = end + 1
		case trimmed[0] == '[':
			name, err := header(trimmed)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", line, err)
			}
			in = name
			tables = append(tables, table{name, at})
			at = end + 1
		default:
			name, _, ok := strings.Cut(trimmed, "=")
			if !ok || strings.TrimSpace(name) == "" {
				return nil, nil, fmt.Errorf("line %d: a key and a value are expected", line)
			}
			keys = append(keys, key{in, plain(name), line})
			from := at + strings.IndexByte(text[at:], '=') + 1
			behind, err := valueEnd(text, from)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", line, err)
			}
			line += strings.Count(text[from:behind], "\n")
			at = behind + strings.IndexByte(text[behind:]+"\n", '\n') + 1
		}
	}
	return tables, keys, nil
}

// header is the name in [name] or [[name]].
func header(line string) (string, error) {
	body := strings.TrimPrefix(line, "[")
	end := strings.IndexByte(body, ']')
	if double := strings.HasPrefix(body, "["); double {
		body = body[1:]
		end = strings.Index(body, "]]")
	}
	if end < 0 {
		return "", errors.New("a header that does not end")
	}
	name, rest := body[:end], strings.TrimSpace(strings.TrimLeft(body[end:], "]"))
	if strings.TrimSpace(name) == "" || strings.ContainsAny(name, "[]\n") || rest != "" && rest[0] != '#' {
		return "", errors.New("a header that is not one")
	}
	return plain(name), nil
}

// plain is a dotted key without quotes and spaces.
func plain(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}

// valueEnd is where a value ends, which may have several lines.
func valueEnd(text string, at int) (int, error) {
	depth := 0
	for at < len(text) {
		rest := text[at:]
		switch c := rest[0]; {
		case c == '\n' && depth == 0:
			return at, nil
		case c == '#':
			at += strings.IndexByte(rest+"\n", '\n')
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth < 0 {
				return at, errors.New("a bracket that closes nothing")
			}
		case c == '"' || c == '\'':
			n, err := stringEnd(rest)
			if err != nil {
				return at, err
			}
			at += n
			continue
		}
		at++
	}
	if depth > 0 {
		return at, errors.New("a value that does not end")
	}
	return at, nil
}

// stringEnd is how long the string is that a text begins with.
func stringEnd(text string) (int, error) {
	quote := text[:1]
	if strings.HasPrefix(text, strings.Repeat(quote, 3)) {
		quote = text[:3]
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case text[i] == '\n' && len(quote) == 1:
			return 0, errors.New("a string that does not end")
		case strings.HasPrefix(text[i:], quote):
			i += len(quote)
			for n := 0; n < 2 && len(quote) == 3 && i < len(text) && text[i] == quote[0]; n++ { // quotes before the last three
				i++
			}
			return i, nil
		}
	}
	return 0, errors.New("a string that does not end")
}

// tomlSpan is where the table of an entry stands, with the tables below it; ok is false for none.
func tomlSpan(text, under, name string) (start, end int, ok bool, err error) {
	tables, keys, err := readTOML(text)
	if err != nil {
		return 0, 0, false, err
	}
	whole := under + "." + name
	for _, k := range keys {
		full := strings.TrimPrefix(k.table+"."+k.name, ".")
		if full == under || (full == whole || strings.HasPrefix(full, whole+".")) && k.table != whole && !strings.HasPrefix(k.table, whole+".") {
			return 0, 0, false, fmt.Errorf("line %d: %s is written in a form that is not changed here", k.line, full)
		}
	}
	start, end = -1, len(text)
	for _, t := range tables {
		mine := t.name == whole || strings.HasPrefix(t.name, whole+".")
		switch {
		case mine && start < 0:
			start = t.start
		case mine && end < len(text):
			return 0, 0, false, fmt.Errorf("the tables of %s stand apart", whole)
		case !mine && start >= 0 && end == len(text):
			end = t.start
		}
	}
	return start, end, start >= 0, nil
}

// tomlSet puts the table of an entry into a text.
func tomlSet(text, under, name string, e Entry) (string, error) {
	start, end, ok, err := tomlSpan(text, under, name)
	if err != nil {
		return "", err
	}
	body := "[" + under + "." + name + "]\ncommand = " + strconv.Quote(e.Command) + "\nargs = ["
	for i, a := range e.Args {
		if i > 0 {
			body += ", "
		}
		body += strconv.Quote(a)
	}
	body += "]\n"
	if ok {
		tail := text[start:end]
		kept := tail[len(strings.TrimRight(tail, " \t\r\n")):] // the lines before what follows
		if end < len(text) && strings.Count(kept, "\n") > 1 {
			body += kept[strings.IndexByte(kept, '\n')+1:]
		}
		return text[:start] + body + text[end:], nil
	}
	switch {
	case text == "":
	case strings.HasSuffix(text, "\n"):
		text += "\n"
	default:
		text += "\n\n"
	}
	return text + body, nil
}

// tomlRemove takes the table of an entry out of a text. ok is false when there is none.
func tomlRemove(text, under, name string) (_ string, ok bool, err error) {
	start, end, ok, err := tomlSpan(text, under, name)
	if err != nil || !ok {
		return text, false, err
	}
	if end == len(text) { // the empty line that was put before it
		return strings.TrimSuffix(text[:start], "\n\n") + strings.Repeat("\n", min(1, strings.Count(text[:start], "\n"))), true, nil
	}
	return text[:start] + text[end:], true, nil
}
