package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const mark = "[x]"

func struck(int) string { return mark }

func knowing(values ...string) *Values {
	v := &Values{}
	for _, s := range values {
		v.Add(s)
	}
	return v
}

func TestReplace(t *testing.T) {
	t.Parallel()
	const value = `A1/b+c"d`
	v := knowing(value, "C:\\new%41", "grün-weiß")
	for text, want := range map[string]string{
		"":                                      "",
		"nothing here":                          "nothing here",
		"a " + value + " b":                     "a [x] b",
		value + value:                           "[x][x]",
		`A1\/b\u002Bc\"d`:                       "[x]",
		`"A1\/b+c\"d"`:                          `"[x]"`,
		"A1&#47;b&plus;c&quot;d":                "[x]",
		"A1%2fb%2Bc%22d":                        "[x]",
		"A1%252Fb%252Bc%2522d":                  "[x]",
		"A1=2Fb=2Bc=22d":                        "[x]",
		"A1/b=\r\n+c\"d":                        "[x]",
		"A1/\r\n\tb+c\"d":                       "[x]",
		"A\x001\x00/\x00b\x00+\x00c\x00\"\x00d": "[x]",
		"k=" + value:                            "k=[x]",
		`C:\new%41`:                             "[x]",
		`"C:\\new%41"`:                          `"[x]"`,
		"C%3A%5Cnew%2541":                       "[x]",
		`gr\u00fcn-wei\u00df`:                   "[x]",
		"gr\xfcn-wei\xdf":                       "[x]",
		"gr%FCn-wei%DF":                         "[x]",
		"gr&uuml;n-wei&szlig;":                  "[x]",
		"a1/B+C\"D":                             "[x]",
		"41312f622b632264":                      "[x]",
		"41312F622B632264":                      "[x]",
		"41-31-2F-62-2B-63-22-64":               "[x]",
		`"A1/b+c""d"`:                           `"[x]"`,
		"QTEvYitjImQ=":                          "[x]",
		"A1/b+c":                                "A1/b+c",
		`\`:                                     `\`,
		`\u00`:                                  `\u00`,
		`%`:                                     `%`,
		`&;&#;&#x;&nosuch;`:                     `&;&#;&#x;&nosuch;`,
	} {
		if got := v.Replace(text, struck); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if v.Add("abc") || (&Values{}).Margin() != 0 || v.Margin() < 12*len(value) {
		t.Error("a value that is too short, or margins")
	}
	if got := (&Values{}).Replace(value, struck); got != value {
		t.Errorf("nothing known: %q", got)
	}
}

// A value is found wherever it stands to the places where a text is cut for decoding.
func TestWindows(t *testing.T) {
	t.Parallel()
	const value = "0123456789/abcdefghij"
	v := knowing(value)
	var escaped strings.Builder
	for _, c := range []byte(value) {
		fmt.Fprintf(&escaped, `\u0026#x%02x;`, c)
	}
	for _, form := range []string{value, escaped.String(), hex.EncodeToString([]byte(value)), value[:5] + "\r\n" + value[5:]} {
		for _, at := range []int{0, window - 300, window - len(form), window - len(form)/2, window - 1, window, window + 1, 2*window - 3} {
			text := strings.Repeat("-", at) + form + strings.Repeat("-", window)
			if got := v.Replace(text, struck); got != strings.Repeat("-", at)+mark+strings.Repeat("-", window) {
				t.Errorf("%q at %d: not found", form, at)
			}
		}
	}
}

// FuzzValue writes a value with another escape for each byte, and looks that it is found, alone and in
// base64 in the middle of something.
func FuzzValue(f *testing.F) {
	f.Add([]byte("secret-value"), []byte{0, 1, 2, 3, 4, 5, 6})
	f.Add([]byte("p&=<\"\xc3\xa9\\%"), []byte{1, 2})
	f.Add([]byte("a b\nc\x00d"), []byte{0, 6})
	f.Fuzz(func(t *testing.T, value, how []byte) {
		value = bytes.TrimFunc(value, func(r rune) bool { return r < 0x80 && isBlank(byte(r)) }) // what is at the ends is not found, and tells nothing
		if len(value) > 200 || len(how) == 0 || len(dense(string(value))) < Shortest || bytes.ContainsAny(value, "[x]~") {
			return
		}
		v := knowing(string(value))
		var text strings.Builder
		for i, c := range value {
			text.WriteString(escapedAs(c, how[i%len(how)]))
		}
		if len(how)%2 == 0 { // an escape of escapes
			again := url.QueryEscape(strings.ReplaceAll(text.String(), " ", "%20"))
			text.Reset()
			text.WriteString(again)
		}
		if got := v.Replace("~"+text.String()+"~", struck); got != "~"+mark+"~" {
			t.Fatalf("%q as %q became %q", value, text.String(), got)
		}
		for shift := range 3 {
			b := base64.StdEncoding.EncodeToString([]byte("~~~"[:shift] + string(value) + "~"))
			if got := v.Replace(b[:len(b)/2]+"\n"+b[len(b)/2:], struck); len(value) > 5 && !strings.Contains(got, mark) {
				t.Fatalf("%q in %q became %q", value, b, got)
			}
		}
	})
}

func escapedAs(c byte, how byte) string {
	switch how % 6 {
	case 1:
		return fmt.Sprintf(`\x%02x`, c)
	case 2:
		return fmt.Sprintf("%%%02X", c)
	case 3:
		if c < 0x80 && c != 0 {
			return fmt.Sprintf("&#%d;", c)
		}
	case 4:
		if c < 0x80 {
			return fmt.Sprintf(`\u%04x`, c)
		}
	case 5:
		return fmt.Sprintf(`\%03o`, c)
	}
	if strings.IndexByte(`\%&=`, c) >= 0 || c >= 0x80 && how%6 != 0 {
		return fmt.Sprintf(`\x%02x`, c)
	}
	return string([]byte{c})
}

// FuzzReplace gives any text to a Values: it ends, and what it returns holds none of what was known.
func FuzzReplace(f *testing.F) {
	f.Add(`\u0041 %41 &#x41; =41`, "AAAA")
	f.Add("\\", "%%%%")
	f.Add("&", "&&&&;")
	f.Fuzz(func(t *testing.T, text, value string) {
		v := knowing(value)
		got := v.Replace(text, struck)
		if len(value) >= Shortest && !strings.Contains(mark+value+mark, mark+mark) && !strings.ContainsAny(value, mark) && strings.Contains(got, value) {
			t.Fatalf("%q still has %q: %q", text, value, got)
		}
		if again := knowing().Replace(text, struck); again != text {
			t.Fatal("changed without a value")
		}
	})
}

func BenchmarkReplace(b *testing.B) {
	v := knowing("ghp_0123456789abcdefghijklmnopqrstuvwxyz")
	text := strings.Repeat(`{"name":"some \u0041 text","url":"https:\/\/example.com\/a%20b","n":12345},`+"\n", 10<<20/76)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		v.Replace(text, struck)
	}
}

func BenchmarkAdd(b *testing.B) {
	for b.Loop() {
		knowing("ghp_0123456789abcdefghijklmnopqrstuvwxyz")
	}
}
