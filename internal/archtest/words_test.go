package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A construction is a way to write that makes readers stop, and what is written instead.
type construction struct {
	name, instead string
	pattern       *regexp.Regexp
	// but are matches that are plain English after all.
	but *regexp.Regexp
	// only says where it counts: anywhere when it is empty.
	only kind
}

// A kind of text.
type kind string

const (
	comments kind = "comment"
	literals kind = "string"
	prose    kind = "page"
)

// constructions are those that are not written in comments, strings and pages. Words of a
// match may be on two lines.
var constructions = []construction{
	{
		name: "has X do", instead: "say who does it, such as \"skips the tests\"",
		pattern: regexp.MustCompile(`(?i)\b(?:has|have|had|having)\s+(?:[a-z'-]+\s+){1,5}?(?:not\s+)?(?:be|begin|become|wait|go|fail|come|accept|ask|choose|compile|create|delete|forget|give|happen|ignore|keep|make|refuse|remove|say|send|stay|take|write)\b`),
		but:     regexp.MustCompile(`(?i)\s(?:to|that|which|who|whom|what|may|might|must|can|cannot|could|would|should|shall|will|or|and|than|if|when|where|until|before|after|as|so|been|\w+ed|gone|come|done|made|taken|given|kept|let|for)\s|\sa\ssay$`),
	},
	{
		name: "is no X", instead: "\"is not a X\", or say what it is",
		pattern: regexp.MustCompile(`(?i)(?:\S+\s+)?\b(?:is|are|was|were)\s+no\s+\S+`),
		but:     regexp.MustCompile(`(?i)^there\s|\sno\s+(?:longer|more|less|fewer|better|worse|larger|smaller)\b`),
	},
	{
		name: "there is no X, in an error", instead: "\"X not found\", or \"unknown X\"",
		pattern: regexp.MustCompile(`\bthere\s+(?:is|are|was|were)\s+no\b`), only: literals,
	},
	{name: "wherefrom", instead: "\"from where\", \"source\"", pattern: regexp.MustCompile(`(?i)\bwherefrom\b`)},
	{name: "such a one", instead: "name the thing again", pattern: regexp.MustCompile(`(?i)\bsuch\s+a\s+one\b`)},
	{name: "of somebody's", instead: "say whose", pattern: regexp.MustCompile(`(?i)\bof\s+somebody's\b`)},
	{name: "more than nothing", instead: "\"greater than 0\"", pattern: regexp.MustCompile(`(?i)\bmore\s+than\s+nothing\b`)},
	{name: "may be given again", instead: "\"may be repeated\"", pattern: regexp.MustCompile(`(?i)\b(?:may|can)\s+be\s+given\s+again\b|\bseveral\s+may\s+be\s+given\b`)},
}

// unwritten are the rooms, and the pages, in which constructions are left, with how many
// at most. It is empty, and stays so.
var unwritten = map[string]int{}

// wordsIn is the part of the tree a package is counted in: a room of the host, or a folder.
func wordsIn(pkg string) string {
	parts := strings.Split(pkg, "/")
	if parts[0] == "host" || parts[0] == "cmd" {
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
	return parts[0]
}

// generated are made of other files, in which their words are.
var generated = []string{"docs/cli.md", "docs/host-interface.md", "docs/findings.md"}

// TestPlainWords looks for constructions in the comments and strings of the program, and in
// its pages.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	for _, page := range pages(t) {
		if slices.Contains(generated, page) {
			continue
		}
		for _, hit := range wordy(code.ReplaceAllString(read(t, page), ""), prose) {
			found[page] = append(found[page], page+": "+hit)
		}
	}
	for _, s := range sources(t) {
		for _, text := range textsOf(s) {
			for _, hit := range wordy(text.text, text.kind) {
				in := wordsIn(path.Dir(s.name))
				found[in] = append(found[in], s.name+":"+strconv.Itoa(text.line)+": "+hit)
			}
		}
	}
	for _, where := range slices.Sorted(maps.Keys(found)) {
		if n := len(found[where]); n > unwritten[where] {
			t.Errorf("%s has %d places, and at most %d are left to rewrite:\n\t%s", where, n, unwritten[where], strings.Join(found[where], "\n\t"))
		} else {
			t.Logf("%s: %d of %d", where, n, unwritten[where])
		}
	}
	for where := range unwritten {
		if len(found[where]) == 0 {
			t.Errorf("%s has nothing left to rewrite: delete its line in unwritten", where)
		}
	}
}

// wordy are the constructions in a text, with what to write instead.
func wordy(text string, k kind) []string {
	var hits []string
	for _, c := range constructions {
		if c.only != "" && c.only != k {
			continue
		}
		for _, m := range c.pattern.FindAllString(text, -1) {
			if c.but == nil || !c.but.MatchString(m) {
				hits = append(hits, strconv.Quote(strings.Join(strings.Fields(m), " "))+" ("+c.name+"): write "+c.instead)
			}
		}
	}
	return hits
}

// A written text of a file.
type written struct {
	kind kind
	line int
	text string
}

// textsOf are the comments and strings of a file.
func textsOf(s source) []written {
	if ast.IsGenerated(s.file) {
		return nil
	}
	var texts []written
	for _, c := range s.file.Comments {
		texts = append(texts, written{comments, s.fset.Position(c.Pos()).Line, c.Text()})
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, written{literals, s.fset.Position(lit.Pos()).Line, text})
			}
		}
		return true
	})
	return texts
}

// Each construction is found, and plain sentences are not.
func TestConstructionsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A nil tester has the test cases of packages not be run.":  "has X do",
		"Offline has no request be sent.":                          "has X do",
		"doubt has a call be one of which nobody knows.":           "has X do",
		"Refuse has a step not\nbegin that waits for a person.":    "has X do",
		"it is no file of at most 192 KiB":                         "is no X",
		"Names behind an underscore are no tools.":                 "is no X",
		"there is no skill %q":                                     "there is no X, in an error",
		"It says wherefrom it came.":                               "wherefrom",
		"Only such a one is taken.":                                "such a one",
		"It is a package of somebody's.":                           "of somebody's",
		"a budget is more than nothing":                            "more than nothing",
		"have KEY=VALUE as a setting; may be given again":          "may be given again",
		"If t is nil, package tests are skipped.":                  "",
		"A key has to be at least 32 bytes long.":                  "",
		"A value that has no default must be given.":               "",
		"It is no longer there, and they are no more than a hint.": "",
		"The step has been made, and may be repeated.":             "",
	} {
		var names []string
		for _, c := range constructions {
			for _, hit := range wordy(text, literals) {
				if strings.Contains(hit, "("+c.name+")") {
					names = append(names, c.name)
				}
			}
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("%q: found %q, want %q", text, got, want)
		}
	}
	if got := wordy("There is no trust root built in.", prose); len(got) > 0 {
		t.Errorf("a plain sentence of a page: %q", got)
	}
}
