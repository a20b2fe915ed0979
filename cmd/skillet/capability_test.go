package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
)

// Whatever can be granted is in the help of permission, where errors send people,
// and is completed in a shell.
func TestEveryCapabilityIsInHelpAndCompletion(t *testing.T) {
	help := find(newApp(&terminal{}).Commands, "permission").Description
	starts, err := capabilityStarts(question{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range capability.Kinds() {
		if words := capability.MustParse(k.Example).Words(); !strings.Contains(help, "\n  "+k.Example+" ") || !strings.Contains(help, words) {
			t.Errorf("the help of permission does not have %s, %s", k.Example, words)
		}
		fits := func(c candidate) bool { return strings.HasPrefix(k.Example, c.Word) && c.About == k.Help }
		if !slices.ContainsFunc(starts, fits) {
			t.Errorf("nothing completes %s", k.Example)
		}
	}
}
