// Package findings reads a package without running it and says what a person
// should look at before approving it: secrets in its source, addresses that it
// does not ask for, code that makes code, text that hides instructions, and
// what is odd about its module and licence.
//
// A finding is a fact about bytes: the same package gives the same report,
// whatever is installed and whoever asks, and each finding names its rule and
// its place. [Rules] is the table of what is looked for.
//
// The package decides nothing. It knows no grants, no policy, no network and no
// other package, and it cannot tell what a module computes: a package without
// findings is not a safe package, only one that hides nothing plainly.
package findings

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/manifests"
	"github.com/skillet-run/skillet/manifests/bundle"
)

// A Severity says what a finding is worth.
type Severity string

// The severities, the mildest first.
const (
	// Info is good to know.
	Info Severity = "info"
	// Warn deserves a look before approving.
	Warn Severity = "warn"
	// Block has no place in an honest package: a proposal with such a finding
	// is only approved by naming the rule that is overridden.
	Block Severity = "block"
)

// Rank orders severities: 1 for [Info], 2 for [Warn], 3 for [Block], and 0 for
// anything else, the empty severity of a report without findings included.
func (s Severity) Rank() int {
	return slices.Index([]Severity{Info, Warn, Block}, s) + 1
}

// A Finding is one place in a package that a rule found.
type Finding struct {
	// Rule is the id of the rule, such as "SK101".
	Rule string `json:"rule"`
	// Severity is that of the rule.
	Severity Severity `json:"severity"`
	// File is the path in the package; it is that of the manifest when the
	// finding is about the package as a whole.
	File string `json:"file"`
	// Line and Column count from 1, columns in characters; both are 0 in a
	// file that is not text, and where only the file is known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Offset is the place in bytes from the beginning of the file.
	Offset int `json:"offset"`
	// Message says what was found, in one line of printable characters.
	Message string `json:"message"`
	// Excerpt is what stands there, cut to [MaxExcerpt] characters, with what
	// cannot be seen written as \u{200b}, and with the most of a secret left
	// out. It may be empty.
	Excerpt string `json:"excerpt,omitempty"`
}

// Bounds on a report.
const (
	// MaxPerRule is how many findings of one rule a report holds; [Report.More]
	// counts the others.
	MaxPerRule = 20
	// MaxExcerpt and MaxMessage bound texts of a finding, in characters.
	MaxExcerpt = 120
	MaxMessage = 400
)

// More counts the findings of a rule that a report leaves out.
type More struct {
	Rule  string `json:"rule"`
	Count int    `json:"count"`
}

// A Report is what [Scan] found in a package. The zero value is the report of
// a package in which nothing was found.
type Report struct {
	// Findings are sorted: the most severe first, then by rule, file and place.
	Findings []Finding `json:"findings"`
	// More is sorted by rule.
	More []More `json:"more,omitempty"`
}

// Worst returns the highest severity among the findings; empty when there are
// none.
func (r Report) Worst() Severity {
	if len(r.Findings) == 0 {
		return ""
	}
	return r.Findings[0].Severity
}

// Count returns how many findings of a severity there are, those in More
// included.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	for _, m := range r.More {
		if rule, ok := Lookup(m.Rule); ok && rule.Severity == s {
			n += m.Count
		}
	}
	return n
}

// Blocking returns the ids of the rules of severity [Block] that found
// something, sorted: those a person has to override one by one.
func (r Report) Blocking() []string {
	var ids []string
	for _, f := range r.Findings {
		if f.Severity == Block {
			ids = append(ids, f.Rule)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Scan looks through all files of a package. It takes time and memory linear in
// the size of the package, whatever it holds. The error is that of ctx, which is
// asked now and then; everything else that is wrong is a finding.
func Scan(ctx context.Context, p *bundle.Package) (Report, error) {
	s := newScan(ctx, p)
	for _, check := range checks() {
		check(s)
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
	}
	return s.report(), nil
}

// ScanDefinition looks through one document that says how a model is to behave,
// such as the definition of an agent: for secrets, for text that cannot be seen,
// and for instructions against the user, with the severities of a manifest. path
// names the document in findings; values is what it says, as JSON.
func ScanDefinition(ctx context.Context, path string, data, values []byte) (Report, error) {
	f := newFile(path, data)
	if f.text {
		f.role = roleManifest
	}
	s := &scan{
		ctx: ctx, manifest: &manifests.Manifest{}, values: values, files: []*file{f}, reach: newReach(&manifests.Manifest{}),
		found: map[string]map[Finding]bool{}, more: map[string]int{},
	}
	for _, check := range []check{(*scan).secrets, (*scan).unseen, (*scan).phrases} {
		check(s)
	}
	return s.report(), ctx.Err()
}

// sortFindings brings findings into the order of a report.
func sortFindings(fs []Finding) {
	slices.SortFunc(fs, func(a, b Finding) int {
		return cmp.Or(
			b.Severity.Rank()-a.Severity.Rank(),
			strings.Compare(a.Rule, b.Rule), strings.Compare(a.File, b.File),
			a.Offset-b.Offset, strings.Compare(a.Message, b.Message),
		)
	})
}
