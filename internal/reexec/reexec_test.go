package reexec

import (
	"slices"
	"testing"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range Roles() {
		if r.Word == "" || r.About == "" || seen[r.Word] {
			t.Errorf("role %+v", r)
		}
		seen[r.Word] = true
		var got []string
		table := Table{r.Word: func(args []string) int { got = args; return 5 }}
		args := slices.Repeat([]string{"x"}, max(0, r.Args))
		if code, ok := table.Run(append([]string{"skillet"}, r.Arguments(args...)...)); !ok || code != 5 || len(got) != len(args) {
			t.Errorf("%s with %q: %d, %v, given %q", r.Word, args, code, ok, got)
		}
		more := append([]string{"skillet"}, r.Arguments(append(args, "more")...)...)
		if _, ok := table.Run(more); ok != (r.Args < 0) {
			t.Errorf("%s takes one more: %v", r.Word, ok)
		}
	}
	for _, args := range [][]string{nil, {"skillet"}, {"skillet", "run"}, {"skillet", "run", Worker.Word}} {
		if _, ok := (Table{}).Run(args); ok {
			t.Errorf("%q has a role", args)
		}
	}
}
