package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/skillet-run/skillet/host/base/store/atomicfile"
)

// head names the last acknowledged entry and where its line is.
type head struct {
	Format  int    `json:"format"`  // headUnsigned or headSigned
	Seq     uint64 `json:"seq"`     // 0 when the journal is empty
	Hash    string `json:"hash"`    // "" when the journal is empty
	Segment uint64 `json:"segment"` // first entry of the segment that has the line
	Start   int64  `json:"start"`   // byte at which the line begins
	End     int64  `json:"end"`     // byte behind the line
	// What follows is there when the head is signed. With the number and the
	// hash it is a statement of package checkpoint.
	Time      string `json:"time,omitempty"`      // when the entry was committed, RFC 3339
	After     string `json:"after,omitempty"`     // digest of the last statement that is kept
	Notes     int64  `json:"notes,omitempty"`     // byte behind that statement in SIGNATURES
	Signature string `json:"signature,omitempty"` // as [checkpoint.Signature] has it
	Sum       uint32 `json:"sum"`                 // CRC-32C of this object with a sum of 0
}

const (
	headUnsigned = 1
	headSigned   = 2
	headName     = "HEAD"
	// headSize is the size of a disk's sector, which is written as a whole.
	headSize = 512
)

// encode returns the bytes of the head file: the object, spaces, a newline.
func (h head) encode() ([]byte, error) {
	h.Format, h.Sum = headUnsigned, 0
	if h.signed() {
		h.Format = headSigned
	}
	plain, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	h.Sum = crc32.Checksum(plain, crc32.MakeTable(crc32.Castagnoli))
	b, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(b) >= headSize {
		return nil, fmt.Errorf("the head is %d bytes long", len(b))
	}
	b = append(b, bytes.Repeat([]byte(" "), headSize-1-len(b))...)
	return append(b, '\n'), nil
}

// decodeHead accepts exactly what encode writes, so that no bit of the file
// can change unnoticed.
func decodeHead(b []byte) (head, error) {
	var h head
	if err := json.Unmarshal(b, &h); err != nil {
		return head{}, err
	}
	if h.Format > headSigned {
		return head{}, fmt.Errorf("the journal has format %d, this version of skillet reads format %d: use a newer one", h.Format, headSigned)
	}
	again, err := h.encode()
	if err != nil {
		return head{}, err
	}
	if !bytes.Equal(b, again) {
		return head{}, errors.New("the head does not match its checksum")
	}
	return h, nil
}

func (j *Journal) headPath() string { return filepath.Join(j.dir, headName) }

// Reading while another process writes can see half of each head. Bytes that
// stay the same over headPause are what is on the disk.
const (
	headPause = 100 * time.Microsecond
	headTries = 100
)

// readHead returns the head; the zero head for a journal without files.
func (j *Journal) readHead() (head, error) {
	var last []byte
	for range headTries {
		b, err := os.ReadFile(j.headPath())
		if errors.Is(err, fs.ErrNotExist) {
			return head{}, j.checkEmpty()
		}
		if err != nil {
			return head{}, fmt.Errorf("read journal %s: %w", j.dir, err)
		}
		h, err := decodeHead(b)
		if err == nil {
			return h, nil
		}
		if bytes.Equal(b, last) {
			if unwritten(b) && j.checkEmpty() == nil {
				return head{}, nil
			}
			return head{}, &DamageError{File: j.headPath(), What: err.Error()}
		}
		last = b
		time.Sleep(headPause)
	}
	return head{}, fmt.Errorf("read journal %s: its head kept changing", j.dir)
}

// acknowledged is the head after all that this process wrote.
func (j *Journal) acknowledged() (head, error) {
	if err := j.Flush(); err != nil {
		return head{}, err
	}
	return j.readHead()
}

// unwritten reports whether a full disk or a power cut kept a new head from being
// written: it has no or not all bytes, or zeros. One that is there is written over
// in place, and never gets shorter.
func unwritten(b []byte) bool {
	return len(b) < headSize || len(bytes.Trim(b, "\x00")) == 0
}

// checkEmpty is asked when there is no head: it is made before the first
// segment, so then there may be no entries either.
func (j *Journal) checkEmpty() error {
	all, err := j.segments()
	if err != nil || len(all) == 0 {
		return err
	}
	if b, err := os.ReadFile(j.headPath()); err == nil && !unwritten(b) {
		return nil // it was made in between; the next look sees it
	}
	return &DamageError{File: j.headPath(), What: "the head is missing, but there are entries"}
}

// writeHead acknowledges everything up to h. The file, which makeHead made, is
// written in place, so that a full disk cannot stop it.
func (j *Journal) writeHead(h head) error {
	b, err := h.encode()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(j.headPath(), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil && j.options.Sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// needsHead reports whether the journal, which has no entries then, has no head
// that can be written over.
func (j *Journal) needsHead() bool {
	b, err := os.ReadFile(j.headPath())
	return errors.Is(err, fs.ErrNotExist) || err == nil && unwritten(b)
}

// makeHead writes the head of an empty journal. It gets its name when it is on
// the disk, so that a full disk leaves none rather than a part of one. The lock
// must be held: what another process did not finish is removed.
func (j *Journal) makeHead() error {
	b, err := head{}.encode()
	if err != nil {
		return err
	}
	parts, err := fs.Glob(os.DirFS(j.dir), atomicfile.Pattern) // not filepath.Glob: the path is not a pattern
	for _, p := range parts {
		err = errors.Join(err, os.Remove(filepath.Join(j.dir, p)))
	}
	return errors.Join(err, atomicfile.Write(j.headPath(), b))
}

// syncDir makes new and removed files of the directory durable.
func (j *Journal) syncDir() error {
	if !j.options.Sync {
		return nil
	}
	d, err := os.Open(j.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
