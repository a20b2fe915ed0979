package local

import (
	"path"
	"slices"
	"strings"
)

// A clause is one part of a goal that asks for one thing.
type clause struct {
	tokens []token
	dest   int // which token is the file to write to; -1 for none
}

// then are the words between two clauses that are not part of either.
var then = map[string]bool{"then": true, "also": true, "afterwards": true, "finally": true, "and": true, "next": true, "please": true, "but": true, "first": true}

// clauses takes a goal apart: at the ends of sentences, and where "and", a comma or
// "then" stands before a word that begins one.
func (l *lexicon) clauses(goal string) []clause {
	tokens := l.scan(goal)
	var all []clause
	start := 0
	cut := func(end, next int) {
		if c, ok := l.clause(tokens[start:end]); ok {
			all = append(all, c)
		}
		start = next
	}
	for i := 0; i < len(tokens); i++ {
		if next := l.boundary(tokens, start, i); next > 0 {
			cut(i, next)
			i = next - 1
		}
	}
	cut(len(tokens), len(tokens))
	return all
}

// boundary returns where the next clause begins when token i ends one; 0 when it
// does not.
func (l *lexicon) boundary(tokens []token, start, i int) int {
	t := tokens[i]
	switch {
	case i == start:
		return 0
	case t.kind == mark && strings.Contains(".;!?", t.text):
		return i + 1
	case t.line && (t.kind == mark && strings.Contains("-*•", t.text) || t.kind == word && l.isAction(t.text)):
		return i
	case t.kind == mark && t.text == ",", t.kind == word && then[strings.ToLower(t.text)]:
	default:
		return 0
	}
	next := i + 1
	for next < len(tokens) && tokens[next].kind == word && then[strings.ToLower(tokens[next].text)] {
		next++
	}
	if next < len(tokens) && tokens[next].kind == word && !l.isNoun(tokens, next) && (l.isAction(tokens[next].text) || l.isVerb(tokens, next)) {
		return next
	}
	return 0
}

// isVerb says whether an unknown word is one: "the", "it" or the like follows.
func (l *lexicon) isVerb(tokens []token, i int) bool {
	t, next := tokens[i], tokens[i+1]
	return t.mean != "" && next.kind == word && slices.Contains([]string{"the", "it", "its", "them", "a", "an", "my", "this", "that", "me", "all"}, strings.ToLower(next.text))
}

// isNoun says whether a word that may begin a clause does not: "sorted by name and
// count". A clause goes on behind its verb.
func (l *lexicon) isNoun(tokens []token, i int) bool {
	return i+1 == len(tokens) || tokens[i+1].kind == mark
}

// clause makes one of tokens, and says whether anything is left of them.
func (l *lexicon) clause(tokens []token) (clause, bool) {
	for len(tokens) > 0 && (tokens[0].kind == mark || tokens[0].kind == word && then[strings.ToLower(tokens[0].text)]) {
		tokens = tokens[1:]
	}
	c := clause{tokens: slices.Clone(tokens), dest: -1}
	c.findDest()
	return c, slices.ContainsFunc(tokens, func(t token) bool { return t.literal() || l.tells(t) })
}

// tells says whether a token is a word that says what is wanted.
func (l *lexicon) tells(t token) bool {
	return t.kind == word && t.mean != "" && !l.generic[strings.ToLower(t.text)]
}

// findDest finds the file that is written to: behind "to", "into" or "as", where
// something is saved or converted.
func (c *clause) findDest() {
	if c.says("create", "overwrite") && c.kinds(pathName) == 1 && c.kinds(quoted)+c.kinds(value) == 1 {
		c.dest = slices.IndexFunc(c.tokens, func(t token) bool { return t.kind == pathName })
		return
	}
	changes := c.means("save") || c.means("append") || c.means("convert")
	for i, t := range c.tokens {
		if t.kind != pathName || !changes {
			continue
		}
		switch before := c.preposition(i); {
		case before == "to", before == "into", before == "as":
			c.dest = i
		case before == "in" && (c.kinds(quoted) > 0 || c.kinds(pathName)+c.kinds(web) == 1):
			c.dest = i
		}
	}
}

// preposition is the word before a literal, without articles and such.
func (c *clause) preposition(i int) string {
	for i--; i >= 0 && c.tokens[i].kind == word; i-- {
		w := strings.ToLower(c.tokens[i].text)
		switch w {
		case "the", "a", "an", "file", "files", "new", "called", "named", "my", "our", "document", "page", "folder", "directory":
			continue
		}
		return w
	}
	return ""
}

func (c *clause) means(mean string) bool {
	return slices.ContainsFunc(c.tokens, func(t token) bool { return t.kind == word && t.mean == mean })
}

func (c *clause) says(words ...string) bool {
	return slices.ContainsFunc(c.tokens, func(t token) bool { return t.isAny(words) })
}

// is reports whether token i is one of some words.
func (c *clause) is(i int, words string) bool {
	return i >= 0 && i < len(c.tokens) && c.tokens[i].isAny(strings.Fields(words))
}

func (t token) isAny(words []string) bool {
	return t.kind == word && slices.Contains(words, strings.ToLower(t.text))
}

func (c *clause) kinds(k kind) int {
	n := 0
	for _, t := range c.tokens {
		if t.kind == k {
			n++
		}
	}
	return n
}

// text is the clause as it was written, nearly.
func (c *clause) text() string {
	var b strings.Builder
	for i, t := range c.tokens {
		if i > 0 && (t.kind != mark || t.text == "(") {
			b.WriteByte(' ')
		}
		b.WriteString(t.written())
	}
	return b.String()
}

func (t token) written() string {
	switch {
	case t.kind == quoted && t.code:
		return "`" + t.text + "`"
	case t.kind == quoted:
		return `"` + t.text + `"`
	case t.kind == pair:
		return t.key + "=" + t.text
	}
	return t.text
}

// A source is a file or a page that a goal names.
type source struct {
	name string
	web  bool
	form form
}

// sources are what a clause works on.
func (c *clause) sources() []source {
	var all []source
	for i, t := range c.tokens {
		if (t.kind == pathName || t.kind == web) && i != c.dest {
			all = append(all, source{t.text, t.kind == web, formOf(t)})
		}
	}
	return all
}

// forms are what the ends of names of files say.
var forms = map[string]form{
	".md": markdown, ".markdown": markdown, ".html": htmlForm, ".htm": htmlForm, ".xhtml": htmlForm, ".csv": csvForm, ".tsv": csvForm,
	".json": jsonForm, ".jsonl": jsonForm, ".pdf": pdfForm, ".xml": xmlForm, ".svg": xmlForm, ".rss": xmlForm,
}

// binaries are the ends of names of files that no tool for texts reads or writes.
var binaries = strings.Fields(`.png .jpg .jpeg .gif .webp .tiff .bmp .ico .psd .zip .gz .tgz .bz2 .xz .7z .rar .tar .wasm .exe .bin .so .dll .jar .class
.mp3 .mp4 .wav .ogg .mov .avi .xlsx .xls .docx .doc .pptx .ppt .odt .ods .odp .epub .parquet .sqlite .db .ttf .woff .woff2`)

// formOf tells what a file is by the end of its name. A page without one is HTML.
func formOf(t token) form {
	name := t.text
	if t.kind == web {
		name, _, _ = strings.Cut(name, "?")
		name, _, _ = strings.Cut(name, "#")
		if strings.Count(name, "/") < 3 {
			return htmlForm
		}
	}
	end := strings.ToLower(path.Ext(name))
	if f, ok := forms[end]; ok {
		return f
	}
	if slices.Contains(binaries, end) {
		return binary
	}
	if t.kind == web && path.Ext(name) == "" {
		return htmlForm
	}
	if base := path.Base(name); base == "README" || base == "CHANGELOG" {
		return markdown
	}
	return anyText
}

// isDir says whether the name of a source is that of a directory.
func (s source) isDir() bool {
	return !s.web && path.Ext(s.name) == "" && !bareFiles[path.Base(s.name)]
}

// page is the address of a page; empty for a file.
func (s source) page() string {
	if s.web {
		return s.name
	}
	return ""
}
