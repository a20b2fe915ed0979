package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// written writes an object out again.
func written(o object) string {
	switch o := o.(type) {
	case nil:
		return "null"
	case atom:
		return "/" + string(o)
	case text:
		return fmt.Sprintf("(%s)", []byte(o))
	case ref:
		return fmt.Sprintf("%d R", o)
	case array:
		var parts []string
		for _, e := range o {
			parts = append(parts, written(e))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case dict:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(o)) {
			parts = append(parts, "/"+key+" "+written(o[key]))
		}
		return "<<" + strings.Join(parts, " ") + ">>"
	}
	return fmt.Sprint(o)
}

func TestParser(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want, rest string }{
		{"null", "null", ""},
		{" true false", "true", " false"},
		{"17 endobj", "17", " endobj"},
		{"-.5", "-0.5", ""},
		{"+17.25", "17.25", ""},
		{"12 0 R", "12 R", ""},
		{"12 0 R/X", "12 R", "/X"},
		{"12 0 Rx", "12", " 0 Rx"},
		{"12 0 obj", "12", " 0 obj"},
		{"-12 0 R", "-12", " 0 R"},
		{"12345678901 0 R", "1.2345678901e+10", " 0 R"},
		{"/Name#20with#2Fescapes#", "/Name with/escapes#", ""},
		{"/", "/", ""},
		{"(a(b)\\)\\\\\\101\\n)", "(a(b))\\A\n)", ""},
		{"(never closed", "(never closed)", ""},
		{"<48 65 6>", "(He`)", ""},
		{"[1 R 3 0 R (x)<41>/N true null [] <<>>]", "[1 null 3 R (x) (A) /N true null [] <<>>]", ""},
		{"[1 % a comment ]\n2]", "[1 2]", ""},
		{"[1 ) } 2", "[1 2]", ""},
		{"<</A 1/B/C/D[1]/E<</F(x)>>>>", "<</A 1 /B /C /D [1] /E <</F (x)>>>>", ""},
		{"<</A null/B 2>>", "<</B 2>>", ""},
		{"<</A 1/A 2>>", "<</A 2>>", ""},
		{"<</A/B>> stream", "<</A /B>>", " stream"},
		{"<</A>>", "<<>>", ""},
		{"<</A 1 2 (x) /B 3>>", "<</A 1 /B 3>>", ""},
		{"<</A 1 ] > /B 3>>", "<</A 1 /B 3>>", ""},
		{"<</A[1 2/B 3>>", "<</A [1 2 /B 3]>>", ""},
		{"<</A 1 endobj", "<</A 1>>", "endobj"},
		{"<</Length 5 stream", "<</Length 5>>", "stream"},
		{"[<</N<</Length 0>>stream\nendstream>>/X]", "[<</N <</Length 0>>>> /X]", ""},
		{"endobj", "null", "endobj"},
		{"]", "null", "]"},
		{"", "null", ""},
		{strings.Repeat("[", 1000) + "1" + strings.Repeat("]", 1000), strings.Repeat("[", maxNesting) + "null", "\x00"},
	}
	for _, tt := range tests {
		p := parser{lexer: lexer{data: []byte(tt.in)}}
		o, _ := p.value()
		got, rest := written(o), tt.in[p.pos:]
		if tt.rest == "\x00" {
			got, rest = got[:len(tt.want)], tt.rest
		}
		if got != tt.want || rest != tt.rest {
			t.Errorf("%.40q: got %.80s, rest %q; want %s, %q", tt.in, got, rest, tt.want, tt.rest)
		}
	}
}

// TestParserIsBounded reads an array of more elements than are kept.
func TestParserIsBounded(t *testing.T) {
	t.Parallel()
	data := "[" + strings.Repeat("[]", maxElements+10) + "] 5"
	p := parser{lexer: lexer{data: []byte(data)}}
	o, _ := p.value()
	if n := len(o.(array)); n != maxElements {
		t.Errorf("%d elements kept, want %d", n, maxElements)
	}
	if o, _ := p.value(); o != 5.0 {
		t.Errorf("behind the array: %v, want 5", o)
	}
}

// FuzzParser reads objects made of anything, one after another: each moves on.
func FuzzParser(f *testing.F) {
	f.Add([]byte("<</A[1 0 R(x\\)y)<6162>]/B#20<</C true>>>>stream"))
	f.Add([]byte("[[<<[<</A(((<</>>>>]endobj 1 0 obj << /Length 2 0 R >> stream"))
	f.Add([]byte("[<</N<</Length 0>>stream\nendstream>>/X] 1 0 R 1 0 -.5 --5"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := parser{lexer: lexer{data: data}}
		for p.pos < len(data) {
			from := p.pos
			o, ok := p.value()
			if ok && p.pos <= from {
				t.Fatalf("%s at %d does not move on", written(o), from)
			}
			if !ok {
				p.pos++
			}
		}
	})
}
