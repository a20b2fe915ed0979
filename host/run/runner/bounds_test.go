package runner

import (
	"strings"
	"testing"

	"github.com/skillet-run/skillet/policies/capability"
)

func TestBounds(t *testing.T) {
	at := func(roots ...string) *Bounds { return &Bounds{Roots: roots} }
	for _, tt := range []struct {
		bounds  *Bounds
		granted string
		want    string
	}{
		{nil, "fs.read:/**", "fs.read:/**"},
		{at(), "fs.read:/** fs.write:/tmp/** kv", "kv"},
		{at("/work"), "fs.read:/**", "fs.read:/work/**"},
		{at("/"), "fs.read:/data/**", "fs.read:/data/**"},
		{at("/work/"), "fs.write:/work/out/** fs.write:/other/**", "fs.write:/work/out/**"},
		{at("/work"), "fs.read:/workshop/**", ""},
		{at("/work"), "fs.read:/work", "fs.read:/work"},
		{at("/work"), "fs.read:/work/a.csv secret:github kv", "fs.read:/work/a.csv kv secret:github"},
		{at("/a", "/b"), "fs.read:/**", "fs.read:/a/** fs.read:/b/**"},
		{at("relative"), "fs.read:/** kv", "kv"},
		{at("/with*star"), "fs.read:/** kv", "kv"},
		{&Bounds{Roots: []string{"/work"}, Offline: true}, "fs.read:/work/** kv http:GET@https://example.com/*", "fs.read:/work/** kv"},
		{at("/work"), "http:GET@https://example.com/*", "http:GET@https://example.com/*"},
	} {
		granted, err := capability.ParseSet(strings.Fields(strings.ReplaceAll(tt.granted, "http:GET@", "http:"))...)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(strings.Join(tt.bounds.cut(granted).Strings(), " "), "http:GET ", "http:GET@")
		if got != tt.want {
			t.Errorf("%s within %+v = %q, want %q", tt.granted, tt.bounds, got, tt.want)
		}
	}
}

// A tool that changes nothing keeps what reads.
func TestReading(t *testing.T) {
	for granted, want := range map[string]string{
		"http:* https://a.example/*":                       "http:GET,HEAD,OPTIONS,PROPFIND,QUERY,REPORT https://a.example/*",
		"http:GET https://*.a.example/*":                   "http:GET https://*.a.example/*",
		"http:DELETE,GET,POST,REPORT https://a.example:1/": "http:GET,REPORT https://a.example:1/",
		"http:POST https://a.example/*":                    "",
		"fs.write:/**":                                     "",
		"fs.read:/**":                                      "fs.read:/**",
		"kv":                                               "kv",
	} {
		set, err := capability.ParseSet(granted)
		if err != nil {
			t.Fatal(err)
		}
		if got := readOnly(set).String(); got != want {
			t.Errorf("%s: %q, want %q", granted, got, want)
		}
	}
}
