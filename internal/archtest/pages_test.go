package archtest

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// pages are the pages of the tree, as paths from its root.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "dist"}, name)):
			return fs.SkipDir // what tests read, and what is not ours
		case filepath.Ext(name) == ".md":
			page, err := filepath.Rel(root, file)
			found = append(found, filepath.ToSlash(page))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 50 {
		t.Fatalf("only %d pages: %q", len(found), found)
	}
	return found
}

func read(t *testing.T, page string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEveryPageIsListed looks for each page of docs in docs/README.md, which lists each once.
func TestEveryPageIsListed(t *testing.T) {
	t.Parallel()
	listed := map[string]int{}
	for _, l := range links(read(t, "docs/README.md")) {
		listed[path.Join("docs", l.file)]++
	}
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") && page != "docs/README.md" && listed[page] == 0 {
			t.Errorf("docs/README.md does not list %s", page)
		}
	}
}

// TestLinks follows every link of every page to a file of the tree, and to a heading in it.
func TestLinks(t *testing.T) {
	t.Parallel()
	n := 0
	for _, page := range pages(t) {
		for _, l := range links(read(t, page)) {
			n++
			if problem := follow(page, l); problem != "" {
				t.Errorf("%s: (%s): %s", page, l, problem)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d links were found", n)
	}
}

// A link leads to a heading of a file; without a file, of the page it is on.
type link struct{ file, heading string }

func (l link) String() string {
	if l.heading == "" {
		return l.file
	}
	return l.file + "#" + l.heading
}

var (
	code      = regexp.MustCompile("(?ms)^( *)(```+|~~~+).*?^ *(```+|~~~+) *$|<!--.*?-->|`[^`\n]*`")
	linked    = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)`)
	elsewhere = regexp.MustCompile(`^[a-z+]+:`)
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
)

// links are those of a page that lead to files of the tree.
func links(text string) []link {
	var found []link
	for _, m := range linked.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		if elsewhere.MatchString(m[1]) {
			continue
		}
		file, at, _ := strings.Cut(m[1], "#")
		found = append(found, link{file, at})
	}
	return found
}

// follow says what is wrong with a link on a page; nothing when it leads somewhere.
func follow(page string, l link) string {
	file := filepath.Join(root, filepath.FromSlash(page))
	if l.file != "" {
		file = filepath.Join(filepath.Dir(file), filepath.FromSlash(l.file))
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return "file not found"
	case l.heading == "":
		return ""
	case info.IsDir() || filepath.Ext(file) != ".md":
		return "only pages have headings"
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(b)), l.heading) {
		return "heading not found"
	}
	return ""
}

// anchors are the names by which GitHub knows the headings of a page.
func anchors(text string) []string {
	var names []string
	seen := map[string]int{}
	fenced := regexp.MustCompile("(?ms)^ *(```+|~~~+).*?^ *(```+|~~~+) *$")
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, linked.ReplaceAllString(strings.ReplaceAll(m[1], "`", ""), ""))
		if n := seen[name]; n > 0 {
			names = append(names, name+"-"+string(rune('0'+n)))
		} else {
			names = append(names, name)
		}
		seen[name]++
	}
	return names
}

// A link that leads nowhere is found.
func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"README.md":                    "",
		"docs/testing.md#mocks":        "",
		"docs":                         "",
		"docs/no-such-page.md":         "file not found",
		"docs/testing.md#no-such-part": "heading not found",
		"go.mod#module":                "only pages have headings",
	} {
		found := links("See [it](" + to + "), not `[this](x)`, [that](https://example.com/).")
		if len(found) != 1 {
			t.Fatalf("%s: %v", to, found)
		}
		if got := follow("CHANGELOG.md", found[0]); got != want {
			t.Errorf("%s: %q, want %q", to, got, want)
		}
	}
}
