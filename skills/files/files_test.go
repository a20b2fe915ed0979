package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	skill "github.com/skillet-run/skillet/sdk/go"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		p    piece
		want string
		used int
	}{
		{"empty", piece{last: true}, "", 0},
		{"whole", piece{data: []byte("héllo"), last: true}, "héllo", 6},
		{"byte order mark", piece{data: []byte("\ufeffa"), last: true}, "a", 4},
		{"byte order mark in the middle", piece{data: []byte("\ufeffa"), offset: 9, last: true}, "\ufeffa", 4},
		{"cut in two", piece{data: []byte("ab\xe2\x82")}, "ab", 2},
		{"cut in four", piece{data: []byte("a\xf0\x9f\x98")}, "a", 1},
		{"not cut", piece{data: []byte("a€")}, "a€", 4},
		{"cut at the end of the file", piece{data: []byte("ab\xe2\x82"), last: true, mode: replace}, "ab\ufffd", 4},
		{"replaced", piece{data: []byte("a\xff\xfeb\x80"), last: true, mode: replace}, "a\ufffdb\ufffd", 5},
		{"ignored", piece{data: []byte("a\xff\xfeb\x80"), last: true, mode: ignore}, "ab", 5},
		{"only a start", piece{data: []byte("\xe2"), mode: replace}, "\ufffd", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got, used, err := tt.p.decode(); err != nil || got != tt.want || used != tt.used {
				t.Errorf("decode(%q) = %q, %d, %v; want %q, %d", tt.p.data, got, used, err, tt.want, tt.used)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		p    piece
		want string
	}{
		{piece{data: []byte("ab\xff"), offset: 10, last: true}, "byte 12 is not UTF-8"},
		{piece{data: []byte("\ufeffa\xff"), last: true}, "byte 4 is not UTF-8"},
		{piece{data: []byte("ab\xe2\x82"), last: true}, "byte 2 is not UTF-8"},
		{piece{data: []byte("\xff\xfea\x00"), last: true, mode: replace}, "it is UTF-16"},
		{piece{data: []byte("\xfe\xff\x00a"), last: true, mode: ignore}, "it is UTF-16"},
		{piece{data: []byte("\xff\xfe\x00\x00"), last: true}, "it is UTF-32"},
	}
	for _, tt := range tests {
		if _, _, err := tt.p.decode(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("decode(%q) = %v, want %s", tt.p.data, err, tt.want)
		}
	}
}

// TestDecodePieces reads a text in pieces of every length: put together they
// are the text again.
func TestDecodePieces(t *testing.T) {
	t.Parallel()
	const text = "aé€😀\u0301 end"
	for n := 4; n < len(text)+1; n++ {
		var b strings.Builder
		for offset := 0; offset < len(text); {
			end := min(offset+n, len(text))
			got, used, err := piece{data: []byte(text[offset:end]), offset: int64(offset), last: end == len(text)}.decode()
			if err != nil || used == 0 {
				t.Fatalf("pieces of %d at %d: %q, %d, %v", n, offset, got, used, err)
			}
			b.WriteString(got)
			offset += used
		}
		if b.String() != text {
			t.Errorf("pieces of %d give %q", n, b.String())
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const text = "first\r\nsecond ééx line\n\nxx\nlast x"
	tests := []struct {
		pattern    string
		regex, any bool
		want       []match
	}{
		{"x", false, false, []match{{"p", 2, 10, "second ééx line"}, {"p", 4, 1, "xx"}, {"p", 5, 6, "last x"}}},
		{"X", false, true, []match{{"p", 2, 10, "second ééx line"}, {"p", 4, 1, "xx"}, {"p", 5, 6, "last x"}}},
		{"^.{2}$", true, false, []match{{"p", 4, 1, "xx"}}},
		{"t$", true, false, []match{{"p", 1, 5, "first"}}},
		{".", false, false, nil},
		{"^$", true, false, []match{{"p", 3, 1, ""}}},
	}
	for _, tt := range tests {
		s, err := newSearcher(searchInput{Pattern: tt.pattern, Regex: tt.regex, IgnoreCase: tt.any})
		if err != nil {
			t.Fatal(err)
		}
		more := s.lines("p", []byte(text))
		if !more || len(s.out.Matches) != len(tt.want) || len(tt.want) > 0 && !reflect.DeepEqual(s.out.Matches, tt.want) {
			t.Errorf("lines with %q = %+v, want %+v", tt.pattern, s.out.Matches, tt.want)
		}
	}
}

func TestLinesLimit(t *testing.T) {
	t.Parallel()
	s, err := newSearcher(searchInput{Pattern: "x", Limit: new(2)})
	if err != nil {
		t.Fatal(err)
	}
	if s.lines("p", []byte("x\nx\nx\n")) || len(s.out.Matches) != 2 || !s.out.Truncated {
		t.Errorf("lines with limit 2 = %+v", s.out)
	}
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1000)
	for _, line := range []string{"short", long + "x" + long, "x" + long, long + "x", "\xff" + long + "x"} {
		at := max(strings.Index(line, "x"), 0)
		got := excerpt([]byte(line), at)
		if !utf8.ValidString(got) || len(got) > maxLineText+10 || !strings.Contains(got, line[at:at+1]) {
			t.Errorf("excerpt at %d of %.20q... = %q", at, line, got)
		}
	}
}

func TestBinaryAndHidden(t *testing.T) {
	t.Parallel()
	if isBinary([]byte("text")) || isBinary(nil) || !isBinary([]byte("a\x00b")) {
		t.Error("isBinary: want only data with a NUL")
	}
	for path, want := range map[string]bool{"a/b.c": false, ".git": true, "/a/.git/config": true, "a..b": false} {
		if got := isHidden(path); got != want {
			t.Errorf("isHidden(%q) = %v", path, got)
		}
	}
}

// TestInvalid gives every tool inputs it has to refuse before it asks the host.
func TestInvalid(t *testing.T) {
	t.Parallel()
	read := func(in readTextInput) func() error { return func() error { _, err := readText(in); return err } }
	find := func(in searchInput) func() error { return func() error { _, err := search(in); return err } }
	tests := []struct {
		name string
		call func() error
		want string
	}{
		{"no path", read(readTextInput{}), "path: must not be empty"},
		{"offset", read(readTextInput{Path: "a", Offset: -1}), "offset: must not be negative"},
		{"limit", read(readTextInput{Path: "a", Limit: new(int64(0))}), "limit: must be from 1"},
		{"errors", read(readTextInput{Path: "a", Errors: "no"}), "errors: must be strict"},
		{"read_bin path", func() error { _, err := readBin(readBinInput{}); return err }, "path: must not be empty"},
		{"write path", func() error { _, err := writeText(writeTextInput{}); return err }, "path: must not be empty"},
		{"write mode", func() error { _, err := writeText(writeTextInput{Path: "a", Mode: "no"}); return err }, "mode: must be overwrite"},
		{"list limit", func() error { _, err := listDir(listDirInput{Limit: new(0)}); return err }, "limit: must be from 1"},
		{"no pattern", find(searchInput{}), "pattern: must not be empty"},
		{"bad pattern", find(searchInput{Pattern: "(", Regex: true}), "pattern: error parsing"},
		{"bad glob", find(searchInput{Pattern: "a", Glob: "["}), "glob: "},
		{"search limit", find(searchInput{Pattern: "a", Limit: new(-1)}), "limit: must be from 1"},
		{"search size", find(searchInput{Pattern: "a", MaxFileBytes: new(int64(1 << 40))}), "max_file_bytes: must be from 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.call(); skill.KindOf(err) != skill.Invalid || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%v (%s), want %s", err, skill.KindOf(err), tt.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\ufeffa\xe2\x82"), true, uint8(0))
	f.Add([]byte("\xf0\x9f\x98"), false, uint8(1))
	f.Add([]byte("a\xff\xfe"), true, uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, last bool, m uint8) {
		got, used, err := piece{data: data, offset: 1, last: last, mode: mode(m % 3)}.decode()
		if err != nil {
			return
		}
		if !utf8.ValidString(got) || used > len(data) || len(data) > 0 && used == 0 || last && used != len(data) {
			t.Errorf("decode(%q, %v, %d) = %q, %d", data, last, m%3, got, used)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nxb\n"), "x", false)
	f.Add([]byte("\xff\xff"), "(?s).", true)
	f.Fuzz(func(t *testing.T, data []byte, pattern string, isRegex bool) {
		s, err := newSearcher(searchInput{Pattern: pattern, Regex: isRegex})
		if err != nil {
			return
		}
		s.lines("p", data)
		for _, m := range s.out.Matches {
			if !utf8.ValidString(m.Text) || m.Line < 1 || m.Column < 1 {
				t.Errorf("lines(%q, %q) = %+v", data, pattern, m)
			}
		}
	})
}

func BenchmarkLines(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "line %d of a file that is searched\n", i)
	}
	s, err := newSearcher(searchInput{Pattern: "line 9999 ", Limit: new(maxMatches)})
	if err != nil {
		b.Fatal(err)
	}
	data := []byte(text.String())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s.out.Matches = s.out.Matches[:0]
		s.lines("p", data)
	}
}
