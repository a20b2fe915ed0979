package local

import (
	"slices"
	"strings"
	"unicode"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// concepts are the words that are taken for one. The first of a line is its name;
// a line that begins with "!" is of words that can begin a clause: what somebody
// wants done. Everything else about language is in stop, generic and phrases:
// there is no other dictionary.
var concepts = strings.TrimSpace(`
!summary summarise summarize summaries shorten condense abridge gist digest synopsis tldr recap overview
!list enumerate ls
!count number measure statistics stats statistic figures
!convert turn transform render change
!fetch download retrieve request curl
!compare diff difference differences differ differs
!search grep look locate occurrence occurrences
!read open load print cat display view contain contains content contents say says return returns
!save write store put wrote written copy
!append add
!sort order sorted ascending descending
!filter where select keep
!check validate valid verify conform fits fit validates
!describe profile
!run evaluate execute eval compute calculate
!query jq
!parse
link links url urls hyperlink hyperlinks address addresses
file files
directory dir folder directories folders
text plaintext markup
csv table tsv spreadsheet
json
markdown md
html web webpage page_html
pdf
javascript js
python py
word words
frequent common
author who
property properties info metadata title
header headers head
row rows record records
column columns
mean average averages
sentence point points
date dates created modified
regex regexp
schema
`)

// phrases are two or three words that are taken for one; three have one meaning.
var phrases = map[string]string{
	"how many": "count", "how long": "count", "word count": "count word", "who wrote": "author", "written by": "author",
	"look for": "search", "looks for": "search", "key points": "summary", "main points": "summary", "in short": "summary",
	"tl dr": "summary", "regular expression": "regex", "comma separated": "csv", "web page": "html", "plain text": "text",
	"table of contents": "toc", "get rid": "delete", "source code": "code", "find out": "tell", "finds out": "tell",
	"at least": "atleast", "at most": "atmost", "find all": "search", "changed between": "compare", "what changed": "compare",
	"differ from": "compare", "different from": "compare", "make shorter": "summary", "list of": "list", "have in common": "shared",
}

// stop are words that say nothing about what is wanted, and generic those that say
// no more than that something is: "show", "tell", "what".
const (
	stop = `a an the of in on at to into for from by with as is are was were be been it its they them their this that these those there
and or but so if then than also too very just only not no do does did done has have had having can could would should will shall may might must
my your our his her me you we us i he she please kindly want wants wanted need needs like lets let s t d ll re ve m about between within out up
all any each every both either some more most much per via using use used after before first last next afterwards finally now here which what
how when why whose whom well thanks thank hello hi dear above below again once while under inside over off away along
plain able whether quick short brief nice simple small little whole full complete version versions important against everything anything something thing things both according given such same other another`
	generic = `show give get tell present provide return produce display see know obtain take work help extract pull out find finds mention mentions mentioned make makes create`
)

// A lexicon knows the words of goals and descriptions.
type lexicon struct {
	concept map[string]string // stem to concept
	actions map[string]bool   // concepts that can begin a clause
	stop    map[string]bool
	generic map[string]bool
	catalog *catalog
}

func newLexicon() *lexicon {
	l := &lexicon{map[string]string{}, map[string]bool{}, setOf(stop), setOf(generic), &catalog{}}
	for line := range strings.Lines(concepts) {
		line, action := strings.CutPrefix(strings.TrimSpace(line), "!")
		words := strings.Fields(line)
		for _, w := range words {
			l.concept[stem(w)] = words[0]
		}
		l.actions[words[0]] = action
	}
	return l
}

// setOf are the words of a list.
func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// meaning is the concept of a word: its own stem when it has no other. Empty is a
// word without one.
func (l *lexicon) meaning(word string) string {
	word = strings.ToLower(word)
	if l.stop[word] || len(word) < 2 {
		return ""
	}
	s := stem(word)
	if c, ok := l.concept[s]; ok {
		return c
	}
	return s
}

// isAction says whether a word can begin a clause.
func (l *lexicon) isAction(word string) bool {
	return l.generic[strings.ToLower(word)] || l.actions[l.meaning(word)]
}

// meanings are the concepts of a text, with those of its phrases.
func (l *lexicon) meanings(text string) []string {
	return slices.DeleteFunc(l.read(wordsOf(text)), func(m string) bool { return m == "" })
}

// read are the concepts of words that stand side by side; empty for one without.
func (l *lexicon) read(words []string) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = l.meaning(w)
	}
	for n := 2; n <= 3; n++ {
		for i := 0; i+n <= len(words); i++ {
			if p, ok := phrases[strings.Join(words[i:i+n], " ")]; ok {
				copy(all[i:i+n], append(strings.Fields(p), "", ""))
			}
		}
	}
	return all
}

var camel = lazyregexp.New(`(\p{Ll})(\p{Lu})`)

// wordsOf are the words of a text in lower case. A name such as read_text or
// readText is several.
func wordsOf(text string) []string {
	text = camel().ReplaceAllString(strings.NewReplacer("'", "", "’", "").Replace(text), "$1 $2")
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// plurals are how words end that may be plurals, and how the singular ends. The first fits.
var plurals = [][2]string{{"ies", "y"}, {"sses", "ss"}, {"ss", "ss"}, {"us", "us"}, {"is", "is"}, {"s", ""}}

// stem takes the common endings of English off a word. It only has to take the
// same off the words of a goal and of a description.
func stem(w string) string {
	for _, e := range plurals {
		if base, ok := strings.CutSuffix(w, e[0]); ok && len(w) > 3 {
			w = base + e[1]
			break
		}
	}
	for _, ending := range []string{"ly", "ing", "ed"} {
		if base, ok := strings.CutSuffix(w, ending); ok && len(base) > 2 && strings.ContainsAny(base, "aeiouy") {
			if n := len(base); base[n-1] == base[n-2] && !strings.ContainsRune("lsz", rune(base[n-1])) {
				base = base[:n-1]
			}
			w = base
		}
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}
