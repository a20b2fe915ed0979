package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

// patternForm is the name of a skill, or the beginning of names and a star.
var patternForm = lazyregexp.New(`^([a-z0-9][a-z0-9._-]{0,62}\*?|\*)$`)

// CheckNames fails with a [fault.KindUsage] error unless each pattern is the name
// of a skill, the beginning of names followed by a star, or a star for all.
func CheckNames(patterns []string) error {
	for _, p := range patterns {
		if !patternForm().MatchString(p) {
			return fault.Errorf(fault.KindUsage, "%q is not a pattern for names of skills", p).WithHint("name one skill, such as csv, or the beginning of names and a star, such as 'acme-*'")
		}
	}
	return nil
}

// matches reports whether a pattern is for the name.
func matches(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return open && strings.HasPrefix(name, prefix) || pattern == name
}

// signs reports whether the name is reserved for s.
func (s Signer) signs(name string) bool {
	return slices.ContainsFunc(s.Names, func(p string) bool { return matches(p, name) })
}

// reserved are those for whom the name is reserved.
func (k Known) reserved(name string) []Signer {
	var found []Signer
	for _, s := range k.Signers {
		if s.signs(name) {
			found = append(found, s)
		}
	}
	return found
}

func titles(signers []Signer) string {
	var texts []string
	for _, s := range signers {
		texts = append(texts, s.Title())
	}
	return strings.Join(texts, " or ")
}

// forNames says which names a signer may sign.
func (s Signer) forNames() string {
	return fmt.Sprintf("%s may sign only %s", s.Title(), strings.Join(s.Names, ", "))
}
