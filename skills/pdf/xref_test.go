package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// update appends a section to a file, as saving it once more does: objects by
// their numbers, and more entries of the trailer. An empty body deletes.
func update(data []byte, number int, body, trailer string) []byte {
	previous := bytes.LastIndex(data, []byte("startxref\n")) + len("startxref\n")
	var prev int
	fmt.Sscan(string(data[previous:]), &prev)
	b := bytes.NewBuffer(bytes.Clone(data))
	at, kind := b.Len(), "n"
	if body == "" {
		at, kind = 0, "f"
	} else {
		fmt.Fprintf(b, "%d 0 obj\n%s\nendobj\n", number, body)
	}
	start := b.Len()
	fmt.Fprintf(b, "xref\n%d 1\n%010d 00000 %s \ntrailer\n<</Size 99/Root 1 0 R/Prev %d%s>>\nstartxref\n%d\n%%%%EOF\n", number, at, kind, prev, trailer, start)
	return b.Bytes()
}

// contentOf is the number of the content of the first page that a writer adds.
const contentOf = 4

func plainStream(content string) string {
	return fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content)
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	once := update(book(1).bytes(), contentOf, plainStream(show("changed")), "")
	twice := update(once, contentOf, plainStream(show("again")), "")
	deleted := update(once, contentOf, "", "")
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"once": {once, "changed"}, "twice": {twice, "again"}, "deleted": {deleted, ""},
	} {
		if got := read(t, tt.data); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestHybrid reads a file whose table says for old readers that an object is
// free, and whose stream beside it says for new ones where it is.
func TestHybrid(t *testing.T) {
	t.Parallel()
	b := bytes.NewBuffer(book(1).bytes())
	at := b.Len()
	fmt.Fprintf(b, "%d 0 obj\n%s\nendobj\n", contentOf, plainStream(show("hidden")))
	beside := b.Len()
	writeStream(b, 90, fmt.Sprintf("/Type/XRef/W[1 3 1]/Index[%d 1]/Size 99", contentOf), string([]byte{1, byte(at >> 16), byte(at >> 8), byte(at), 0}))
	hybrid := update(b.Bytes(), contentOf, "", fmt.Sprintf("/XRefStm %d", beside))
	if got := read(t, hybrid); got != "hidden" {
		t.Errorf("got %q, want hidden", got)
	}
}

func TestXrefStreams(t *testing.T) {
	t.Parallel()
	l := newDocument(nil, "", &work{left: maxWork}).objects
	widths, ok := fieldWidths(array{0.0, 2.0, 1.0})
	if !ok {
		t.Fatal("widths without a kind refused")
	}
	rest, ok := l.rows([]byte{1, 0, 0, 2, 0, 0, 9}, widths, 5, 2)
	if !ok || len(rest) != 1 || l.xref[5].offset != 256 || l.xref[6].offset != 512 || len(l.xref) != 2 {
		t.Errorf("places %v, rest %v", l.xref, rest)
	}
	if _, ok := l.rows([]byte{1, 0, 0, 2}, widths, 5, 2); ok {
		t.Errorf("a table cut short accepted")
	}
	for _, bad := range []array{{1.0, 2.0}, {0.0, 0.0, 0.0}, {1.0, 9.0, 1.0}, {1.0, -1.0, 1.0}} {
		if _, ok := fieldWidths(bad); ok {
			t.Errorf("widths %v accepted", bad)
		}
	}
}

// TestLengthsOfLengths has streams whose lengths are streams, and object streams
// in object streams: each needs the next.
func TestLengthsOfLengths(t *testing.T) {
	t.Parallel()
	w := newWriter()
	w.page(show("fine"), "/F2 6 0 R")
	for range 3000 {
		n := len(w.bodies) + 3
		w.add(fmt.Sprintf("<</Length %d 0 R/Type/ObjStm/N 1/First 4>>\nstream\n%d 0 (x)\nendstream", n+1, n+1))
	}
	if got := read(t, w.bytes()); got != "fine" {
		t.Errorf("got %q", got)
	}
}

// TestNestedObjectStreams has a table that puts every object stream into the
// next.
func TestNestedObjectStreams(t *testing.T) {
	t.Parallel()
	l := newDocument([]byte("%PDF-1.7"), "", &work{left: maxWork}).objects
	for n := 1; n < 100_000; n++ {
		l.add(n, xrefEntry{stream: n + 1})
	}
	if o := l.object(1); o != nil {
		t.Errorf("got %v, want null", o)
	}
	if l.pending != 0 {
		t.Errorf("%d objects pending", l.pending)
	}
}

// TestManyObjects asks for more objects than are kept.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	w := newWriter()
	long := strings.Repeat("x", 1<<10)
	for range 3000 {
		w.add("(" + long + ")")
	}
	w.page(show("page"))
	for _, data := range [][]byte{w.bytes(), w.compact()} {
		d, err := open(data, "", &work{left: maxWork})
		if err != nil {
			t.Fatal(err)
		}
		for n := 4; n < 3000; n++ {
			if s := d.str(ref(n)); string(s) != long {
				t.Fatalf("object %d has %d bytes", n, len(s))
			}
		}
		if d.objects.size > maxParsed+2*len(long) {
			t.Errorf("%d bytes of parsed objects kept", d.objects.size)
		}
	}
}

// TestMending damages one thing and wants the text all the same.
func TestMending(t *testing.T) {
	t.Parallel()
	plain, compact := book(1).bytes(), book(1).compact()
	replace := func(data []byte, old, new string) []byte {
		if !bytes.Contains(data, []byte(old)) {
			t.Fatalf("no %q in the file", old)
		}
		return bytes.Replace(data, []byte(old), []byte(new), 1)
	}
	for name, data := range map[string][]byte{
		"no endobj":             bytes.ReplaceAll(plain, []byte("\nendobj"), nil),
		"no endstream":          bytes.ReplaceAll(plain, []byte("\nendstream"), nil),
		"no end of the page":    replace(plain, ">>>>>>\nendobj", "\nendobj"),
		"numbers moved by one":  replace(plain, "xref\n0 ", "xref\n1 "),
		"no root":               replace(plain, "/Root", "/Boot"),
		"no root, compact":      replace(compact, "/Root", "/Boot"),
		"no page tree":          replace(plain, "/Type/Pages/Kids", "/Type/Pages/Sons"),
		"Prev is not there":     replace(plain, "trailer\n<<", "trailer\n<</Prev 7"),
		"a wrong predictor":     replace(compact, "/Type/XRef", "/DecodeParms<</Predictor 99/Colors 99>>/Type/XRef"),
		"cut in the xref table": plain[:bytes.LastIndex(plain, []byte("xref\n0"))+20],
	} {
		if got := read(t, data); got != "page 1" {
			t.Errorf("%s: got %q, want page 1", name, got)
		}
	}
}
