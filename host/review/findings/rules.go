package findings

import (
	"slices"
	"strings"
)

// A Rule is one thing that [Scan] looks for.
type Rule struct {
	// ID is "SK" and three digits: 0xx is about the scan itself, 1xx is about secrets, 2xx about what a skill
	// reaches for, 3xx about code, 4xx about text, 5xx about modules, 6xx about
	// licences. An id is never used again for something else.
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	// What says what is looked for and what is not, Why what is bad about it,
	// and Do what the author or whoever approves can do. Each is one paragraph.
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
}

// Rules returns all rules, sorted by id.
func Rules() []Rule { return slices.Clone(rules) }

// Lookup returns the rule with an id, and whether there is one.
func Lookup(id string) (Rule, bool) {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

var rules = slices.SortedFunc(
	slices.Values(slices.Concat(scanRules, secretRules, reachRules, codeRules, packedRules, unseenRules, phraseRules, moduleRules, licenceRules)),
	func(a, b Rule) int { return strings.Compare(a.ID, b.ID) },
)
