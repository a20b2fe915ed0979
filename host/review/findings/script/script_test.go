package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/host/review/findings/script"
)

// show writes tokens: names as they are, literals in quotes, with … for a hole.
func show(l script.Language, src string) string {
	var all []string
	for t := range script.Tokens(l, []byte(src)) {
		text := t.Text
		switch t.Kind {
		case script.Literal:
			text = fmt.Sprintf("%q", t.Text)
			if t.Hole {
				text += "…"
			}
		case script.Comment:
			text = "#"
		}
		if t.Escaped {
			text += "!"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestTokens(t *testing.T) {
	const js, py = script.JavaScript, script.Python
	for _, c := range []struct {
		lang      script.Language
		src, want string
	}{
		{js, `eval("a" + 'b') // x`, `eval ( "a" + "b" ) #`},
		{js, "#!/usr/bin/env node\nx /* eval(1) */ = 1", `# x # = 0`},
		{js, "`a${f(`b${c}d`)}e`", "\"a\"… f ( \"b\"… c \"d\" ) \"e\""},
		{js, "`${ {a:{}} }`;x", "\"\"… { a : { } } \"\" ; x"},
		{js, `a = b / c / "x"`, `a = b / c / "x"`},
		{js, `a = /"[/]\/"/g; return /'/`, `a = // g ; return //`},
		{js, `f(x) / 2; "y"`, `f ( x ) / 0 ; "y"`},
		{js, `ev\u0061l(1); \u{65}val`, `eval! ( 0 ) ; eval!`},
		{js, `"\x68\u0074\u{74}p\n\q"`, `"http\n\\q"`},
		{js, "\"not\nended\"", "\"not\" ended \"\""},
		{js, "'a\\\nb'", `"ab"`},
		{js, "\\ x", `\ x`},
		{py, `eval('x')  # "no"`, `eval ( "x" ) #`},
		{py, `r"\d" b'\x41' f"a{b!r:>{w}}{{c}}" `, `"\\d" "A" "a"… b ! r : > { w } "{c}"`},
		{py, "'''a\n\"b\"'''\"\"\"c\"\"\"", `"a\n\"b\"" "c"`},
		{py, `f'{d["k"]}' x`, `""… d [ "k" ] "" x`},
		{py, `rf"{eval(x)}\n"`, `""… eval ( x ) "\\n"`},
		{py, "a // b", `a / / b`},
		{py, `"\U0001F600\u00e9\101"`, `"😀é\\101"`},
		{py, "x = 'open", `x = "open"`},
		{js, "", ""},
	} {
		if got := show(c.lang, c.src); got != c.want {
			t.Errorf("%q\nhave %s\nwant %s", c.src, got, c.want)
		}
	}
}

func TestLanguageOf(t *testing.T) {
	for path, want := range map[string]script.Language{
		"a.js": script.JavaScript, "scripts/x.TSX": script.JavaScript, "a.py": script.Python,
		"a.md": script.None, "": script.None, "a.json": script.None,
	} {
		if got := script.LanguageOf(path); got != want {
			t.Errorf("%s: %d", path, got)
		}
	}
}

// Any bytes give tokens that follow one another.
func FuzzTokens(f *testing.F) {
	for _, src := range []string{"`${`${`", "f'{f'{'", `/[/`, "\\u{", "'''", "<!--", "rb'", "\xff\\", "{}}}`}"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		for _, l := range []script.Language{script.JavaScript, script.Python} {
			end := 0
			for tok := range script.Tokens(l, []byte(src)) {
				if tok.Start < end || tok.End < tok.Start || tok.End > len(src) {
					t.Fatalf("token at [%d, %d) after %d of %d bytes", tok.Start, tok.End, end, len(src))
				}
				end = tok.End
			}
		}
	})
}

func TestJoined(t *testing.T) {
	for _, c := range []struct {
		lang      script.Language
		src, want string
	}{
		{script.JavaScript, `f("a" + 'b' /* c */ + "d")`, `f ( "abd" )`},
		{script.JavaScript, `"a" + x + "b"`, `"a" + x + "b"`},
		{script.JavaScript, "\"ht\" + `tps://${h}/x` + 'y'", "\"https://\"… h \"/xy\""},
		{script.JavaScript, `"a" "b"`, `"a" "b"`},
		{script.Python, "x = ('a'\n  'b' # c\n  'c')", `x = ( "abc" )`},
		{script.Python, `"a" + + "b"`, `"a" + + "b"`},
	} {
		var all []string
		for tok := range script.Joined(c.lang, []byte(c.src)) {
			text := tok.Text
			if tok.Kind == script.Literal {
				text = fmt.Sprintf("%q", text)
			}
			if tok.Hole {
				text += "…"
			}
			all = append(all, text)
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%q: have %s, want %s", c.src, got, c.want)
		}
	}
}

// Whoever has seen enough can stop.
func TestStop(t *testing.T) {
	next := 0
	for range script.Tokens(script.Python, []byte("a b c")) {
		if next++; next == 2 {
			break
		}
	}
	if next != 2 {
		t.Error(next)
	}
	if !slices.Equal([]string{show(script.None, "a 'b'")}, []string{`a "b"`}) {
		t.Error(show(script.None, "a 'b'"))
	}
}

func BenchmarkTokens(b *testing.B) {
	src := []byte(strings.Repeat("const x = call(`a${b}`, \"some text here\", /re/g); // and a comment\n", 1000))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		for range script.Tokens(script.JavaScript, src) {
		}
	}
}
