package text

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		what, want string
	}{{0, "file", "0 files"}, {1, "file", "1 file"}, {2, "entry", "2 entries"}, {2, "day", "2 days"}, {1, "entry", "1 entry"}} {
		if got := Count(c.n, c.what); got != c.want {
			t.Errorf("Count(%d, %q) is %q, want %q", c.n, c.what, got, c.want)
		}
	}
}
