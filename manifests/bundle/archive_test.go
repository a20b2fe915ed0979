package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/skillet-run/skillet/manifests/bundle"
)

// An archive is made entry by entry, as an attacker would.
type archive struct {
	t   testing.TB
	buf bytes.Buffer
	gz  *gzip.Writer
	tar *tar.Writer
}

func newArchive(t testing.TB) *archive {
	a := &archive{t: t}
	a.gz, _ = gzip.NewWriterLevel(&a.buf, gzip.BestSpeed) // a level the library names
	a.tar = tar.NewWriter(a.gz)
	return a
}

func (a *archive) entry(h tar.Header, content string) *archive {
	a.t.Helper()
	h.Size = int64(len(content))
	if h.Mode == 0 {
		h.Mode = 0o644
	}
	if err := a.tar.WriteHeader(&h); err != nil {
		a.t.Fatal(err)
	}
	if _, err := io.WriteString(a.tar, content); err != nil {
		a.t.Fatal(err)
	}
	return a
}

func (a *archive) file(name, content string) *archive {
	a.t.Helper()
	return a.entry(tar.Header{Typeflag: tar.TypeReg, Name: name}, content)
}

// demo adds the files of an honest package.
func (a *archive) demo() *archive {
	a.t.Helper()
	for name, b := range demo() {
		a.file(name, string(b))
	}
	return a
}

func (a *archive) bytes() []byte {
	a.t.Helper()
	if err := errors.Join(a.tar.Close(), a.gz.Close()); err != nil {
		a.t.Fatal(err)
	}
	return a.buf.Bytes()
}

// listed reads an archive with the standard library alone, as it comes, and
// returns the names it hands over.
func listed(data []byte) (string, error) {
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	var names []string
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(names, "\n"), nil
		}
		if err != nil {
			return "", err
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return "", err
		}
		names = append(names, h.Name)
	}
}

// A hostile archive, the entry that must be named, and why it is refused.
type hostile struct {
	build func(a *archive)
	entry string // as the standard library hands it over
	want  error
	text  string
}

func file(name string) func(a *archive) { return func(a *archive) { a.file(name, "x") } }

func entry(h tar.Header) func(a *archive) { return func(a *archive) { a.entry(h, "") } }

func hostileArchives() map[string]hostile {
	const note = "assets/note"
	return map[string]hostile{
		"parent":       {file("../../evil"), "../../evil", bundle.ErrUnsafe, "leaves the package"},
		"inner parent": {file("assets/../../evil"), "assets/../../evil", bundle.ErrUnsafe, "leaves the package"},
		"absolute":     {file("/etc/evil"), "/etc/evil", bundle.ErrUnsafe, "is an absolute path"},
		"backslash":    {file(`assets\..\evil`), `assets\..\evil`, bundle.ErrUnsafe, "has a name with one of"},
		"drive":        {file("assets/C:evil"), "assets/C:evil", bundle.ErrUnsafe, "has a name with one of"},
		"device name":  {file("assets/nul.txt"), "assets/nul.txt", bundle.ErrUnsafe, "device"},
		"dot":          {file("./README.md"), "./README.md", bundle.ErrUnsafe, "not a clean path"},
		"hidden":       {file("assets/.ssh/config"), "assets/.ssh/config", bundle.ErrUnsafe, "is hidden"},
		"control":      {file("assets/a\x1b[2J"), "assets/a\x1b[2J", bundle.ErrUnsafe, "cannot be seen"},
		"long":         {file("assets/" + strings.Repeat("x", 500)), "assets/" + strings.Repeat("x", 500), bundle.ErrUnsafe, "bytes"},
		"not UTF-8": {func(a *archive) {
			a.entry(tar.Header{Typeflag: tar.TypeReg, Name: "assets/\xff", Format: tar.FormatGNU}, "")
		}, "assets/\xff", bundle.ErrUnsafe, "not UTF-8"},
		"no part":       {file("install.sh"), "install.sh", bundle.ErrUnsafe, "does not belong to a package"},
		"symbolic link": {entry(tar.Header{Typeflag: tar.TypeSymlink, Name: note, Linkname: "/etc"}), note, bundle.ErrUnsafe, `a symbolic link to "/etc"`},
		"hard link":     {entry(tar.Header{Typeflag: tar.TypeLink, Name: note, Linkname: "/etc/passwd"}), note, bundle.ErrUnsafe, "a hard link"},
		"character":     {entry(tar.Header{Typeflag: tar.TypeChar, Name: note, Devmajor: 1, Devminor: 3}), note, bundle.ErrUnsafe, "a device"},
		"block":         {entry(tar.Header{Typeflag: tar.TypeBlock, Name: note, Devmajor: 8}), note, bundle.ErrUnsafe, "a device"},
		"FIFO":          {entry(tar.Header{Typeflag: tar.TypeFifo, Name: note}), note, bundle.ErrUnsafe, "a FIFO"},
		"unknown type":  {entry(tar.Header{Typeflag: 'Z', Name: note}), note, bundle.ErrUnsafe, "of type"},
		"setuid":        {entry(tar.Header{Typeflag: tar.TypeReg, Name: note, Mode: 0o4755}), note, bundle.ErrUnsafe, "4755"},
		"setgid":        {entry(tar.Header{Typeflag: tar.TypeReg, Name: note, Mode: 0o2755}), note, bundle.ErrUnsafe, "2755"},
		"sticky":        {entry(tar.Header{Typeflag: tar.TypeDir, Name: "assets/d/", Mode: 0o1777}), "assets/d/", bundle.ErrUnsafe, "1777"},
		"attribute":     {entry(tar.Header{Typeflag: tar.TypeReg, Name: note, PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "x"}}), note, bundle.ErrUnsafe, "SCHILY.xattr"},
		"twice":         {func(a *archive) { a.file(note, "one").file(note, "two") }, note, bundle.ErrUnsafe, "is there twice"},
		"case twin":     {func(a *archive) { a.file(note, "one").file("assets/NOTE", "two") }, "assets/NOTE", bundle.ErrUnsafe, "has the same name as"},
		"spelling twin": {func(a *archive) { a.file("assets/é", "one").file("assets/e\u0301", "two") }, "assets/e\u0301", bundle.ErrUnsafe, "normalization"},
		"file then dir": {func(a *archive) { a.file(note, "x").file(note+"/x", "x") }, note + "/x", bundle.ErrUnsafe, "is a directory, and"},
		"dir then file": {func(a *archive) { a.file(note+"/x", "x").file(note, "x") }, note, bundle.ErrUnsafe, "is a file, and"},
		"directory up":  {entry(tar.Header{Typeflag: tar.TypeDir, Name: "../x/"}), "../x/", bundle.ErrUnsafe, "leaves the package"},
		"bomb":          {func(a *archive) { a.file("assets/zeros", strings.Repeat("\x00", 20<<20)) }, "assets/zeros", bundle.ErrTooLarge, "unpack to more than"},
		"large file":    {func(a *archive) { a.file("assets/large", sparseText(bundle.MaxFileBytes+1)) }, "assets/large", bundle.ErrTooLarge, "has more than"},
		"large package": {largePackage, "assets/2", bundle.ErrTooLarge, "makes the package larger"},
		"many files":    {func(a *archive) { many(a, tar.TypeReg) }, fmt.Sprintf("assets/%d", bundle.MaxFiles-len(demo())), bundle.ErrTooLarge, "is too many"},
		"many dirs":     {func(a *archive) { many(a, tar.TypeDir) }, fmt.Sprintf("assets/%d", bundle.MaxFiles-len(demo())), bundle.ErrTooLarge, "is too many"},
	}
}

// sparseText is n bytes that compress to a fiftieth or so, beneath the ratio.
func sparseText(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := 0; i+8 <= n; i += 500 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64())
	}
	return string(b)
}

func largePackage(a *archive) {
	half := sparseText(bundle.MaxFileBytes)
	a.file("assets/1", half).file("assets/2", half)
}

func many(a *archive, typeflag byte) {
	for i := range bundle.MaxFiles + 1 {
		a.entry(tar.Header{Typeflag: typeflag, Name: fmt.Sprintf("assets/%d", i)}, "")
	}
}

// TestHostileArchives shows, for each kind of hostile archive, that the
// standard library hands the entry over without complaint, and that ReadArchive
// refuses the whole archive and names it.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	for name, h := range hostileArchives() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArchive(t).demo()
			h.build(a)
			data := a.bytes()
			names, err := listed(data)
			if err != nil || !strings.Contains("\n"+names, "\n"+h.entry) {
				t.Errorf("the standard library refuses it too: %v", err)
			}
			p, err := bundle.ReadArchive(bytes.NewReader(data))
			if p != nil || !errors.Is(err, h.want) {
				t.Fatalf("not refused: %v", err)
			}
			if !strings.Contains(err.Error(), h.text) {
				t.Errorf("have %q, want %q in it", err, h.text)
			}
			checkNamesEntry(t, err, h.entry)
		})
	}
}

func checkNamesEntry(t *testing.T, err error, entry string) {
	t.Helper()
	if strings.ContainsAny(err.Error(), "\x1b\n") {
		t.Errorf("the error repeats the name as it is: %q", err)
	}
	quoted := fmt.Sprintf("%q", strings.TrimSuffix(entry, "/"))
	inner := quoted[1:min(len(quoted)-1, 200)]
	if !strings.Contains(err.Error(), inner) && !strings.HasPrefix(inner, "assets/note/") {
		t.Errorf("the error does not name %s: %v", inner, err)
	}
}

// TestSparseFilesAreRefused builds the header of a pax sparse file by hand: the
// standard library reads it and does not write it. A few bytes claim to be
// eight gibibytes.
func TestSparseFilesAreRefused(t *testing.T) {
	t.Parallel()
	records := ""
	for _, kv := range []string{"GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=assets/note", "GNU.sparse.realsize=8589934592"} {
		n := len(kv) + 4
		records += fmt.Sprintf("%d %s\n", n, kv)
	}
	a := newArchive(t).demo()
	a.raw('x', "PaxHeaders/note", records)
	a.raw('0', "GNUSparseFile.0/note", fmt.Sprintf("%-512s", "1\n8589934591\n1\n")+"x")
	data := a.bytes()
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r, found := tar.NewReader(gz), false
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		found = found || h.Name == "assets/note" && h.Size == 8<<30
	}
	if !found {
		t.Error("the standard library does not hand the sparse file over")
	}
	if _, err := bundle.ReadArchive(bytes.NewReader(data)); !errors.Is(err, bundle.ErrUnsafe) || !strings.Contains(err.Error(), "GNU.sparse") {
		t.Errorf("%v", err)
	}
}

// raw writes an entry header byte by byte.
func (a *archive) raw(typeflag byte, name, content string) {
	a.t.Helper()
	if err := a.tar.Flush(); err != nil {
		a.t.Fatal(err)
	}
	var h [512]byte
	copy(h[0:], name)
	copy(h[100:], "0000644\x000000000\x000000000\x00")
	copy(h[124:], fmt.Sprintf("%011o\x0000000000000\x00", len(content)))
	copy(h[148:], "        ")
	h[156] = typeflag
	copy(h[257:], "ustar\x0000")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	padding := strings.Repeat("\x00", (512-len(content)%512)%512)
	for _, part := range []string{string(h[:]), content, padding} {
		if _, err := io.WriteString(a.gz, part); err != nil {
			a.t.Fatal(err)
		}
	}
}

// TestClaimedSizes gives headers that claim more than is there.
func TestClaimedSizes(t *testing.T) {
	t.Parallel()
	a := newArchive(t).demo()
	if err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "assets/big", Size: 1 << 40, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := a.gz.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := bundle.ReadArchive(bytes.NewReader(a.buf.Bytes()))
	if !errors.Is(err, bundle.ErrDamaged) || !strings.Contains(err.Error(), "assets/big") {
		t.Errorf("%v", err)
	}
}

// TestDamagedArchives cuts, flips and extends a good archive everywhere.
func TestDamagedArchives(t *testing.T) {
	t.Parallel()
	p := demoPackage(t)
	good := archiveOf(t, p)
	for n := range good {
		if q, err := bundle.ReadArchive(bytes.NewReader(good[:n])); q != nil || err == nil {
			t.Fatalf("%d of %d bytes were read as a package", n, len(good))
		} else if !errors.Is(err, bundle.ErrDamaged) {
			t.Errorf("%d of %d bytes: %v", n, len(good), err)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		if q, err := bundle.ReadArchive(bytes.NewReader(bad)); err == nil && q.Digest() != p.Digest() {
			t.Errorf("a flipped bit in byte %d gives another package", i)
		}
	}
	for name, tail := range map[string][]byte{"a byte": {0}, "a line": []byte("\n"), "a second member": good, "an empty member": emptyMember(t)} {
		bad := append(bytes.Clone(good), tail...)
		if _, err := listed(bad); err != nil && name != "a byte" && name != "a line" {
			t.Errorf("%s: the standard library refuses it too: %v", name, err)
		}
		if _, err := bundle.ReadArchive(bytes.NewReader(bad)); !errors.Is(err, bundle.ErrUnsafe) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
	for name, data := range map[string]string{"nothing": "", "text": "not an archive", "tar without gzip": strings.Repeat("\x00", 1024)} {
		if _, err := bundle.ReadArchive(strings.NewReader(data)); !errors.Is(err, bundle.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func emptyMember(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gzip.NewWriter(&b).Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAfterTheLastEntry puts data between the end of the tar archive and the end
// of the compressed data, where most readers never look.
func TestAfterTheLastEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tail string
		ok   bool
	}{
		"a tape record of padding": {strings.Repeat("\x00", 8192), true},
		"a hidden file":            {"#!/bin/sh\n", false},
		"another archive":          {strings.Repeat("\x00", 512) + "assets/x", false},
		"a mebibyte of zeros":      {strings.Repeat("\x00", 1<<20), false},
	} {
		a := newArchive(t).demo()
		if err := a.tar.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(a.gz, c.tail); err != nil {
			t.Fatal(err)
		}
		if err := a.gz.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := listed(a.buf.Bytes()); err != nil {
			t.Errorf("%s: the standard library refuses it too: %v", name, err)
		}
		_, err := bundle.ReadArchive(bytes.NewReader(a.buf.Bytes()))
		if c.ok && err != nil || !c.ok && !errors.Is(err, bundle.ErrUnsafe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForeignArchives reads an honest archive that another program made:
// directories, owners, times and modes are there, and do not matter.
func TestForeignArchives(t *testing.T) {
	t.Parallel()
	a := newArchive(t)
	a.entry(tar.Header{Typeflag: tar.TypeDir, Name: "assets/", Mode: 0o755, Uid: 1000, Uname: "ada"}, "")
	for name, b := range demo() {
		a.entry(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o775, Uid: 1000, Gid: 5, Uname: "größe", Format: tar.FormatPAX}, string(b))
	}
	p, err := bundle.ReadArchive(bytes.NewReader(a.bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if p.Digest() != demoPackage(t).Digest() {
		t.Error("the digest depends on how the archive was made")
	}
}

// TestArchiveHasNoTraces looks at what WriteArchive writes.
func TestArchiveHasNoTraces(t *testing.T) {
	t.Parallel()
	data := archiveOf(t, demoPackage(t))
	if want := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255}; !bytes.Equal(data[:10], want) {
		t.Errorf("gzip header % x, want % x", data[:10], want)
	}
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	r := tar.NewReader(gz)
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.ModTime.Unix() != 0 || h.Mode != 0o644 || h.Typeflag != tar.TypeReg || h.Name <= before {
			t.Errorf("%+v after %q", h, before)
		}
		before = h.Name
	}
}

// TestChecksumIsChecked alters the gzip checksum alone.
func TestChecksumIsChecked(t *testing.T) {
	t.Parallel()
	data := archiveOf(t, demoPackage(t))
	binary.LittleEndian.PutUint32(data[len(data)-8:], crc32.ChecksumIEEE([]byte("another")))
	if _, err := bundle.ReadArchive(bytes.NewReader(data)); !errors.Is(err, bundle.ErrDamaged) {
		t.Errorf("%v", err)
	}
}

// FuzzReadArchive demands that what is read can be written and reads as the
// same package.
func FuzzReadArchive(f *testing.F) {
	f.Add(archiveOf(f, demoPackage(f)))
	for name, h := range hostileArchives() {
		switch name {
		case "bomb", "large file", "large package", "many files", "many dirs":
			continue // too large for a seed
		}
		a := newArchive(f).demo()
		h.build(a)
		f.Add(a.bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkReads(t, data)
		var gz bytes.Buffer // the same bytes as a tar archive: the fuzzer cannot compress
		w := gzip.NewWriter(&gz)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		checkReads(t, gz.Bytes())
	})
}

func checkReads(t *testing.T, data []byte) {
	t.Helper()
	p, err := bundle.ReadArchive(bytes.NewReader(data))
	if err != nil {
		return
	}
	again, err := bundle.ReadArchive(bytes.NewReader(archiveOf(t, p)))
	if err != nil || again.Digest() != p.Digest() {
		t.Fatalf("does not read back: %v", err)
	}
}
