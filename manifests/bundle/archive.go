package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Extension is how the name of a package file ends.
const Extension = ".skill"

// WriteArchive writes the package as a .skill file: a tar archive (POSIX
// ustar, pax where a name needs it) compressed with gzip. The same package
// always gives the same bytes from the same build: files in the order of the
// index, no owners, mode 0644, time zero. It stores no directories.
func (p *Package) WriteArchive(w io.Writer) error {
	gz, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("write package %s: %w", p.name(), err)
	}
	tw := tar.NewWriter(gz)
	for _, f := range p.files {
		if err := writeEntry(tw, f, p.content[f.Path]); err != nil {
			return fmt.Errorf("write package %s: %s: %w", p.name(), f.Path, err)
		}
	}
	if err := errors.Join(tw.Close(), gz.Close()); err != nil {
		return fmt.Errorf("write package %s: %w", p.name(), err)
	}
	return nil
}

// ustarName is the longest name a ustar header holds in one field.
const ustarName = 100

func writeEntry(tw *tar.Writer, f File, content []byte) error {
	h := &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     f.Path,
		Size:     f.Size,
		Mode:     0o644,
		ModTime:  time.Unix(0, 0),
		Format:   tar.FormatUSTAR,
	}
	ascii := strings.IndexFunc(f.Path, func(r rune) bool { return r >= 0x80 }) < 0
	if !ascii || len(f.Path) > ustarName {
		h.Format = tar.FormatPAX
	}
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(content)
	return err
}

// ReadArchive reads a .skill file. It refuses, naming the entry: anything but
// regular files and directories; names that are absolute, leave the package,
// are not clean, hidden, or taken for one another on some system; setuid,
// setgid and sticky bits; extended attributes and sparse files; files a
// package does not hold; more than the bounds above allow. It refuses anything
// after the archive, and a second gzip member. Owners, times and permission
// bits are not kept. The error wraps one of the errors above, or
// [manifests.Errors].
func ReadArchive(r io.Reader) (*Package, error) {
	files, err := unpack(r)
	if err != nil {
		return nil, err
	}
	return FromFiles(files)
}

// unpack reads the files of an archive into memory.
func unpack(r io.Reader) (map[string][]byte, error) {
	raw := &counter{r: r}
	buffered := bufio.NewReader(raw)
	gz, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, damaged(err)
	}
	gz.Multistream(false)
	stream := &meter{r: gz, raw: raw}
	u := unpacker{tar: tar.NewReader(stream), names: newNameSet(), files: map[string][]byte{}}
	for {
		more, err := u.next()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	return u.files, checkEnd(stream, buffered)
}

// damaged wraps an error of the archive's own format, and leaves those of ours
// alone.
func damaged(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrUnsafe) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut short", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// A counter counts the compressed bytes, and refuses too many of them.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	if c.n > MaxArchiveBytes {
		return 0, fmt.Errorf("%w: the file has more than %d bytes", ErrTooLarge, int64(MaxArchiveBytes))
	}
	return n, err
}

// maxStream bounds what an archive decompresses to, headers and padding
// included.
const maxStream = MaxBytes + MaxFiles*4096

// A meter counts the decompressed bytes, and refuses too many of them, alone or
// for the compressed bytes they came from.
type meter struct {
	r   io.Reader
	raw *counter
	n   int64
}

func (m *meter) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	m.n += int64(n)
	if m.n > maxStream {
		return 0, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrTooLarge, int64(maxStream))
	}
	if m.n > RatioFloor && m.n > MaxRatio*m.raw.n {
		return 0, fmt.Errorf("%w: %d bytes unpack to more than %d, beyond %d to one", ErrTooLarge, m.raw.n, m.n, MaxRatio)
	}
	return n, err
}

// An unpacker reads the entries of an archive.
type unpacker struct {
	tar     *tar.Reader
	names   *nameSet
	files   map[string][]byte
	entries int
	total   int64
}

// next reads one entry; false when there are no more.
func (u *unpacker) next() (bool, error) {
	h, err := u.tar.Next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, damaged(err)
	}
	if u.entries++; u.entries > MaxFiles {
		return false, tooLarge(h.Name, "is too many; at most %d are accepted", MaxFiles)
	}
	if err := checkHeader(h); err != nil {
		return false, err
	}
	if h.Typeflag == tar.TypeDir {
		return true, u.names.addDir(strings.TrimSuffix(h.Name, "/"))
	}
	if err := u.names.addFile(h.Name); err != nil {
		return false, err
	}
	b, err := u.content(h)
	u.files[h.Name] = b
	return true, err
}

// content reads the file of h, whatever size its header claims.
func (u *unpacker) content(h *tar.Header) ([]byte, error) {
	left := min(MaxFileBytes, MaxBytes-u.total)
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(u.tar, left+1))
	if err != nil {
		return nil, fmt.Errorf("entry %q: %w", h.Name, damaged(err))
	}
	if n > MaxFileBytes {
		return nil, tooLarge(h.Name, "has more than %d bytes", MaxFileBytes)
	}
	if n > left {
		return nil, tooLarge(h.Name, "makes the package larger than %d bytes", MaxBytes)
	}
	u.total += n
	return b.Bytes(), nil
}

// setBits are the mode bits that change what a file does: setuid, setgid,
// sticky.
const setBits = 0o7000

func checkHeader(h *tar.Header) error {
	if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir {
		return refuse(h.Name, "is %s; only regular files and directories are accepted", typeInWords(h))
	}
	if h.Mode&setBits != 0 {
		return refuse(h.Name, "has the mode %o: setuid, setgid and sticky bits are not accepted", h.Mode&0o7777)
	}
	for key := range h.PAXRecords {
		if !slices.Contains(paxRecords(), key) {
			return refuse(h.Name, "has the pax record %q, which is not accepted", key)
		}
	}
	return nil
}

// paxRecords are the records that say no more than a header does (POSIX pax,
// section "pax Extended Header").
func paxRecords() []string {
	return []string{"path", "size", "mtime", "atime", "ctime", "uid", "gid", "uname", "gname"}
}

// typeInWords says what an entry is.
func typeInWords(h *tar.Header) string {
	switch h.Typeflag {
	case tar.TypeLink:
		return fmt.Sprintf("a hard link to %q", h.Linkname)
	case tar.TypeSymlink:
		return fmt.Sprintf("a symbolic link to %q", h.Linkname)
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a FIFO"
	case tar.TypeGNUSparse:
		return "a sparse file"
	case tar.TypeXGlobalHeader:
		return "a global header"
	}
	return fmt.Sprintf("of type %q", rune(h.Typeflag))
}

// maxPadding is how many zero bytes may follow the end of the tar archive;
// tar(1) fills up a record of 20 blocks.
const maxPadding = 64 << 10

// checkEnd demands that nothing follows the archive but padding.
func checkEnd(stream io.Reader, raw *bufio.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(stream, maxPadding+1))
	if err != nil {
		return damaged(err)
	}
	if len(rest) > maxPadding || len(bytes.Trim(rest, "\x00")) > 0 {
		return fmt.Errorf("%w: something follows the last entry of the archive", ErrUnsafe)
	}
	if _, err := raw.Peek(1); err == nil {
		return fmt.Errorf("%w: something follows the end of the compressed data", ErrUnsafe)
	} else if !errors.Is(err, io.EOF) {
		return damaged(err)
	}
	return nil
}
