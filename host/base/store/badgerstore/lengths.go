package badgerstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dgraph-io/badger/v4"
)

// Badger asks for as much memory as the lengths in its files say, before it knows
// whether they are right: for one flipped bit that can be twelve gigabytes, which a
// process does not survive everywhere. So the lengths are compared with the sizes of
// the files first.

// Parts of Badger's files, as of v4: vlogHeader and maxHeaderSize in memtable.go and
// structs.go, and what validRegistry in key_registry.go reads.
const (
	logHeader      = 20      // bytes of a log: a key's number and an initialization vector
	logFlags       = 2       // bytes that an entry begins with
	logSum         = 4       // bytes that an entry ends with: its checksum
	maxLogKey      = 1 << 16 // a longer key ends the log for Badger
	registryHeader = 28      // bytes of the key registry: an initialization vector and a known text
	registryEntry  = 8       // bytes before a key: its length and checksum
)

func isLog(name string) bool {
	return strings.HasSuffix(name, ".mem") || strings.HasSuffix(name, ".vlog")
}

// checkLengths looks for lengths in the files of the database in dir that cannot be. Such
// an entry of a log is its end, as every damaged one is for Badger: with examine, which
// works on a copy, the log is cut there, and what was acknowledged tells whether something
// is missing. Otherwise it is damage.
func (p *storeDir) checkLengths(dir string, m mode) error {
	if err := checkRegistry(filepath.Join(dir, badger.KeyRegistryFileName)); err != nil {
		return fmt.Errorf("%s: %w", badger.KeyRegistryFileName, err)
	}
	files, err := listFiles(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		if !isLog(f.Name) {
			continue
		}
		path := filepath.Join(dir, f.Name)
		at, err := firstOverlong(path, f.Size)
		switch {
		case err != nil:
			return err
		case at < 0:
		case m != examine:
			return fmt.Errorf("%s: the entry at byte %d is longer than the file", f.Name, at)
		default:
			p.log.Debug("store: a log ends with an entry that is longer than it", "file", f.Name, "at", at)
			if err := cut(path, at, f.Size); err != nil {
				return err
			}
		}
	}
	return nil
}

// firstOverlong is where the entry of a log begins that is longer than the log; negative
// when Badger reads none such.
func firstOverlong(path string, size int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return -1, err
	}
	defer f.Close()
	r := &logReader{in: bufio.NewReaderSize(io.NewSectionReader(f, logHeader, max(size-logHeader, 0)), 64<<10), at: logHeader}
	for {
		began := r.at
		body, err := r.header()
		if err != nil {
			return -1, ended(err)
		}
		if body > size-r.at-logSum {
			return began, nil
		}
		if whole, err := r.body(body); err != nil || !whole {
			return -1, ended(err)
		}
	}
}

// ended is nil for the errors with which a log ends.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errLogEnds) {
		return nil
	}
	return err
}

// errLogEnds means that Badger takes no entry from here on.
var errLogEnds = errors.New("the log ends here")

// logReader reads the entries of a log as Badger does: flags, the lengths of key and
// value and the time of expiry, then both, and a checksum of all of that.
type logReader struct {
	in  *bufio.Reader
	at  int64
	sum uint32
}

// ReadByte reads a byte that the checksum is of.
func (r *logReader) ReadByte() (byte, error) {
	b, err := r.in.ReadByte()
	if err != nil {
		return 0, err
	}
	r.at++
	r.sum = crc32.Update(r.sum, crc32.MakeTable(crc32.Castagnoli), []byte{b})
	return b, nil
}

// header returns how long key and value are together.
func (r *logReader) header() (body int64, err error) {
	r.sum = 0
	for range logFlags {
		if _, err := r.ReadByte(); err != nil {
			return 0, err
		}
	}
	var fields [3]uint64
	for i := range fields {
		if fields[i], err = binary.ReadUvarint(r); err != nil {
			return 0, errLogEnds
		}
	}
	key, value := uint32(fields[0]), uint32(fields[1]) // Badger cuts them to these
	if key == 0 && value == 0 || key > maxLogKey {
		return 0, errLogEnds
	}
	return int64(key) + int64(value), nil
}

// body skips key and value, and reports whether their checksum is right.
func (r *logReader) body(n int64) (whole bool, err error) {
	for n > 0 {
		some, err := r.in.Peek(int(min(n, 32<<10)))
		if err != nil {
			return false, err
		}
		r.sum = crc32.Update(r.sum, crc32.MakeTable(crc32.Castagnoli), some)
		_, _ = r.in.Discard(len(some)) // they are there
		r.at, n = r.at+int64(len(some)), n-int64(len(some))
	}
	var sum [logSum]byte
	if _, err := io.ReadFull(r.in, sum[:]); err != nil {
		return false, err
	}
	r.at += logSum
	return binary.BigEndian.Uint32(sum[:]) == r.sum, nil
}

// cut empties a file from a byte on, and leaves its size.
func cut(path string, at, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(at), f.Truncate(size), f.Sync(), f.Close())
}

// checkRegistry looks for keys in the key registry that are longer than it.
func checkRegistry(path string) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a new database
	}
	if err != nil {
		return err
	}
	for at := registryHeader; at+registryEntry <= len(b); {
		n := int64(binary.BigEndian.Uint32(b[at:]))
		if n > int64(len(b)-at-registryEntry) {
			return fmt.Errorf("the key at byte %d is longer than the file", at)
		}
		at += registryEntry + int(n)
	}
	return nil
}
