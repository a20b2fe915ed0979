package main

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"crypto/rc4"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writer makes small PDF files for tests. Objects 1 and 2 are the catalog and
// the root of the page tree; page adds a page with its content, font F1.
type writer struct {
	bodies map[int]string
	kids   []string
	root   string // more entries of the catalog
	info   string // entries of the information dictionary
	secret string // entries of the trailer about encryption
}

func newWriter() *writer {
	w := &writer{bodies: map[int]string{}}
	w.add("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>")
	return w
}

// add adds an object and returns its reference. The first one, 3 0 R, is F1.
func (w *writer) add(body string) string {
	n := len(w.bodies) + 3
	w.bodies[n] = body
	return fmt.Sprintf("%d 0 R", n)
}

// stream adds a compressed stream with more entries in its dictionary.
func (w *writer) stream(entries, content string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write([]byte(content))
	z.Close()
	return w.add(fmt.Sprintf("<</Length %d/Filter/FlateDecode%s>>\nstream\n%s\nendstream", b.Len(), entries, b.String()))
}

// page adds a page; resources are more entries of its resource dictionary.
func (w *writer) page(content string, resources ...string) string {
	ref := w.add(fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %s/Resources<</Font<</F1 3 0 R %s>>>>>>",
		w.stream("", content), strings.Join(resources, ">> ")))
	w.kids = append(w.kids, ref)
	return ref
}

// all returns every object by its number.
func (w *writer) all() map[int]string {
	all := maps.Clone(w.bodies)
	all[1] = "<</Type/Catalog/Pages 2 0 R" + w.root + ">>"
	if all[2] == "" {
		all[2] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", strings.Join(w.kids, " "), len(w.kids))
	}
	return all
}

// bytes writes the file with a cross-reference table.
func (w *writer) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	all := w.all()
	offsets := map[int]int{}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		offsets[n] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, all[n])
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(all)+1)
	for n := 1; n <= len(all); n++ {
		fmt.Fprintf(&b, "%010d 00000 n \n", offsets[n])
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R/Info<<%s>>%s>>\nstartxref\n%d\n%%%%EOF\n", len(all)+1, w.info, w.secret, start)
	return b.Bytes()
}

// compact writes the file with object streams and a cross-reference stream, as
// current programs do.
func (w *writer) compact() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	all := w.all()
	size := len(all) + 3
	rows := make([][3]int, size)
	var pairs, content strings.Builder
	inside := 0
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(all[n], "stream\n") {
			rows[n] = [3]int{1, b.Len(), 0}
			fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", n, all[n])
			continue
		}
		rows[n] = [3]int{2, size - 2, inside}
		fmt.Fprintf(&pairs, "%d %d ", n, content.Len())
		content.WriteString(all[n] + "\n")
		inside++
	}
	rows[size-2] = [3]int{1, b.Len(), 0}
	writeStream(&b, size-2, fmt.Sprintf("/Type/ObjStm/N %d/First %d", inside, pairs.Len()), pairs.String()+content.String())
	start := b.Len()
	rows[size-1] = [3]int{1, start, 0}
	var table bytes.Buffer
	for _, r := range rows {
		table.Write([]byte{byte(r[0]), byte(r[1] >> 16), byte(r[1] >> 8), byte(r[1]), byte(r[2])})
	}
	writeStream(&b, size-1, fmt.Sprintf("/Type/XRef/W[1 3 1]/Size %d/Root 1 0 R", size), table.String())
	fmt.Fprintf(&b, "startxref\n%d\n%%%%EOF\n", start)
	return b.Bytes()
}

func writeStream(b *bytes.Buffer, number int, entries, content string) {
	var z bytes.Buffer
	c := zlib.NewWriter(&z)
	c.Write([]byte(content))
	c.Close()
	fmt.Fprintf(b, "%d 0 obj\n<</Length %d/Filter/FlateDecode%s>>\nstream\n%s\nendstream\nendobj\n", number, z.Len(), entries, z.String())
}

// single is a file of one page.
func single(content string, resources ...string) []byte {
	w := newWriter()
	w.page(content, resources...)
	return w.bytes()
}

// padding is the string that passwords are filled up with (ISO 32000-1, 7.6.3.3).
const padding = "\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08" +
	"\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A"

func rc4Text(key []byte, text string) string {
	c, err := rc4.NewCipher(key)
	if err != nil {
		panic(err)
	}
	out := make([]byte, len(text))
	c.XORKeyStream(out, []byte(text))
	return string(out)
}

// encrypted writes the file encrypted with a user password: the standard
// handler, revision 2, 40-bit RC4 (algorithms 1 to 4).
func (w *writer) encrypted(password string) []byte {
	user := (password + padding)[:32]
	ownerKey := md5.Sum([]byte(user))
	owner := rc4Text(ownerKey[:5], user)
	sum := md5.Sum([]byte(user + owner + "\xfc\xff\xff\xff" + "0123456789abcdef"))
	key := sum[:5]
	for n, body := range w.bodies {
		head, rest, ok := strings.Cut(body, "stream\n")
		if !ok {
			continue
		}
		content := strings.TrimSuffix(rest, "\nendstream")
		own := md5.Sum(append(bytes.Clone(key), byte(n), byte(n>>8), 0, 0, 0))
		w.bodies[n] = head + "stream\n" + rc4Text(own[:10], content) + "\nendstream"
	}
	handler := w.add(fmt.Sprintf("<</Filter/Standard/V 1/R 2/P -4/O<%x>/U<%x>>>", owner, rc4Text(key, padding)))
	w.secret = fmt.Sprintf("/ID[<%[1]x><%[1]x>]/Encrypt %[2]s", "0123456789abcdef", handler)
	return w.bytes()
}
