package capability

import "testing"

func TestNamesDomain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"http:GET https://*.github.io/*":          false,
		"http:* https://*.co.uk/*":                false,
		"http:GET https://*.example.com/*":        true,
		"http:GET https://somebody.github.io/*":   true,
		"http:GET https://*.somebody.github.io/*": true,
		"http:GET https://*.corp.internal/*":      true,
		"http:GET http://127.0.0.1/*":             true,
		"http:GET http://localhost/*":             true,
		"fs.read:/data/**":                        true,
		"kv":                                      true,
	} {
		if got := MustParse(text).NamesDomain(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestSetKeepsDomains: a grant of one domain is not lost in one of all domains.
func TestSetKeepsDomains(t *testing.T) {
	t.Parallel()
	all, one := MustParse("http:GET https://*.github.io/*"), MustParse("http:GET https://somebody.github.io/*")
	s := NewSet(all, one, MustParse("http:GET https://somebody.github.io/a"))
	if s.Len() != 2 || !s.Covers(one) || s.All()[0] != all || s.All()[1] != one {
		t.Errorf("got %s", s)
	}
	if got := NewSet(MustParse("http:GET https://*.example.com/*"), MustParse("http:GET https://a.example.com/*")); got.Len() != 1 {
		t.Errorf("a pattern that names a domain keeps %s", got)
	}
}

func TestUnbounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"fs.read:/**": true, "fs.write:/**": true, "fs.read:/home/**": false, "fs.read:/*": false,
		"secret:*": true, "secret:git*": false, "skill:*": true, "model:*": true, "model:m": false,
		"http:GET https://*.github.io/*": true, "http:* https://api.example.com/*": false, "native": true, "kv": false,
	} {
		if got := MustParse(text).Unbounded(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
