package lazyregexp_test

import (
	"testing"

	"github.com/skillet-run/skillet/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	broken := lazyregexp.New(`(`) // nobody has asked yet
	word := lazyregexp.New(`^[a-z]+$`)
	first := word()
	if !first.MatchString("word") || first.MatchString("2 words") || word() != first {
		t.Errorf("%s is not the expression, or not the same each time", first)
	}
	defer func() {
		if recover() == nil {
			t.Error("an expression that is none does not panic")
		}
	}()
	broken()
}
