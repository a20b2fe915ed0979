package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	skill "github.com/skillet-run/skillet/sdk/go"
)

// read returns the text of a file as the tool does.
func read(t *testing.T, data []byte) string {
	t.Helper()
	reply, err := pdfToText(textRequest{source: source{DataBase64: data}})
	if err != nil {
		t.Fatal(err)
	}
	return *reply.Text
}

func TestWordsAndLines(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{"spaces in the string", "BT /F1 10 Tf 72 700 Td (Hello brave  world) Tj ET", "Hello brave world"},
		{"a gap is a space", "BT /F1 10 Tf 72 700 Td [(Hello) -300 (world)] TJ ET", "Hello world"},
		{"kerning is no space", "BT /F1 10 Tf 72 700 Td [(T) 80 (ext W) 70 (ater)] TJ ET", "Text Water"},
		{"words placed one by one", "BT /F1 10 Tf 1 0 0 1 72 700 Tm (one) Tj 1 0 0 1 100 700 Tm (two) Tj ET", "one two"},
		{"a word placed letter by letter", "BT /F1 10 Tf 72 700 Td (H) Tj 7.22 0 Td (i) Tj ET", "Hi"},
		{"lines by Td", "BT /F1 10 Tf 72 700 Td (one) Tj 0 -12 Td (two) Tj ET", "one\ntwo"},
		{"lines by T*", "BT /F1 10 Tf 12 TL 72 700 Td (one) Tj T* (two) Tj ET", "one\ntwo"},
		{"lines by '", "BT /F1 10 Tf 12 TL 72 700 Td (one) ' (two) ' ET", "one\ntwo"},
		{"lines by \"", "BT /F1 10 Tf 12 TL 72 700 Td 2 0 (one two) \" ET", "one two"},
		{"leading by TD", "BT /F1 10 Tf 72 700 TD 0 -12 TD (one) Tj T* (two) Tj ET", "one\ntwo"},
		{"a paragraph", "BT /F1 10 Tf 72 700 Td (one) Tj 0 -30 Td (two) Tj ET", "one\n\ntwo"},
		{"a superscript", "BT /F1 10 Tf 72 700 Td (mc) Tj 4 Ts /F1 6 Tf (2) Tj ET", "mc2"},
		{"letter spacing", "BT /F1 10 Tf 5 Tc 72 700 Td (WIDE) Tj ET", "WIDE"},
		{"word spacing", "BT /F1 10 Tf 9 Tw 72 700 Td (a b) Tj ET", "a b"},
		{"stretched", "BT /F1 10 Tf 50 Tz 72 700 Td (ab) Tj 7.1 0 Td (cd) Tj ET", "ab cd"},
		{"turned", "BT /F1 10 Tf 0 1 -1 0 72 100 Tm (up) Tj 0 1 -1 0 72 120 Tm (wards) Tj ET", "up wards"},
		{"imitated bold", "BT /F1 10 Tf 72 700 Td (bold) Tj 0.2 0 Td (bold) Tj ET", "bold"},
		{"accent over a letter", "BT /F1 10 Tf 72 700 Td (caf) Tj 13.5 0 Td (\\264) Tj -1.1 0 Td (e) Tj ET", "café"},
		{"hyphen at the end", "BT /F1 10 Tf 72 700 Td (hyphen-) Tj 0 -12 Td (ation) Tj ET", "hyphen-\nation"},
		{"invisible text of a scan", "BT /F1 10 Tf 3 Tr 72 700 Td (read) Tj ET", "read"},
		{"escapes", "BT /F1 10 Tf 72 700 Td (a\\(b\\)\\101\\\\ \\\nc) Tj ET", "a(b)A\\ c"},
		{"hexadecimal", "BT /F1 10 Tf 72 700 Td <48 65 6C6c6F> Tj ET", "Hello"},
		{"matrix of the page", "q 2 0 0 2 0 0 cm BT /F1 5 Tf 30 300 Td (a) Tj 2.78 0 Td (b) Tj ET Q", "ab"},
		{"inline image", "BI /W 2 /H 2 /BPC 8 /CS /G ID (\x00\xff( EI BT /F1 10 Tf 9 9 Td (after) Tj ET", "after"},
		{"replacement text", "/Span <</ActualText (fi)>> BDC BT /F1 10 Tf 72 700 Td (?!) Tj ET EMC", "fi"},
		{"broken content", "BT /F1 10 Tf 72 700 Td (one) Tj ] >> } -- 1.2.3 foo [ (two) Tj ET", "one"},
		{"too few operands", "Td Tm TJ Tj BT /F1 10 Tf 72 700 Td (ok) Tj ET Q Q Q EMC", "ok"},
		{"no content", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := read(t, single(tt.content)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// fonts adds a font F2 to the page and shows a string with it.
func withFont(w *writer, font, shown string) []byte {
	w.page("BT /F2 10 Tf 72 700 Td "+shown+" Tj ET", "/F2 "+w.add(font))
	return w.bytes()
}

func TestFonts(t *testing.T) {
	t.Parallel()
	const type1 = "<</Type/Font/Subtype/Type1/BaseFont/X"
	toUnicode := "1 begincodespacerange <00><FF> endcodespacerange 1 beginbfchar <01> <0041> endbfchar " +
		"2 beginbfrange <02> <04> <0062> <05> <06> [<00660066> <D83DDE00>] endbfrange"
	tests := []struct {
		name        string
		font, shown string
		want        string
	}{
		{"differences", type1 + "/Encoding<</Differences[1/A/eacute/f_i/uni20AC/u1F600/afii10017/quoteright]>>>>", "<01020304050607>", "Aéfi€😀А’"},
		{"MacRoman", type1 + "/Encoding/MacRomanEncoding>>", "<8EA5>", "é•"},
		{"standard encoding", type1 + "/Encoding/StandardEncoding>>", "<AEB727E1FB>", "fi•’Æß"},
		{"Symbol", "<</Type/Font/Subtype/Type1/BaseFont/Symbol>>", "<6162D0F1F5>", "αβ∠⟩⌡"},
		{"ZapfDingbats", "<</Type/Font/Subtype/Type1/BaseFont/ZapfDingbats>>", "<214825>", "✁★☎"},
		{"ToUnicode", type1 + "/ToUnicode $CMAP>>", "<010203040506>", "Abcdff😀"},
		{"bitmaps by number", "<</Type/Font/Subtype/Type3/FontMatrix[0.01 0 0 0.01 0 0]/FirstChar 1/Widths[50 50]/Encoding<</Differences[1/a72/a105]>>>>", "<0102>", "Hi"},
		{"composite", "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/ToUnicode $CMAP/DescendantFonts[<</DW 500/W[1 [600 600] 3 9 400]>>]>>", "<000100020005>", "Abff"},
		{"GBK", "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/GBK-EUC-H/DescendantFonts[<<>>]>>", "<D6D0CEC441>", "中文A"},
		{"Shift JIS", "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/90ms-RKSJ-H/DescendantFonts[<<>>]>>", "<93FA967B>", "日本"},
		{"UTF-16", "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/UniJIS-UTF16-H/DescendantFonts[<<>>]>>", "<65E5D83DDE00>", "日😀"},
		{"Hebrew in visual order", type1 + "/Encoding<</Differences[1/afii57666/afii57665/afii57664/parenleft/one/two]>>>>", "<0102030405 06>", "12)אבג"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWriter()
			font := strings.ReplaceAll(tt.font, "$CMAP", w.stream("", toUnicode))
			if got := read(t, withFont(w, font, tt.shown)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFontProgram(t *testing.T) {
	t.Parallel()
	w := newWriter()
	program := w.stream("", "%!PS-AdobeFont-1.0\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\ndup 1 /ffi put\ndup 2 /x put\nreadonly def\ncurrentfile eexec \x00\x01")
	descriptor := w.add("<</Type/FontDescriptor/FontFile " + program + ">>")
	if got := read(t, withFont(w, "<</Type/Font/Subtype/Type1/BaseFont/CMR10/FontDescriptor "+descriptor+">>", "<0201>")); got != "xffi" {
		t.Errorf("got %q, want xffi", got)
	}
}

func TestCFFEncoding(t *testing.T) {
	t.Parallel()
	// header; names ("F"); one top dictionary: charset at 39, encoding at 44,
	// char strings at 49; strings ("ffl"); charset 0: SIDs 34 (A), 391;
	// encoding 0: codes 5, 6; three empty char strings.
	top := []byte{139 + 39, 15, 139 + 44, 16, 139 + 49, 17}
	var b bytes.Buffer
	b.Write([]byte{1, 0, 4, 1, 0, 1, 1, 1, 2, 'F', 0, 1, 1, 1, byte(1 + len(top))})
	b.Write(top)
	b.Write([]byte{0, 1, 1, 1, 4, 'f', 'f', 'l', 0, 0})
	b.Write(bytes.Repeat([]byte{0}, 39-b.Len()))
	b.Write([]byte{0, 0, 34, 391 >> 8, 391 & 255})
	b.Write([]byte{0, 2, 5, 6, 0})
	b.Write([]byte{0, 3, 1, 1, 1, 1, 1})
	w := newWriter()
	file := w.stream("/Subtype/Type1C", b.String())
	descriptor := w.add("<</Type/FontDescriptor/FontFile3 " + file + ">>")
	if got := read(t, withFont(w, "<</Type/Font/Subtype/Type1/BaseFont/X/FontDescriptor "+descriptor+">>", "<0506>")); got != "Affl" {
		t.Errorf("got %q, want Affl", got)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	w := newWriter()
	inner := w.stream("/Type/XObject/Subtype/Form/BBox[0 0 9 9]", "BT /F1 10 Tf (inner) Tj ET")
	outer := w.stream("/Type/XObject/Subtype/Form/Matrix[1 0 0 1 72 600]/Resources<</XObject<</I "+inner+">>>>",
		"BT /F1 10 Tf 0 20 Td (outer) Tj ET q /I Do Q")
	w.page("BT /F1 10 Tf 72 700 Td (page) Tj ET /O Do", ">>/XObject<</O "+outer)
	if got, want := read(t, w.bytes()), "page\n\nouter\n\ninner"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFormsWithinThemselves(t *testing.T) {
	t.Parallel()
	w := newWriter()
	self := fmt.Sprintf("%d 0 R", len(w.bodies)+3)
	w.stream("/Type/XObject/Subtype/Form/Resources<</XObject<</X "+self+">>>>", "/X Do /X Do /X Do BT /F1 10 Tf (again) Tj ET")
	w.page("/X Do", ">>/XObject<</X "+self)
	reply, err := pdfToText(textRequest{source: source{DataBase64: w.bytes()}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(*reply.Text, "again") || !reply.Truncated {
		t.Errorf("got %.40q, truncated %t; want again..., truncated", *reply.Text, reply.Truncated)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	w := newWriter()
	on := w.stream("/Type/XObject/Subtype/Form/Resources<</Font<</F1 3 0 R>>>>", "BT /F1 10 Tf 2 2 Td (filled in) Tj ET")
	page := w.page("BT /F1 10 Tf 72 700 Td (form) Tj ET")
	n := len(w.bodies) + 2
	w.bodies[n] = strings.Replace(w.bodies[n], "/Parent", "/Annots["+
		"<</Subtype/Widget/Rect[72 600 200 620]/AS/On/AP<</N<</On "+on+">>>>>>"+
		"<</Subtype/Widget/Rect[72 500 200 520]/F 2/AP<</N "+on+">>>>]/Parent", 1)
	if got, want := read(t, w.bytes()), "form\n\nfilled in"; got != want {
		t.Errorf("page %s: got %q, want %q", page, got, want)
	}
}

func show(s string) string { return "BT /F1 10 Tf 72 700 Td (" + s + ") Tj ET" }

func book(pages int) *writer {
	w := newWriter()
	for n := 1; n <= pages; n++ {
		w.page(show(fmt.Sprintf("page %d", n)))
	}
	return w
}

func TestPageSelection(t *testing.T) {
	t.Parallel()
	data := book(9).bytes()
	tests := []struct{ pages, want, err string }{
		{"", "1 2 3 4 5 6 7 8 9", ""},
		{"2", "2", ""},
		{"7-", "7 8 9", ""},
		{"-2", "1 2", ""},
		{"8-20", "8 9", ""},
		{"5, 1-2,2-3", "1 2 3 5", ""},
		{"10", "", "beyond the last page, 9"},
		{"0", "", "is not a page or a range"},
		{"3-1", "", "ends before it begins"},
		{"one", "", "is not a page or a range"},
		{"1,,2", "", "is not a page or a range"},
	}
	for _, tt := range tests {
		reply, err := pdfToText(textRequest{source: source{DataBase64: data}, Pages: tt.pages, Output: "pages"})
		if tt.err != "" {
			if skill.KindOf(err) != skill.Invalid || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("pages %q: error %v, want %s", tt.pages, err, tt.err)
			}
			continue
		}
		var got []string
		for _, p := range reply.Pages {
			got = append(got, fmt.Sprint(p.Number))
			if p.Text != fmt.Sprintf("page %d", p.Number) {
				t.Errorf("pages %q: page %d is %q", tt.pages, p.Number, p.Text)
			}
		}
		if strings.Join(got, " ") != tt.want || reply.PageCount != 9 || reply.Text != nil {
			t.Errorf("pages %q: got %v of %d, want %s of 9", tt.pages, got, reply.PageCount, tt.want)
		}
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	data := book(2).bytes()
	for output, want := range map[string][2]int{"": {2, 1}, "both": {2, 1}, "text": {0, 1}, "pages": {2, 0}} {
		reply, err := pdfToText(textRequest{source: source{DataBase64: data}, Output: output})
		if err != nil || len(reply.Pages) != want[0] || (reply.Text != nil) != (want[1] == 1) {
			t.Errorf("output %q: %d pages, text %v, error %v", output, len(reply.Pages), reply.Text, err)
		}
	}
	if _, err := pdfToText(textRequest{source: source{DataBase64: data}, Output: "html"}); skill.KindOf(err) != skill.Invalid {
		t.Errorf("output html: error %v, want an invalid one", err)
	}
}

func TestMaxChars(t *testing.T) {
	t.Parallel()
	reply, err := pdfToText(textRequest{source: source{DataBase64: book(5).bytes()}, MaxChars: 15})
	if err != nil || !reply.Truncated || len(reply.Pages) != 3 || reply.Pages[2].Text != "pag" || len(reply.Warnings) != 1 {
		t.Errorf("got %+v, %v; want two pages and a piece of the third", reply, err)
	}
	if reply, err = pdfToText(textRequest{source: source{DataBase64: book(2).bytes()}, MaxChars: 12}); err != nil || reply.Truncated {
		t.Errorf("exactly as many characters as allowed: %+v, %v", reply, err)
	}
	for _, n := range []int{-1, mostChars + 1} {
		if _, err := pdfToText(textRequest{MaxChars: n}); skill.KindOf(err) != skill.Invalid {
			t.Errorf("max_chars %d: error %v, want an invalid one", n, err)
		}
	}
}

func TestObjectStreams(t *testing.T) {
	t.Parallel()
	data := book(3).compact()
	reply, err := pdfToText(textRequest{source: source{DataBase64: data}})
	if want := "page 1\n\npage 2\n\npage 3"; err != nil || *reply.Text != want || reply.Warnings != nil {
		t.Errorf("got %+v, %v, want %q", reply, err, want)
	}
	doc, err := open(data, "", &work{left: maxWork})
	if err != nil {
		t.Fatal(err)
	}
	if doc.mended {
		t.Errorf("a sound file was repaired")
	}
}

func TestScannedPages(t *testing.T) {
	t.Parallel()
	w := newWriter()
	for n := range 6 {
		w.page([]string{"0 0 9 9 re f", show("x")}[n/4])
	}
	reply, err := pdfToText(textRequest{source: source{DataBase64: w.bytes()}})
	if err != nil || len(reply.Warnings) != 1 || !strings.HasPrefix(reply.Warnings[0], "pages 1-4: no text") {
		t.Errorf("warnings %v, error %v", reply.Warnings, err)
	}
}

func TestGlyphsWithoutText(t *testing.T) {
	t.Parallel()
	data := withFont(newWriter(), "<</Type/Font/Subtype/Type0/BaseFont/X/Encoding/Identity-H/DescendantFonts[<<>>]>>", "<00010002>")
	reply, err := pdfToText(textRequest{source: source{DataBase64: data}})
	if err != nil || len(reply.Warnings) != 1 || !strings.Contains(reply.Warnings[0], "which characters") {
		t.Errorf("warnings %v, error %v", reply.Warnings, err)
	}
}

// TestDamage changes sound files and wants the text all the same, or an error
// that says what is wrong.
func TestDamage(t *testing.T) {
	t.Parallel()
	plain, compact := book(2).bytes(), book(2).compact()
	replace := func(data []byte, old, new string) []byte { return bytes.Replace(data, []byte(old), []byte(new), 1) }
	both := "page 1\n\npage 2"
	tests := []struct {
		name string
		data []byte
		want string // the text, or a piece of the error
	}{
		{"wrong startxref", replace(plain, "startxref\n", "startxref\n9"), both},
		{"no startxref", plain[:bytes.LastIndex(plain, []byte("startxref"))], both},
		{"wrong offsets", replace(plain, "%PDF-1.7\n", "%PDF-1.7\n%%%%%%%%%%%%\n"), both},
		{"bytes before the header", append([]byte("HTTP/1.1 200 OK\n\n"), plain...), both},
		{"bytes behind the end", append(bytes.Clone(plain), bytes.Repeat([]byte("\n"), 3000)...), both},
		{"no length", replace(plain, "/Length ", "/Longth "), both},
		{"a stream cut short", replace(plain, "/Count 2", "/Count 9"), both},
		{"version 2.0", replace(plain, "%PDF-1.7", "%PDF-2.0"), both},
		{"Prev is itself", replace(plain, "trailer\n<<", fmt.Sprintf("trailer\n<</Prev %d", bytes.LastIndex(plain, []byte("\nxref"))+1)), both},
		{"compact, wrong startxref", replace(compact, "startxref\n", "startxref\n9"), both},
		{"not a PDF", []byte("<html>"), "not a PDF file"},
		{"empty", []byte{}, "not a PDF file"},
		{"only a header", []byte("%PDF-1.4\n"), "damaged beyond repair"},
		{"a piece of a file", plain[:len(plain)/4], "damaged beyond repair"},
		{"two thirds of a file", plain[:bytes.Index(plain, []byte("\n6 0 obj"))], "page 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			reply, err := pdfToText(textRequest{source: source{DataBase64: tt.data}})
			if err != nil {
				if skill.KindOf(err) != skill.Invalid || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
				return
			}
			if *reply.Text != tt.want {
				t.Errorf("got %q, want %q", *reply.Text, tt.want)
			}
		})
	}
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	tests := []struct{ set, given, want, err string }{
		{"", "", "page 1", ""},
		{"sesame", "sesame", "page 1", ""},
		{"sesame", "", "", "the file is encrypted; give its password"},
		{"sesame", "other", "", "the password does not open it"},
	}
	for _, tt := range tests {
		data := book(1).encrypted(tt.set)
		reply, err := pdfToText(textRequest{source: source{DataBase64: data, Password: tt.given}})
		if tt.err != "" {
			if skill.KindOf(err) != skill.Invalid || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("password %q for %q: error %v, want %s", tt.given, tt.set, err, tt.err)
			}
			continue
		}
		if err != nil || *reply.Text != tt.want {
			t.Errorf("password %q for %q: %v", tt.given, tt.set, err)
			continue
		}
		if info, err := pdfInfo(source{DataBase64: data, Password: tt.given}); err != nil || !info.Encrypted {
			t.Errorf("info: %+v, %v", info, err)
		}
	}
}

// TestEncryptedAndDamaged wants an error, not the bytes that were not decrypted.
func TestEncryptedAndDamaged(t *testing.T) {
	t.Parallel()
	data := book(1).encrypted("sesame")
	for name, data := range map[string][]byte{
		"no object": bytes.Replace(data, []byte("/Encrypt 7 0 R"), []byte("/Encrypt<<>>  "), 1),
		"no xref":   bytes.Replace(data, []byte("startxref"), []byte("startxxxx"), 1),
	} {
		reply, err := pdfToText(textRequest{source: source{DataBase64: data}})
		if err == nil {
			t.Errorf("%s: got %q, want an error", name, *reply.Text)
		}
	}
}

func TestTreeCycles(t *testing.T) {
	t.Parallel()
	w := newWriter()
	page := w.page(show("once"))
	node := w.add("<</Type/Pages/Kids[2 0 R " + page + " 2 0 R]>>")
	w.bodies[2] = "<</Type/Pages/Kids[" + node + " " + node + " 2 0 R]>>"
	if got := read(t, w.bytes()); got != "once" {
		t.Errorf("got %q, want once", got)
	}
}

func TestReferenceCycles(t *testing.T) {
	t.Parallel()
	w := newWriter()
	a := w.add("$B")
	b := w.add(a)
	w.bodies[4] = b
	w.page(show("fine"), "/F2 "+a)
	w.page("BT /F2 10 Tf (x) Tj ET", "/F2 "+a)
	if got := read(t, w.bytes()); got != "fine\n\nx" {
		t.Errorf("got %q", got)
	}
}

// TestWorkIsBounded gives a page more work than a call may do: the pages before
// are read, and the reply says where it stopped.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	w := newWriter()
	w.page(show("first"))
	form := w.stream("/Type/XObject/Subtype/Form", show("x")+strings.Repeat("0 0 m ", 1<<16))
	w.page(strings.Repeat("/X Do ", 1<<14), ">>/XObject<</X "+form)
	w.page(show("last"))
	reply, err := pdfToText(textRequest{source: source{DataBase64: w.bytes()}})
	if err != nil || !reply.Truncated || len(reply.Pages) != 2 || reply.Pages[0].Text != "first" || reply.PageCount != 3 {
		t.Fatalf("truncated %t, %d of %d pages, error %v", reply.Truncated, len(reply.Pages), reply.PageCount, err)
	}
	if len(reply.Warnings) != 1 || !strings.Contains(reply.Warnings[0], "stopped in page 2") {
		t.Errorf("warnings %v", reply.Warnings)
	}
}

func TestLongStreamIsCut(t *testing.T) {
	t.Parallel()
	reply, err := pdfToText(textRequest{source: source{DataBase64: single(show("seen") + strings.Repeat(" ", maxStream) + show("unseen"))}})
	if err != nil || *reply.Text != "seen" || !reply.Truncated || len(reply.Warnings) != 1 {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	for _, in := range []source{{}, {Path: "a.pdf", DataBase64: []byte("x")}} {
		if _, err := pdfToText(textRequest{source: in}); skill.KindOf(err) != skill.Invalid {
			t.Errorf("%+v: error %v, want an invalid one", in, err)
		}
		if _, err := pdfInfo(in); skill.KindOf(err) != skill.Invalid {
			t.Errorf("%+v: error %v, want an invalid one", in, err)
		}
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	w := book(3)
	w.root = "/Lang(en-GB)/MarkInfo<</Marked true>>"
	w.info = "/Title<FEFF00DC006200650072>/Author(Ann \\(A.\\) Author\\n)/CreationDate(D:20240229123456+01'00')/ModDate(D:2024)/Producer(test)"
	got, err := pdfInfo(source{DataBase64: w.bytes()})
	want := infoReply{
		PageCount: 3, Version: "1.7", Tagged: true, Title: "Über", Author: "Ann (A.) Author",
		Producer: "test", Created: "2024-02-29T12:34:56+01:00", Modified: "2024", Language: "en-GB",
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err      error
		password string
		kind     skill.Kind
		want     string
	}{
		{errWork, "", skill.Limit, "more work"},
		{errPassword, "", skill.Invalid, "give its password"},
		{errPassword, "x", skill.Invalid, "does not open it"},
		{fmt.Errorf("%w oddly", errEncrypted), "", skill.Invalid, "oddly"},
		{errors.New("other"), "", skill.Invalid, "other"},
	}
	for _, tt := range tests {
		if err := refuse(tt.err, tt.password); skill.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("refuse(%v) = %v (%s), want %s (%s)", tt.err, err, skill.KindOf(err), tt.want, tt.kind)
		}
	}
}

// FuzzText reads files made of anything: it must end, within its bounds, with a
// text or an error.
func FuzzText(f *testing.F) {
	f.Add(book(2).bytes())
	f.Add(book(2).compact())
	f.Add(single("BT /F1 10 Tf [(a) -300 <62>] TJ (c) ' ET q /X Do Q BI ID x EI"))
	w := newWriter()
	cmap := w.stream("", "1 begincodespacerange <00><FF> endcodespacerange 1 beginbfrange <00> <FF> <0000> endbfrange")
	f.Add(withFont(w, "<</Subtype/Type0/Encoding/Identity-H/ToUnicode "+cmap+"/DescendantFonts[<</W[0 9 100]>>]>>", "<0001>"))
	f.Add([]byte("%PDF-1.4\nxref\n0 1\ntrailer<</Root 1 0 R>>\nstartxref\n9\n%%EOF"))
	f.Fuzz(func(t *testing.T, data []byte) {
		pdfToText(textRequest{source: source{DataBase64: data}, MaxChars: 10_000})
		pdfInfo(source{DataBase64: data})
	})
}

// FuzzContent interprets content streams and character maps made of anything.
func FuzzContent(f *testing.F) {
	f.Add([]byte("BT /F1 10 Tf 1 0 0 1 72 700 Tm [(a\\051) -300 <6>] TJ T* (c) ' 1 2 (d) \" ET"), []byte("1 beginbfchar <01> <0041> endbfchar"))
	f.Add([]byte("/Span <</ActualText (x)>> BDC (a) Tj EMC q 1 0 0 1 0 0 cm /X Do Q BI /W 1 ID \x00 EI"), []byte("1 begincidrange <00> <ff> 5 endcidrange"))
	f.Fuzz(func(t *testing.T, content, cmap []byte) {
		w := newWriter()
		map1 := w.stream("", string(cmap))
		font := w.add("<</Subtype/Type0/Encoding " + map1 + "/ToUnicode " + map1 + "/DescendantFonts[<<>>]>>")
		w.page(string(content), "/F2 "+font)
		if _, err := pdfToText(textRequest{source: source{DataBase64: w.bytes()}, MaxChars: 10_000}); err != nil {
			t.Error(err)
		}
	})
}

// FuzzProgram reads embedded font programs made of anything.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{1, 0, 4, 1, 0, 1, 1, 1, 2, 'F', 0, 1, 1, 1, 3, 139, 15, 0, 0, 0, 0})
	f.Add([]byte("/Encoding 256 array dup 65 /A put readonly def eexec"))
	f.Fuzz(func(t *testing.T, program []byte) {
		d := newDocument(nil, "", &work{left: 1 << 20})
		d.cffTable(program)
		d.type1Table(program)
	})
}

func BenchmarkText(b *testing.B) {
	w := newWriter()
	line := "BT /F1 10 Tf 72 700 Td [(The quick brown) -300 (fox jumps over the lazy dog)] TJ ET\n"
	for range 20 {
		w.page(strings.Repeat(line, 100))
	}
	data := w.compact()
	b.SetBytes(int64(20 * 100 * len(line)))
	for b.Loop() {
		if _, err := pdfToText(textRequest{source: source{DataBase64: data}}); err != nil {
			b.Fatal(err)
		}
	}
}
