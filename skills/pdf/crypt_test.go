package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testFile reads a file of testdata. They were written by qpdf: two pages, user
// password sesame and owner password master.
func testFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEncryptedByOthers opens a file of each kind of encryption, sound and
// without its cross-reference table, with each password and with none that fits.
func TestEncryptedByOthers(t *testing.T) {
	t.Parallel()
	both := []string{"sesame", "master"}
	tests := []struct {
		file     string
		open, no []string
	}{
		{"rc4-40.pdf", both, []string{"", "other", "日本"}},
		{"rc4-128.pdf", both, []string{"", "other"}},
		{"rc4-filters.pdf", both, []string{"", "other"}},
		{"aes-128.pdf", both, []string{"", "other"}},
		{"aes-256-draft.pdf", both, []string{"", "other"}},
		{"aes-256.pdf", both, []string{"", "other", strings.Repeat("long", 100)}},
		{"aes-256-open.pdf", []string{""}, both},
		{"linearized.pdf", []string{""}, nil},
	}
	for _, tt := range tests {
		sound := testFile(t, tt.file)
		broken := bytes.ReplaceAll(sound, []byte("startxref"), []byte("startxxxx"))
		for _, data := range [][]byte{sound, broken} {
			for _, password := range tt.open {
				checkOpens(t, tt.file, data, password)
			}
			for _, password := range tt.no {
				if _, err := open(data, password, &work{left: maxWork}); !errors.Is(err, errPassword) {
					t.Errorf("%s, password %.10q: error %v, want %v", tt.file, password, err, errPassword)
				}
			}
		}
	}
}

// checkOpens wants the text, from streams, and the title, a string.
func checkOpens(t *testing.T, name string, data []byte, password string) {
	t.Helper()
	from := source{DataBase64: data, Password: password}
	reply, err := pdfToText(textRequest{source: from})
	if err != nil || *reply.Text != "page 1\n\npage 2" {
		t.Errorf("%s, password %q: %+v, %v", name, password, reply, err)
	}
	info, err := pdfInfo(from)
	if err != nil || info.Title != "A secret title" || info.Author != "Über" {
		t.Errorf("%s, password %q: %+v, %v", name, password, info, err)
	}
}

func TestPrepared(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"pass": "pass", "u\u0308ber": "über", "o\ufb03ce\u00ad": "office", "a\u00a0b": "a b", "\u2168": "IX"} {
		if got := saslPrepared(in); got != want {
			t.Errorf("prepared(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestUnsupportedEncryption changes the encryption dictionary of a sound file.
func TestUnsupportedEncryption(t *testing.T) {
	t.Parallel()
	data := testFile(t, "aes-128.pdf")
	tests := []struct{ name, old, new, want string }{
		{"another handler", "/Filter /Standard", "/Filter /Staddard", "handler"},
		{"a version", "/V 4", "/V 7", "version 7"},
		{"a revision", "/R 4", "/R 9", "revision 9"},
		{"a method", "/CFM /AESV2", "/CFM /AESV9", "method"},
		{"no filter", "/StmF /StdCF", "/StmF /StdXX", "not there"},
		{"no user", "/U <", "/X <", "keys are damaged"},
		{"no owner", "/O <", "/X <", "keys are damaged"},
	}
	for _, tt := range tests {
		if !bytes.Contains(data, []byte(tt.old)) {
			t.Fatalf("%s: no %q in the file", tt.name, tt.old)
		}
		changed := bytes.Replace(data, []byte(tt.old), []byte(tt.new), 1)
		_, err := open(changed, "sesame", &work{left: maxWork})
		if !errors.Is(err, errEncrypted) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}

// TestCryptFilter has a stream say that it is not encrypted, and another one
// that it is as all are.
func TestCryptFilter(t *testing.T) {
	t.Parallel()
	ring := &keyring{work: &work{left: maxWork}, key: []byte("12345"), streams: arcfour, filters: map[atom]method{"Identity": plaintext, "StdCF": arcfour}}
	key := objectKey{ring, 7, 0}
	plain := []byte("some text")
	secret := key.decrypt(plain, arcfour)
	tests := []struct {
		entries string
		raw     []byte
	}{
		{"<<>>", secret},
		{"<</Filter/Crypt>>", secret},
		{"<</Filter[/Crypt]/DecodeParms[<</Name/StdCF>>]>>", secret},
		{"<</Filter[/Crypt]/DecodeParms[<</Name/Identity>>]>>", plain},
		{"<</Filter[/Crypt/AHx]/DecodeParms[<</Name/Identity>>null]>>", []byte("736f6d652074657874>")},
	}
	for _, tt := range tests {
		p := parser{lexer: lexer{data: []byte(tt.entries)}}
		o, _ := p.value()
		l := newDocument(nil, "", &work{left: maxWork}).objects
		if got := l.decode(&stream{o.(dict), slices.Clone(tt.raw), key}); !bytes.Equal(got, plain) {
			t.Errorf("%s: got %q, want %q", tt.entries, got, plain)
		}
	}
}

// TestStringsAreBounded gives a page an entry of more encrypted strings than one
// call may decrypt.
func TestStringsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWriter()
	w.page(show("page") + strings.Repeat(" ", 99))
	w.bodies[5] = strings.Replace(w.bodies[5], "/Parent", "/X["+strings.Repeat("()", 1<<18)+"]/Parent", 1)
	reply, err := pdfToText(textRequest{source: source{DataBase64: w.encrypted("")}})
	if err != nil || !reply.Truncated || !strings.Contains(strings.Join(reply.Warnings, ""), "more work") {
		t.Errorf("got %+v, %v; want a truncated reply", reply, err)
	}
}

// FuzzKeys tries encryption dictionaries made of anything.
func FuzzKeys(f *testing.F) {
	long := strings.Repeat("x", 48)
	f.Add("<</Filter/Standard/V 2/R 3/Length 128/P -4/O("+long+")/U("+long+")>>", "password")
	f.Add("<</Filter/Standard/V 4/R 4/P -4/StmF/A/StrF/A/CF<</A<</CFM/AESV2>>>>/O("+long+")/U("+long+")>>", "")
	f.Add("<</Filter/Standard/V 5/R 6/P -4/StmF/A/StrF/A/CF<</A<</CFM/AESV3>>>>/O("+long+")/U("+long+")/OE("+long+")/UE("+long+")>>", "ü")
	f.Fuzz(func(t *testing.T, entries, password string) {
		p := parser{lexer: lexer{data: []byte(entries)}}
		o, _ := p.value()
		l := newDocument(nil, password, &work{left: maxWork}).objects
		l.trailer = dict{"Encrypt": o}
		if err := l.unlock(); err == nil && o != nil {
			objectKey{l.ring, 1, 0}.text([]byte(entries))
			objectKey{l.ring, 1, 0}.stream([]byte(entries), "")
		}
	})
}
