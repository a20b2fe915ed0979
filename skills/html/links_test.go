package main

import (
	"slices"
	"strings"
	"testing"

	skill "github.com/skillet-run/skillet/sdk/go"
)

func TestLinksOfAPage(t *testing.T) {
	t.Parallel()
	got, err := links(linksInput{HTML: page(t), BaseURL: "https://tide.example/a/"})
	if err != nil {
		t.Fatal(err)
	}
	want := []pageLink{
		{"Home", "https://tide.example/", "", "inline"},
		{"About", "https://tide.example/about?x=1&y=2", "", "inline"},
		{"https://example.org/", "https://example.org/", "", "inline"},
		{"top", "https://tide.example/a/#top", "", "inline"},
		{"A chart", "https://tide.example/a/img/chart.png", "", "image"},
	}
	for i, l := range got.Links {
		if i >= len(want) || l != want[i] {
			t.Errorf("link %d: %+v", i, l)
		}
	}
	if got.Count != len(want) || len(got.Links) != len(want) || got.Truncated || got.LeftOut != 0 {
		t.Errorf("links: %+v", got)
	}
}

func TestLinksTool(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   linksInput
		want []pageLink
		out  int
	}{
		{"none", linksInput{HTML: "text"}, []pageLink{}, 0},
		{"text and title", linksInput{HTML: `<a href=x title="T"> a <b>b</b><br>c<img alt="d"></a>`}, []pageLink{{"a b c d", "x", "T", "inline"}}, 0},
		{"an image in a link", linksInput{HTML: `<a href=x><img src=y alt=z></a>`}, []pageLink{{"z", "x", "", "inline"}, {"z", "y", "", "image"}}, 0},
		{"an anchor is none", linksInput{HTML: `<a name=x>a</a>`}, []pageLink{}, 0},
		{"not seen", linksInput{HTML: `<p hidden><a href=x>a</a></p><template><a href=y>b</a></template>`}, []pageLink{}, 0},
		{"scripts and nothing", linksInput{HTML: `<a href="javascript:x">a</a><a href=" DATA:x">b</a><a href="">c</a>`}, []pageLink{}, 3},
		{"unique", linksInput{HTML: `<a href=x>a</a><a href=/x>b</a>`, BaseURL: "https://e.org", Unique: true},
			[]pageLink{{"a", "https://e.org/x", "", "inline"}}, 0},
		{"base element", linksInput{HTML: `<base><base href="/b/"><base href="/c/"><a href=x>a</a>`, BaseURL: "https://e.org/a"},
			[]pageLink{{"a", "https://e.org/b/x", "", "inline"}}, 0},
		{"base element alone", linksInput{HTML: `<base href="https://f.org/"><a href=x>a</a>`}, []pageLink{{"a", "https://f.org/x", "", "inline"}}, 0},
		{"a base that cannot be", linksInput{HTML: `<base href="data:x"><a href=x>a</a>`}, []pageLink{{"a", "x", "", "inline"}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, err := links(tt.in); err != nil || !slices.Equal(got.Links, tt.want) || got.LeftOut != tt.out {
				t.Errorf("links = %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestLinksLimit(t *testing.T) {
	t.Parallel()
	source := strings.Repeat("<a href=x>a</a>", 5)
	got, err := links(linksInput{HTML: source, Limit: new(3)})
	if err != nil || len(got.Links) != 3 || got.Count != 5 || !got.Truncated {
		t.Errorf("links = %+v, %v", got, err)
	}
	for _, limit := range []int{0, maxLinks + 1} {
		if _, err := links(linksInput{HTML: source, Limit: &limit}); skill.KindOf(err) != skill.Invalid {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if _, err := links(linksInput{BaseURL: "nowhere"}); skill.KindOf(err) != skill.Invalid {
		t.Errorf("base_url: %v", err)
	}
}

func FuzzLinks(f *testing.F) {
	for _, seed := range []string{`<a href=x title=y>z</a>`, `<base href=//x><img src="y">`, "<a href=\x00><a href=\xff>", "<a><a href=#>"} {
		f.Add(seed, "https://e.org/a?b#c")
	}
	f.Fuzz(func(t *testing.T, source, base string) {
		got, err := links(linksInput{HTML: source, BaseURL: base, Limit: new(3)})
		if err != nil && skill.KindOf(err) != skill.Invalid {
			t.Errorf("links(%q, %q): %v", source, base, err)
		}
		for _, l := range got.Links {
			if l.URL == "" || strings.HasPrefix(strings.ToLower(l.URL), "javascript:") {
				t.Errorf("links(%q, %q) has %+v", source, base, l)
			}
		}
	})
}
