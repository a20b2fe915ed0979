package local

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// A kind says what a token of a goal is.
type kind int

const (
	word     kind = iota
	mark          // punctuation
	number        // 12, 1.5, twelve
	quoted        // "text" or `code`
	pathName      // notes/a.md
	glob          // *.go
	web           // https://example.com/
	value         // {"a":1}
	pair          // limit=3
)

// A token is a word, a mark, or something that is taken as it is written.
type token struct {
	kind kind
	text string // of a quotation what is between the marks
	key  string // of a pair
	code bool   // a quotation in backticks
	line bool   // begins a line
	// mean is the concept of a word; empty for one without.
	mean string
}

// literal says whether a token is not a part of the language.
func (t token) literal() bool { return t.kind > number }

// maxGoal is how many bytes of a goal are read; the rest of a longer one is text
// that nobody writes by hand.
const maxGoal = 16 << 10

// shortForms have marks in them that would end a clause.
var shortForms = strings.NewReplacer("TL;DR", "tldr", "tl;dr", "tldr", "Tl;dr", "tldr")

// scanner takes a goal apart.
type scanner struct {
	lex  *lexicon
	rest string
	all  []token
	line bool
}

func (l *lexicon) scan(goal string) []token {
	if len(goal) > maxGoal {
		goal = goal[:maxGoal]
	}
	goal = shortForms.Replace(strings.ToValidUTF8(goal, "\uFFFD"))
	s := scanner{lex: l, rest: goal, line: true}
	for s.skipSpace() {
		s.next()
	}
	s.join()
	return s.all
}

func (s *scanner) skipSpace() bool {
	for s.rest != "" {
		r, n := utf8.DecodeRuneInString(s.rest)
		if !unicode.IsSpace(r) {
			return true
		}
		s.line = s.line || r == '\n'
		s.rest = s.rest[n:]
	}
	return false
}

func (s *scanner) add(t token, length int) {
	t.line, s.line = s.line, false
	s.all = append(s.all, t)
	s.rest = s.rest[length:]
}

// next takes the token that the rest begins with: the first form that fits.
func (s *scanner) next() {
	for _, form := range []func() bool{s.quotation, s.json, s.chunk} {
		if form() {
			return
		}
	}
	_, n := utf8.DecodeRuneInString(s.rest)
	s.add(token{kind: mark, text: s.rest[:n]}, n)
}

// quotations are the forms of text between marks, those of code first. A single quote within
// a word is an apostrophe.
var quotations = []*regexp.Regexp{
	regexp.MustCompile("(?s)^```(?:[^ (=\n]*\n)?(.+?)```"), regexp.MustCompile("^`([^`]+)`"),
	regexp.MustCompile(`^"([^"]+)"`), regexp.MustCompile(`^“([^”]+)”`), regexp.MustCompile(`^„([^“]+)“`), regexp.MustCompile(`^«([^»]+)»`),
	regexp.MustCompile(`(?s)^'(.+?)'(?:\PL|$)`), regexp.MustCompile(`(?s)^‘(.+?)’(?:\PL|$)`),
}

func (s *scanner) quotation() bool {
	for i, form := range quotations {
		at := form.FindStringSubmatchIndex(s.rest)
		if at == nil {
			continue
		}
		_, size := utf8.DecodeRuneInString(s.rest[at[3]:]) // of the mark that ends it
		if i == 0 {
			size = len("```")
		}
		s.add(token{kind: quoted, text: s.rest[at[2]:at[3]], code: i < 2}, at[3]+size)
		return true
	}
	return false
}

// json takes an object or an array.
func (s *scanner) json() bool {
	if s.rest[0] != '{' && s.rest[0] != '[' {
		return false
	}
	d := json.NewDecoder(strings.NewReader(s.rest))
	var v json.RawMessage
	var compact bytes.Buffer
	if d.Decode(&v) != nil || json.Compact(&compact, v) != nil {
		return false
	}
	s.add(token{kind: value, text: compact.String()}, int(d.InputOffset()))
	return true
}

var (
	chunks    = regexp.MustCompile("^[^\\s,;()\"“”`<>|{}]+")
	webForm   = regexp.MustCompile(`(?i)^https?://[^\s"“”<>` + "`" + `]+`)
	pairForm  = regexp.MustCompile("^([A-Za-z_][A-Za-z0-9_-]*)=(\"[^\"]*\"|`[^`]*`|[^\\s,;\"`]+)")
	numberFor = lazyregexp.New(`^\d+(\.\d+)?$`)
	ranges    = lazyregexp.New(`^\d+-\d*$`) // of pages
	extension = lazyregexp.New(`^[^*?]*[\p{L}\p{N}_)~-]\.([A-Za-z][A-Za-z0-9]{0,7})$`)
	hostForm  = lazyregexp.New(`^([a-z0-9-]+\.)+(com|org|net|edu|gov|io|dev|info|eu)(/\S*)?$`)
	dotted    = lazyregexp.New(`^\.[A-Za-z][\w.-]*$`)
)

// names of files that have no extension.
var bareFiles = map[string]bool{"Makefile": true, "LICENSE": true, "README": true, "CHANGELOG": true, "Dockerfile": true, "NOTICE": true, "AUTHORS": true}

// abbreviations look like names of files.
var abbreviations = map[string]bool{"e.g": true, "i.e": true, "etc": true, "a.m": true, "p.m": true, "vs": true}

// chunk takes what stands between spaces, without the marks at its end.
func (s *scanner) chunk() bool {
	if m := trimAddress(webForm.FindString(s.rest)); m != "" {
		s.add(token{kind: web, text: m}, len(m))
		return true
	}
	if m := pairForm.FindStringSubmatch(s.rest); m != nil {
		v := strings.TrimRight(m[2], ".,;:!?")
		s.add(token{kind: pair, key: m[1], text: strings.Trim(v, "\"`")}, len(m[1])+1+len(v))
		return true
	}
	c := strings.TrimRight(chunks.FindString(s.rest), ".:!?'’")
	if t, ok := classify(c); ok {
		s.add(t, len(c))
		return true
	}
	return s.word(c)
}

// trimAddress takes the marks of the sentence off an address.
func trimAddress(a string) string {
	for a != "" {
		last := a[len(a)-1]
		if strings.IndexByte(".,;:!?'", last) < 0 && (last != ')' || strings.Count(a, "(") >= strings.Count(a, ")")) {
			break
		}
		a = a[:len(a)-1]
	}
	return a
}

// classify says what a chunk that is not a word is.
func classify(c string) (token, bool) {
	bare := strings.ToLower(c)
	switch {
	case numberFor().MatchString(c), ranges().MatchString(c):
		return token{kind: number, text: c}, true
	case abbreviations[bare] || bare == "and/or" || bare == "either/or":
		return token{kind: word, text: c}, true
	case hostForm().MatchString(c):
		return token{kind: web, text: "https://" + c}, true
	case strings.ContainsAny(c, "*?") && strings.ContainsAny(c, "./"):
		return token{kind: glob, text: c}, true
	case strings.Contains(c, "@"): // of a person
		return token{kind: word, text: c}, true
	case extension().MatchString(c), bareFiles[c], dotted().MatchString(c), strings.Contains(c, "/") && len(c) > 1 && !strings.Contains(c, "//"):
		return token{kind: pathName, text: c}, true
	}
	return token{}, false
}

var wordForm = regexp.MustCompile(`^[\pL\pN_][\pL\pN_'’]*`)

// word takes one word; "three-sentence" is two.
func (s *scanner) word(c string) bool {
	text := wordForm.FindString(c)
	if text == "" {
		return false
	}
	t := token{kind: word, text: text}
	if v, ok := numerals[strings.ToLower(text)]; ok {
		t = token{kind: number, text: v}
	}
	s.add(t, len(text))
	return true
}

// possessive takes "'s" off a word.
func possessive(w string) string {
	w = strings.ReplaceAll(w, "’", "'")
	w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "'")
	return strings.ReplaceAll(w, "'", "")
}

var numerals = map[string]string{"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
	"nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "fifty": "50", "hundred": "100"}

// join gives words what they mean, and those of phrases what they mean together.
func (s *scanner) join() {
	for i := 0; i < len(s.all); i++ {
		var words []string
		from := i
		for ; i < len(s.all) && s.all[i].kind == word; i++ {
			words = append(words, possessive(strings.ToLower(s.all[i].text)))
		}
		for k, mean := range s.lex.read(words) {
			s.all[from+k].mean = mean
		}
	}
}
