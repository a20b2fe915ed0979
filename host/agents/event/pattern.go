package event

import (
	"fmt"
	"slices"
	"strings"
)

// A Pattern selects types: a type itself; one with * in place of a part, such as
// "*.failed"; or one that ends with *, which stands for all that follows, such as
// "task.*" or "*" for everything.
type Pattern string

// Check refuses a pattern that selects no type there is, or is none.
func (p Pattern) Check() error {
	if !slices.ContainsFunc(Types(), func(d Description) bool { return p.Matches(d.Type) }) {
		return fmt.Errorf("event pattern %q: it selects no type of event", string(p))
	}
	return nil
}

// Matches reports whether p selects t.
func (p Pattern) Matches(t Type) bool {
	want, have := strings.Split(string(p), "."), strings.Split(string(t), ".")
	for i, w := range want {
		switch {
		case i >= len(have):
			return false
		case w == "*" && i == len(want)-1:
			return true
		case w != "*" && w != have[i]:
			return false
		}
	}
	return len(want) == len(have)
}

// prefix is what every type that p selects begins with.
func (p Pattern) prefix() string {
	literal, _, _ := strings.Cut(string(p), "*")
	return literal
}
