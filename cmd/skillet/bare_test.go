package main

import "testing"

func TestBare(t *testing.T) {
	for typed, want := range map[string]string{
		"": "", "kv": "kv", "'fs.read:/a": "fs.read:/a", `"fs.read:/a b"`: "fs.read:/a b", "'a'b": "ab", `a\ b`: "a b", `'a\ b`: `a\ b`,
		`C:\Users\ada`: `C:\Users\ada`, `text="it's"`: "text=it's", `\`: `\`,
	} {
		if got := bare(typed); got != want {
			t.Errorf("%q is %q, want %q", typed, got, want)
		}
	}
}
