package nearest_test

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/internal/nearest"
)

func TestName(t *testing.T) {
	words := []string{"install", "remove", "list", "info", "permission"}
	for word, want := range map[string]string{
		"isntall": "install", "lsit": "list", "permision": "permission", "permissoin": "permission", "perm": "permission",
		"xyzzy": "", "LIST": "list", "": "", "in": "", strings.Repeat("x", 100): "",
	} {
		got, ok := nearest.Name(word, words)
		if got != want || ok != (want != "") {
			t.Errorf("Name(%q) = %q, %v; want %q", word, got, ok, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3},
		{strings.Repeat("x", 65), "x", 65},
	} {
		if got := nearest.Distance(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := nearest.Distance(c.b, c.a); got != c.want {
			t.Errorf("%q and %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
