package hostfn

import (
	"strings"
	"testing"
)

// TestServe: without a guest the same things are refused and allowed.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := tree(t)
	e := env(t, "fs.read:"+dir+"/**")
	for _, c := range []struct {
		meta string
		kind Kind
		body string
	}{
		{field("path", dir+"/a.txt"), "", "alpha"},
		{field("path", "/etc/passwd"), KindDenied, ""},
		{field("path", dir+"/"+strings.Repeat("x", MaxMeta)), KindLimit, ""},
	} {
		a, err := e.Serve(t.Context(), "fs_read", []byte(c.meta), nil)
		must(t, err)
		r := parseReply(t, a.Meta, a.Body)
		wantKind(t, c.meta[:min(len(c.meta), 80)], r, c.kind)
		if string(r.Body) != c.body {
			t.Errorf("body %q", r.Body)
		}
	}
	if len(e.Denials()) != 1 || len(e.Uses()) != 1 {
		t.Errorf("denials %+v, uses %+v", e.Denials(), e.Uses())
	}
	if _, err := e.Serve(t.Context(), "fs_reed", nil, nil); err == nil {
		t.Error("fs_reed was served")
	}
}
