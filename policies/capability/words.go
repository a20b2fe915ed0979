package capability

import (
	"fmt"
	"strings"
)

// Words says in plain English what the capability lets a skill do, as the end
// of a sentence that begins "may": "read files in /data and below". It is
// "do nothing" for the zero value.
func (c Capability) Words() string {
	if k := lookup(c.action); k != nil {
		return k.words(c)
	}
	return "do nothing"
}

// always says the same of every capability.
func always(words string) func(Capability) string {
	return func(Capability) string { return words }
}

// named says what is done to one name, or to every name of a kind.
func named(verb, the, kind string) func(Capability) string {
	return func(c Capability) string { return verb + " " + nameWords(c.pattern, the, kind) }
}

func fileWords(pattern string) string {
	dir, last := pattern[:strings.LastIndexByte(pattern, '/')], pattern[strings.LastIndexByte(pattern, '/')+1:]
	if dir == "" {
		dir = "/"
	}
	switch {
	case pattern == "/**":
		return "every file on this computer"
	case !strings.Contains(pattern, "*"):
		return pattern
	case strings.Contains(dir, "*") || last != "*" && last != "**":
		return "files matching " + pattern
	case last == "**":
		return "files in " + dir + " and below"
	default:
		return "files directly in " + dir
	}
}

func nameWords(pattern, the, kind string) string {
	prefix, starred := strings.CutSuffix(pattern, "*")
	switch {
	case !starred:
		return the + " " + pattern
	case prefix == "":
		return "every " + kind
	default:
		return fmt.Sprintf("every %s whose name begins with %s", kind, prefix)
	}
}

// sessionWords says which sessions SKILL/NAME means.
func sessionWords(pattern string) string {
	skill, name, ok := strings.Cut(pattern, "/")
	if !ok {
		return nameWords(pattern, "the session", "session")
	}
	return nameWords(name, "your session", "session of yours") + " of the skill " + skill
}

func (c Capability) httpWords() string {
	words := "send " + methodWords(c.methods) + " to " + c.site.String()
	if prefix, ok := strings.CutSuffix(c.pattern, "*"); ok {
		words += prefix + "..."
	} else {
		words += c.pattern
	}
	if domain, wild := strings.CutPrefix(c.site.host, "*."); wild {
		words += " (any one name before " + domain + ")"
	}
	if c.site.scheme == "http" {
		words += " (unencrypted)"
	}
	return words
}

func methodWords(list string) string {
	if list == "*" {
		return "requests of any method"
	}
	return series(strings.Split(list, ",")) + " requests"
}

// series joins words with commas and a final "and".
func series(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
